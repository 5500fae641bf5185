"""Mode AUTO: how it is entered, what it asks, what it cannot do, and how it ends."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import Person
from tests.fixtures.repository import git
from tests.test_modes import play, session
from tui_agent.config import Settings
from tui_agent.core import events as ev
from tui_agent.core.policy import DEFAULT
from tui_agent.core.types import AgentError, Decision
from tui_agent.modes import AUTO, CYCLE, MODES, following, mode
from tui_agent.workspace.confined import choose

DONE = {"text": "ok"}


def test_auto_is_no_mode_that_a_name_or_a_key_reaches() -> None:
    assert AUTO.name not in MODES
    assert AUTO.name not in CYCLE
    for name in ("AUTO", "auto"):
        with pytest.raises(AgentError):
            mode(name)
    assert following(AUTO) is MODES["ask"]


async def test_auto_needs_a_sandbox_that_works_and_a_trusted_folder(tmp_path: Path) -> None:
    made, _ = session(tmp_path, [], settings=Settings(sandbox="none"))
    with pytest.raises(AgentError, match="needs a sandbox.*the configuration says so"):
        await made.enter_auto(anyway=True)
    made, _ = session(tmp_path, [], trusted=False)
    with pytest.raises(AgentError, match="trust"):
        await made.enter_auto(anyway=True)
    assert made.mode.name == "ask"


@pytest.mark.parametrize("kind", ["bwrap", "landlock"])
async def test_auto_asks_nothing_but_what_a_floor_raises_and_denies_what_was_denied(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = await choose(kind)
    if found.kind != kind:
        with capsys.disabled():
            print(f"\n[sandbox {kind} was not tried on this machine: {found.reason}]")
        return
    calls = [
        ("write_file", {"path": "new.txt", "content": "x\n"}),
        ("run_command", {"argv": ["touch", "made"]}),
        ("run_shell", {"script": "echo hi > piped"}),
        ("run_command", {"argv": ["touch", "/var/tmp/tui-agent-outside"]}),
        ("run_command", {"argv": ["git", "push"]}),
        ("run_command", {"argv": ["rm", "-rf", ".."]}),
    ]
    replies = [{"calls": [{"name": name, "arguments": given}]} for name, given in calls]
    person = Person(("no",))
    settings = Settings(sandbox=kind, policy=replace(DEFAULT, deny=("git push",)))
    made, _ = session(tmp_path, [*replies, DONE], person, settings=settings)
    await made.enter_auto(anyway=True)
    await play(made)
    assert (tmp_path / "work/new.txt").exists()
    assert (tmp_path / "work/made").exists()
    assert (tmp_path / "work/piped").exists()
    assert not Path("/var/tmp/tui-agent-outside").exists()  # noqa: ASYNC240
    done = [e for e in made.events if isinstance(e, ev.ToolDone)]
    assert [e.denied for e in done] == ["", "", "", "", "policy", "person"]
    assert all(e.receipt.by.startswith("mode: AUTO in a sandbox") for e in done[:3] if e.receipt)
    # asked: once whether the write outside may leave the sandbox, and the floor
    assert [r.policy.floors or r.summary for b in person.asked for r in b][-1] == "run  rm -rf .."
    assert made.holds_unseen_edits


async def test_in_auto_nothing_reaches_the_network(tmp_path: Path) -> None:
    made, _ = session(tmp_path, [{"calls": [{"name": "run_command", "arguments": {"argv": ["curl", "x"]}}]}, DONE])
    await made.commands.ready()
    if not made.commands.working:
        assert made.commands.sandbox.reason  # no sandbox here: AUTO cannot be entered at all
        return
    given: list[bool] = []
    run = made.commands._run

    async def watch(*args: Any, network: bool) -> Any:
        given.append(network)
        return await run(*args, network=network)

    made.commands._run = watch
    await made.enter_auto(anyway=True)
    await play(made)
    made.enter(MODES["ask"])
    outcome = await made.workspace.call("run_command", {"argv": ["curl", "x"]})
    assert outcome.receipt.by == Decision("", "yes").by
    assert given == [False, True]


def test_auto_is_taken_off_by_the_next_mode(tmp_path: Path) -> None:
    made, _ = session(tmp_path, [])
    if asyncio.run(made.commands.ready()).kind == "none":
        return
    asyncio.run(made.enter_auto(anyway=True))
    assert made.workspace.permissions.auto
    made.enter(following(made.mode))
    assert not made.workspace.permissions.auto


async def test_auto_outside_of_a_git_repository_has_to_be_meant(tmp_path: Path) -> None:
    made, _ = session(tmp_path, [])
    if (await made.commands.ready()).kind == "none":
        return
    with pytest.raises(AgentError, match="no git repository.*/auto anyway"):
        await made.enter_auto()
    assert made.mode.name == "ask"
    (tmp_path / ".git").mkdir()
    with pytest.raises(AgentError, match="no git repository"):
        await made.enter_auto()
    git(tmp_path, "init", "-q")  # around the folder counts
    await made.enter_auto()
    assert made.mode is AUTO
