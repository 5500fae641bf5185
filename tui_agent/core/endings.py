"""The bounds of one run, and the names of its endings."""

from __future__ import annotations

import enum
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


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one run. All positive; `max_context` in characters, `max_tokens` in tokens, `max_cost` in USD.

    The `max_identical`th identical batch of calls in a row ends the run, and so does that many among the newest
    `repeat_window` batches (1: only those in a row count).
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
            if value is not None and (isinstance(value, bool) or not value > 0):
                raise ConfigError(f"limits.{f.name} must be positive, not {value!r}")
