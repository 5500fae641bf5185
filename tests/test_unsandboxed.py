"""What the person lets run outside of the sandbox, always or once: by their own hand only, and told."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import Person
from tests.test_modes import ended, play, session
from tui_agent.config import Settings
from tui_agent.core import events as ev
from tui_agent.core.endings import StopReason
from tui_agent.core.types import AgentError
from tui_agent.permissions import RuleStore

DONE = {"text": "ok"}
MAKE = {"calls": [{"name": "run_command", "arguments": {"argv": ["make", "check"]}}]}


@pytest.fixture
def outside() -> Iterator[Path]:
    """A file that is not there yet, in a place that bwrap does not replace by one of its own."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        yield Path(folder) / "outside"


# ------------------------------------------------------------------ always


@pytest.fixture
def freed(tmp_path: Path, outside: Path) -> Any:
    """A maker of sessions in a folder whose `make check` writes outside of it."""

    def make(replies: list[Any], person: Person, **kw: Any) -> Any:
        made, seen = session(tmp_path, replies, person, **kw)
        (made.root / "Makefile").write_text(f"check:\n\ttouch {outside}\n")
        return made, seen

    return make


async def test_a_freed_command_runs_in_no_sandbox_until_it_is_taken_back(freed: Any, outside: Path) -> None:
    person = Person(("no",) * 5)
    made, _ = freed([MAKE, DONE, MAKE, DONE], person)
    if (await made.commands.ready()).kind == "none":
        return
    assert made.rules.set_free("make check") == ("make", "check")
    assert made.commands.where(("make", "check")) == "not sandboxed"
    await play(made)
    assert outside.exists()  # noqa: ASYNC240
    assert person.asked == []  # the pattern allows it, as before
    (known,) = (r for r in made.in_force if r.unsandboxed)
    assert (known.text, known.source, known.count, known.removable) == ("make check", "folder", 1, True)
    again, _ = freed([], person)
    assert again.rules.free(("make", "check"))
    outside.unlink()  # noqa: ASYNC240
    made.rules.remove(known)
    assert not RuleStore(made.rules.store.file).look(made.root, "unsandboxed")
    await play(made)
    assert not outside.exists()  # noqa: ASYNC240
    assert [b[0].call.name for b in person.asked] == ["run_unsandboxed"]
    assert "always here: /allow-cmd --unsandboxed make check" in person.asked[0][0].caution


async def test_a_freed_command_is_asked_where_only_the_sandbox_allowed_it(freed: Any, outside: Path) -> None:
    person = Person(("no",) * 5)
    made, _ = freed([MAKE, DONE, MAKE, DONE], person)
    if (await made.commands.ready()).kind == "none":
        return
    made.rules.set_free("make check")
    made.workspace._unseen_edits = True
    await play(made)
    assert [r.where for b in person.asked for r in b] == ["not sandboxed"]
    await made.enter_auto(anyway=True)
    await play(made)
    assert len(person.asked) == 2
    assert not outside.exists()  # noqa: ASYNC240


@pytest.mark.parametrize("command", ["sudo ls", "npm test", "sh -c ls", "curl x", "./check.sh", ""])
def test_what_is_asked_each_time_cannot_be_freed(command: str, tmp_path: Path) -> None:
    made, _ = session(tmp_path, [])
    with pytest.raises(AgentError, match="each time"):
        made.rules.set_free(command)
    assert made.rules.how_to_free(tuple(command.split())) == ""


def test_the_persons_own_check_can_be_freed_whatever_it_is(tmp_path: Path) -> None:
    root = (tmp_path / "work").resolve()
    made, _ = session(tmp_path, [], settings=Settings(checks={str(root): ("./check.sh", "all")}))
    assert made.rules.how_to_free(("./check.sh", "all")) == "/allow-cmd --unsandboxed ./check.sh all"
    made.rules.set_free("./check.sh all")
    check = made.check()
    assert check is not None
    assert (check.where, check.asks) == ("not sandboxed", "unseen")


# ------------------------------------------------------------------ once


@pytest.mark.parametrize(("answer", "by", "runs"), [("yes", "key", True), ("yes", "rule", False), ("no", "key", False)])
async def test_only_the_persons_own_key_lets_a_failed_command_out_of_the_sandbox(
    answer: str, by: str, runs: bool, tmp_path: Path, outside: Path
) -> None:
    person = Person(("yes", answer), by=by)
    call = {"calls": [{"name": "run_command", "arguments": {"argv": ["touch", str(outside)]}}]}
    made, seen = session(tmp_path, [call, DONE], person)
    box = await made.commands.ready()
    if box.kind == "none":
        assert box.reason  # nothing confines it here, so nothing has to be let out
        return
    await play(made)
    assert outside.exists() is runs  # noqa: ASYNC240
    first, second = (batch[0] for batch in person.asked)
    assert first.where.startswith("sandbox ")
    assert second.where == "not sandboxed"
    assert second.effect.argv == first.effect.argv
    assert second.policy.floors[0].startswith("it failed in the sandbox: ")
    (done,) = [e for e in made.events if isinstance(e, ev.ToolDone)]
    assert done.receipt is not None
    assert done.receipt.sandbox == ("none" if runs else box.kind)
    assert ("unsandboxed" in done.note) is runs
    told = seen[1].messages[-1].text
    assert ("run again without it" if runs else "it ran in a sandbox") in told


async def test_stop_at_that_question_ends_the_run_and_nothing_more_starts(tmp_path: Path, outside: Path) -> None:
    person = Person(("yes", "yes", "stop"))
    calls = [
        {"name": "run_command", "arguments": {"argv": ["touch", str(outside)]}},
        {"name": "write_file", "arguments": {"path": "later.txt", "content": "x\n"}},
    ]
    made, seen = session(tmp_path, [{"calls": calls}, DONE], person)
    if (await made.commands.ready()).kind == "none":
        return
    await play(made)
    assert ended(made.events) is StopReason.STOPPED
    assert not (made.root / "later.txt").exists()
    assert len(seen) == 1, "and the model is not asked again"
    asked = [e.tool for e in made.events if isinstance(e, ev.Asked)]
    assert asked[-1] == "run_unsandboxed"
    assert [e.answer for e in made.events if isinstance(e, ev.Answered)][-1] == "stop"
