"""What each kind of sandbox really stops on this machine: the same probes in each, compared with an exact table."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tui_agent.workspace import landlock, protected
from tui_agent.workspace.protected import remember, restore
from tui_agent.workspace.runner import run
from tui_agent.workspace.sandbox import Sandbox, detect

PYTHON = os.path.realpath(sys.executable)
"""Not the one of the virtual environment: with a checkout in /tmp that one is hidden by bwrap's own /tmp."""

PROBE = """
import errno, json, os, signal, socket, sys
work, outside, tcp, udp, abstract, victim = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5], int(sys.argv[6])
results = {}
def probe(name, act):
    try:
        act()
        results[name] = "ok"
    except OSError as error:
        results[name] = errno.errorcode[error.errno]
def write(path):
    with open(path, "w") as file:
        file.write("x")
def connect(family, kind, address):
    with socket.socket(family, kind) as s:
        s.connect(address)
        for _ in range(2):  # a refused datagram is told to the second
            s.send(b"x")
def bind():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
def link():
    os.symlink(outside, work + "/link")
    write(work + "/link/through")
probe("write inside", lambda: write(work + "/in"))
probe("write outside", lambda: write(outside + "/new"))
probe("truncate outside", lambda: os.truncate(outside + "/keep", 0))
probe("unlink outside", lambda: os.unlink(outside + "/gone"))
probe("mkdir outside", lambda: os.mkdir(outside + "/dir"))
probe("rename out of outside", lambda: os.rename(outside + "/move", work + "/moved"))
probe("hard link to outside", lambda: os.link(outside + "/keep", work + "/hard"))
probe("write through a link", link)
probe("chmod outside", lambda: os.chmod(outside + "/keep", 0o640))
probe("read outside", lambda: open(outside + "/keep").close())
probe("write /dev/null", lambda: write("/dev/null"))
probe("change .git/config", lambda: write(work + "/.git/config"))
probe("add a hook", lambda: write(work + "/.git/hooks/pre-commit"))
probe("change .tui_agent", lambda: write(work + "/.tui_agent/config.toml"))
probe("write .git/index", lambda: write(work + "/.git/index"))
probe("move .git away", lambda: os.rename(work + "/.git", work + "/git2"))
probe("tcp connect", lambda: connect(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", tcp)))
probe("tcp bind", bind)
probe("udp", lambda: connect(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", udp)))
probe("path socket", lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, outside + "/socket"))
probe("abstract socket", lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, chr(0) + abstract))
probe("signal", lambda: os.kill(victim, signal.SIGCONT))
print(json.dumps(results))
"""

PLAIN = dict.fromkeys(
    ["write inside", "write outside", "truncate outside", "unlink outside", "mkdir outside", "rename out of outside",
     "hard link to outside", "write through a link", "chmod outside", "read outside", "write /dev/null",
     "change .git/config", "add a hook", "change .tui_agent", "write .git/index", "move .git away", "tcp connect",
     "tcp bind", "udp", "path socket", "abstract socket", "signal"],
    "ok",
)  # fmt: skip
BWRAP = PLAIN | {
    "write outside": "EROFS", "truncate outside": "EROFS", "unlink outside": "EROFS", "mkdir outside": "EROFS",
    "rename out of outside": "EXDEV", "hard link to outside": "EXDEV", "write through a link": "EROFS",
    "chmod outside": "EROFS", "change .git/config": "EROFS", "add a hook": "EROFS", "change .tui_agent": "EROFS",
    "move .git away": "EBUSY", "tcp connect": "ECONNREFUSED", "udp": "ECONNREFUSED",
    "abstract socket": "ECONNREFUSED", "signal": "ESRCH",
}  # fmt: skip


def landlock_table(abi: int) -> dict[str, str]:
    table = PLAIN | dict.fromkeys(
        ["write outside", "unlink outside", "mkdir outside", "write through a link"], "EACCES"
    )
    table |= {"rename out of outside": "EACCES" if abi >= 2 else "EXDEV", "hard link to outside": "EXDEV"}
    if abi >= landlock.ABI_TRUNCATE:
        table["truncate outside"] = "EACCES"
    if abi >= landlock.ABI_TCP:
        table |= {"tcp connect": "EACCES", "tcp bind": "EACCES"}
    if abi >= landlock.ABI_SCOPE:
        table |= {"abstract socket": "EPERM", "signal": "EPERM"}
    return table


@pytest.fixture
def place(tmp_path: Path) -> Iterator[tuple[Path, Path, list[str]]]:
    """A workspace, a folder outside, and the words of the probe; all that it tries to reach is really there."""
    work, outside = tmp_path / "work", Path(tempfile.mkdtemp(dir="/var/tmp"))  # bwrap has a /tmp of its own
    for folder in (work / ".git" / "hooks", work / ".tui_agent"):
        folder.mkdir(parents=True)
    (work / ".git" / "config").write_text("old")
    for name in ("keep", "gone", "move"):
        (outside / name).write_text("precious")
    with (
        socket.socket() as tcp,
        socket.socket(type=socket.SOCK_DGRAM) as udp,
        socket.socket(socket.AF_UNIX) as path,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        name = f"tui-agent-test-{os.getpid()}"
        for server, address in (
            (tcp, ("127.0.0.1", 0)),
            (udp, ("127.0.0.1", 0)),
            (path, str(outside / "socket")),
            (abstract, f"\0{name}"),
        ):
            server.bind(address)
        for server in (tcp, path, abstract):
            server.listen()
        words = [str(work), str(outside), str(tcp.getsockname()[1]), str(udp.getsockname()[1]), name, str(os.getpid())]
        try:
            yield work, outside, words
        finally:
            shutil.rmtree(outside)


def find(kind: str) -> Sandbox | None:
    """The sandbox of a kind where this machine has it."""
    best = asyncio.run(detect())
    if kind == "landlock" and best.kind == "bwrap":
        best = asyncio.run(detect(path="/nowhere"))
    return best if best.kind == kind else Sandbox("none") if kind == "none" else None


def same_or_reported(kind: str, capsys: pytest.CaptureFixture[str]) -> Sandbox | None:
    """A kind that the machine lacks is no silent skip: it must be named as the reason, and it is printed."""
    if found := find(kind):
        return found
    reason = asyncio.run(detect(path=None if kind == "bwrap" else "/nowhere")).reason
    assert {"bwrap": "bwrap", "landlock": "Landlock"}[kind] in reason
    with capsys.disabled():
        print(f"\n[sandbox {kind} was not tried on this machine: {reason}]")
    return None


TABLES = {"none": PLAIN, "landlock": landlock_table(landlock.abi()), "bwrap": BWRAP}


@pytest.mark.parametrize("kind", TABLES)
def test_exactly_this_gets_through(kind, place, capsys):
    work, outside, words = place
    if not (box := same_or_reported(kind, capsys)):
        return
    argv = box.wrap([PYTHON, "-I", "-S", "-c", PROBE, *words], workspace=work)
    result = asyncio.run(run(argv, cwd=work, timeout=20))
    assert result.error is None
    assert json.loads(result.output) == TABLES[kind]
    assert (outside / "new").exists() == (outside / "through").exists() == (kind == "none")
    assert (outside / "gone").exists() == (kind != "none")


@pytest.mark.parametrize("kind", TABLES)
def test_more_folders_may_be_made_writable(kind, place, capsys):
    work, outside, _ = place
    if not (box := same_or_reported(kind, capsys)):
        return
    argv = box.wrap(["sh", "-c", 'echo x > "$1/new"', "sh", str(outside)], workspace=work, writable=[outside])
    assert asyncio.run(run(argv, cwd=work, timeout=20)).exit_code == 0
    assert (outside / "new").read_text() == "x\n"


@pytest.mark.parametrize("kind", TABLES)
def test_a_confined_command_is_ended_like_any_other(kind, place, capsys):
    work, _, _ = place
    if not (box := same_or_reported(kind, capsys)):
        return
    script = "trap '' TERM; echo started; (setsid sleep 600 &); exit 7"
    result = asyncio.run(run(box.wrap(["sh", "-c", script], workspace=work), cwd=work, timeout=20))
    assert (result.exit_code, result.output) == (7, "started\n")
    assert not [pid for pid in result.killed if Path(f"/proc/{pid}").exists()]


@pytest.mark.parametrize("kind", TABLES)
def test_a_confined_command_may_clean_up_at_term(kind, place, capsys):
    work, _, _ = place
    if not (box := same_or_reported(kind, capsys)):
        return
    script = "trap 'sleep 0.3; echo cleaned; exit 0' TERM; sleep 600 & wait"
    result = asyncio.run(run(box.wrap(["sh", "-c", script], workspace=work), cwd=work, timeout=6))
    assert (result.timed_out, result.output) == (True, "cleaned\n")
    assert not [pid for pid in result.killed if Path(f"/proc/{pid}").exists()]


@pytest.mark.parametrize("kind", TABLES)
def test_a_confined_command_that_ignores_term_is_killed(kind, place, capsys):
    work, _, _ = place
    if not (box := same_or_reported(kind, capsys)):
        return
    result = asyncio.run(run(box.wrap(["sh", "-c", "trap '' TERM; sleep 600"], workspace=work), cwd=work, timeout=2))
    assert result.timed_out
    assert not [pid for pid in result.killed if Path(f"/proc/{pid}").exists()]


@pytest.mark.parametrize("kind", TABLES)
def test_a_missing_program_is_told(kind, place, capsys):
    work, _, _ = place
    if not (box := same_or_reported(kind, capsys)):
        return
    result = asyncio.run(run(box.wrap(["nothing-of-that-name"], workspace=work), cwd=work, timeout=20))
    assert result.exit_code != 0
    assert "nothing-of-that-name" in (result.error or result.output)


def test_bwrap_hides_and_gives_a_network_only_when_asked(place, capsys):
    work, outside, words = place
    if not (box := same_or_reported("bwrap", capsys)):
        return
    script = f'cat "{outside}/keep"; ls "{outside}/dir"; echo > /tmp/mine && ls /tmp/mine'
    (outside / "dir").mkdir()
    (outside / "dir" / "secret").touch()
    argv = box.wrap(
        ["sh", "-c", script], workspace=work, hidden=[outside / "keep", outside / "dir", outside / "absent"]
    )
    output = asyncio.run(run(argv, cwd=work, timeout=20)).output
    assert output.endswith("/tmp/mine\n")
    assert "precious" not in output
    assert "secret" not in output
    connect = f"import socket; socket.create_connection(('127.0.0.1', {words[2]})); print('in')"
    argv = box.wrap([PYTHON, "-I", "-S", "-c", connect], workspace=work, network=True)
    assert asyncio.run(run(argv, cwd=work, timeout=20)).output == "in\n"


async def test_what_does_not_really_run_is_not_chosen(tmp_path, monkeypatch):
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho no namespaces here\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setattr(landlock, "abi", lambda: 0)
    found = await detect(path=str(tmp_path))
    assert found == Sandbox("none", reason="bwrap does not work here (no namespaces here); the kernel has no Landlock")
    assert found.wrap(["a", "b"], workspace=tmp_path) == ["a", "b"]


@pytest.mark.parametrize("version", [0, 1, 3, 4, 6, 7])
def test_gaps_grow_as_the_kernel_gets_older(version, monkeypatch):
    monkeypatch.setattr(landlock, "abi", lambda: version)
    gaps = Sandbox("landlock").gaps
    assert ("TCP" in gaps) == (version < 4)
    assert any("emptying" in gap for gap in gaps) == (version < 3)
    assert any("abstract" in gap for gap in gaps) == (version < 6)
    assert set(Sandbox("bwrap").gaps).isdisjoint({"TCP", "UDP"})
    assert Sandbox("none").gaps


# ------------------------------------------------------------------ protected names, before and after


CHANGES = {
    "a changed config": ("echo evil >> .git/config", [".git/config"]),
    "a new hook": ("echo evil > .git/hooks/pre-push", [".git/hooks/pre-push"]),
    "a removed hook": ("rm .git/hooks/sample", [".git/hooks/sample"]),
    "a mode": ("chmod +x .git/hooks/sample", [".git/hooks/sample"]),
    "a link instead of a file": ("ln -sf ../out/file .git/config", [".git/config"]),
    "a link instead of a folder": ("rm -r .git/hooks; ln -s ../../out .git/hooks", [".git/hooks"]),
    "another target": ("ln -sfn other .git/hooks/link", [".git/hooks/link"]),
    "a folder instead of a file": ("rm .git/config; mkdir -p .git/config/deep", [".git/config"]),
    "first creation": ("mkdir .git/info .tui_agent; echo x > .git/info/a; echo x > .tui_agent/config.toml",
                       [".git/info", ".tui_agent"]),
    ".git as a link": ("mv .git away; ln -s ../out .git", [".git"]),
    "no .git at all": ("rm -r .git", []),
    ".git moved away": ("mv .git away", [".git"]),
    ".git moved away, another made": ("mv .git away; mkdir .git; echo evil > .git/config", [".git"]),
    "another common folder": ("cp -r .git evil; echo ../evil > .git/commondir", [".git/commondir"]),
    "of a work tree": ("echo evil > .git/config.worktree", [".git/config.worktree"]),
    "of a module": ("echo evil > .git/modules/a/b/config; mkdir .git/modules/a/b/hooks",
                    [".git/modules/a/b/config", ".git/modules/a/b/hooks"]),
    "of another work tree": ("mkdir -p .git/worktrees/w; echo x > .git/worktrees/w/commondir", [".git/worktrees/w/commondir"]),
    "of a repository below": ("echo evil >> low/est/.git/config; mkdir -p low/est/.git/hooks/x/y",
                              ["low/est/.git/config", "low/est/.git/hooks"]),
    "a new one that names a program": ("mkdir new; git init -q new; git -C new config alias.st '!id'", ["new/.git"]),
    "a new one with a hook": ("mkdir new; git init -q new; printf x > new/.git/hooks/a; chmod +x new/.git/hooks/a", ["new/.git"]),
    "a new one without": ("mkdir new; git init -q new; echo x > new/.git/index", []),
    "too much, sparse": ("echo evil > .git/hooks/pre-commit; truncate -s 900G .git/hooks/big; mkdir .tui_agent; truncate -s 900G .tui_agent/x",
                         [".git/hooks/big", ".git/hooks/pre-commit", ".tui_agent"]),
    "many": ("mkdir .tui_agent; cd .tui_agent; seq 3000 | xargs mkdir; echo evil > ../.git/config", [".git/config", ".tui_agent"]),
    "without rights": ("mkdir -p .tui_agent/x; chmod 0 .tui_agent", [".tui_agent"]),
    "a further work tree that leads elsewhere": (
        "mkdir -p .git/worktrees/w t; echo ../.. > .git/worktrees/w/commondir; echo $PWD/low/.git > .git/worktrees/w/gitdir",
        [".git/worktrees/w/gitdir"]),
    "a mark of one with a folder of its own": (
        ("git init -q x; git -C x config alias.st '!id'; mkdir -p t e/worktrees/w; mv x/.git/* e;\n"
         "echo ../.. > e/worktrees/w/commondir; echo gitdir: $PWD/e/worktrees/w > t/.git"),
        ["e/config", "e/hooks", "e/info", "t/.git"]),
    "ordinary work": ("echo x > .git/index; echo x > file", []),
}  # fmt: skip


@pytest.mark.parametrize(("script", "expected"), CHANGES.values(), ids=CHANGES.keys())
async def test_protected_names_are_restored_and_reported(script, expected, tmp_path):
    work, out = tmp_path / "work", tmp_path / "out"
    (work / ".git" / "hooks").mkdir(parents=True)
    out.mkdir()
    (out / "file").write_text("outside")
    (work / ".git" / "config").write_text("old")
    for other in (".git/modules/a/b", "low/est/.git"):
        (work / other).mkdir(parents=True)
        (work / other / "config").write_text("old")
    (work / ".git" / "hooks" / "sample").write_text("hook")
    (work / ".git" / "hooks" / "link").symlink_to("sample")
    before = remember(work)
    assert (await run(["sh", "-c", script], cwd=work, timeout=10)).exit_code == 0
    assert list(restore(work, before).changed) == expected
    if not any(
        each in script for each in ("rm -r .git", "git init", "worktrees/w t")
    ):  # what is really gone, what may stay
        assert remember(work) == before
    assert [(path.name, path.read_text()) for path in out.iterdir()] == [("file", "outside")]


async def test_a_further_work_tree_can_be_made_and_removed(tmp_path):
    async def git(*words):
        before = remember(tmp_path)
        result = await run(["git", "-c", "user.name=t", "-c", "user.email=t@t", *words], cwd=tmp_path, timeout=20)
        assert result.exit_code == 0, result.output
        return result.output, tuple(restore(tmp_path, before).changed)

    await run(["git", "init", "-q"], cwd=tmp_path, timeout=20)
    await git("commit", "--allow-empty", "-m", "x")
    hook = tmp_path / ".git" / "hooks" / "pre-commit"  # the person's own
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\n")
    hook.chmod(0o755)
    assert (await git("worktree", "add", "deep/tree", "-b", "b"))[1] == ()
    assert "On branch b" in (await git("-C", "deep/tree", "status"))[0]
    before = remember(tmp_path)
    (tmp_path / ".git" / "worktrees" / "tree" / "commondir").write_text("../../../evil\n")
    (tmp_path / "deep" / "tree" / ".git").write_text("gitdir: ../evil\n")
    assert tuple(restore(tmp_path, before).changed) == (".git/worktrees/tree/commondir", "deep/tree/.git")
    assert (await git("worktree", "remove", "deep/tree"))[1] == ()
    assert "b" not in (await git("worktree", "list", "--porcelain"))[0].split()


def test_a_further_work_tree_may_be_written_with_relative_names(tmp_path):
    for folder in (".git", "deep/tree", "evil/worktrees/tree"):
        (tmp_path / folder).mkdir(parents=True)
    before = remember(tmp_path)
    inner = tmp_path / ".git/worktrees/tree"
    inner.mkdir(parents=True)
    (inner / "commondir").write_text("../..\n")
    (inner / "gitdir").write_text("../../../deep/tree/.git\n")
    (tmp_path / "deep/tree/.git").write_text("gitdir: ../../.git/worktrees/tree\n")
    assert tuple(restore(tmp_path, before).changed) == ()
    link = tmp_path / ".git/worktrees/link"
    link.symlink_to(tmp_path / "evil/worktrees/tree")
    (tmp_path / "evil/worktrees/tree/commondir").write_text("../..\n")
    (tmp_path / "evil/config").write_text("[alias]\nst = !id\n")
    (tmp_path / "evil/HEAD").write_text("ref: refs/heads/x\n")
    (tmp_path / "deep/tree/.git").write_text("gitdir: ../../.git/worktrees/link\n")
    assert tuple(restore(tmp_path, before).changed) == (".git/worktrees/tree/gitdir", "deep/tree/.git")


def test_a_worktree_file_is_protected_too(tmp_path):
    (tmp_path / ".git").write_text("gitdir: /elsewhere\n")
    before = remember(tmp_path)
    (tmp_path / ".git").write_text("gitdir: /evil\n")
    assert tuple(restore(tmp_path, before).changed) == (".git",)
    assert (tmp_path / ".git").read_text() == "gitdir: /elsewhere\n"
    (tmp_path / ".git").unlink()
    (tmp_path / ".git").mkdir()
    assert tuple(restore(tmp_path, before).changed) == (".git",)
    assert (tmp_path / ".git").read_text() == "gitdir: /elsewhere\n"


def test_too_much_to_remember_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(protected, "_MAX_BYTES", 10)
    (tmp_path / ".tui_agent").mkdir()
    (tmp_path / ".tui_agent" / "big").write_text("x" * 11)
    with pytest.raises(OSError, match="more than 10 bytes"):
        remember(tmp_path)
