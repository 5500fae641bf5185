"""The bounds of one run, and the names of its endings."""

from __future__ import annotations

import enum
import math
import signal
from collections.abc import Mapping
from dataclasses import dataclass, fields

from tui_agent.core.types import ConfigError


class StopReason(enum.StrEnum):
    """Why a run ended; every run ends with exactly one."""

    COMPLETED = "completed"
    VERIFIED = "verified"
    UNVERIFIED = "unverified"
    STEP_LIMIT = "step_limit"
    CONTEXT_LIMIT = "context_limit"
    TOKEN_LIMIT = "token_limit"  # noqa: S105 - the name of a limit
    COST_LIMIT = "cost_limit"
    REPEATED = "repeated"
    INVALID = "invalid_action_limit"
    DENIED = "denied"
    STOPPED = "stopped"
    FAILED = "failed"


GIVES_BACK = frozenset(
    {
        StopReason.FAILED,
        StopReason.STOPPED,
        StopReason.CONTEXT_LIMIT,
        StopReason.TOKEN_LIMIT,
        StopReason.COST_LIMIT,
    }
)
"""Endings that can come before any answer: the message then goes back to the composer, not into the next request."""

UNANSWERED: Mapping[str, str] = {
    "content_filter": "cut by the server's content filter",
    "refusal": "the model refused",
    "error": "the server says that it failed in the middle of the reply",
}
"""How a reply can end without anything that may be relied on, answer or call, by its `finish`, in words."""
BROKEN_OFF: Mapping[str, str] = {"length": "the length limit", "pause": "a pause of the server"}
"""By what a reply can be cut that is not whole, by its `finish`, in words."""

CUT_OFF = "the program ended in the middle of it"
"""The detail of the ending that a run gets when its session is opened again."""
BY_YOU = "stopped by you"
"""The detail of a run that the person interrupted."""
BY_SIGNAL: Mapping[int, str] = {
    signal.SIGTERM: "stopped from outside (SIGTERM)",
    signal.SIGHUP: "stopped because the terminal went away (SIGHUP)",
    signal.SIGQUIT: "stopped from outside (SIGQUIT)",
}
"""That of one that a signal ended which the person need not have sent."""
UNREAD = "stopped because its output could not be written"
"""That of one whose output nobody takes any more."""
INTERRUPTED = frozenset({CUT_OFF, BY_YOU, UNREAD, *BY_SIGNAL.values()})
"""All of them: endings from outside of the conversation, which it cannot bring about again."""


FEWEST_IDENTICAL = 2
"""The smallest `max_identical`."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one run. All positive and finite; `max_context` in characters, `max_tokens` in tokens, `max_cost` in USD.

    None is no bound, for tokens and cost only. The `max_identical`th identical batch of calls in a row ends the run, so
    it is at least the second; and so does that many among the newest `repeat_window` batches (1: only those in a row).

    Raises:
        ConfigError: one of them is no such number; the text names it.
    """

    max_steps: int = 25
    max_invalid: int = 3
    max_context: int = 2_000_000
    max_tokens: int | None = None
    max_cost: float | None = None
    max_identical: int = 3
    repeat_window: int = 5
    command_timeout: float = 120.0

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if value is None and f.default is None:
                continue
            kinds, words = ((int, float), "number") if f.name in _MEASURES else (int, "whole number")
            if not isinstance(value, kinds) or isinstance(value, bool) or not 0 < value < math.inf:
                said = str(value).lower() if isinstance(value, bool) else repr(value)  # as TOML has it
                raise ConfigError(f"limits.{f.name} must be a positive {words}, not {said}")
        if self.max_identical < FEWEST_IDENTICAL:
            raise ConfigError(
                f"limits.max_identical must be {FEWEST_IDENTICAL} or more: the first of an action is no repeat"
            )


_MEASURES = frozenset({"max_cost", "command_timeout"})
"""The limits that are measured; the others are counted."""
