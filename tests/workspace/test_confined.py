"""Commands of a session in each kind of sandbox: what they can do, what is put back, and what is said of it."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import sys
import tempfile
import threading
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.waiting import PATIENCE
from tui_agent.core.types import ApprovalRequest, Decision, Outcome, ToolCall
from tui_agent.gate import run_check
from tui_agent.oneshot import check_lines
from tui_agent.ui.blocks import check_done
from tui_agent.workspace import Workspace, protected
from tui_agent.workspace.confined import CACHES, Choice, Confined, caches, choose, needed, sign_of_sandbox
from tui_agent.workspace.live import UNLIMITED
from tui_agent.workspace.runner import CommandResult, child_environment

KINDS: tuple[Choice, ...] = ("bwrap", "landlock")
SHELL = "/bin/sh"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A small repository."""
    work = tmp_path / "work"
    (work / ".git" / "hooks").mkdir(parents=True)
    (work / ".git" / "config").write_text("old")
    return work


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    """A folder that no sandbox lets a command write to."""
    folder = Path(tempfile.mkdtemp(dir="/var/tmp"))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(params=KINDS)
def box(request, work, elsewhere, capsys):
    """A maker of confined commands of one kind; a kind that the machine lacks is reported, not silently skipped."""
    kind = request.param
    found = asyncio.run(choose(kind))
    if found.kind != kind:
        with capsys.disabled():
            print(f"\n[sandbox {kind} was not tried on this machine: {found.reason}]")
        return None
    env = child_environment(os.environ) | {"HOME": str(elsewhere)}
    return lambda **more: Confined(work, lambda: env, choice=kind, **more)


async def sh(commands: Confined, script: str, *words: str, **more) -> CommandResult:
    more = {"timeout": PATIENCE, **more}
    return await commands((SHELL, "-c", script, "sh", *words), cwd=commands.root, emit=None, **more)


async def there(file: Path) -> None:
    while not os.path.exists(file):  # noqa: ASYNC110, ASYNC240, PTH110 - there is nothing else to wait on
        await asyncio.sleep(0.01)


# ------------------------------------------------------------------ what a command can do


async def test_writes_inside_and_in_its_own_temporary_folder_only(box, work, elsewhere):
    if box is None:
        return
    result = await sh(
        box(), 'echo in > inside; echo t > "$TMPDIR/t" && cat "$TMPDIR/t"; echo x > "$1/out"', str(elsewhere)
    )
    assert (work / "inside").read_text() == "in\n"
    assert result.output.startswith("t\n")
    assert result.exit_code != 0
    assert not (elsewhere / "out").exists()
    assert result.sandbox in KINDS
    assert "it ran in a sandbox, writing only in the workspace, without network" in result.remarks[0]


async def test_its_temporary_folder_is_private_and_goes_away(box, work):
    if box is None:
        return
    result = await sh(box(), 'touch "$TMPDIR/mine"; ls -A "$TMPDIR"; echo "$TMPDIR" > where')
    assert "mine\n" in result.output
    folder = Path((work / "where").read_text().strip())
    assert not (folder / "mine").exists()
    assert folder == Path("/tmp") or not folder.exists()  # noqa: ASYNC240


async def test_what_is_protected_is_put_back_and_told(box, work):
    if box is None:
        return
    result = await sh(
        box(),
        "echo evil > .git/config; echo x > .git/hooks/post; mkdir -p .tui_agent && echo x > .tui_agent/config.toml; echo ok > .git/index",
    )
    assert (work / ".git" / "config").read_text() == "old"
    assert not (work / ".tui_agent").exists()
    assert not list((work / ".git" / "hooks").iterdir())
    assert (work / ".git" / "index").read_text() == "ok\n"
    assert any("put back as it was" in remark and ".tui_agent" in remark for remark in result.warnings)


async def test_a_check_that_passes_tells_what_was_put_back_too(box, work):
    if box is None:
        return
    done = await run_check(Workspace(work, commands=box()), (SHELL, "-c", "mkdir .tui_agent"), lambda _: None)
    assert done.passed
    assert not (work / ".tui_agent").exists()
    told = "not allowed, and put back as it was: .tui_agent"
    assert any(told in warning for warning in done.warnings)
    assert any(told in line for line in check_lines(done))
    assert any(told in fact for fact in check_done(done).facts)


async def test_what_the_person_changes_meanwhile_stays_where_the_command_could_not(box, work):
    """A job may run for hours. Under Landlock nobody can tell who it was, so there all is put back."""
    if box is None:
        return
    commands = box()
    script = "touch started; until [ -e go ]; do sleep 0.02; done; mkdir .tui_agent; echo evil > .tui_agent/config.toml"
    task = asyncio.create_task(sh(commands, script))
    while not (work / "started").exists():  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    (work / ".git" / "config").write_text("a new remote")
    (work / ".git" / "hooks" / "pre-commit").write_text("mine")
    (work / "go").touch()
    result = await task
    assert not (work / ".tui_agent").exists()
    mine = commands.sandbox.kind == "bwrap"
    assert (work / ".git" / "config").read_text() == ("a new remote" if mine else "old")
    assert (work / ".git" / "hooks" / "pre-commit").exists() is mine
    assert ("config," in result.warnings[0]) is not mine


async def test_what_one_leaves_while_another_begins_is_no_state_to_go_back_to(box, work):
    """One in the background may have been at work already when the next one starts."""
    if box is None:
        return
    commands = box()
    evil = "mkdir .tui_agent; echo evil > .tui_agent/config.toml; mkdir -p sub/.git/hooks; touch a; until [ -e go-a ]; do sleep 0.02; done"
    first = asyncio.create_task(sh(commands, evil, timeout=600))
    await there(work / "a")
    second = asyncio.create_task(sh(commands, "touch b; until [ -e go-b ]; do sleep 0.02; done", timeout=600))
    await there(work / "b")
    (work / "go-a").touch()
    await first
    assert not (work / ".tui_agent").exists()
    (work / "go-b").touch()
    assert (await second).warnings == ()
    assert not (work / ".tui_agent").exists()
    (work / ".tui_agent").mkdir()  # the person's own, when nothing runs any more
    assert (await sh(commands, "true")).warnings == ()
    assert (work / ".tui_agent").is_dir()


async def test_stopped_while_what_is_protected_is_still_read_nothing_runs(box, work, monkeypatch):
    if box is None:
        return
    entered, release = threading.Event(), threading.Event()

    def slow(root: Path) -> protected.Remembered:
        entered.set()
        assert release.wait(60)
        return protected.remember(root)

    commands = box()
    await commands.ready()
    monkeypatch.setattr("tui_agent.workspace.confined.remember", slow)
    task = asyncio.create_task(sh(commands, "touch ran"))
    assert await asyncio.to_thread(entered.wait, 60)
    task.cancel()
    release.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not (work / "ran").exists()
    (work / ".git" / "config").write_text("the person's own")
    await sh(commands, "true")
    assert (work / ".git" / "config").read_text() == "the person's own"


async def test_a_protected_name_that_is_a_link_is_put_back_as_that(box, work):
    """A mount would cover what it leads to, and leave the link to be replaced."""
    if box is None:
        return
    (work / "hooks").mkdir()
    (work / ".git" / "hooks").rmdir()
    (work / ".git" / "hooks").symlink_to("../hooks")
    result = await sh(box(), "rm .git/hooks; mkdir .git/hooks; echo evil > .git/hooks/pre-commit")
    assert (work / ".git" / "hooks").readlink() == Path("../hooks")
    assert ".git/hooks" in result.warnings[0]


async def test_put_back_also_when_it_is_stopped_in_the_middle(box, work):
    if box is None:
        return
    commands = box()
    await commands.ready()
    task = asyncio.ensure_future(sh(commands, "mkdir .tui_agent; echo x > .tui_agent/x; touch started; sleep 60"))
    while not (work / "started").exists():  # noqa: ASYNC110
        await asyncio.sleep(0.02)  # there is nothing else to wait on
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not (work / ".tui_agent").exists()
    assert "put back" in (await sh(commands, "true")).warnings[0]  # told with the next one


async def test_nothing_runs_when_what_is_protected_cannot_be_held(box, work, monkeypatch):
    if box is None:
        return
    monkeypatch.setattr("tui_agent.workspace.protected._MAX_BYTES", 1)
    result = await sh(box(), "touch ran")
    assert "cannot be looked after" in result.error
    assert not (work / "ran").exists()


async def test_the_network_is_off_unless_it_was_approved(box, work):
    if box is None:
        return
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        words = (sys.executable, "-I", "-c", f"import socket; socket.create_connection(('127.0.0.1', {port}))")
        commands = box()
        off = await commands(words, cwd=work, timeout=PATIENCE, emit=None)
        on = await commands(words, cwd=work, timeout=PATIENCE, emit=None, network=True)
    assert (off.exit_code, on.exit_code) == (1, 0), on.output
    assert commands.where(words) in {"sandbox bwrap", "sandbox Landlock"}
    assert commands.where(words, network=True).endswith(", with network")


async def test_the_products_own_folders_are_hidden(box, work, elsewhere):
    if box is None:
        return
    (elsewhere / "log").write_text("secret")
    commands = box(hidden=[elsewhere, work.parent])  # the second holds the workspace: hiding it would hide all
    result = await sh(commands, 'cat "$1/log"; ls "$2"', str(elsewhere), str(work))
    if (await commands.ready()).kind == "bwrap":
        assert "secret" not in result.output
    assert "No such file or directory\nls" not in result.output


# ------------------------------------------------------------------ programs below /tmp


async def test_our_own_python_and_one_of_a_clone_below_tmp_run(box, work):
    if box is None:
        return
    assert str(work).startswith("/tmp")
    venv.create(work / ".venv", with_pip=False, symlinks=True)
    for program in (sys.executable, ".venv/bin/python"):
        result = await box()((program, "-c", "import unittest; print('works')"), cwd=work, timeout=PATIENCE, emit=None)
        assert result.output == "works\n", result


async def test_a_program_of_a_folder_below_tmp_on_the_path_runs(box, work, tmp_path):
    if box is None:
        return
    tool = tmp_path / "tools" / "bin" / "tool"
    tool.parent.mkdir(parents=True)
    tool.write_text("#!/bin/sh\necho from the path\n")
    tool.chmod(0o755)
    commands = box()
    inner = commands._environment()
    commands._environment = lambda: inner | {"PATH": f"{tool.parent}:{inner['PATH']}"}
    assert (await commands(("tool",), cwd=work, timeout=PATIENCE, emit=None)).output == "from the path\n"


@given(st.lists(st.sampled_from(["/tmp", "/run", "/tmp/a/bin", "/usr/bin", "", ".", "/tmp/w/bin"]), max_size=5))
def test_only_what_is_covered_is_needed_and_never_all_of_it(path):
    found = needed(("tool",), {"PATH": ":".join(path), "HOME": "/home/x"}, Path("/tmp/w"))
    assert all(p.is_relative_to("/tmp") or p.is_relative_to("/run") for p in found)
    assert not {Path("/tmp"), Path("/run")} & set(found)
    assert not any(p.is_relative_to("/tmp/w") for p in found)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("nothing-of-that-name",), "'nothing-of-that-name' cannot be started: there is no such program on PATH."),
        (("./nothing",), "'./nothing' cannot be started: there is no such program."),
        (("./.git",), "'./.git' cannot be started: it is a folder."),
        (("./plain",), "'./plain' cannot be started: it is not executable."),
    ],
)
async def test_a_program_that_cannot_be_started_is_told_as_without_a_sandbox(words, says, box, work):
    if box is None:
        return
    (work / "plain").write_text("x")
    result = await box()(words, cwd=work, timeout=PATIENCE, emit=None)
    assert (result.error, result.exit_code) == (says, None)


async def test_a_script_whose_interpreter_is_missing_is_no_exit_code(box, work):
    if box is None:
        return
    (work / "script").write_text("#!/nowhere/sh\n")
    (work / "script").chmod(0o755)
    result = await box()(("./script",), cwd=work, timeout=PATIENCE, emit=None)
    assert result.exit_code is None
    assert "'./script' cannot be started" in result.error.replace("./script cannot", "'./script' cannot")


# ------------------------------------------------------------------ caches


async def test_a_program_writes_to_its_own_caches(box, work, elsewhere):
    if box is None:
        return
    tool = elsewhere / "bin" / "pip"
    tool.parent.mkdir()
    tool.write_text('#!/bin/sh\necho x > "$HOME/.cache/pip/new" && echo cached\necho y > "$HOME/.cache/other"\n')
    tool.chmod(0o755)
    result = await box()((str(tool),), cwd=work, timeout=PATIENCE, emit=None)
    assert result.output.startswith("cached\n")
    assert sorted(p.name for p in (elsewhere / ".cache").iterdir()) == ["pip"]


def test_caches_are_those_of_the_program_and_never_the_home_itself(tmp_path):
    env = {"HOME": str(tmp_path), "CARGO_HOME": str(tmp_path / "c")}
    assert caches(("cargo", "test"), env) == [tmp_path / "c/registry", tmp_path / "c/git"]
    assert caches(("/usr/bin/uv", "run"), env) == [tmp_path / ".cache/uv"]
    assert caches(("make", "check"), env) == []
    assert caches(("uv",), env | {"UV_CACHE_DIR": str(tmp_path.parent)}) == []
    (tmp_path / "go").write_text("in the way")
    assert caches(("go", "test"), env) == [tmp_path / ".cache/go-build"]
    assert set(CACHES) == {"cargo", "go", "npm", "uv", "pip"}


# ------------------------------------------------------------------ once without the sandbox


@pytest.mark.parametrize("answer", [True, False])
async def test_what_fails_as_in_a_sandbox_is_offered_once_without_it(answer, box, work, elsewhere):
    if box is None:
        return
    offers: list[tuple[tuple[str, ...], str]] = []

    async def offer(argv: tuple[str, ...], timeout: float, sign: str) -> bool:
        offers.append((argv, sign))
        return answer

    commands = box(offer=offer)
    first = await sh(commands, 'touch "$1/out"', str(elsewhere))
    assert (first.exit_code == 0) is answer
    assert (elsewhere / "out").exists() is answer
    assert first.sandbox == ("none" if answer else (await commands.ready()).kind)
    assert ("run again without it" in first.remarks[-1]) is answer
    assert offers[0][1].lower() in {"read-only file system", "permission denied"}
    (elsewhere / "out").unlink(missing_ok=True)
    await sh(commands, 'touch "$1/out"', str(elsewhere))
    assert len(offers) == (2 if answer else 1)  # a no is not asked again


@pytest.mark.parametrize("script", ["exit 1", "echo plain failure; exit 2", "echo permission denied"])
async def test_an_ordinary_failure_is_not_blamed_on_the_sandbox(script, box):
    if box is None:
        return
    result = await sh(box(), script)
    assert result.remarks == ()


def test_signs_count_only_at_the_end_of_a_failed_output():
    def result(output: str, code: int | None = 1, error: str | None = None) -> CommandResult:
        return CommandResult(code, output, 0.0, error=error)

    assert sign_of_sandbox(result("x: Read-only file system")) == "Read-only file system"
    assert sign_of_sandbox(result("OSError: EROFS")) == "EROFS"
    assert not sign_of_sandbox(result("Permission denied" + "x" * 20_001))
    assert not sign_of_sandbox(result("Permission denied", 0))
    assert not sign_of_sandbox(result("Permission denied", None))
    assert not sign_of_sandbox(result("Permission denied", 1, "not started"))


# ------------------------------------------------------------------ which one


async def test_it_is_looked_for_once_and_first_when_a_command_is_prepared(work, monkeypatch):
    looked: list[str] = []

    async def count(choice: str, without: Path) -> object:
        assert without == work
        looked.append(choice)
        return await choose("none")

    monkeypatch.setattr("tui_agent.workspace.confined.choose", count)
    commands = Confined(work, lambda: child_environment(os.environ))
    desk = Workspace(work, commands=commands)
    (work / "a").write_text("x\n")
    await desk.prepare(ToolCall("1", "read_file", {"path": "a"}))
    assert looked == []
    requests = [await desk.prepare(ToolCall(str(n), "run_command", {"argv": ["true"]})) for n in range(2)]
    assert looked == ["auto"]
    assert [request.where for request in requests] == ["not sandboxed", "not sandboxed"]


async def test_a_kind_that_is_not_here_is_none_with_the_reason(work, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    found = await choose("bwrap")
    assert found.kind == "none"
    assert "the configuration asks for bwrap; bwrap is not installed" in found.reason
    assert (await choose("none")).reason == "the configuration says so"


async def test_without_a_sandbox_it_is_said(work):
    commands = Confined(work, lambda: child_environment(os.environ), choice="none")
    result = await sh(commands, "echo x > .git/config")
    assert (result.sandbox, result.exit_code, commands.where(("true",))) == ("none", 0, "not sandboxed")
    assert (work / ".git" / "config").read_text() == "x\n"


async def test_receipt_note_and_text_say_how_a_command_was_confined(box, work):
    if box is None:
        return
    asked: list[str] = []

    async def ask(batch: tuple[ApprovalRequest, ...]) -> tuple[Decision, ...]:
        asked.extend(request.where for request in batch)
        return tuple(Decision(request.id, "yes") for request in batch)

    for commands in (box(), Confined(work, lambda: child_environment(os.environ), choice="none")):
        desk = Workspace(work, ask, commands=commands)
        outcome = await desk.call("run_command", {"argv": ["git", "config", "--local", "a.b", "c"]})
        assert isinstance(outcome, Outcome)
        assert outcome.receipt.sandbox == (await commands.ready()).kind
        assert ("unsandboxed" in outcome.note) is not commands.working
    assert asked[0].startswith("sandbox ")
    assert asked[1] == "not sandboxed"


async def test_what_the_person_freed_runs_in_no_sandbox_and_nothing_else_does(box, work, elsewhere):
    if box is None:
        return
    free = ("touch", str(elsewhere / "made"))
    commands = box(free=lambda argv: argv == free)
    await commands.ready()
    assert [commands.confines(argv) for argv in (free, ("touch", "made"))] == [False, True]
    assert commands.where(free) == "not sandboxed"
    result = await commands(free, cwd=work, timeout=PATIENCE, emit=None)
    assert (result.exit_code, result.sandbox) == (0, "none")
    other = await commands(("touch", str(elsewhere / "other")), cwd=work, timeout=PATIENCE, emit=None)
    assert other.exit_code != 0
    assert not (elsewhere / "other").exists()


async def test_one_in_the_background_is_not_offered_without_the_sandbox(box, work, elsewhere):
    if box is None:
        return

    async def offer(*_: object) -> bool:
        raise AssertionError("nobody waits for it")

    result = await sh(box(offer=offer), f"echo x > {elsewhere}/x", timeout=UNLIMITED)
    assert result.exit_code != 0
