"""Going back in the conversation: what a rewind takes out, and what it leaves."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.sessions.story import CALL, EDIT, reply, turn
from tui_agent.core import events as ev
from tui_agent.core import fold, standing
from tui_agent.core.meter import meter
from tui_agent.core.sent import Sent, sent
from tui_agent.core.types import AssistantMessage, UserMessage


def texts(events: list[ev.Durable]) -> list[str]:
    return [m.text for m in fold.history(events) if isinstance(m, UserMessage | AssistantMessage)]


def test_a_rewind_takes_what_followed_out_of_the_conversation_and_out_of_no_sum() -> None:
    events: list[ev.Durable] = [*turn("one", "1"), *turn("two", "2"), *turn("three", "3")]
    events += [ev.Rewound(2), *turn("four", "4")]
    assert texts(events) == ["one", "1", "four", "4"]
    assert fold.totals(events).cost == 2.0
    assert fold.totals(events).replies == 4
    events += [ev.Rewound(1, ("a.py",))]
    assert texts(events) == ["Changed since you last looked: a.py. Read a file again before you change it."]
    assert meter(events).counted is None


def test_calls_that_were_open_before_a_rewind_are_gone_with_it() -> None:
    events: list[ev.Durable] = [*turn("one"), ev.UserSaid("two"), reply("", CALL), ev.Rewound(2), *turn("three")]
    assert texts(events) == ["one", "done", "three", "done"]


@given(st.lists(st.integers(0, 12), max_size=12))
def test_after_any_rewinds_the_conversation_is_what_was_said_and_not_taken_back(steps: list[int]) -> None:
    events: list[ev.Durable] = []
    stands: list[int] = []
    said = 0
    for step in steps:
        if step == 0 or step > said or step not in stands:
            said += 1
            stands.append(said)
            events += turn(f"m{said}", f"a{said}")
        else:
            stands = stands[: stands.index(step)]
            events.append(ev.Rewound(step))
    assert texts(events) == [text for number in stands for text in (f"m{number}", f"a{number}")]
    assert sent(events) == fold.history(events)
    assert standing.turns(events) == stands
    assert fold.totals(events).replies == said


def test_what_is_sent_follows_a_rewind_also_when_it_is_kept_up_to_date_event_by_event() -> None:
    events: list[ev.Durable] = [
        *EDIT,
        *turn("two"),
        ev.Rewound(2, ("src/a.py",)),
        *turn("three"),
        ev.Rewound(1),
        *turn("x"),
    ]
    kept_up = Sent()
    for at in range(1, len(events) + 1):
        kept_up.catch_up(events[:at])
        assert kept_up.history == sent(events[:at]) == fold.history(events[:at])
