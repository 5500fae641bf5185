"""What is carried to the clipboard and from it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tui_agent.clipboard import picture, routes, send
from tui_agent.core.display import plain
from tui_agent.ui.editor import own_environment
from tui_agent.workspace.images import MAX_BYTES

if TYPE_CHECKING:
    from tui_agent.ui.app import AgentApp


class Carrying:
    """Copies and pastes for the app."""

    def __init__(self, app: AgentApp) -> None:
        self._app = app

    def copy(self, text: str) -> None:
        """Copy a text by the first way that works, and say which.

        What a terminal would obey or hide was left out: nobody sees it before it is pasted somewhere.
        """
        if text:
            self._app.run_worker(self._copy(text), name="copy", group="copy", exclusive=True)

    def paste(self, _: str = "") -> None:
        """Put the picture of the person's clipboard into the message by its path; without one what was copied here."""
        self._app.run_worker(self._paste(), name="paste", group="paste", exclusive=True)

    async def _paste(self) -> None:
        environment, which = self._own_programs()
        try:
            file = await picture(environment, which, self._app.begin.paths.state / "pasted", MAX_BYTES)
        except OSError as error:
            self._app.notify(plain(f"The picture cannot be kept: {error.strerror}"), severity="warning", markup=False)
            return
        self._app.main.composer.feed_paste(self._app.clipboard if file is None else f'@"{file}" ')

    def _own_programs(self) -> tuple[Mapping[str, str], Callable[[str], str | None]]:
        """The environment of a program of the person's own, and what finds it."""
        environment = own_environment(self._app.begin.environment, self._app.loaded.settings.key_names())
        return environment, lambda name: shutil.which(name, path=environment.get("PATH"))

    async def _copy(self, text: str) -> None:
        environment, which = self._own_programs()
        ways = routes(environment, which, len(text.encode("utf-8", "replace")))
        try:
            words = await send(
                text, ways, environment, self._app.main.send_raw, self._app.begin.paths.state / "copied.txt"
            )
        except OSError as error:
            words = f"Nothing was copied: {error.strerror} ({error.filename})"
        self._app.notify(plain(words), markup=False)
