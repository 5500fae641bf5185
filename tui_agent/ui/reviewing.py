"""What the question and the review pane need of the app: the person's editor, and the files of the session."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.app import App

from tui_agent.core.types import ConfigError, Outcome
from tui_agent.review import Entry, apply, changed, revert
from tui_agent.session import Session
from tui_agent.ui.conversation import Conversation
from tui_agent.ui.editor import EditorError, copy_of, edited, open_at, own_environment, page
from tui_agent.ui.review import Review, World
from tui_agent.ui.terminal import lent
from tui_agent.ui.wrap_view import WrapView
from tui_agent.undo import state

if TYPE_CHECKING:
    from tui_agent.ui.main import Handler, MainScreen


async def open_editor(app: App[Any], talk: Conversation | None, path: str, line: int) -> None:
    """Give the terminal to the person's editor until it ends.

    Raises:
        EditorError: the terminal cannot be given away, or there is no editor, or it failed.
    """
    await _with_own(app, talk, lambda environment: open_at(path, line, environment))


async def open_pager(app: App[Any], talk: Conversation | None, view: WrapView) -> None:
    """Show all of a view in the person's pager.

    Raises:
        EditorError: the terminal cannot be given away, or there is no pager.
    """
    text = await asyncio.to_thread(view.whole)
    await _with_own(app, talk, lambda environment: page(text, environment))


async def _with_own(app: App[Any], talk: Conversation | None, act: Callable[[Mapping[str, str]], None]) -> None:
    """Give the terminal away while something of the person's runs, with their own environment."""
    if talk is None:
        return
    terms = talk.session.terms
    environment = own_environment(terms.environment, terms.settings.key_names())
    await outside(app, lambda: act(environment))


async def outside(app: App[Any], act: Callable[[], None]) -> None:
    """Give the terminal away while something of the person's runs in a thread; the turn, jobs and files go on meanwhile.

    Raises:
        EditorError, ConfigError: that of `act`; or the terminal cannot be given away.
    """
    failed: EditorError | ConfigError | None = None
    with lent(app):
        try:
            await asyncio.to_thread(act)
        except (EditorError, ConfigError) as error:
            failed = error  # Textual takes the terminal back only when nothing is raised in here
    if failed is not None:
        raise failed


async def edit_text(app: App[Any], talk: Conversation | None, path: str, text: bytes) -> bytes:
    """What the person makes of a text in their editor; `path` only tells the kind of file.

    Raises:
        EditorError: nothing came of it.
    """
    with copy_of(path, text) as copy:
        await open_editor(app, talk, str(copy), 1)
        return edited(copy)


def world_of(main: MainScreen, talk: Conversation) -> World:
    """What the review of a conversation needs of the main screen."""
    app = main.app

    def recorded(
        act: Callable[[Session, Entry, frozenset[int] | None], Awaitable[Outcome]],
    ) -> Callable[[Entry, frozenset[int] | None], Awaitable[Outcome]]:
        async def do(entry: Entry, hunks: frozenset[int] | None) -> Outcome:
            outcome = await act(talk.session, entry, hunks)
            talk.catch_up()
            main.refresh_state()
            return outcome

        return do

    return World(
        lambda base: changed(talk.session, base),
        recorded(revert),
        recorded(apply),
        lambda path, line: open_editor(app, talk, str(talk.session.root / path), line),
        lambda: talk.working,
        main.looks,
        main.keys,
        paste=main.composer.feed_paste,
        turns=lambda: state(talk.session.events).changed,
        keep=partial(main.drafts.beside, "review"),
        page=lambda view: open_pager(app, talk, view),
        present=lambda path: asyncio.to_thread(talk.session.workspace.content, path),
    )


class Reviewing:
    """The review on the main screen `main`: opened, kept up to date, and its notes brought back into the message."""

    def __init__(self, main: MainScreen) -> None:
        self._main = main

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """By the id of their action."""
        return {"pane.diff": self.show}

    def show(self, _: str) -> None:
        """Everything that this session changed."""
        main = self._main
        if main.conversation is not None:
            main.app.push_screen(Review(world_of(main, main.conversation)), self._ended)

    def look_again(self) -> None:
        """The session changed something else meanwhile."""
        for review in (screen for screen in self._main.app.screen_stack if isinstance(screen, Review)):
            review.look_again()

    def _ended(self, notes: str | None) -> None:
        self._main.drafts.beside("review", "")
        self.keep(notes)

    def keep(self, notes: str | None) -> None:
        """Put notes behind what is in the composer, to be read and sent."""
        composer = self._main.composer
        if notes:
            composer.load(f"{before}\n\n" if (before := composer.text.strip()) else "")
            composer.feed_paste(notes)  # a long text is folded
            composer.focus()
