"""What a reply in one of the text protocols says: an action, or why it is none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

from tui_agent.core.types import AgentError, ToolCall

_QUOTED = 60
"""Characters of the model's own text that a message repeats."""


@dataclass(frozen=True, slots=True)
class Final:
    """The model says that it is done; `text` is its answer."""

    text: str


Action: TypeAlias = ToolCall | Final
"""One decision of the model. A call read from text has no id yet (""); whoever records it gives it one."""


@dataclass(frozen=True, slots=True)
class ParseError:
    """A reply that is no action: a value, because the model is told and goes on.

    `kind` is one word for tests and logs; `message` is one sentence for the model with the cause and what to do.
    """

    kind: str
    message: str


class NotExpressible(AgentError):  # noqa: N818 - says what is the case, like StopIteration
    """A protocol cannot carry this action so that reading it back gives the same action."""


def without_id(action: Action) -> Action:
    """The action as a text protocol reads it: no id, no raw arguments."""
    return action if isinstance(action, Final) else replace(action, id="", raw="", error=None)


def excerpt(text: str) -> str:
    """The beginning of a text of the model in quotes, on one line, for a message."""
    line = " ".join(text[: 4 * _QUOTED].split())
    return f'"{line[:_QUOTED]}…"' if len(line) > _QUOTED else f'"{line}"'


def listing(names: Iterable[str]) -> str:
    """Names that a model made up, on one line and not endless."""
    text = " ".join(", ".join(names)[: 8 * _QUOTED].split())
    return f"{text[: 3 * _QUOTED]}…" if len(text) > 3 * _QUOTED else text
