"""The file tree: one folder is read when it is opened, in a thread, and shown in small batches.

Textual's own `DirectoryTree` stalls the event loop for a second on a folder of 20,000 files. Here
a folder shows at most `PAGE` entries and a node that says how many more there are.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import ClassVar, Literal

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Tree
from textual.widgets.tree import TreeNode

from tui_agent.core.display import plain
from tui_agent.tools.names import cache, noise
from tui_agent.ui.actions import ACTIONS

PAGE = 2_000
"""Entries of one folder that are shown before the person asks for more."""

BATCH = 100
"""Nodes that are added or removed before other work gets its turn; 100 take some milliseconds."""

DIM_NAMES = frozenset({"node_modules", ".venv"})

Kind = Literal["folder", "file", "link", "other", "more", "note"]
"""link: leads nowhere we follow. other: pipe, socket, device. more, note: no entry of the folder."""

_NO_LABEL = Text("-")
_TOGGLES = Style.from_meta({"toggle": True})


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the tree. `path` is relative to the root with `/` between names; `shown` is safe to draw."""

    path: str
    kind: Kind
    shown: str
    note: str = ""
    width: int = field(init=False)
    """Cells of `shown` and `note`; counted here, in the thread that makes the entry."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", cell_len(self.shown) + cell_len(self.note))


def list_folder(
    root: Path, path: str, hidden: Callable[[str], bool] = lambda _path: False, start: int = 0
) -> list[Entry]:
    """Read one folder below `root`: folders first, then by name. Blocks, so call it in a thread.

    At most `PAGE` entries from number `start` on are returned, and around them one that says how
    many were left out. `.git` is never listed, nor what `hidden` says of its path (a folder's ends
    in `/`). A link to a folder counts as a folder when it stays inside the root and leads to none
    of the folders above it.

    Raises:
        OSError: the folder cannot be read, or leads out of the root by now.
    """
    parts = path.split("/") if path else []
    real_root = os.path.realpath(root)
    above = {os.path.realpath(root.joinpath(*parts[:depth])) for depth in range(len(parts) + 1)}
    if not all(_is_inside(real, real_root) for real in above):
        raise PermissionError(None, "leads out of the workspace")
    prefix = f"{path}/" if path else ""
    found: list[tuple[bool, str, str, Kind, str]] = []
    with os.scandir(root.joinpath(*parts)) as items:
        for item in items:
            kind, note = _kind(item, real_root, above)
            if item.name != ".git" and not hidden(prefix + item.name + "/" * (kind == "folder")):
                found.append((kind != "folder", item.name.casefold(), item.name, kind, note))
    found.sort()
    start = max(0, min(start, len(found) - 1))
    entries = [
        Entry(prefix + name, kind, plain(name, "path"), note) for _, _, name, kind, note in found[start : start + PAGE]
    ]
    if start:
        entries.insert(0, Entry(f"{prefix}\0before", "more", f"… {start:,} before"))
    if (rest := len(found) - start - PAGE) > 0:
        entries.append(Entry(f"{prefix}\0after", "more", f"… {rest:,} more"))
    return entries


def _kind(item: os.DirEntry[str], root: str, above: set[str]) -> tuple[Kind, str]:
    if item.is_symlink():
        target = os.path.realpath(item.path)
        follow = _is_inside(target, root) and target not in above and Path(target).is_dir()
        return "folder" if follow else "link", "→ " + plain(os.fspath(Path(item.path).readlink()), "path")
    if item.is_dir():
        return "folder", ""
    return ("file", "") if item.is_file() else ("other", "")


def _is_inside(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")


OWN = {
    "files.up": "cursor_up",
    "files.down": "cursor_down",
    "files.leave": "leave",
    "files.enter": "enter",
    "files.open": "select_cursor",
    "files.mark": "mark",
    "files.all": "toggle_noise",
}
"""The actions of the table that the tree carries out itself."""


class FileTree(Tree[Entry]):
    """The files below `root`, each folder read when it is opened.

    `ignored` says which paths, relative and a folder's ending in `/`, are left out until the person
    asks for them with `.`; it runs in a thread.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(",".join(a.keys), OWN.get(a.id, f"screen.act('{a.id}')"), a.title, show=False, id=a.id)
        for a in ACTIONS
        if a.scope == "files"
    ]

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "file-tree--dim",
        "file-tree--folder",
        "file-tree--added",
        "file-tree--changed",
        "file-tree--deleted",
    }

    @dataclass
    class Chosen(Message):
        """The person chose the file at `path`, relative to the root."""

        path: str

    def __init__(
        self,
        root: Path,
        *,
        ignored: Callable[[str], bool] = lambda _path: False,
        id: str | None = None,  # noqa: A002 - Textual's name for it
    ) -> None:
        super().__init__(_NO_LABEL, Entry("", "folder", ""), id=id)
        self._root = root
        self._ignored = ignored
        self._marks: Mapping[str, str] = {}
        self._marks_below: Counter[str] = Counter()
        self._starts: Counter[str] = Counter()
        self._only: tuple[str, ...] | None = None
        self.picked: dict[str, None] = {}
        """The paths that the person marked, in that order."""
        self.show_noise = False
        """Whether ignored files and programs' own leftovers are listed."""
        self.show_root = False
        self.show_guides = False
        self.guide_depth = 2

    def on_mount(self) -> None:
        """Read the root."""
        self.root.expand()

    def on_focus(self) -> None:
        """Read again what changed on the disk meanwhile."""
        self.reload()

    # ------------------------------------------------------------------ what the app says

    def mark_changed(self, paths: Mapping[str, str]) -> None:
        """Show a letter before each of `paths`: M, A, D or ?; `*` behind it means changed by this session.

        Replaces the marks of the last call. A deleted file is listed as long as it is marked.
        """
        if paths == self._marks:
            return
        touched = {_parent(path) for path in {*paths} ^ {*self._marks}}
        self._marks = dict(paths)
        self._marks_below = Counter(above for path in paths for above in _above(path))
        for path, node in self._folders().items():
            if path in touched:
                self._read(node)
        self._invalidate()

    def leave_out(self, ignored: Callable[[str], bool]) -> None:
        """Leave out what this says from now on."""
        self._ignored = ignored
        self.reload()

    def show_only(self, paths: Iterable[str] | None) -> None:
        """Show these files alone, each with its whole path; with None the folders again."""
        only = None if paths is None else tuple(paths)
        if only != self._only:
            self._only = only
            self._read(self.root)

    @property
    def filtered(self) -> bool:
        """Whether some files alone are shown."""
        return self._only is not None

    @property
    def changed(self) -> tuple[str, ...]:
        """The paths that have a mark."""
        return tuple(sorted(self._marks))

    def reload(self) -> None:
        """Read every open folder again that has changed."""
        for node in self._folders().values():
            if node.is_expanded:
                self._read(node)

    @property
    def selected_path(self) -> str | None:
        """The path under the cursor, None when there is none."""
        entry = self.cursor_node.data if self.cursor_node else None
        return None if entry is None or entry.kind in {"more", "note"} else entry.path

    # ------------------------------------------------------------------ what the person does

    def on_tree_node_expanded(self, event: Tree.NodeExpanded[Entry]) -> None:
        """Read the folder that was opened."""
        event.stop()
        self._read(event.node)

    def on_tree_node_selected(self, event: Tree.NodeSelected[Entry]) -> None:
        """Choose a file, or show more of a folder."""
        event.stop()
        entry = event.node.data
        if entry is not None and entry.kind == "more" and event.node.parent is not None:
            self._starts[_parent(entry.path)] += PAGE if entry.path.endswith("after") else -PAGE
            self._read(event.node.parent)
            self.move_cursor(event.node.parent)
        elif entry is not None and entry.kind in {"file", "link"}:
            self.post_message(self.Chosen(entry.path))

    def action_leave(self) -> None:
        """Close the folder under the cursor, or go to the one it is in."""
        node = self.cursor_node
        if node is not None and node.is_expanded:
            node.collapse()
        elif node is not None and node.parent is not None and node.parent is not self.root:
            self.move_cursor(node.parent)

    def action_enter(self) -> None:
        """Open the folder under the cursor, or go to its first entry."""
        node = self.cursor_node
        if node is None or not node.allow_expand:
            return
        if not node.is_expanded:
            node.expand()
        elif node.children:
            self.move_cursor(node.children[0])

    def action_mark(self) -> None:
        """Mark the file or folder under the cursor, or take the mark back, and go on."""
        path = self.selected_path
        if path is not None:
            if path in self.picked:
                del self.picked[path]
            else:
                self.picked[path] = None
            self._invalidate()
            self.refresh()
            self.action_cursor_down()

    def action_toggle_noise(self) -> None:
        """Show or hide ignored files and programs' own leftovers."""
        self.show_noise = not self.show_noise
        self.reload()

    # ------------------------------------------------------------------ reading

    def _folders(self) -> dict[str, TreeNode[Entry]]:
        """Return the folders that were opened at least once and are still there."""
        found: dict[str, TreeNode[Entry]] = {}
        todo = [self.root]
        while todo:
            node = todo.pop()
            if node.data is not None:
                found[node.data.path] = node
            todo += [child for child in node.children if child.allow_expand and (child.is_expanded or child.children)]
        return found

    def _read(self, node: TreeNode[Entry]) -> None:
        load: Callable[[], Awaitable[None]] = partial(self._load, node)
        self.run_worker(load, group=f"read {node.id}", exclusive=True)

    async def _load(self, node: TreeNode[Entry]) -> None:
        assert node.data is not None
        path = node.data.path
        if self._only is not None and node is self.root:
            names = [Entry(name, "file", plain(name, "path")) for name in self._only[:PAGE]]
            if (rest := len(self._only) - PAGE) > 0:
                names.append(Entry("\0rest", "note", f"… {rest:,} more"))
            await self._show(node, names or [Entry("\0", "note", "no file")])
            return
        try:
            entries = await asyncio.to_thread(list_folder, self._root, path, self._hidden, self._starts[path])
        except OSError as error:
            entries = [Entry(f"{path}/\0", "note", plain(error.strerror or type(error).__name__))]
        there = {entry.path for entry in entries}
        for marked, mark in self._marks.items():
            if mark.startswith("D") and _parent(marked) == path and marked not in there:
                entries.append(Entry(marked, "other", plain(marked.rpartition("/")[2], "path")))
        await self._show(node, entries)

    def _hidden(self, path: str) -> bool:
        name = path.rstrip("/").rpartition("/")[2]
        return not self.show_noise and (noise(name) or cache((name,)) or self._ignored(path))

    async def _show(self, node: TreeNode[Entry], wanted: Sequence[Entry]) -> None:
        """Make the children of `node` equal `wanted`, in batches; nodes that stay keep their state."""
        keep = set(wanted)
        changes = 0
        for child in list(node.children):
            if child.data not in keep:
                child.remove()
                changes += 1
                if changes % BATCH == 0:
                    await asyncio.sleep(0)
        have = {child.data for child in node.children}
        for index, entry in enumerate(wanted):
            if entry not in have:
                node.add(_NO_LABEL, entry, before=index, allow_expand=entry.kind == "folder")
                changes += 1
                if changes % BATCH == 0:
                    await asyncio.sleep(0)
        if self.cursor_node is None:
            self.cursor_line = 0  # so that the first key says something of the first line

    # ------------------------------------------------------------------ looks

    def process_label(self, label: str | Text) -> Text:
        """Keep labels out of the nodes: a line is built from its entry when it is drawn."""
        return _NO_LABEL

    def get_label_width(self, node: TreeNode[Entry]) -> int:
        """Return the width of a label in cells, without building it."""
        entry = node.data
        return 0 if entry is None else 12 + entry.width

    def render_label(self, node: TreeNode[Entry], base_style: Style, style: Style) -> Text:
        """Build one line: icon or mark, name, then what else there is to say."""
        entry = node.data
        assert entry is not None
        mark = self._marks.get(entry.path, "")
        if entry.kind == "folder":
            picked = "›" if entry.path in self.picked else " "
            sign = (f"{'▾' if node.is_expanded else '▸'}{picked}", base_style + style + _TOGGLES)
        else:
            sign = (
                f"{mark[:1] or ' '}{'›' if entry.path in self.picked else ' '}",
                base_style + style + self._style_of(mark),
            )
        extra = " *" if mark.endswith("*") else ""
        if entry.kind == "folder" and not node.is_expanded and (below := self._marks_below[entry.path]):
            extra = f" ±{below}"
        if entry.note:
            extra += f" {entry.note}"
        name = Text(entry.shown, base_style + style + self._name_style(entry, mark))
        depth = sum(1 for _ in _ancestors(node)) - 1
        name.truncate(max(4, self.size.width - self.guide_depth * depth - 2 - cell_len(extra)), overflow="ellipsis")
        return Text.assemble(sign, name, (extra, base_style + style + self._component("dim")), no_wrap=True)

    def _name_style(self, entry: Entry, mark: str) -> Style:
        if entry.kind in {"other", "more", "note"} or entry.shown in DIM_NAMES:
            return self._component("dim")
        return self._component("folder") if entry.kind == "folder" else self._style_of(mark)

    def _style_of(self, mark: str) -> Style:
        names = {"A": "added", "?": "added", "D": "deleted", "M": "changed"}
        return self._component(names[mark[0]]) if mark[:1] in names else Style()

    def _component(self, name: str) -> Style:
        return self.get_component_rich_style(f"file-tree--{name}", partial=True)


def _ancestors(node: TreeNode[Entry]) -> Iterator[TreeNode[Entry]]:
    while (above := node.parent) is not None:
        yield (node := above)


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _above(path: str) -> list[str]:
    """Return the folders that `path` lies in."""
    parts = path.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]
