"""What the question and the review pane need of the app: the person's editor, and the files of the session."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual.app import App, SuspendNotSupported

from tui_agent.core.display import plain
from tui_agent.core.types import Outcome
from tui_agent.review import Entry, changed, revert
from tui_agent.ui.conversation import Conversation
from tui_agent.ui.editor import EditorError, edit_text, open_at, own_environment
from tui_agent.ui.looks import Looks
from tui_agent.ui.review import World


def open_editor(app: App[Any], talk: Conversation | None, path: str, line: int) -> None:
    """Give the terminal to the person's editor until it ends.

    Raises:
        EditorError: the terminal cannot be given away, or there is no editor, or it failed.
    """
    if talk is None:
        return
    terms = talk.session.terms
    environment = own_environment(terms.environment, terms.settings.key_names())
    failed: EditorError | None = None
    try:
        with app.suspend():
            try:
                open_at(path, line, environment)
            except EditorError as error:  # Textual takes the terminal back only when nothing is raised in here
                failed = error
    except SuspendNotSupported as error:
        raise EditorError("This terminal cannot be given to an editor.") from error
    if failed is not None:
        raise failed


async def edit_first(app: App[Any], talk: Conversation | None, path: str, text: bytes) -> bytes:
    """Let the person edit a proposed text.

    Raises:
        EditorError: nothing came of it.
    """
    return edit_text(path, text, lambda copy: open_editor(app, talk, copy, 1))


def world_of(app: App[Any], talk: Conversation, looks: Looks, refresh: Callable[[], None]) -> World:
    """The review of a conversation; `refresh` is called when something was taken back."""

    async def take_back(entry: Entry, hunks: frozenset[int] | None) -> Outcome:
        outcome = await revert(talk.session, entry, hunks)
        talk.catch_up()
        refresh()
        return outcome

    def open_file(path: str, line: int) -> None:
        try:
            open_editor(app, talk, str(talk.session.root / path), line)
        except EditorError as error:
            app.notify(plain(str(error)), markup=False)

    return World(lambda base: changed(talk.session, base), take_back, open_file, lambda: talk.working, looks)
