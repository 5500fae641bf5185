"""The person's configuration in their editor, and one that cannot be used: the card that says so, and its way out."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tui_agent.config import write_private
from tui_agent.core import events as ev
from tui_agent.core.disk import there
from tui_agent.core.display import plain
from tui_agent.core.types import ConfigError
from tui_agent.paths import own_file, tilde
from tui_agent.places import marked
from tui_agent.schema import Fault
from tui_agent.ui.editor import EditorError, open_at, own_environment
from tui_agent.ui.failures import UNUSABLE
from tui_agent.ui.reviewing import outside

if TYPE_CHECKING:
    from tui_agent.ui.app import AgentApp
    from tui_agent.ui.main import Handler

HEAD = "# The configuration of tui-agent: take the # away in front of what you want. Every key with its meaning:\n\n"
TITLE = "The configuration cannot be used"
ONLY_READS = "Until it is mended this session only reads: nothing is written or run."


def open_config(file: Path, faults: Iterable[Fault], environment: Mapping[str, str]) -> None:
    """Open the first faulty place in the person's editor, else their `file`; a new one is the example, commented out.

    Raises:
        ConfigError: the file could not be made.
        EditorError: nothing came of it.
    """
    worst = sorted(faults, key=lambda fault: fault.severity != "error")
    file, place = (worst[0].file, worst[0].place) if worst else (file, None)
    if not there(file):
        example = own_file("config.example.toml").read_text(encoding="utf-8").splitlines()
        try:
            write_private(file, HEAD + "".join(f"# {line}\n" if line else "\n" for line in example))
        except OSError as error:
            raise ConfigError(f"{file} could not be made: {error.strerror}") from error
    open_at(str(file), place.line if place else 1, environment)


def errors(faults: Iterable[Fault], environment: Mapping[str, str]) -> list[str]:
    """Those that make a configuration unusable, each with its line and a caret where there is one."""
    return [pointed_at(fault, environment) for fault in faults if fault.severity == "error"]


def in_words(fault: Fault, environment: Mapping[str, str]) -> str:
    """A fault with its file as the person writes it."""
    return str(replace(fault, file=Path(tilde(fault.file, environment))))


def pointed_at(fault: Fault, environment: Mapping[str, str]) -> str:
    """A fault in words, with its line and a caret where there is one."""
    try:
        line = marked(fault.file.read_text(encoding="utf-8-sig"), fault.place) if fault.place else ""
    except (OSError, UnicodeDecodeError):
        line = ""
    return "\n".join(filter(None, (in_words(fault, environment), line)))


class Mending:
    """The handlers of these actions."""

    def __init__(self, app: AgentApp) -> None:
        self._app = app

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """By the id of their action."""
        return {"config.edit": lambda _: self.edit(), "config.reload": lambda _: self.reload()}

    async def tell(self) -> None:
        """What is wrong: as a card when the configuration cannot be used."""
        app, faults = self._app, self._app.loaded.faults
        if app.loaded.broken:
            way = "   ".join(filter(None, map(app.keys.say, UNUSABLE.ways)))
            said = await asyncio.to_thread(errors, faults, app.begin.environment)
            app.talk.note("\n".join((*said, ONLY_READS, way)), TITLE)
            faults = tuple(fault for fault in faults if fault.severity != "error")
        for text in (*(in_words(fault, app.begin.environment) for fault in faults), *app.appearance.faults):
            app.talk.note(text)

    async def open(self) -> bool:
        """Let the person edit it; False when nothing came of that, and it was said."""
        app = self._app
        environment = own_environment(app.begin.environment, app.loaded.settings.key_names())
        try:
            await outside(app, lambda: open_config(app.begin.user_file, app.loaded.faults, environment))
        except (ConfigError, EditorError) as error:
            app.notify(plain(str(error)), severity="warning", markup=False)
            return False
        return True

    def edit(self) -> None:
        """`/configure`: edit it, and let it count."""
        if self._app.main.conversation is None or self._app.begin.ready is not None:
            self._app.notify("There is no configuration here to edit.", markup=False)
        else:
            self._app.run_worker(self._edit(), name="editor", group="editor")

    async def _edit(self) -> None:
        if await self.open():
            self.reload()

    def reload(self) -> None:
        """`/reload`: read it again; where it could not be used before, all of it counts, in a session that begins now."""
        app = self._app
        broken = app.loaded.broken
        app.reports.reload("")
        if not broken or app.loaded.broken:
            return
        if any(isinstance(event, ev.UserSaid) for event in app.session.events):
            app.talk.note(
                app.keys.say("This session goes on as it began, in mode read: {session.new} begins one that is not.")
            )
        else:
            app.shelf.work(self._anew())

    async def _anew(self) -> None:
        composer = self._app.main.composer
        draft = composer.draft
        await self._app.shelf.new()
        composer.draft = draft
