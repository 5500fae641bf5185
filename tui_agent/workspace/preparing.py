"""What a call would do: the first half of a commit, in which nothing is changed yet."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tui_agent.core.types import (
    ApprovalRequest,
    Effect,
    ListFiles,
    PolicyRequest,
    ReadFile,
    RunArgv,
    RunScript,
    SearchText,
    ToolCall,
    WriteBytes,
)
from tui_agent.tools import names
from tui_agent.tools.arguments import ToolError
from tui_agent.tools.registry import Situation, Tool, find, summary
from tui_agent.tools.text import TextFile
from tui_agent.workspace import git, git_view
from tui_agent.workspace.files import Disk, check_writable, runs_as
from tui_agent.workspace.memory import Memory
from tui_agent.workspace.operands import floors_of_words
from tui_agent.workspace.paths import Place, not_regular

_SHORT = 8000
"""Bytes of a file that a model can well send whole."""


@dataclass(frozen=True, slots=True)
class Preparing:
    """Makes requests out of calls. `tools` are those offered now, `timeout` is that of commands, in seconds, `new_id` names requests."""

    disk: Disk
    memory: Memory
    tools: Callable[[], Mapping[str, Tool]]
    timeout: float
    new_id: Callable[[], str]
    _failed: Counter[str] = field(default_factory=Counter)

    def prepare(
        self, call: ToolCall, earlier: tuple[ApprovalRequest, ...], *, by_person: bool = False
    ) -> ApprovalRequest:
        """What a call would do on top of the `earlier` requests of its batch; `by_person`: nothing need have been read.

        Raises:
            ToolError: it cannot be done, in words for the model.
        """
        tool = find(call, self.tools())
        arguments = tool.arguments(call)
        place = None
        if tool.has_path:
            place = self.disk.anchor.resolve(arguments.get("path", "."))
        base: bytes | None = None
        depends: tuple[str, ...] = ()
        if place and tool.changes_file:
            base, depends = self._base(tool, place, arguments, earlier, unread=by_person and "content" not in arguments)
        asked = effect = self._effect(tool, arguments, Situation(place.path if place else "", base, self.timeout))
        if place and isinstance(effect, WriteBytes) and not depends:
            asked = effect = replace(effect, at=self.disk.state(place))
        made = place is not None and place.info is None and _made_by(earlier, place.path)
        if place and isinstance(effect, (ReadFile, ListFiles, SearchText)) and not made:
            self._look(place, effect)
        caution = names.caution(place.parts) if place and isinstance(effect, WriteBytes) else ""
        floors = place.floors if place else ()
        if isinstance(asked, RunArgv):
            floors = floors_of_words(self.disk.anchor, asked.argv)
            viewed = not floors or git_view.fits(Path(self.disk.anchor.root))  # without a floor it may run unasked
            effect = replace(asked, argv=git.argv(asked.argv, viewed=viewed))  # shown, hashed and executed like this
        named = os.path.normpath(place.named.removeprefix(self.disk.anchor.root + "/")) if place else ""
        return ApprovalRequest(
            id=self.new_id(),
            call=call,
            effect=effect,
            policy=PolicyRequest(
                tool.spec.name,
                tool.permission,
                argv=asked.argv if isinstance(asked, RunArgv) else None,
                command=effect.script if isinstance(effect, RunScript) else None,
                path=place.path if place else None,
                floors=floors,
                careful=caution,
            ),
            summary=summary(asked, named),
            depends_on=depends,
            caution="; ".join(filter(None, (caution, _loses(effect)))),
        )

    def _effect(self, tool: Tool, arguments: Mapping[str, Any], situation: Situation) -> Effect:
        """What the call would do; a second exact edit in a row that fails offers the whole-file form."""
        exact = tool.spec.name in {"edit_file", "multi_edit"}
        try:
            effect = tool.prepare(arguments, situation)
        except ToolError as error:
            if exact:
                self._failed[situation.path] += 1
            short = situation.base is not None and len(situation.base) < _SHORT
            if self._failed[situation.path] > 1 and short and "write_file" in self.tools():
                raise ToolError(
                    f"{error} If this keeps failing, send the whole new text with write_file.", error.status
                ) from None
            raise
        self._failed.pop(situation.path, None)
        return effect

    def _base(
        self,
        tool: Tool,
        place: Place,
        arguments: Mapping[str, Any],
        earlier: tuple[ApprovalRequest, ...],
        *,
        unread: bool,
    ) -> tuple[bytes | None, tuple[str, ...]]:
        """The bytes that a change starts from, and the request of the same batch that it builds on.

        `unread`: the model need not have read them.
        """
        if place.no_write:
            raise ToolError(f"refused: {place.named}: {place.no_write}", "refused")
        if place.info and not place.is_file:
            raise not_regular(place)
        for request in reversed(earlier):
            if isinstance(request.effect, WriteBytes) and request.effect.path == place.path:
                return request.effect.new, (request.id,)
        found = self.disk.content(place)
        if found is None:
            if twin := self.disk.anchor.twin(place):
                differ = "case" if twin.casefold() == place.parts[-1].casefold() else "how accents are written"
                raise ToolError(
                    f"{place.named} does not exist, but {twin} does: did you mean {twin}? The names differ in {differ} only.",
                    "refused",
                )
            return None, ()
        base, info = found
        check_writable(place, info)
        if tool.reads_first and not unread:
            TextFile.decode(base, place.named)  # what is no text cannot be read first either: say that instead
            self.memory.check(place.path, place.named, base, whole="content" in arguments)
        if tool.not_stale and not unread and place.path in self.memory.known:
            self.memory.check(place.path, place.named, base, whole=False)
        return base, ()

    def _look(self, place: Place, effect: ReadFile | ListFiles | SearchText) -> None:
        """Say what is wrong with a place before anybody is asked about it."""
        if place.info is None:
            if not os.path.lexists(self.disk.anchor.root):
                raise ToolError("the folder of this workspace is gone, so nothing in it can be read; ask the user")
            raise ToolError(f"{place.named} was not found: no such file or folder{self.disk.anchor.similar(place)}")
        if isinstance(effect, ReadFile) and not place.is_file:
            raise not_regular(place)
        if isinstance(effect, ListFiles) and not place.is_folder:
            raise ToolError(f"{place.named} is not a folder; use read_file")
        if isinstance(effect, SearchText) and not (place.is_folder or place.is_file):
            raise not_regular(place)


def _loses(effect: Effect) -> str:
    """What a file loses with its bytes, for the person."""
    if not isinstance(effect, WriteBytes) or effect.new is None or effect.at is None:
        return ""
    bits = runs_as(effect.at.mode or 0)
    return f"this file is {bits}; changed, it is that no more" if bits else ""


def _made_by(earlier: tuple[ApprovalRequest, ...], path: str) -> bool:
    """Whether a request of the same batch makes this file, or a file below this folder, before it is looked at."""
    writes = [r.effect for r in earlier if isinstance(r.effect, WriteBytes) and r.effect.new is not None]
    return any(write.path == path or write.path.startswith(f"{path}/") for write in writes)
