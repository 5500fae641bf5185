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

from tests.waiting import PATIENCE
from tui_agent.workspace import landlock
from tui_agent.workspace.confined import Confined
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
    result = asyncio.run(run(argv, cwd=work, timeout=PATIENCE))
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
    assert asyncio.run(run(argv, cwd=work, timeout=PATIENCE)).exit_code == 0
    assert (outside / "new").read_text() == "x\n"


class Until:
    """A time limit that is over when a file is there: no command is ended before it is where it shall be."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def __float__(self) -> float:
        return 0.0 if self._file.exists() else 600.0


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize(
    ("script", "ends"),
    [
        ("trap '' TERM; echo started; (setsid sleep 600 &); exit 7", (7, False, "started\n")),
        (
            "trap 'sleep 0.3; echo cleaned; exit 0' TERM; touch ready; while :; do sleep 0.1; done",
            (None, True, "cleaned\n"),
        ),
        ("trap '' TERM; touch ready; while :; do sleep 600; done", (None, True, "")),
    ],
    ids=["by itself", "asked", "killed"],
)
def test_a_confined_command_is_ended_like_any_other(kind, script, ends, place, capsys):
    work, _, _ = place
    if not (box := same_or_reported(kind, capsys)):
        return
    words = box.wrap(["sh", "-c", script], workspace=work)
    result = asyncio.run(run(words, cwd=work, timeout=Until(work / "ready"), emit=lambda _: None))
    said = result.output.removeprefix("Terminated\n")  # of a shell, about the program that it waited for
    assert (result.exit_code, result.timed_out, said) == ends
    assert not [pid for pid in result.killed if Path(f"/proc/{pid}").exists()]


@pytest.mark.parametrize("kind", TABLES)
def test_a_missing_program_is_told(kind, place, capsys):
    work, _, _ = place
    if not (box := same_or_reported(kind, capsys)):
        return
    result = asyncio.run(run(box.wrap(["nothing-of-that-name"], workspace=work), cwd=work, timeout=PATIENCE))
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
    output = asyncio.run(run(argv, cwd=work, timeout=PATIENCE)).output
    assert output.endswith("/tmp/mine\n")
    assert "precious" not in output
    assert "secret" not in output
    connect = f"import socket; socket.create_connection(('127.0.0.1', {words[2]})); print('in')"
    argv = box.wrap([PYTHON, "-I", "-S", "-c", connect], workspace=work, network=True)
    assert asyncio.run(run(argv, cwd=work, timeout=PATIENCE)).output == "in\n"
    # not even then what listens below /run, only what names are looked up with
    argv = box.wrap(["ls", "-A", "/run"], workspace=work, network=True)
    names = Path(os.path.realpath("/etc/resolv.conf"))
    there = set(asyncio.run(run(argv, cwd=work, timeout=PATIENCE)).output.split())
    assert there <= ({names.parts[2]} if names.is_relative_to("/run") else set())


async def test_no_program_of_the_folder_is_taken_for_the_sandbox_or_started_in_it(tmp_path, monkeypatch):
    """A cloned folder with a `bin` that is on PATH would confine itself."""
    (tmp_path / "bin").mkdir()
    for name in ("bwrap", "true"):
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\nexit 0\n")
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    for choice in ("auto", "landlock", "bwrap"):
        found = await Confined(tmp_path, dict, choice=choice).ready()
        assert not found.program.startswith(str(tmp_path))
    assert not (tmp_path / "ran").exists()


def test_of_the_rights_of_root_only_those_over_files_processes_and_users_stay(place, capsys):
    work, _, _ = place
    if not (box := same_or_reported("landlock", capsys)):
        return
    argv = box.wrap(["grep", "CapEff", "/proc/self/status"], workspace=work)
    result = asyncio.run(run(argv, cwd=work, timeout=PATIENCE))
    assert int(result.output.split()[1], 16) & ~0b11111011 == 0


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
