"""The memory line at the end of a request: the task, and the files that were touched last."""

from __future__ import annotations

from tui_agent.core import events as ev
from tui_agent.core.receipt import FileChange, Receipt
from tui_agent.core.sent import Sent
from tui_agent.core.tail import FILES, TASK, tail, touched
from tui_agent.core.types import AssistantMessage, ToolCall


def done(path: str, tool: str = "read_file", **kw: object) -> ev.ToolDone:
    return ev.ToolDone(ToolCall("c", tool, {"path": path}), kw.pop("status", "applied"), "x", **kw)  # type: ignore[arg-type]


def line(events: list[ev.Durable]) -> str:
    return "".join(message.text for message in tail(events, Sent(events).steps))


def test_before_a_file_was_touched_there_is_none() -> None:
    assert line([ev.UserSaid("task")]) == ""
    assert line([ev.UserSaid("task"), done("src", "list_files"), done("a.py", status="error")]) == ""


def test_files_are_named_newest_first_each_once_and_not_all_of_them() -> None:
    events: list[ev.Durable] = [done(f"f{n}.py") for n in range(20)] + [done("f17.py")]
    assert touched(events)[:3] == ["f17.py", "f19.py", "f18.py"]
    assert len(touched(events)) == FILES


def test_what_a_command_changed_counts() -> None:
    receipt = Receipt("r", "c", "run_command", {}, exit_code=0, changed=(FileChange("made.txt", None, "1"),))
    assert touched([ev.ToolDone(ToolCall("c", "run_command", {"argv": ["x"]}), "applied", "", receipt=receipt)]) == [
        "made.txt"
    ]


def test_the_task_is_named_once_it_is_not_the_last_thing_said() -> None:
    call = ToolCall("c", "read_file", {"path": "a.py"})
    begun: list[ev.Durable] = [ev.UserSaid("fix\nthe parser"), ev.AssistantSaid(AssistantMessage("", calls=(call,)))]
    events = [*begun, done("a.py")]
    assert line(events) == "(memory, not a new request: task: fix the parser; files touched last: a.py)"
    assert "task:" not in line([*events, ev.UserSaid("and now?")])
    assert f"{'x' * TASK}…" in line([ev.UserSaid("x" * 900), *begun[1:], done("a.py")])


def test_what_was_left_out_is_counted() -> None:
    events = [ev.UserSaid("one"), ev.AssistantSaid(AssistantMessage("two")), done("a.py"), ev.UserSaid("three")]
    assert "2 earlier messages were left out" in line([*events, ev.Marked((0, 1), "dropped")])
