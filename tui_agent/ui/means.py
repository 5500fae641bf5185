"""What can be done with a question beside answering it: edit its text first, read it elsewhere, look again, keep a rule."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from tui_agent.core.patterns import AlwaysRule
from tui_agent.core.types import ApprovalRequest, WriteBytes
from tui_agent.permissions import Scope
from tui_agent.ui.looks import Looks
from tui_agent.ui.wrap_view import WrapView

Fresh: TypeAlias = Callable[[ApprovalRequest], Awaitable[WriteBytes | str | None]]
"""The change of a request on the file as it is now, or why there is none; None while the file is as it was shown."""

Edit: TypeAlias = Callable[[str, bytes], Awaitable[bytes]]
"""Lets the person edit the text of a path in an editor; raises `EditorError` when nothing comes of it."""

Page: TypeAlias = Callable[[WrapView], Awaitable[None]]
"""Shows all of a view in the person's pager; raises `EditorError` when it cannot."""

Keep: TypeAlias = Callable[[AlwaysRule, Scope], None]
"""Keeps a rule; raises `AgentError` when that is not possible."""

Errand: TypeAlias = Callable[[], Awaitable[WriteBytes | None]]
"""Lends the terminal to a program of the person's; gives what they made of the text, None when that is nothing."""


async def _as_shown(_: ApprovalRequest) -> None:
    """Nobody looks whether files changed meanwhile."""


@dataclass(frozen=True, slots=True)
class Means:
    """The ways there are; what is None there is not.

    `after` names what runs after applying; `first`: the person never was asked before. `looks` is how diffs look. `edit` opens an editor, `page` a pager, `fresh` looks
    whether a file still is as it was shown, `keep` keeps a rule, and `holds` says whether that could hold here; `allowed` is the rule by which a request needs no answer
    now, "" when it does.
    """

    after: str = ""
    first: bool = False
    looks: Looks = field(default_factory=Looks)
    edit: Edit | None = None
    page: Page | None = None
    fresh: Fresh = _as_shown
    keep: Keep | None = None
    holds: Callable[[AlwaysRule], bool] = lambda _: True
    allowed: Callable[[ApprovalRequest], str] = lambda _: ""
