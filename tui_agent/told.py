"""Decisions about what is sent, and records that cannot be read, in words: for the screen and for one shot."""

from __future__ import annotations

from collections.abc import Sequence

from tui_agent.core import events as ev
from tui_agent.core.address import origin, same_server
from tui_agent.core.log import DAMAGED
from tui_agent.core.profile import Profile

NEWER = "record of a newer version"


def told(event: ev.Event | ev.Unknown) -> tuple[str, str] | None:
    """What one event is in words; None for what says nothing by itself, and for marks that the person set."""
    match event:
        case ev.Compacted(fault=""):
            return "compacted", f"{_tokens(event.before)} → {_tokens(event.left)}"
        case ev.Compacted(fault=fault):
            return "not compacted", f"{fault}; nothing was changed"
        case ev.Expanded(left=left):
            return "taken back", f"the summary; the next request has about {_tokens(left)}"
        case ev.Marked(numbers, "short", "room", left):
            count = f"{len(numbers)} result{'s' * (len(numbers) != 1)}"
            return "shortened", f"{count}, to about {_tokens(left)}"
        case ev.Marked(numbers, _, "room", left):
            count = f"{len(numbers)} old message{'s' * (len(numbers) != 1)}"
            return "left out", f"{count}; about {_tokens(left)} are sent, everything stays in the session"
        case ev.Overflowed(size):
            return "too long", f"the server refused {size:,} characters; it is tried again with less"
        case ev.BudgetSet(None):
            return "budget", "none"
        case ev.BudgetSet(tokens):
            return "budget", f"{tokens:,} tokens from here on"
        case ev.Routed(intent, by, enables):
            return (
                f"intent: {intent}",
                f"→ {enables}{'' if by == 'words' else f' (by the {by})' if by == 'model' else ''}",
            )
        case ev.Unknown():
            return ("damaged", "a record that cannot be read") if event == DAMAGED else (NEWER, event.type)
    return None


def answers_instead(before: str, now: str) -> str:
    """That the profile of a session is gone, so that its conversation goes to somebody else."""
    return f"The profile {before} of this session is gone: {now} answers from here on, and is sent what was said."


def answers_elsewhere(events: Sequence[ev.Event | ev.Unknown], profile: Profile) -> str:
    """That the profile of a session leads to another server than the one that answered in it last; "" when it does not."""
    for event in reversed(events):
        if isinstance(event, ev.ModelChosen) and event.profile != profile.name:
            break
        author = event.message.author if isinstance(event, ev.AssistantSaid) else None
        if author is None or author.wire == "scripted" or not profile.endpoint:
            continue
        if same_server(author.endpoint, profile.endpoint):
            break
        return (
            f"The profile {profile.name} had another address when this session was left ({origin(author.endpoint)}): "
            f"{origin(profile.endpoint)} answers from here on, and is sent what was said."
        )
    return ""


def _tokens(count: int) -> str:
    return f"{count:,} tokens"
