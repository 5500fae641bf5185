"""What only looks: files, folders and searches."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from tui_agent.core.types import ApprovalRequest, ListFiles, Outcome, ReadFile, SearchText
from tui_agent.tools import commands, listing, names
from tui_agent.tools import search as searching
from tui_agent.tools.arguments import ToolError
from tui_agent.tools.files import render_file
from tui_agent.workspace.blocking import off_loop
from tui_agent.workspace.files import Disk
from tui_agent.workspace.memory import Memory
from tui_agent.workspace.running import Run

_PASSWORD = re.compile(r"(://[^/\s:@]*:)[^@\s/]+@")


@dataclass(frozen=True, slots=True)
class Looking:
    """Carries out the effects that change nothing. `run` starts our own helpers, `line_numbers`: reads carry them."""

    disk: Disk
    memory: Memory
    run: Run
    line_numbers: bool

    async def carry_out(self, request: ApprovalRequest, effect: ReadFile | ListFiles | SearchText) -> Outcome:
        """Look, and tell what was seen; the world's refusals are outcomes too."""
        match effect:
            case ReadFile():
                stopped = Event()
                return await off_loop(lambda: self._read(request, effect, stopped), stopped)
            case ListFiles():
                return await off_loop(lambda: self._list(request, effect))
            case SearchText():
                return await self._search(effect)

    def _read(self, request: ApprovalRequest, effect: ReadFile, stopped: Event) -> Outcome:
        place = self.disk.anchor.again(effect.path, request.policy.floors)
        view, identity = self.disk.view(place, effect.start, effect.limit, stopped)
        sight = self.memory.read(place.path, view, identity, secret=bool(place.floors))
        text = render_file(view, numbers=self.line_numbers)
        if ".git" in place.parts:
            text = _PASSWORD.sub(r"\1***@", text)
        return Outcome("applied", text, note=listing.counted(len(view.lines), "line"), sight=sight)

    def _list(self, request: ApprovalRequest, effect: ListFiles) -> Outcome:
        place = self.disk.anchor.again(effect.path, request.policy.floors)
        with self.disk.anchor.folder(place.parts) as folder, os.scandir(folder) as found:
            entries = [_entry(entry) for entry in found if not names.noise(entry.name)]
        return Outcome("applied", listing.render(entries), note=listing.counted(len(entries), "entry", "entries"))

    async def _search(self, effect: SearchText) -> Outcome:
        if program := self._ripgrep():
            result = await self._child(searching.ripgrep(program, effect.text, effect.path))
            if result.timed_out or result.exit_code in {0, 1}:  # else it does not know this kind of expression
                return await off_loop(lambda: self._found(effect, result))
        result = await self._child(searching.python(effect.text, effect.path))
        return await off_loop(lambda: self._found(effect, result))

    def _ripgrep(self) -> str | None:
        """The ripgrep of this machine, unless it lies in the workspace."""
        program = shutil.which("rg")
        return program if program and not os.path.realpath(program).startswith(self.disk.anchor.root + "/") else None

    async def _child(self, argv: tuple[str, ...]) -> commands.CommandResult:
        return await self.run(argv, cwd=Path(self.disk.anchor.root), timeout=searching.TIMEOUT, emit=None)

    def _found(self, effect: SearchText, result: commands.CommandResult) -> Outcome:
        output = result.output.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        hits = searching.parse(output, self._shown)
        if result.exit_code not in {0, 1} and not hits:
            why = f"it took longer than {searching.TIMEOUT:g} s" if result.timed_out else result.error or output[-500:]
            raise ToolError(f"the search failed: {why}. Try a simpler text or a smaller folder.")
        text = searching.render(effect.text, effect.path, hits)
        if result.timed_out:
            text += f"\n[stopped after {searching.TIMEOUT:g} s; there may be more]"
        return Outcome("applied", text, note=listing.counted(len(hits), "hit"))

    def _shown(self, path: str) -> bool:
        """Whether a hit in this file may be told: an ordinary place, no secret, no other name outside."""
        try:
            place = self.disk.anchor.resolve(path)
        except ToolError:
            return False
        return place.path == path and place.is_file and not place.floors and not any(map(names.noise, place.parts))


def _entry(entry: os.DirEntry[str]) -> listing.Entry:
    if entry.is_symlink():
        return listing.Entry(entry.name, "link")
    if entry.is_dir(follow_symlinks=False):
        return listing.Entry(entry.name, "folder")
    if entry.is_file(follow_symlinks=False):
        return listing.Entry(entry.name, "file", entry.stat(follow_symlinks=False).st_size)
    return listing.Entry(entry.name, "other")
