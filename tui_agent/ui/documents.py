"""Sessions as documents: shown, exported, and saved and loaded as messages."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tui_agent import __version__, export
from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.disk import from_home
from tui_agent.core.display import plain
from tui_agent.core.endings import StopReason
from tui_agent.core.log import load
from tui_agent.core.types import AgentError
from tui_agent.sessions import LOG, Place, new_id
from tui_agent.summaries import Summary
from tui_agent.ui.viewer import LinesView, Viewer
from tui_agent.ui.wrap_view import Line

if TYPE_CHECKING:
    from tui_agent.ui.app import AgentApp
    from tui_agent.ui.main import Handler


class Documents:
    """The handlers of these actions."""

    def __init__(self, app: AgentApp) -> None:
        self._app = app

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """By the id of their action."""
        return {"session.export": self.export, "session.save": self.save}

    @property
    def _current(self) -> str:
        return self._app.session.id if self._app.main.conversation is not None else ""

    def _tell(self, text: str) -> None:
        self._app.notify(plain(text), markup=False)

    def _events(self, name: str) -> Sequence[ev.Durable | ev.Unknown]:
        """What happened in a session, on the screen or in its log."""
        if name == self._current:
            return self._app.session.events
        try:
            return load(self._app.shelf.folder / name / LOG).events
        except OSError as error:
            raise AgentError(f"It cannot be read: {error.strerror}") from error

    def view(self, one: Summary) -> None:
        """Read a session without going to it."""
        text = export.markdown(self._events(one.id), self._app.begin.network.secrets)
        lines = [Line(((line, ""),)) for line in text.splitlines()]
        self._app.push_screen(Viewer(one.title or one.id, LinesView(lines), self._app.keys))

    def export(self, words: str) -> None:
        """`/export [md|json] [FILE]`: write this session as a document."""
        form, _, name = words.partition(" ")
        if form not in {"md", "json"}:
            form, name = ("json" if words.endswith(".json") else "md"), words
        self._said(lambda: self.write(self._current, form, name.strip()))

    def write(self, name: str, form: str = "md", file: str = "") -> str:
        """Write a session as a document; gives what came of it in words."""
        events, secrets = self._events(name), self._app.begin.network.secrets
        path = self._file(file or f"session-{name}.{form}")
        text = (
            export.markdown(events, secrets)
            if form == "md"
            else export.messages(fold.history(events), secrets, masked=True)
        )
        return self._write(path, text)

    def save(self, name: str) -> None:
        """`/save FILE`: the conversation as JSON messages, which `/load` reads."""
        if not name:
            self._tell("Name the file: /save FILE")
            return
        secrets = self._app.begin.network.secrets
        self._said(lambda: self._write(self._file(name), export.messages(self._app.session.history, secrets)))

    def _file(self, name: str) -> Path:
        return self._app.session.root / from_home(name)

    def _said(self, work: Callable[[], str]) -> None:
        """Do it and say what came of it."""
        if self._app.main.conversation is None:
            return
        try:
            self._tell(work())
        except AgentError as error:
            self._tell(str(error))

    def _write(self, path: Path, text: str) -> str:
        """Write a document; one that is there already only after a yes."""

        def written() -> str:
            export.write(path, text, over=True)
            return f"Written over: {path}"

        def over() -> None:
            self._said(written)

        try:
            export.write(path, text)
        except FileExistsError:
            self._app.main.sending.confirmed = over
            return f"{path} is there already. Send yes to write over it."
        return f"Written: {path}"

    async def loaded(self, name: str) -> Place:
        """A new session that begins with saved messages.

        Raises:
            AgentError: the file cannot be read, or holds no messages.
        """
        if not name:
            raise AgentError("Name the file: /load FILE")
        events = await asyncio.to_thread(export.read, self._file(name))
        place = Place(self._app.shelf.folder / new_id(time.time()))
        session = self._app.session
        place.log.hide(session.terms.hidden)
        place.log.append(ev.SessionStarted(place.id, str(session.root), time.time(), __version__))
        for event in events:
            place.log.append(event)
        place.log.append(ev.RunEnded(StopReason.COMPLETED, f"loaded from {self._file(name).name}"))
        return place
