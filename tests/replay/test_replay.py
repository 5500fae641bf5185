"""The committed session through today's loop, what makes a replay diverge, and effects carried out again in a copy."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Shell, shell  # noqa: F401 - a fixture
from tests.cli.server import Calls, Failure, Text, call, serving
from tests.fakes import Person
from tests.replay.record import CHECK, FOLDER, START, person, record
from tests.test_modes import play as play_session
from tests.test_modes import session
from tui_agent.core import events as ev
from tui_agent.core.endings import Limits, StopReason
from tui_agent.core.log import load
from tui_agent.recording import runs
from tui_agent.replay import RecordedTools, Stage, play
from tui_agent.shapes import Divergence, shape_of
from tui_agent.workspace.receipts import Blobs

EVENTS = load(FOLDER / "log.jsonl").events
HELD = Blobs(FOLDER / "blobs").get


def stage(**kw: Any) -> Stage:
    return Stage(tools=lambda run: RecordedTools(run, lambda name: HELD(name) if name else None), **kw)


def changed(index: int, change: Callable[[Any], Any]) -> list[Any]:
    events = list(EVENTS)
    events[index] = change(events[index])
    return events


def find(kind: type[Any], number: int = 0) -> int:
    return [at for at, event in enumerate(EVENTS) if isinstance(event, kind)][number]


async def test_the_committed_session_plays_as_it_was_recorded() -> None:
    shown: list[Any] = []
    number, divergence = await play(EVENTS, stage(), shown.append)
    assert divergence is None
    ends = [s["reason"] for s in shown if s["event"] == "end"]
    assert ends == ["verified", "completed", "repeated"]
    assert number == len(shown) == sum(shape_of(e) is not None for e in EVENTS) - 2  # the interrupted end


def test_the_committed_session_holds_what_a_session_can_hold() -> None:
    kinds = {type(event) for event in EVENTS}
    assert {ev.ProtocolChosen, ev.CheckDone, ev.Asked, ev.ToolDone, ev.RunEnded} <= kinds
    assert [run.whole for run in runs(EVENTS)] == [True, True, True, False]
    assert not [event for event in EVENTS if isinstance(event, ev.Unknown)]


async def diverges(events: list[Any], **kw: Any) -> Divergence:
    _, divergence = await play(events, stage(**kw))
    assert divergence is not None
    return divergence


async def test_another_ending_is_a_divergence_that_shows_both() -> None:
    at = find(ev.RunEnded)
    divergence = await diverges(changed(at, lambda e: replace(e, reason=StopReason.UNVERIFIED)))
    assert (divergence.expected["reason"], divergence.actual["reason"]) == ("unverified", "verified")


async def test_a_guard_that_is_another_one_today_is_found() -> None:
    divergence = await diverges(list(EVENTS), limits=Limits(max_identical=9, repeat_window=9))
    assert divergence.expected["event"] == "end"
    divergence = await diverges(list(EVENTS), limits=Limits(max_invalid=1))
    assert divergence.actual == {"event": "end", "reason": "invalid_action_limit", "steps": 3, "check": "none"}


@pytest.mark.parametrize("number", range(2))
async def test_another_answer_of_the_person_leads_elsewhere(number: int) -> None:
    at = find(ev.Answered, number)
    divergence = await diverges(changed(at, lambda e: replace(e, answer="no")))
    assert divergence.actual["denied"] == "person"


async def test_another_result_of_the_check_leads_elsewhere() -> None:
    divergence = await diverges(changed(find(ev.CheckDone, 1), lambda e: replace(e, exit_code=1)))
    assert divergence.actual["text"].startswith("NOT VERIFIED")


async def test_a_missing_reply_and_a_missing_end_are_divergences() -> None:
    without = [e for at, e in enumerate(EVENTS) if at != find(ev.AssistantSaid, 2)]
    assert (await diverges(without)).number < len(EVENTS)
    late = [*EVENTS[: find(ev.RunEnded)], ev.Notice("one more", "model"), *EVENTS[find(ev.RunEnded) :]]
    assert (await diverges(late)).expected["text"] == "one more"


async def test_times_ids_and_words_to_the_person_do_not_count() -> None:
    events = [replace(e, duration=9.9) if isinstance(e, ev.ToolDone | ev.CheckDone) else e for e in EVENTS]
    events.insert(3, ev.Notice("for the person"))
    events.insert(9, ev.Unknown("later", {}))
    assert (await play(events, stage()))[1] is None


async def test_a_session_of_a_process_that_died_plays_up_to_its_death() -> None:
    for end in range(3, find(ev.RunEnded)):
        number, divergence = await play(EVENTS[:end], stage())
        assert divergence is None, (end, divergence)
        assert number >= 1


# ------------------------------------------------------------------ the command


def test_the_command_needs_no_model_and_no_network(shell: Shell) -> None:  # noqa: F811
    done = shell.run("replay", str(FOLDER))
    assert done.code == 0, done.err
    assert "all as recorded" in done.err
    assert done.out.splitlines()[-1].startswith("user")
    assert shell.sessions() == []


def test_a_session_is_named_by_its_id_too(shell: Shell) -> None:  # noqa: F811
    shutil.copytree(FOLDER, shell.data / "sessions" / "20260101-aaa")
    for word in ("20260101-aaa", "20260101-a"):
        assert shell.run("replay", word).code == 0
    unknown = shell.run("replay", "nope")
    assert unknown.code == 5
    assert "there is no session 'nope'" in unknown.err
    assert "there is no session" in shell.run("replay", "x" * 300).err


def test_what_is_no_session_is_refused_in_one_sentence(shell: Shell) -> None:  # noqa: F811
    other = shell.base / "other.txt"
    other.write_text("root:x:0\nnot a log\n")
    done = shell.run("replay", str(other))
    assert (done.code, done.out) == (5, "")
    assert "is not the log of a session" in done.err


async def test_a_session_without_a_message_plays_nothing() -> None:
    assert await play(EVENTS[:1], stage()) == (0, None)


def test_a_divergence_is_printed_with_both_sides(shell: Shell) -> None:  # noqa: F811
    copy = shell.base / "copy"
    shutil.copytree(FOLDER, copy)
    log = copy / "log.jsonl"
    log.write_text(log.read_text().replace('"reason":"repeated"', '"reason":"completed"'))
    done = shell.run("replay", str(copy))
    assert done.code == 2
    assert re.search(r"event 43 is not as recorded: reason", done.err)
    assert re.search(r'^expected  end  \{"reason": "completed"', done.out, re.MULTILINE)
    assert re.search(r'^actual    end  \{"reason": "repeated"', done.out, re.MULTILINE)


async def test_effects_are_carried_out_again_in_a_copy(shell: Shell) -> None:  # noqa: F811
    root = shell.work.resolve()
    session = await record(root, shell.data, person())
    shell.run("sessions")  # the list of sessions is a cache, which whoever looks one up by its id may write
    before = shell.files()
    done = shell.run("replay", session.id, "--execute")
    assert done.code == 0, done.out[-2000:] + done.err
    assert shell.files() == before
    assert (root / "sums.py").read_text() == "total = 3\n"
    assert list((shell.base / "tmp").iterdir()) == []


def test_a_reply_with_more_calls_than_are_taken_plays_as_recorded(shell: Shell) -> None:  # noqa: F811
    many = Calls(tuple(("list_files", {"path": "."}) for _ in range(40)))
    with serving(many, Text("Looked.")) as server:
        shell.use(server.url)
        assert shell.run("-p", "look around").code == 0
    done = shell.run("replay", shell.sessions()[0].parent.name)
    assert done.code == 0, done.out + done.err


def test_a_session_that_ended_at_the_limit_of_the_context_plays_up_to_there(shell: Shell) -> None:  # noqa: F811
    with serving(call("list_files", path="."), Text("Looked.")) as server:
        shell.use(server.url, "[limits]\nmax_context = 1\n")
        assert shell.run("-p", "look around").code == 4
    done = shell.run("replay", shell.sessions()[0].parent.name)
    assert done.code == 0, done.out + done.err


def test_what_a_flag_allowed_then_is_carried_out_again(shell: Shell) -> None:  # noqa: F811
    with serving(call("write_file", path="made.txt", content="x\n"), Text("Made.")) as server:
        shell.use(server.url)
        assert shell.run("-p", "make it", "--yes").code == 0
    done = shell.run("replay", shell.sessions()[0].parent.name, "--execute")
    assert done.code == 0, done.out + done.err


async def test_what_cannot_be_taken_back_is_named_and_nothing_is_played(shell: Shell) -> None:  # noqa: F811
    session = await record(shell.work.resolve(), shell.data, person())
    (shell.work / "sums.py").write_text("mine\n")
    done = shell.run("replay", session.id, "--execute")
    assert done.code == 1
    assert "sums.py was changed since" in done.err
    assert done.out == ""
    shutil.rmtree(shell.work)
    shell.work.mkdir()
    assert "cannot be brought back" in shell.run("replay", session.id, "--execute").err


async def test_a_folder_that_is_another_one_today_diverges(shell: Shell) -> None:  # noqa: F811
    session = await record(shell.work.resolve(), shell.data, person())
    (shell.work / "notes.txt").write_text("new notes\n")
    done = shell.run("replay", session.id, "--execute")
    assert done.code == 2
    assert "not as recorded: text" in done.err


def test_execution_needs_the_folder_of_the_session(shell: Shell) -> None:  # noqa: F811
    done = shell.run("replay", str(FOLDER), "--execute")
    assert done.code == 1
    assert "the folder of the session is not there" in done.err


# ------------------------------------------------------------------ every kind of session, untouched


def as_recorded(shell: Shell, *more: str) -> None:  # noqa: F811
    done = shell.run("replay", shell.sessions()[-1].parent.name, *more)
    assert done.code == 0, done.out + done.err


TOO_LONG = Failure(400, b'{"error": {"message": "too long", "code": "context_length_exceeded"}}')
DENIED = '[permissions]\ndeny = ["rm"]\n'
RUNS: dict[str, tuple[tuple[Any, ...], tuple[str, ...], str]] = {
    "nobody to ask about a command": ((call("run_command", argv=["touch", "x, y"]), Text("No.")), (), ""),
    "nobody to ask about an edit": ((call("write_file", path="n", content="1"),) * 3, (), ""),
    "nobody to ask twice": ((call("run_shell", script="true"), call("run_shell", script="ls"), Text("x")), (), ""),
    "a rule denies": ((call("run_command", argv=["rm", "x"]), Text("No.")), (), DENIED),
    "a rule denies again and again": ((call("run_command", argv=["rm", "x"]),) * 3, (), DENIED),
    "a denial stops": ((call("run_command", argv=["rm", "x"]),), (), f'{DENIED}on_deny = "stop"\n'),
    "some allowed": (
        (call("run_command", argv=["touch", "x"]), call("run_command", argv=["cp", "a", "b"]), Text("One.")),
        ("--allow", "touch"),
        "",
    ),
    "a mode without the tool": ((call("write_file", path="n", content="1"), Text("No.")), ("--mode", "read"), ""),
    "plain words": ((Text('{"name": "list_files", "arguments": {}}'), Text("One."), Text("None.")), (), ""),
    "no action": ((Text('{"name": "list_files", "arguments": {}}'), *[Text('{"tool"')] * 5), (), ""),
    "wrong calls": ((call("read_file"), call("fly"), call("read_file", path=1)), (), ""),
    "a last step": ((call("list_files"), Text("Sum.")), ("--max-steps", "2"), ""),
    "an only step": ((Text("Sum."),), ("--max-steps", "1"), ""),
    "a dry run": (
        (call("write_file", path="n", content="1"), call("run_command", argv=["touch", "x"]), Text("Shown.")),
        ("--dry-run",),
        "",
    ),
    "tokens used up": ((call("list_files"), call("read_file", path="x")), ("--max-tokens", "150"), ""),
    "money spent": ((call("list_files"),), ("--max-cost", "1"), "[profiles.local.pricing]\ninput = 1e6\n"),
    "too long for the server": (
        (*[call("list_files", f"{n} " * 99) for n in range(2)], TOO_LONG, Text("Seen.")),
        (),
        "",
    ),
    "too long in the last steps": ((call("list_files", "x " * 99), TOO_LONG, Text("Sum.")), ("--max-steps", "3"), ""),
    "the same again": ((call("list_files"), call("list_files"), Text("Seen.")), (), ""),
}


@pytest.mark.parametrize("name", RUNS)
def test_whatever_ends_a_run_without_a_person_plays_as_recorded(shell: Shell, name: str) -> None:  # noqa: F811
    replies, flags, more = RUNS[name]
    with serving(*replies) as server:
        shell.use(server.url, more)
        shell.run("-p", "do it", *flags)
    as_recorded(shell)
    shell.use("http://127.0.0.1:1/v1")  # rules and limits of another day
    as_recorded(shell)
    as_recorded(shell, "--execute")


class Leaving(Person):
    """A person whose process dies at the question about the check."""

    async def __call__(self, batch: Any) -> Any:
        if batch[0].call.name == "check":
            raise asyncio.CancelledError
        return await super().__call__(batch)


CHECKED = [{"calls": [action]} for action in (
    {"name": "write_file", "arguments": {"path": "a.txt", "content": "1\n"}},
    {"name": "write_file", "arguments": {"path": "b.txt", "content": "2\n"}},
)]  # fmt: skip


@pytest.mark.parametrize("person", [*(Person(["yes", answer, "yes"]) for answer in ("yes", "no", "skip", "stop")),
                                    Person(["yes", "no:not now", "yes"]), Leaving()], ids=lambda p: f"{p.answers}")  # fmt: skip
@pytest.mark.parametrize("recipe", ["true", "false"])
async def test_a_proposed_check_plays_as_it_was_answered(tmp_path: Path, person: Person, recipe: str) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "Makefile").write_text(f"check:\n\t@{recipe}\n")
    made, _ = session(tmp_path, [*CHECKED, *[{"text": f"ok {n}"} for n in range(9)]], person)
    for task in ("make a.txt and b.txt", "and now?"):
        with suppress(asyncio.CancelledError):
            await play_session(made, task)
    held = Blobs(made.folder / "blobs").get
    stand_in = Stage(tools=lambda run: RecordedTools(run, lambda name: held(name) if name else None))
    number, divergence = await play(made.events, stand_in)
    assert divergence is None
    assert number > 3


@pytest.mark.parametrize("change", ["torn", "damaged", "gone"])
def test_a_log_that_is_not_whole_is_never_said_to_play_as_recorded(shell: Shell, change: str) -> None:  # noqa: F811
    with serving(Text("Hello.")) as server:
        shell.use(server.url)
        shell.run("-p", "hi")
    log = shell.sessions()[0]
    *rest, last = log.read_text().splitlines(keepends=True)
    assert '"run_ended"' in last
    log.write_text("".join([*rest, {"torn": last[:-9], "damaged": last[9:], "gone": ""}[change]]))
    done = shell.run("replay", log.parent.name)
    if change == "gone":  # the process died: all that is there was compared
        assert (done.code, "up to where the log breaks off in the middle of a run" in done.err) == (0, True)
    else:
        assert (done.code, "the log is not whole" in done.err) == (2, True)


def test_a_session_without_a_message_is_nothing_to_play(shell: Shell) -> None:  # noqa: F811
    log = shell.base / "log.jsonl"
    log.write_text("".join((FOLDER / "log.jsonl").read_text().splitlines(keepends=True)[:1]))
    done = shell.run("replay", str(log))
    assert (done.code, done.out) == (1, "")
    assert "nothing to play" in done.err


def test_the_recording_is_what_its_script_says() -> None:
    tasks = [event.text for event in EVENTS if isinstance(event, ev.UserSaid)]
    assert len(tasks) == 4
    assert {e.argv for e in EVENTS if isinstance(e, ev.CheckDone)} == {CHECK}
    assert set(START) == {"sums.py", "notes.txt"}


def test_no_path_of_the_machine_that_recorded_is_in_the_fixture(tmp_path: Path) -> None:
    text = (FOLDER / "log.jsonl").read_text()
    assert str(tmp_path.parents[2]) not in text
    assert "/home/ada/work" in text
