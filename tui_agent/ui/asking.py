"""Puts the agent's questions to the person: the dialog, and what the main screen shows and does meanwhile."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from textual import events

from tui_agent.core.display import plain
from tui_agent.core.patterns import AlwaysRule
from tui_agent.core.policy import may_hold
from tui_agent.core.types import ApprovalRequest, Decision
from tui_agent.permissions import Scope
from tui_agent.ui.approval import ask_on_screen
from tui_agent.ui.composer import Composer
from tui_agent.ui.field import Field
from tui_agent.ui.late_modal import Outside
from tui_agent.ui.numbers import elapsed
from tui_agent.ui.reviewing import edit_text, open_pager
from tui_agent.ui.rights import words

if TYPE_CHECKING:
    from tui_agent.ui.main import MainScreen


class Asking:
    """The questions of one main screen. `clock` is monotonic, in seconds."""

    def __init__(self, main: MainScreen, clock: Callable[[], float] = monotonic) -> None:
        self._main = main
        self.clock = clock
        self._since = 0.0
        self._hints: tuple[str, ...] = ()
        self.first = False
        """The next question is the first that this person sees."""

    @property
    def hints(self) -> tuple[str, ...]:
        """How long the question has been there, then what works in it now; empty without one."""
        return (f"waiting for you {elapsed(self.clock() - self._since)}", *self._hints) if self._hints else ()

    async def ask(self, batch: tuple[ApprovalRequest, ...]) -> tuple[Decision, ...]:
        """Put a batch of questions to the person."""
        main = self._main
        session = main.conversation.session if main.conversation else None
        check = session.check() if session else None
        known: dict[str, Any] = {}
        if session is not None:
            space = session.workspace
            known = {
                "fresh": space.fresh,
                "keep": self._keep,
                "holds": lambda rule: may_hold(rule.pattern, space.permissions),
                "allowed": space.allowed,
            }
        first, self.first = self.first, False
        self._mark(True)
        self._since = self.clock()
        main.attention.ask(f"[!] {main.header.folder} - {plain(batch[0].summary, 'action')}" if batch else "")
        try:
            return await ask_on_screen(
                main.app,
                batch,
                outside=self.outside(),
                after=shlex.join(check.argv) if check else "",
                first=first,
                looks=main.looks,
                edit=partial(edit_text, main.app, main.conversation),
                page=partial(open_pager, main.app, main.conversation),
                **known,
            )
        finally:
            self._tell(())
            main.drafts.beside("question", "")
            main.attention.answered()
            self._mark(False)

    def _keep(self, rule: AlwaysRule, scope: Scope) -> None:
        """Keep a rule and say so; raises `AgentError` when that is not possible."""
        if (talk := self._main.conversation) is not None:
            talk.session.rules.add(rule.pattern, scope)
            talk.note(words(rule, scope))

    def _mark(self, question: bool) -> None:
        self._main.show_header(replace(self._main.header, question=question))

    def outside(self) -> Outside:
        """What a question needs from this screen: where to write what is not an answer, the footer."""
        composer, app = self._main.composer, self._main.app

        def writing() -> Composer | Field:
            """Where the person was writing when the question came over it."""
            below = app.screen_stack[-2].focused if len(app.screen_stack) > 1 else None
            return below if isinstance(below, Field) else composer

        def feed_key(event: events.Key) -> None:
            writing().feed_key(event)

        return Outside(
            feed_key,
            lambda event: writing().feed_paste(event.text),
            self._tell,
            keys=self._main.keys,
            keep=self._main.reviewing.keep,
            beside=partial(self._main.drafts.beside, "question"),
            free_rows=lambda tight: composer.size.height + (2 if tight else 3),
        )

    def _tell(self, hints: tuple[str, ...]) -> None:
        self._hints = hints
        self._main.refresh_footer()
