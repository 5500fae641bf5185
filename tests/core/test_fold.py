from __future__ import annotations

from dataclasses import replace

from tui_agent.core import events as ev
from tui_agent.core.endings import StopReason
from tui_agent.core.fold import (
    INTERRUPTED,
    Change,
    Totals,
    changes,
    exit_code,
    failed,
    history,
    plan,
    totals,
    totals_by_model,
)
from tui_agent.core.profile import Pricing
from tui_agent.core.receipt import Receipt
from tui_agent.core.types import (
    AssistantMessage,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
)


def said(*ids: str, usage: Usage | None = None, cost: float | None = None) -> ev.AssistantSaid:
    return ev.AssistantSaid(
        AssistantMessage("", calls=tuple(ToolCall(i, "t", {}) for i in ids)), usage=usage, cost=cost
    )


def done(call_id: str, **kw: object) -> ev.ToolDone:
    return ev.ToolDone(ToolCall(call_id, "t", {}), "applied", f"r{call_id}", **kw)  # type: ignore[arg-type]


def test_open_calls_are_answered_in_call_order() -> None:
    events = [ev.UserSaid("x"), said("1", "2", "3"), done("3"), done("1"), ev.UserSaid("y")]
    assert history(events)[2:] == (
        ToolMessage("1", "t", "r1"),
        ToolMessage("2", "t", INTERRUPTED),
        ToolMessage("3", "t", "r3"),
        UserMessage("y"),
    )


def test_totals_and_unknown_cost() -> None:
    known = said(usage=Usage(10, 2, cached_tokens=4), cost=0.5)
    assert totals([known, known]).usage == Usage(20, 4, 8)
    assert totals([known, known]).cost == 1.0
    assert totals([known, said(usage=Usage(10, 2))]).cost is None
    assert totals([said()]).usage == Usage()
    assert totals([known, said(usage=Usage(10)), said(usage=Usage(None, 3))]).uncounted == 2


def test_a_call_without_a_reply_counts_in_the_sums_and_is_no_reply() -> None:
    known = said(usage=Usage(10, 2), cost=0.5)
    assert totals([ev.Spent(Usage(7, 1), 0.25), known]) == Totals(Usage(17, 3), 0.75, 1)
    assert totals([known, ev.Spent()]) == Totals(Usage(10, 2), None, 1)
    chosen = ev.ModelChosen("p", "m")
    assert totals_by_model([chosen, ev.Spent()]) == [(chosen, Totals(cost=None))]


def test_price_formula() -> None:
    price = Pricing(input=2.0, cached_input=0.5, output=10.0)
    assert price.cost(Usage(1_000_000, 100_000, cached_tokens=400_000)) == 0.6 * 2 + 0.4 * 0.5 + 0.1 * 10
    assert price.cost(Usage(100, None)) is None
    assert price.cost(Usage(1, 0, cached_tokens=50)) == 50 * 0.5 / 1_000_000


def receipt(path: str, before: str | None, after: str | None) -> Receipt:
    return Receipt("r", "c", "edit_file", {}, path, before, after, added=2, removed=1)


def test_changes_of_a_session() -> None:
    events = [
        done("1", receipt=receipt("a", "1", "2")),
        done("2", receipt=receipt("b", None, "1")),
        done("3", receipt=receipt("b", "1", "2")),
        done("4", receipt=receipt("c", None, "1")),
        done("5", receipt=receipt("c", "1", None)),
        done("6", receipt=receipt("d", "1", None)),
        done("7", receipt=receipt("e", "1", "1")),
    ]
    assert changes(events) == {"a": Change("M", 2, 1), "b": Change("A", 4, 2, edits=2), "d": Change("D", 2, 1)}


def test_hunks_that_were_taken_back_in_the_review_are_counted_no_more() -> None:
    made = done("1", receipt=replace(receipt("a", "1", "2"), added=5, removed=4))
    back = ev.ToolDone(ToolCall("2", "undo", {"path": "a"}), "applied", "ok", receipt=receipt("a", "2", "3"))
    assert changes([made, back]) == {"a": Change("M", 4, 2, edits=2)}


def test_plan_is_the_last_one_that_was_taken() -> None:
    def update(*items: tuple[str, str], status: str = "applied") -> ev.ToolDone:
        args = {"items": [{"status": s, "text": t} for s, t in items]}
        return ev.ToolDone(ToolCall("1", "update_plan", args), status, "ok")  # type: ignore[arg-type]

    assert plan(
        [update(("now", "read")), update(("done", "read"), ("now", "fix")), update(("x", "y"), status="error")]
    ) == (
        ("done", "read"),
        ("now", "fix"),
    )


def test_exit_codes_first_match() -> None:
    end = {r: ev.RunEnded(r) for r in StopReason}
    refused = ev.ToolDone(ToolCall("1", "write_file", {"path": "a"}), "refused", "no", denied="person")
    applied = ev.ToolDone(
        ToolCall("2", "edit_file", {"path": "a", "x": 1}), "applied", "ok", receipt=receipt("a", "1", "2")
    )
    red = ev.CheckDone(("make",), 1, "", 0.1)
    passed = ev.CheckDone(("make",), 0, "", 0.1)
    assert exit_code([]) == 1
    assert exit_code([refused, red, end[StopReason.FAILED]]) == 1
    assert exit_code([refused, red, end[StopReason.STEP_LIMIT]]) == 3
    assert exit_code([refused, applied, end[StopReason.COMPLETED]]) == 0
    assert exit_code([red, end[StopReason.STEP_LIMIT]]) == 2
    assert exit_code([red, passed, end[StopReason.VERIFIED]]) == 0
    assert exit_code([ev.RunEnded(StopReason.UNVERIFIED, check="not run")]) == 2
    assert exit_code([ev.RunEnded(StopReason.UNVERIFIED)]) == 0
    for reason in (
        StopReason.STEP_LIMIT,
        StopReason.CONTEXT_LIMIT,
        StopReason.REPEATED,
        StopReason.INVALID,
        StopReason.TOKEN_LIMIT,
        StopReason.COST_LIMIT,
    ):
        assert exit_code([end[reason]]) == 4
    assert exit_code([end[StopReason.DENIED]]) == 3
    assert exit_code([end[StopReason.STOPPED]]) == 130


def test_text_that_names_a_failed_check_changes_no_exit_code() -> None:
    liar = ev.ToolDone(ToolCall("1", "read_file", {"path": "log"}), "applied", "applied; make check FAILED (exit 1)")
    assert exit_code([liar, ev.RunEnded(StopReason.COMPLETED)]) == 0


def test_what_failed_and_was_not_made_good() -> None:
    def tool(name: str, status: str, exit_code: int | None = None, **arguments: object) -> ev.ToolDone:
        ran = Receipt("r", "c", name, arguments, exit_code=exit_code) if exit_code is not None else None
        edit = receipt("a", "1", "2") if name == "edit_file" and status == "applied" else None
        return ev.ToolDone(ToolCall("1", name, arguments or None), status, "", receipt=ran or edit)  # type: ignore[arg-type]

    gone, found = tool("read_file", "error", path="a"), tool("read_file", "applied", path="a")
    other = tool("read_file", "applied", path="b")
    wrong, edited = tool("edit_file", "error", path="a", old="x"), tool("edit_file", "applied", path="a", old="y")
    written = tool("write_file", "error", path="a")
    torn, mended = tool("write_file", "error"), tool("write_file", "applied", path="b")
    red, green = tool("run_command", "applied", 1, argv=["make"]), tool("run_command", "applied", 0, argv=["make"])
    check = ev.CheckDone(("make",), 0, "", 0.1)
    no = ev.ToolDone(ToolCall("1", "write_file", {"path": "a"}), "refused", "no", denied="person")
    assert failed([gone, other]) == [gone]
    assert failed([gone, gone, found]) == []
    assert failed([found, gone]) == [gone]
    assert failed([wrong, written, edited]) == [], "an edit makes good what failed on the same file"
    assert failed([torn]) == [torn]
    assert failed([torn, mended]) == []
    assert failed([red]) == [red]
    assert failed([red, green]) == []
    assert failed([red, gone, check]) == [gone], "a passed check makes good what commands said before it"
    assert failed([no]) == [], "a refusal of the person's is told as one"
    assert failed([replace(no, denied="")]) == [replace(no, denied="")], "one of the product's is a failure"
    assert failed([replace(written, note="stopped")]) == [], "the person knows what they stopped"
    assert failed([replace(gone, status="refused", note="repeated")]) == [], "it was done before"
    late = replace(red, status="error", receipt=replace(red.receipt, exit_code=None))
    assert failed([late]) == [late], "what had to be stopped at its limit has failed"
    assert failed([late, green]) == []
    assert exit_code([red, gone, ev.RunEnded(StopReason.COMPLETED)]) == 0


def test_undo_is_told_in_one_line_and_counted_back() -> None:
    made = Receipt("r", "c", "edit_file", {}, "a", "1", "2", added=5, removed=3)
    back = Receipt("u", "u", "undo", {}, "a", "2", "1", added=3, removed=5)
    forth = Receipt("v", "v", "undo", {}, "a", "1", "2", added=5, removed=3)
    events: list[ev.Durable] = [ev.UserSaid("x"), said("1"), done("1", receipt=made)]
    events += [ev.RunEnded(StopReason.COMPLETED), ev.Undone(1, (back,), ("a",), ("b\nc",))]
    assert changes(events) == {}
    told = history(events)[-1]
    assert told == UserMessage(
        "The user undid your changes in: a. Not touched: b\nc. Read a file again before you change it."
    )
    events.append(ev.Undone(1, (forth,), ("a",), redo=True))
    assert changes(events) == {"a": Change("M", 5, 3)}
    assert isinstance(told, UserMessage)
    assert history(events)[-1].text.startswith("The user made your undone changes again in: a.")
