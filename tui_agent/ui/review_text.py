"""The lines around the difference in the review pane: sums, list of files and notes, position, keys. Pure functions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter

from rich.cells import cell_len
from rich.text import Text

from tui_agent.core.display import label, plain
from tui_agent.review import Base, Entry, Note
from tui_agent.ui.actions import ACTIONS, key_name
from tui_agent.ui.diff_view import DiffView
from tui_agent.ui.keymap import USUAL, Keymap
from tui_agent.undo import Turn

LIST_FROM = 100
"""From this width on the list of files stands beside the difference."""
LIST_WIDTH = 34
NARROW = 60
"""Below this width single letters stand for words."""

AGAINST: dict[Base, str] = {
    "session": "since the session began",
    "turn": "since your last message",
    "head": "against HEAD",
}
_SHORT: dict[Base, str] = {"session": "session", "turn": "turn", "head": "HEAD"}
NOTING = "Enter keep   empty: no note   Esc back"

_FIRST = tuple(
    f"review.{name}"
    for name in ["next", "previous", "next_file", "previous_file", "revert", "note", "mark", "editor", "base", "layout"]
)
"""What is named first where there is no room for all."""
_OF_CHANGES = (
    *_FIRST,
    *(a.id for a in ACTIONS if a.scope == "review" and a.id not in {*_FIRST, "review.apply"}),
)
_OF_REFUSED = tuple(
    f"review.{name}"
    for name in [
        "apply",
        "mark",
        "next",
        "previous",
        "next_file",
        "previous_file",
        "copy",
        "pager",
        "layout",
        "wrap",
        "help",
        "back",
    ]
)
_OF_NOTHING = ("review.base", "review.help", "review.back")
_ONLY_APPLIED = {"review.apply", "review.mark"}
"""What a refused change is for that fits no more."""


_OF_THE_SESSION = {"review.revert", "review.revert_file", "review.mark", "review.mark_all"}
"""What takes back: what stands in no commit is not all of this session's making."""


def _hints(ids: Collection[str], own: Keymap) -> list[str]:
    """Keys with their words, two of the same word together."""
    actions = [action for each in ids if (action := own[each]).keys]
    words = {"review.mark": "leave out"} if "review.apply" in ids else {}
    pairs = [(words.get(action.id, action.hint), key_name(action.keys[0])) for action in actions]
    return [f"{' '.join(key for _, key in some)} {hint}" for hint, some in groupby(pairs, key=itemgetter(0))]


@dataclass(frozen=True, slots=True)
class Sums:
    """What changed in all: files and lines that were applied, and how many files were not.

    `more`: still counting; `known`: the lines of any file could be counted.
    """

    files: int = 0
    added: int = 0
    removed: int = 0
    others: int = 0
    more: bool = True
    known: bool = False

    def plus(self, entry: Entry) -> Sums:
        """With one more file."""
        if entry.proposed:
            return replace(self, others=self.others + 1)
        added, removed = self.added + entry.added, self.removed + entry.removed
        return Sums(
            self.files + 1, added, removed, self.others, self.more, self.known or (entry.known and not entry.binary)
        )


def head(sums: Sums, base: Base, notes: int, width: int) -> Text:
    """What changed in all, against what; in few words where there is little room, so that every number stays."""
    more = "…" if sums.more else ""
    lines = f" +{sums.added:,} -{sums.removed:,}{more}" if sums.known or not sums.files else ""
    counts = f"{sums.files:,}{more} file{'s' * (sums.files != 1)}{lines}"
    verb = "changed " if width >= NARROW and base != "head" else ""
    left, noted = f"{sums.others} not applied" * (sums.others > 0), f"notes {notes}" * (notes > 0)
    first = (f"{counts}  {verb}{AGAINST[base]}", f"{counts}  {_SHORT[base]}", counts, lines.strip())
    rest = ((left, noted), (f"x {sums.others}" * bool(left), noted))
    tries = [(start, said) for said in rest for start in first[:2]] + [(start, rest[1]) for start in first[2:]]
    fits = (each for each in tries if cell_len("   ".join(filter(None, (each[0], *each[1])))) <= width - 2)
    start, said = next(fits, tries[-1])
    text = Text(start, "bold", no_wrap=True, overflow="ellipsis")
    for words, style in zip(said, ("dim", ""), strict=True):
        text.append(f"   {words}" if words else "", style)
    return text


def file_list(entries: Sequence[Entry], at: int, notes: Sequence[Note], turns: Sequence[Turn], height: int) -> Text:
    """The files around the one that is shown, as many as fit; below them the newest turns, and the newest notes.

    A turn that changed the file that is shown has the mark of that file.
    """
    below = min(len(notes), max(0, height // 3 - 1))
    room = height - (below + 2 if below else 0)
    asked = min(len(turns), max(0, min(height // 3 - 1, room - len(entries) - 2)))
    room -= asked + 2 if asked else 0
    text = Text(no_wrap=True, overflow="crop")
    start = max(0, min(at - room // 2, len(entries) - room))
    for number, entry in list(enumerate(entries[start : start + room], start)):
        lead = "› " if number == at else "  "
        style = "bold" if number == at else "dim" if entry.proposed else ""
        counts = "binary" if entry.binary else f"+{entry.added} -{entry.removed}" if entry.known else ""
        name = label(entry.path, LIST_WIDTH - 7 - len(counts), "path")
        text.append(f"{lead}{entry.mark} {name}", style)
        text.append(" " * (LIST_WIDTH - 6 - cell_len(name) - len(counts)) + counts + "\n", "dim")
    if asked:
        text.append("\n  turns\n", "dim")
        shown = entries[at].path if at < len(entries) else ""
        for turn in turns[:asked]:
            lead = f"{'›' if shown in turn.paths else ' '} {turn.number:>2} "
            text.append(f"{lead}{label(' '.join(turn.text.split()), LIST_WIDTH - 3 - len(lead))}\n")
    if below:
        text.append("\n  notes\n", "dim")
        for note in notes[-below:]:
            about = f"{plain(note.path, 'path')}:{note.line} {note.text}"
            text.append(f"  {label(about, LIST_WIDTH - 4)}\n")
    return text


def position(entry: Entry | None, at: int, sums: Sums, view: DiffView | None, width: int) -> Text:
    """Path and position in the file that is shown."""
    if entry is None:
        return Text("Looking…" if sums.more else "Nothing was changed.", "dim")
    count = sums.files + sums.others
    text = Text()
    narrow = width < NARROW
    place = f"{'f' if narrow else 'file'} {at + 1}/{count}"
    counts = ""
    if view is not None:
        counts = "" if narrow or view.binary else f"   +{view.added:,} -{view.removed:,}"
        place += f"  {'h' if narrow else 'hunk'} {view.hunk}/{len(view.hunks)}" if view.has_lines else ""
        place += f"   {view.ending}" if view.ending else ""
        if view.left_out:
            place += f"   {len(view.left_out)} {'left out' if entry.proposed else 'marked'}"
    named = view is not None and view.has_lines and (not narrow or view.looks.sides != "auto")
    layout = view.layout_words if view is not None and named else ""
    room = width - len(place) - len(counts) - 8
    if layout and cell_len(plain(entry.path, "path")) + 3 + len(layout) <= room:
        place, layout = f"{place}   {layout}", ""
    name = label(entry.path, max(6, room), "path")
    text.append(f"{entry.mark} {name}", "bold")
    text.append(f"{counts}   {place}")
    if words := "; ".join(filter(None, (layout, plain(entry.words)))):
        text.append(f"\n{words}", "dim")
    return text


def keys(entry: Entry | None, word: str, width: int, own: Keymap = USUAL, *, base: Base = "session") -> Text:
    """The keys that work now, as many as fit, the way out in any case; or the word that stands in their place.

    `own` are the keys of the person, `base` is what the files are compared with.
    """
    if word:
        return Text(word, "bold")
    ids = _OF_NOTHING if entry is None else _OF_REFUSED if entry.proposed else _OF_CHANGES
    if entry is not None and entry.proposed and entry.request is None:
        ids = tuple(each for each in ids if each not in _ONLY_APPLIED)
    if base == "head":
        ids = tuple(each for each in ids if each not in _OF_THE_SESSION)
    named = _hints(ids, own)
    last, line = "   ".join(named[-2:]), ""
    for key in named[:-2]:
        if len(line) + len(key) + 3 + len(last) > width - 2:
            break
        line += key + "   "
    return Text(line + last, "dim", no_wrap=True, overflow="ellipsis")
