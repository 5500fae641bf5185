"""What is sent is a function of the events; whatever is left out, no call is parted from its result."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.endings import GIVES_BACK, StopReason
from tui_agent.core.receipt import Receipt
from tui_agent.core.room import kept, marks, prune
from tui_agent.core.sent import HEAD, LEFT_OUT, SUMMARY, Sent, Step, sent, size
from tui_agent.core.types import AssistantMessage, History, ToolCall, ToolMessage, UserMessage

# ------------------------------------------------------------------ any history

texts = st.sampled_from(["", "ok", "x" * 150, "y" * 3_000, "z" * 20_000])
ids = st.sampled_from(["1", "2", "3", "tc_1"])


@st.composite
def replies(draw: Any) -> list[ev.Durable]:
    """A reply and the results of some of its calls, in any order."""
    names = draw(st.lists(ids, unique=True, max_size=3))
    calls = tuple(ToolCall(name, "read_file", {"path": "a.py"}) for name in names)
    events: list[ev.Durable] = [ev.AssistantSaid(AssistantMessage(draw(texts), calls=calls))]
    done = draw(st.permutations(names))[: draw(st.integers(0, 3))]
    results = [ev.ToolDone(ToolCall(name, "read_file", {"path": "a.py"}), "applied", draw(texts)) for name in done]
    return [*events, *results]


others = st.one_of(
    st.builds(ev.UserSaid, texts.map(lambda text: text or "task")),
    st.builds(ev.Steered, texts),
    st.builds(ev.Notice, texts, st.sampled_from(["model", "person"])),
    st.just(ev.CheckDone(("make",), 1, "bad\n" * 900, 1.0)),
    st.builds(ev.RunEnded, st.sampled_from([StopReason.COMPLETED, StopReason.FAILED, StopReason.STOPPED])),
    st.builds(ev.Checkpoint, texts),
    st.builds(ev.Rewound, st.integers(0, 3), st.sampled_from([(), ("a.py",)])),
    st.builds(ev.AssistantSaid, st.builds(AssistantMessage, texts), st.just(value=False)),
).map(lambda event: [event])
plain = st.lists(replies() | others, max_size=14).map(lambda parts: [event for part in parts for event in part])


@st.composite
def decided(draw: Any) -> list[ev.Durable]:
    """A conversation in which anything was marked, compacted and taken back in between."""
    events: list[ev.Durable] = []
    for part in draw(st.lists(plain, max_size=4)):
        events += part
        numbers = st.lists(st.integers(0, max(0, len(events) - 1)), max_size=4).map(tuple)
        how = st.sampled_from(["whole", "pinned", "short", "dropped"])
        if draw(st.booleans()):
            events.append(ev.Marked(draw(numbers), draw(how)))
        match draw(st.sampled_from(["compact", "fault", "expand", "none"])):
            case "compact":
                events.append(ev.Compacted("so far", kept(Sent(events).steps)))
            case "fault":
                events.append(ev.Compacted("", fault="no"))
            case "expand" if (compaction := Sent(events).compaction) is not None:
                events.append(ev.Expanded(compaction))
    return events


def assert_paired(history: History) -> None:
    """Every call has its answer right behind it, in call order, and nothing else is an answer."""
    waiting: list[str] = []
    for message in history:
        if isinstance(message, ToolMessage):
            assert waiting
            assert message.call_id == waiting.pop(0)
        else:
            assert not waiting
            waiting = [call.id for call in message.calls] if isinstance(message, AssistantMessage) else []
    assert not waiting


@given(plain)
def test_without_decisions_everything_is_sent(events: list[ev.Durable]) -> None:
    assert sent(events) == fold.history(events)


@given(decided())
def test_no_decision_ever_parts_a_call_from_its_result(events: list[ev.Durable]) -> None:
    assert_paired(sent(events))


@given(decided())
def test_the_fold_is_the_same_in_one_go_and_event_by_event(events: list[ev.Durable]) -> None:
    one = Sent()
    for end in range(len(events) + 1):
        one.catch_up(events[:end])
        assert one.history == sent(events[:end])


@given(decided())
def test_what_is_stored_stays_whole_whatever_is_sent(events: list[ev.Durable]) -> None:
    said = [event for event in events if not isinstance(event, ev.Marked | ev.Compacted | ev.Expanded)]
    assert fold.history(events) == fold.history(said)


@given(plain)
def test_a_compaction_that_is_taken_back_leaves_no_trace(events: list[ev.Durable]) -> None:
    compacted = [*events, ev.Compacted("short", kept(Sent(events).steps))]
    more: list[ev.Durable] = [ev.UserSaid("more"), ev.AssistantSaid(AssistantMessage("done"))]
    assert sent([*compacted, *more, ev.Expanded(len(events))]) == sent([*events, *more])


@given(decided())
def test_pinned_messages_and_the_newest_request_stay_word_for_word(events: list[ev.Durable]) -> None:
    before = Sent(events).steps
    stays = [step for step in before if step.pinned]
    requests = [step for step in before if step.head.kind == "request"]
    after = Sent([*events, ev.Compacted("short", kept(before))]).steps
    for step in (*stays, *requests[-1:]):
        assert step in after


# ------------------------------------------------------------------ pruning


def paired(steps: tuple[Step, ...]) -> History:
    history = tuple(message for step in steps for message in step.sent)
    assert_paired(history)
    return history


@given(decided(), st.integers(0, 60_000), st.booleans())
@examples(200)
def test_pruning_reaches_its_bound_or_leaves_only_what_must_stay(
    events: list[ev.Durable], room: int, whole_turns: bool
) -> None:
    before = Sent(events).steps
    after = prune(before, room, whole_turns=whole_turns)
    paired(after)
    assert size(after) <= max(size(before), room)
    if size(before) <= room:
        assert after == before
    if whole_turns and size(after) > room:
        stay = set(kept(before))
        for step in after:
            assert step.dropped or step.head.at in stay or step.head.kind == "summary"
            assert all(
                item.how != "whole" or not isinstance(item.stored, ToolMessage) or len(item.stored.text) <= HEAD + 100
                for item in step.items
                if not step.dropped
            )
    for old, new in zip(before, after, strict=True):
        if old.pinned:
            assert [item.stored for item in new.items if item.how == "pinned"] == [
                item.stored for item in old.items if item.how == "pinned"
            ]
            assert not new.dropped


@given(decided(), st.integers(0, 60_000))
def test_the_events_of_a_pruning_give_what_was_planned(events: list[ev.Durable], room: int) -> None:
    before = Sent(events).steps
    after = prune(before, room)
    assert Sent([*events, *marks(before, after)]).history == paired(after)


@given(plain, st.integers(0, 60_000))
def test_turns_before_the_last_go_whole(events: list[ev.Durable], room: int) -> None:
    after = prune(Sent(events).steps, room)
    last = max((n for n, step in enumerate(after) if step.head.kind == "request"), default=0)
    dropped: set[bool] = set()
    for step in after[:last]:
        if step.head.kind == "request":
            assert len(dropped) <= 1
            dropped = set()
        dropped.add(step.dropped)
    assert len(dropped) <= 1


# ------------------------------------------------------------------ examples


def reply(*ids: str, text: str = "") -> ev.AssistantSaid:
    return ev.AssistantSaid(AssistantMessage(text, calls=tuple(ToolCall(i, "read_file", {}) for i in ids)))


def result(call_id: str, text: str = "r") -> ev.ToolDone:
    return ev.ToolDone(ToolCall(call_id, "read_file", {}), "applied", text)


TALK: list[ev.Durable] = [
    ev.UserSaid("first"),  # 0
    reply("1", "2"),  # 1
    result("1", "A" * 5_000),  # 2
    result("2", "B" * 5_000),  # 3
    reply(text="answered"),  # 4
    ev.UserSaid("second"),  # 5
    reply("3"),  # 6
    result("3", "C" * 5_000),  # 7
]


def texts_of(events: list[ev.Durable]) -> list[str]:
    return [message.text for message in sent(events)]


def test_old_results_lose_their_tail_first_and_say_so() -> None:
    steps = Sent(TALK).steps
    after = prune(steps, size(steps) - 1_000)
    assert [m.text[:1] for s in after for m in s.sent if isinstance(m, ToolMessage)] == ["A", "B", "C"]
    first = after[1].items[1].sent.text
    assert first.startswith("A" * HEAD + "\n[... 4,600 characters left out")
    assert after[1].items[2].how == "whole"


def test_then_whole_turns_go_and_the_open_result_stays_as_it_is() -> None:
    after = prune(Sent(TALK).steps, 5_200)
    assert [m.text for s in after for m in s.sent] == ["second", "", "C" * 5_000]


def test_the_open_result_is_shortened_only_when_nothing_else_is_left() -> None:
    after = prune(Sent(TALK).steps, 1_000)
    texts = [m.text for s in after for m in s.sent]
    assert texts[0] == "second"
    assert texts[2].startswith("C" * HEAD + "\n[... 4,600")


def test_a_long_turn_loses_its_old_steps_and_keeps_its_request() -> None:
    events: list[ev.Durable] = [ev.UserSaid("task")]
    for number in range(30):
        events += [reply(str(number)), result(str(number), f"{number}" * 200)]
    after = prune(Sent(events).steps, 2_000)
    assert next(m.text for s in after for m in s.sent) == "task"
    assert size(after) <= 2_000
    assert not after[-1].dropped


def test_a_result_left_out_by_the_person_keeps_its_place() -> None:
    assert texts_of([*TALK, ev.Marked((2,), "dropped")])[2:4] == [LEFT_OUT, "B" * 5_000]
    assert texts_of([*TALK, ev.Marked((1, 2, 3), "dropped")]) == ["first", "answered", "second", "", "C" * 5_000]
    assert texts_of([*TALK, ev.Marked((1, 2, 3), "dropped"), ev.Marked((1, 2, 3), "whole")]) == texts_of(TALK)


def test_a_pinned_result_keeps_its_call() -> None:
    events = [*TALK, ev.Marked((3,), "pinned"), ev.Marked((1,), "dropped")]
    assert_paired(sent(events))
    assert "B" * 5_000 in texts_of(events)


def test_a_summary_stands_before_the_newest_request_and_its_open_results() -> None:
    events = [*TALK, ev.Compacted("- read A and B", kept(Sent(TALK).steps))]
    assert texts_of(events) == [SUMMARY + "- read A and B", "second", "", "C" * 5_000]
    again = [*events, reply(text="done"), ev.UserSaid("third")]
    assert texts_of(again)[-2:] == ["done", "third"]
    assert Sent(again).compaction == len(TALK)
    assert [step.head.stored.text for step in Sent(again).replaced] == ["first", "", "answered"]


def test_a_request_that_failed_after_its_compaction_goes_back_alone() -> None:
    events = [*TALK[:5], ev.UserSaid("again"), ev.Compacted("s", (5,)), ev.RunEnded(StopReason.FAILED)]
    assert texts_of(events) == [SUMMARY + "s"]
    assert texts_of([*events, ev.Expanded(6)]) == texts_of(TALK[:5])


@pytest.mark.parametrize("reason", StopReason)
def test_a_message_without_an_answer_goes_back_after_an_ending_that_can_come_first(reason: StopReason) -> None:
    events = [*TALK[:5], ev.UserSaid("again"), ev.RunEnded(reason)]
    assert (texts_of(events) == texts_of(TALK[:5])) is (reason in GIVES_BACK)
    assert sent(events) == fold.history(events)


def test_undone_files_and_own_commands_are_words_of_their_own() -> None:
    events = [
        *TALK[:5],
        ev.Undone(1, (Receipt("r", "c", "edit_file", {}, "a", "1", "2"),), ("a",)),
        ev.ToolDone(ToolCall("own", "you", {"script": "ls"}), "applied", "a.py"),
    ]
    assert [step.head.kind for step in Sent(events).steps] == ["request", "reply", "reply", "word", "word"]
    assert isinstance(sent(events)[-1], UserMessage)
