"""Sessions of every kind play as they were recorded: what the person made of a question, each protocol, what was offered."""

from __future__ import annotations

import asyncio
import io
import json
from contextlib import aclosing, redirect_stderr, redirect_stdout
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import Person, sha
from tests.test_modes import play as play_session
from tests.test_modes import terms
from tui_agent import playback
from tui_agent.config import Settings
from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.endings import Limits
from tui_agent.core.profile import Profile
from tui_agent.core.receipt import FileChange, Receipt
from tui_agent.core.types import (
    OWN_COMMAND,
    ApprovalRequest,
    Author,
    Decision,
    Model,
    ProviderError,
    ReplyEnd,
    Request,
    ToolCall,
    WriteBytes,
)
from tui_agent.modes import MODES
from tui_agent.providers.scripted import scripted
from tui_agent.session import Session
from tui_agent.sessions import Place
from tui_agent.trust import TrustStore
from tui_agent.workspace.receipts import Blobs

LINES = "".join(f"line {number}\n" for number in range(30))
CHANGED = LINES.replace("line 2\n", "TWO\n").replace("line 25\n", "25\n")
START = {"a.txt": LINES, "b.txt": "total = 1\n", ".env": "KEY=1\n"}


def native(name: str, /, **arguments: Any) -> dict[str, Any]:
    return {"calls": [{"name": name, "arguments": arguments}]}


def typed(name: str, /, **arguments: Any) -> dict[str, Any]:
    return {"text": json.dumps({"tool": name, **arguments})}


def say(text: str) -> dict[str, Any]:
    return {"text": text}


READ = native("read_file", path="a.txt")


class Taker(Person):
    """Takes the first hunk of a change only."""

    async def __call__(self, batch: tuple[ApprovalRequest, ...]) -> tuple[Decision, ...]:
        return tuple(Decision(r.id, "yes", chosen=frozenset({0})) for r in batch)


class Editor(Person):
    """Makes something else of every new text."""

    async def __call__(self, batch: tuple[ApprovalRequest, ...]) -> tuple[Decision, ...]:
        return tuple(Decision(r.id, "yes", "better", instead=mine(r)) for r in batch)


def mine(request: ApprovalRequest) -> ApprovalRequest:
    assert isinstance(request.effect, WriteBytes)
    effect = replace(request.effect, new=(request.effect.new or b"") + b"mine\n")
    return replace(request, id=f"{request.id}-mine", effect=effect, summary=f"{request.summary} mine")


SED = native("run_command", argv=["sed", "-i", "s/line 1/one/", "a.txt"])
LONG = native("read_output", name="0123456789abcdef")
SESSIONS: dict[str, tuple[str, list[Any], Person]] = {
    "some hunks": ("native", [READ, native("write_file", path="a.txt", content=CHANGED), say("Done.")], Taker()),
    "edited by the person": ("native", [READ, native("write_file", path="n.txt", content="x\n"), say("Done.")], Editor()),
    "not verified by a command": ("native", [READ, SED, say("Done."), say("Really."), say("It is."), say("So.")], Person()),
    "natively and not otherwise": ("native", [say('{"name": "list_files", "arguments": {}}'), say("Done.")], Person()),
    "wrong natively again and again": ("native", [native("read_file")] * 2 + [READ, say("Done.")], Person()),
    "an output natively": ("native", [LONG, say("Done.")], Person()),
    "an output as text": ("auto", [say(json.dumps(LONG["calls"][0])), say('{"final": "x"}')], Person()),
    "no tool in JSON": ("json", [typed("fly"), typed("run_shell", script="ls"), say('{"final": "x"}')], Person()),
    "an output in JSON": ("json", [typed("read_output", name="0123456789abcdef"), say('{"final": "x"}')], Person()),
    "an output in verbs": ("verbs", [say("READ 0123456789abcdef"), say("DONE x")], Person()),
    "verbs": ("verbs", [say("READ a.txt"), say("PATCH a.txt\nOLD\nline 3\nNEW\n3\nEND"), say("DONE x")], Person()),
    "refused natively": ("native", [{**READ, "text": "I look.", "finish": "content_filter"}, say("Done.")], Person()),
    "refused in JSON": ("json", [{**typed("list_files"), "finish": "refusal"}, say('{"final": "x"}')], Person()),
    "an answer in JSON that is refused": ("json", [{**say('{"final": "x"}'), "finish": "error"}], Person()),
    "native calls in JSON": ("json", [{**READ, "text": "I look."}, typed("list_files"), {**READ, "text": "Seen."},
                                      say('{"final": "x"}')], Person()),
    "paused in JSON": ("json", [{**say('{"final": "x"}'), "finish": "pause"}, say('{"final": "y"}')], Person()),
    "done with nothing to say": ("verbs", [say("DONE"), say("DONE  ")], Person()),
    "a call that was cut": ("native", [{**READ, "text": "I look.", "finish": "length"}, READ, say("Done.")], Person()),
    "a call that was cut by a pause": ("native", [{**READ, "text": "I look.", "finish": "pause"}, say("Done.")], Person()),
    "paused": ("native", [{**say("One, "), "finish": "pause"}, say("two.")], Person()),
    "a secret that is not read": ("native", [native("read_file", path=".env"), say("No."), say("So.")], Person(["no"])),
    "nor for a reason": ("native", [native("read_file", path=".env"), say("No."), say("So.")], Person(["no:(it: is)"])),
    "in plain words between what is none": ("auto", [typed("write_file", path="n.txt", content="x\n"), say('{"tool"'),
                                                     say("Yes."), say("Yes."), say('{"tool"'), say("DONE x")], Person()),
    "not read": ("native", [native("write_file", path="b.txt", content="x\n"), READ,
                            native("write_file", path="a.txt", content=CHANGED), say("Done.")], Person()),
}  # fmt: skip


async def record(
    tmp_path: Path,
    protocol: str,
    replies: list[Any],
    person: Person,
    mode: str = "ask",
    *,
    check: str = "true",
    **kw: Any,
) -> Session:
    left = iter(replies)

    async def stream(request: Request):
        reply = next(left, say("Enough."))
        if isinstance(reply, ProviderError):
            yield ReplyEnd("error", error=reply)
            return
        async for delta in scripted([reply] * (len(request.messages) + 1)).stream(request):
            yield delta

    (tmp_path / "work").mkdir()
    for path, text in START.items():
        (tmp_path / "work" / path).write_text(text)
    checks = {str((tmp_path / "work").resolve()): (check,)}
    made = Session(terms(tmp_path, settings=Settings(checks=checks, sandbox="none", **kw)), person)
    made.use(
        Model(Author("scripted", "s", "s"), stream), Profile("p", "scripted", "scripted", model="m", protocol=protocol)
    )  # type: ignore[arg-type]
    await play_session(made, "change total in sums.py")
    made.enter(MODES[mode])
    await play_session(made, "and now?")
    assert isinstance(made.events[-1], ev.RunEnded)
    return made


def replayed(made: Session, tmp_path: Path, *, execute: bool) -> tuple[int, str]:
    trust = TrustStore(tmp_path / "trust.toml")
    trust.answer(made.root, trusted=True)
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(out):
        code = playback.replay(made.folder / "log.jsonl", Settings(sandbox="none"), trust, execute=execute)
    return code, out.getvalue()


@pytest.mark.parametrize("execute", [False, True], ids=["recorded", "executed"])
@pytest.mark.parametrize("name", SESSIONS)
def test_it_plays_as_it_was_recorded(tmp_path: Path, name: str, execute: bool) -> None:
    made = asyncio.run(record(tmp_path, *SESSIONS[name]))
    code, said = replayed(made, tmp_path, execute=execute)
    assert code == 0, said


@pytest.mark.parametrize("steps", [2, 3, 4, 5])
def test_a_server_that_takes_no_calls_has_taken_a_step(tmp_path: Path, steps: int) -> None:
    refuses = ProviderError("bad_request", "this server does not support tools")
    replies = [refuses, *[typed("search", text=str(n)) for n in range(3)], say('{"final": "x"}')]
    made = asyncio.run(record(tmp_path, "auto", replies, Person(), limits=Limits(max_steps=steps)))
    code, said = replayed(made, tmp_path, execute=False)
    assert code == 0, said


@pytest.mark.parametrize("execute", [False, True], ids=["recorded", "executed"])
@pytest.mark.parametrize("check", ["true", "nosuchprogram"])
def test_a_check_behind_each_edit_plays_behind_each(tmp_path: Path, check: str, execute: bool) -> None:
    edits = [native("write_file", path=f"{name}.txt", content="1\n")["calls"][0] for name in "xyz"]
    replies = [{"calls": edits}, *[say(f"Done {n}.") for n in range(5)]]
    made = asyncio.run(record(tmp_path, "native", replies, Person(), check=check, check_after="edit"))
    assert sum(isinstance(event, ev.CheckDone) for event in made.events) == 3
    code, said = replayed(made, tmp_path, execute=execute)
    assert code == 0, said


def test_what_a_mode_did_not_offer_is_not_offered_then_either(tmp_path: Path) -> None:
    wish = say('{"name": "delete_file", "arguments": {"path": "a.txt"}}')
    made = asyncio.run(record(tmp_path, "auto", [READ, say("Done."), wish, say("No.")], Person(), "read"))
    assert not any(isinstance(event, ev.ProtocolChosen) for event in made.events)
    assert replayed(made, tmp_path, execute=False)[0] == 0


EDIT = native("edit_file", path="a.txt", old="line 2\n", new="two\n")


@pytest.mark.parametrize("execute", [False, True], ids=["recorded", "executed"])
async def test_a_session_that_went_on_after_an_undo_plays_as_it_was(tmp_path: Path, execute: bool) -> None:
    made = await record(tmp_path, "native", [READ, EDIT, say("Done."), say("Yes.")], Person())
    receipts = [r for r in fold.receipts(made.events) if r.path == "a.txt"]
    outcomes = await made.workspace.undo(await made.workspace.plan_undo(receipts))
    made.log.append(ev.Undone(1, tuple(o.receipt for o in outcomes if o.receipt), ("a.txt",)))
    assert (made.root / "a.txt").read_text() == LINES
    made.place.close()
    again = Session(made.terms, Person(), Place(made.folder))
    said_before = sum(isinstance(event, ev.AssistantSaid) for event in made.events)
    script = [say("-")] * said_before + [EDIT, *[say(f"Again {n}.") for n in range(9)]]
    again.use(scripted(script), Profile("p", "scripted", "scripted", model="m", protocol="native"))
    events = await play_session(again, "do it again")
    assert [e.status for e in events if isinstance(e, ev.ToolDone)] == ["applied"]
    code, said = await asyncio.to_thread(replayed, again, tmp_path, execute=execute)
    assert code == 0, said


async def test_what_is_not_known_any_more_between_two_tasks_is_named(tmp_path: Path) -> None:
    made = await record(tmp_path, "native", [READ, say("Done."), say("Yes.")], Person())
    versions = [START["b.txt"].encode(), b"total = 2\n", b"total = 3\n"]
    Blobs(made.folder / "blobs").put(versions[0])
    for old, new in pairwise(versions):
        (made.root / "b.txt").write_bytes(new)
        call = ToolCall("own", OWN_COMMAND, {"script": "make b"})
        receipt = Receipt(new.hex(), "own", OWN_COMMAND, {}, changed=(FileChange("b.txt", sha(old), sha(new)),))
        made.log.append(ev.ToolDone(call, "applied", "", receipt=receipt))
        await play_session(made, "and then?")
    code, said = await asyncio.to_thread(replayed, made, tmp_path, execute=True)
    assert code == 0
    assert said.count("what was done between two tasks could not be done again: b.txt") == 1


@pytest.mark.parametrize("execute", [False, True], ids=["recorded", "executed"])
async def test_a_session_that_went_on_after_an_interrupted_batch_plays_as_it_was(tmp_path: Path, execute: bool) -> None:
    both = [*native("write_file", path="n.txt", content="one\n")["calls"]]
    both += native("run_command", argv=["sleep", "600"])["calls"]
    (tmp_path / "work").mkdir()
    made = Session(terms(tmp_path, settings=Settings(sandbox="none")), Person())
    script = [{"calls": both}, native("write_file", path="n.txt", content="two\n"), say("Done.")]
    made.use(scripted(script), Profile("p", "scripted", "scripted", model="m", protocol="native"))
    sleeps = asyncio.Event()

    async def until_it_sleeps() -> None:
        async with aclosing(made.run("make it")) as events:
            async for event in events:
                if isinstance(event, ev.ToolStarted) and event.call.name == "run_command":
                    sleeps.set()

    task = asyncio.create_task(until_it_sleeps())
    await asyncio.wait_for(sleeps.wait(), 60)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (made.root / "n.txt").read_text() == "one\n"
    events = await play_session(made, "go on")
    assert [e.status for e in events if isinstance(e, ev.ToolDone)] == ["applied"]
    code, said = await asyncio.to_thread(replayed, made, tmp_path, execute=execute)
    assert code == 0, said
    assert (made.root / "n.txt").read_text() == "two\n"


@pytest.mark.parametrize("execute", [False, True], ids=["recorded", "executed"])
async def test_a_check_that_was_interrupted_is_not_waited_for_again(tmp_path: Path, execute: bool) -> None:
    root = (tmp_path / "work").resolve()
    root.mkdir()
    check = ("sh", "-c", "echo begun; grep -q one n.txt || sleep 30")
    made = Session(terms(tmp_path, settings=Settings(sandbox="none", checks={str(root): check})), Person())
    edits = [native("write_file", path="n.txt", content=f"{word}\n") for word in ("one", "two")]
    made.use(scripted([*edits, say("Done.")]), Profile("p", "scripted", "scripted", model="m", protocol="native"))
    second = asyncio.Event()

    async def until_it_checks() -> None:
        async with aclosing(made.run("make it")) as events:
            async for event in events:
                if isinstance(event, ev.CommandOutput) and any(isinstance(e, ev.CheckDone) for e in made.events):
                    second.set()

    task = asyncio.create_task(until_it_checks())
    await asyncio.wait_for(second.wait(), 60)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [e.exit_code for e in made.events if isinstance(e, ev.CheckDone)] == [0, None]
    await play_session(made, "go on")
    code, said = await asyncio.to_thread(replayed, made, tmp_path, execute=execute)
    assert code == 0, said


def test_what_a_mode_allowed_and_a_stop_kept_from_beginning_is_not_asked_about_then(tmp_path: Path) -> None:
    both = [*native("write_file", path="n.txt", content="one\n")["calls"]]
    both += native("run_command", argv=["true"])["calls"]
    made = asyncio.run(record(tmp_path, "native", [say("Yes."), {"calls": both}], Person(["stop"]), "edits"))
    (stopped, _) = [e for e in made.events if isinstance(e, ev.ToolDone)]
    assert stopped.note == "not started"
    assert replayed(made, tmp_path, execute=True)[0] == 0


@pytest.mark.parametrize("execute", [False, True], ids=["recorded", "executed"])
@pytest.mark.parametrize(
    ("answers", "more"),
    [(["stop", "no:use pathlib", "skip:later"], {}), (["no:never", "skip:later", "yes"], {"on_reject": "stop"})],
    ids=["stopped", "denied"],
)
def test_a_no_behind_what_ended_the_task_plays_as_it_was(
    tmp_path: Path, answers: list[str], more: dict[str, Any], execute: bool
) -> None:
    calls = [native("write_file", path=f"{name}.txt", content="one\n")["calls"][0] for name in "xyz"]
    made = asyncio.run(record(tmp_path, "native", [{"calls": calls}], Person(answers), **more))
    reasons = {answer.partition(":")[2] for answer in answers[1:] if ":" in answer}
    assert {e.note for e in made.events if isinstance(e, ev.ToolDone)} >= reasons
    code, said = replayed(made, tmp_path, execute=execute)
    assert code == 0, said
