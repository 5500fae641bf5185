"""What a summary cannot lose: computed from receipts, the same for the same log."""

from __future__ import annotations

from tests.core.test_fitting import Server, agent_of, past
from tui_agent.core import events as ev
from tui_agent.core.endings import StopReason
from tui_agent.core.facts import HEAD, LINE, facts
from tui_agent.core.fitting import LONGER, compact
from tui_agent.core.log import MemoryLog
from tui_agent.core.receipt import Receipt
from tui_agent.core.record import Record
from tui_agent.core.room import Room
from tui_agent.core.sent import SUMMARY, sent
from tui_agent.core.types import AssistantMessage, OutcomeStatus, ToolCall


def edit(path: str, before: str | None, after: str | None) -> ev.ToolDone:
    call = ToolCall(f"e{path}{after}", "edit_file", {"path": path})
    receipt = Receipt("r", call.id, "edit_file", {}, path, before, after, added=3, removed=1)
    return ev.ToolDone(call, "applied", "ok", summary=f"edit  {path}", receipt=receipt)


def ran(words: str, code: int | None) -> ev.ToolDone:
    call = ToolCall(f"c{words}{code}", "run_command", {"argv": words.split()})
    receipt = Receipt("r", call.id, "run_command", {}, exit_code=code)
    status: OutcomeStatus = "error" if code is None else "applied"
    return ev.ToolDone(call, status, "out", summary=f"run  {words}", receipt=receipt)


def served(name: str, *, failed: bool) -> ev.ToolDone:
    call = ToolCall(f"s{name}", name, {})
    receipt = Receipt("r", call.id, name, {})
    status, note = ("error", "failed") if failed else ("applied", "")
    return ev.ToolDone(call, status, "out", note, f"call  {name}", receipt)  # type: ignore[arg-type]


DID: list[ev.Durable] = [
    ev.UserSaid("task"),
    edit("src/a.py", "aa", "bb"),
    edit("gone.py", "aa", "bb"),
    edit("gone.py", "bb", "aa"),
    ran("pytest -q", 1),
    ran("ls", 0),
    ran("pytest -q", 0),
    ran("sleep 9", None),
    served("git/log", failed=False),
    served("git/push", failed=True),
    ev.ToolDone(ToolCall("n", "delete_file", {"path": "x"}), "refused", "no", summary="delete  x", denied="person"),
    ev.ToolDone(
        ToolCall("p", "update_plan", {"items": [{"status": "now", "text": "write\n docs"}]}), "applied", "plan updated"
    ),
    ev.CheckDone(("make", "check"), 2, "bad", 1.0),
    ev.RunEnded(StopReason.COMPLETED),
]


def test_it_says_how_everything_stands_now() -> None:
    assert facts(DID).splitlines() == [
        HEAD,
        "- changed: M src/a.py +3 -1",
        "- run ls: exit 0",
        "- run pytest -q: exit 0",
        "- run sleep 9: it did not end",
        "- call git/log: done",
        "- call git/push: failed",
        "- check make check: exit 2",
        "- not done, as it was refused: delete x",
        "- plan, now: write docs",
    ]
    assert facts([ev.UserSaid("task")]) == ""


def test_it_is_bounded_and_the_newest_stay() -> None:
    text = facts([ran(f"{'x' * 500} {n}", 0) for n in range(200)] + [ran(f"last {n}", 0) for n in range(20)])
    assert len(text) < 25 * (LINE + 3) + len(HEAD)
    assert "- run last 19: exit 0" in text


async def test_a_summary_carries_it_and_the_next_one_too() -> None:
    log = past(6)
    for event in DID:
        log.append(event)
    first = await compacted(log)
    assert first.facts == facts(log.events[:-1])
    assert sent(log.events)[0].text == f"{SUMMARY}- goal kept\n\n{first.facts}"
    for event in [*past(3).events, ran("later", 7)]:
        log.append(event)
    second = await compacted(log)
    assert "run later: exit 7" in second.facts
    assert "changed: M src/a.py" in second.facts
    assert sum(HEAD in message.text for message in sent(log.events)) == 1


async def compacted(log: MemoryLog) -> ev.Compacted:
    agent = agent_of(Server(), log, Room())
    events = [event async for event in compact(agent, Record(log), agent.dialect)]
    assert isinstance(events[-1], ev.Compacted)
    return events[-1]


async def test_where_it_makes_a_summary_longer_than_what_it_replaces_nothing_changes() -> None:
    log = past(2, 40)
    for number in range(24):
        log.append(ran(f"{'x' * 90} {number}", 0))
    made = await compacted(log)
    assert (made.fault, made.facts) == (LONGER, "")


async def test_a_summary_that_its_frame_makes_longer_than_what_it_replaces_is_none() -> None:
    """The words are fewer, the line before them is not."""
    log = MemoryLog([ev.ModelChosen("p", "m")])
    for text in ("one " * 4, "two " * 4):
        log.append(ev.UserSaid(text))
        log.append(ev.AssistantSaid(AssistantMessage(text)))
        log.append(ev.RunEnded(StopReason.COMPLETED))
    made = await compacted(log)
    assert (made.fault, made.left) == (LONGER, made.before)
