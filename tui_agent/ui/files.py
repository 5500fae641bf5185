"""What a person does with the files beside the transcript by their keys: look, add to the message, filter, copy, edit."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterable
from itertools import islice
from typing import TYPE_CHECKING

from textual.timer import Timer

from tui_agent.core import events as ev
from tui_agent.core.disk import beginning
from tui_agent.core.display import plain, sanitise
from tui_agent.tools.walk import Ignores, files
from tui_agent.ui.completion import mention
from tui_agent.ui.editing import clean
from tui_agent.ui.editor import EditorError
from tui_agent.ui.one_line import OneLine
from tui_agent.ui.path_index import fitness
from tui_agent.ui.reviewing import open_editor
from tui_agent.ui.viewer import Viewer
from tui_agent.ui.wrap_view import TextView

if TYPE_CHECKING:
    from tui_agent.ui.main import MainScreen
    from tui_agent.ui.side import SidePane

WAIT_SECONDS = 0.5
"""How long changes are collected before git is asked about them."""

MOST = 200_000
"""Files that a filter looks at."""

LOOKED_AT = 1 << 20
"""Bytes of a file that a look shows."""


class Files:
    """Carries out the actions that are about `tree` on `screen`."""

    def __init__(self, screen: MainScreen, side: SidePane) -> None:
        self._screen, self._side, self._tree = screen, side, side.files
        self._due: Timer | None = None
        self.handlers: dict[str, Callable[[str], None]] = {
            "files.add": self.add,
            "files.filter": self.ask_filter,
            "files.changed": self.only_changed,
            "files.copy": self.copy,
            "files.edit": self.edit,
            "files.diff": lambda _: screen.act("pane.diff"),
            "files.reload": self.reload,
            "pane.tree": self.enter,
        }

    @property
    def _root(self) -> str:
        talk = self._screen.conversation
        return os.fspath(talk.session.root) if talk is not None else ""

    def begin(self) -> None:
        """A session is there: from now on ignore files of its folder count."""
        self._tree.leave_out(Ignores(self._root))
        self._side.show_git({})
        self.look_again()

    def enter(self, _: str) -> None:
        """The keys go to the files, which are shown for that."""
        self._screen.remove_class("-side-closed")
        self._screen.set_class(not self._screen.has_class("-wide"), "-side-open")
        self._tree.focus()

    def uncover(self) -> None:
        """Show the transcript where the files cover all of it: who adds one, or sends, wants to see what comes of it."""
        if self._screen.has_class("-side-open") and not self._screen.transcript.display:
            self._screen.remove_class("-side-open")

    # ------------------------------------------------------------------ what changed

    def reload(self, _: str) -> None:
        """Read the open folders again, and ask git."""
        self._tree.reload()
        self.look_again()

    def follow(self, event: ev.Event | ev.Unknown) -> None:
        """An event that may come with other files: ask git about them soon."""
        if isinstance(event, ev.ToolDone | ev.CheckDone | ev.Undone | ev.RunEnded):
            self.look_again()

    def looked_at(self, here: bool) -> None:
        """The person came back to the terminal, perhaps from another one."""
        if here:
            self.look_again()

    def look_again(self) -> None:
        """Ask git, in a while and once, which files are not as in the newest commit."""
        if self._due is None and self._screen.is_mounted:
            self._due = self._screen.set_timer(WAIT_SECONDS, self._look_again)

    def _look_again(self) -> None:
        self._due = None
        # given uncalled, so that none is left waiting when the app ends first
        ask = self._ask_git
        self._screen.run_worker(ask, name="git", group="git", exclusive=True)  # type: ignore[arg-type]  # the result is nobody's

    async def _ask_git(self) -> None:
        if (talk := self._screen.conversation) is not None:
            self._side.show_git(await talk.session.workspace.differing())

    # ------------------------------------------------------------------ one file

    def look(self, path: str) -> None:
        """Show the file, from the root of the session."""
        self._screen.run_worker(self._look(path), name="look", group="look", exclusive=True)

    async def _look(self, path: str) -> None:
        data = await asyncio.to_thread(beginning, f"{self._root}/{path}", LOOKED_AT)
        if data is None:
            self._screen.notify(f"{plain(path, 'path')} cannot be read.", markup=False)
            return
        more = f"   the first {LOOKED_AT:,} bytes" if len(data) == LOOKED_AT else ""
        shown = sanitise("binary" if b"\0" in data[:8192] else data.decode("utf-8", "replace"), "diff")
        self._screen.app.push_screen(Viewer(f"{plain(path, 'path')}{more}", TextView(shown, "one"), self._screen.keys))

    def add(self, _: str) -> None:
        """Name what is marked, else what is under the cursor, in the message."""
        tree, here = self._tree, self._tree.selected_path
        paths = list(tree.picked) or ([here] if here is not None else [])
        if odd := [path for path in paths if clean(path) != path or "\n" in path]:
            self._screen.notify(f"{plain(odd[0], 'path')} cannot be written in a message.", markup=False)
        elif paths:
            composer = self._screen.composer
            composer.feed_paste("".join(f"{mention(path)} " for path in paths))
            tree.picked.clear()
            composer.focus()
            self.uncover()

    def copy(self, _: str) -> None:
        """Copy the path."""
        if (path := self._tree.selected_path) is not None:
            self._screen.app.copy_to_clipboard(path)

    def edit(self, _: str) -> None:
        """Open the file in the person's editor."""
        if (path := self._tree.selected_path) is not None:
            self._screen.run_worker(self._edit(path), name="editor", group="editor")

    async def _edit(self, path: str) -> None:
        try:
            await open_editor(self._screen.app, self._screen.conversation, f"{self._root}/{path}", 1)
        except EditorError as error:
            self._screen.notify(plain(str(error)), markup=False)
        self.reload("")

    # ------------------------------------------------------------------ filters

    def only_changed(self, _: str) -> None:
        """Show only what was changed; again: everything."""
        self._show_only(None if self._tree.filtered else self._tree.changed, "changed")

    def ask_filter(self, _: str) -> None:
        """Ask for words that a path must fit; none: everything."""

        def chosen(words: str | None) -> None:
            if words is not None:
                self._screen.run_worker(self._filter(words.split()), name="filter", group="filter", exclusive=True)

        self._screen.app.push_screen(OneLine("paths with "), chosen)

    async def _filter(self, words: list[str]) -> None:
        found = await asyncio.to_thread(matching, self._root, words) if words else None
        self._show_only(found, f"with {' '.join(words)}")
        self._tree.focus()

    def _show_only(self, paths: Iterable[str] | None, which: str) -> None:
        self._tree.show_only(paths)
        self._side.name_files("" if paths is None else which)

    def leave_filter(self) -> bool:
        """Show everything again; False when it is shown."""
        found = self._tree.filtered
        self._show_only(None, "")
        return found


def matching(root: str, words: list[str]) -> list[str]:
    """The files below `root` that fit all words as they would behind an `@`, the best first. Blocks."""
    wanted = [word.lower() for word in words]
    found: list[tuple[float, str]] = []
    with contextlib.suppress(OSError):  # the folder went away: nothing more is found in it
        for path, _ in islice(files(root), MOST):
            scores = [score for word in wanted if (score := fitness(word, path)) is not None]
            if len(scores) == len(wanted):
                found.append((-sum(scores), path))
    return [path for _, path in sorted(found)]
