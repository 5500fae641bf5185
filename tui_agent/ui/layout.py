"""Where the blocks of a story are at one width, and what a row holds. Knows no terminal.

A block is drawn when it is looked at; until then its height is a guess. The rows of what is still open
(the end of the streaming reply, running actions) stand below all blocks and are drawn anew each time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from textual.cache import LRUCache
from textual.geometry import Offset

from tui_agent.ui.blocks import Action, Block
from tui_agent.ui.entries import entry
from tui_agent.ui.heights import Heights
from tui_agent.ui.keymap import USUAL as USUAL_KEYS
from tui_agent.ui.lines import BLANK, Line
from tui_agent.ui.markdown import Prose, Tail
from tui_agent.ui.render import cut, estimate, gap_between, raw, rows, with_keys
from tui_agent.ui.selection import copied
from tui_agent.ui.story import Story

DRAWN = 400
"""Blocks whose rows are kept."""

Switch: TypeAlias = Literal["flipped", "raw", "cut"]


@dataclass(frozen=True, slots=True)
class Manner:
    """How the person wants one block: folded the other way, as its source, with long lines cut instead of wrapped."""

    flipped: bool = False
    raw: bool = False
    cut: bool = False
    left: int = 0
    """The first character of cut lines that is shown."""


USUAL = Manner()


class Layout:
    """The rows of a story."""

    def __init__(self, story: Story) -> None:
        self.width = 0
        """Columns; nothing is laid out at 0."""
        self.say: Callable[[str], str] = USUAL_KEYS.say
        """Puts the person's keys into a text of ours."""
        self.compact = False
        """Whether not even what failed shows details at first."""
        self.full = False
        """Whether details are unfolded, but for the blocks that the person folded the other way."""
        self._manners: dict[int, Manner] = {}
        self._story = story
        self._heights = Heights()
        self._exact: set[int] = set()
        self._drawn: LRUCache[tuple[Block, int, bool, bool, bool, int], list[Line]] = LRUCache(DRAWN)
        self._tail = Tail()
        self._open: list[Line] = []

    def of(self, story: Story) -> Layout:
        """The rows of another story, not laid out yet: keys and details as the person has them."""
        other = Layout(story)
        other.say, other.compact = self.say, self.compact
        return other

    @property
    def total(self) -> int:
        """Number of rows."""
        return self._heights.total + len(self._open)

    def update(self) -> int:
        """Take the changes of the story: the first row that looks different."""
        story, heights, before = self._story, self._heights, self._open
        kept = min(story.changed, len(heights))
        first = heights.start(kept)
        grown = kept < len(heights) or kept < len(story.blocks)
        if kept < len(heights):
            heights.truncate(kept)
            self._exact = {index for index in self._exact if index < kept}
            self._manners = {index: manner for index, manner in self._manners.items() if index < kept}
        for index in range(kept, len(story.blocks)):
            heights.append(self._gap(index) + estimate(self._shown(index), self.width))
        story.changed = len(story.blocks)
        self._open = self._draw_open()
        if grown:
            return first
        pairs = enumerate(zip(before, self._open, strict=False))
        return first + next((row for row, (old, new) in pairs if old != new), min(len(before), len(self._open)))

    def forget(self) -> None:
        """Draw every block anew."""
        self._drawn.clear()

    def rewrap(self, width: int, full: bool, top: int) -> int:
        """Forget all heights: where the block that was at row `top` is now."""
        if full != self.full:
            self._manners = {index: replace(manner, flipped=False) for index, manner in self._manners.items()}
        old, self.width, self.full = self._heights, width, full
        self._heights, self._exact = Heights(), set()
        for index in range(len(old)):
            self._heights.append(self._gap(index) + estimate(self._shown(index), width))
        self._open = self._draw_open()
        if top >= old.total:
            return self._heights.total + top - old.total
        index, offset = old.find(top)
        height = self._make_exact(index)
        return self._heights.start(index) + offset * height // old[index]

    def measure(self, top: int, bottom: int) -> int | None:
        """Make the heights of visible blocks exact: the rows by which what lies above `top` grew; None if all were."""
        heights = self._heights
        bottom = min(bottom, heights.total)
        if top >= bottom:
            return None
        index, _ = heights.find(top)
        start, shift, changed = heights.start(index), 0, False
        while index < len(heights) and start < bottom:
            guess = heights[index]
            if index not in self._exact:
                grown = self._make_exact(index) - guess
                shift += grown if start < top else 0
                changed = True
            start += guess
            index += 1
        return shift if changed else None

    def line(self, row: int) -> Line:
        """A row; blank outside the story."""
        heights = self._heights
        if row >= heights.total:
            row -= heights.total
            return self._open[row] if row < len(self._open) else BLANK
        index, offset = heights.find(row)
        offset -= self._gap(index)
        lines = self._rows(index)
        return lines[offset] if 0 <= offset < len(lines) else BLANK

    def between(self, first: int, last: int) -> list[Line]:
        """Rows `first` to `last`; blocks whose height is a guess are there whole."""
        heights = self._heights
        if first >= heights.total:
            return self._open[first - heights.total : last - heights.total + 1]
        index, skip = heights.find(first)
        start = heights.start(index)
        lines: list[Line] = []
        while index < len(heights) and start <= last:
            block = [BLANK] * self._gap(index) + self._rows(index)
            lines += block[: last - start + 1] if index in self._exact else block
            start += heights[index]
            index += 1
        return lines[skip:] + self._open[: max(0, last - heights.total + 1)]

    def selected(self, start: Offset | None, end: Offset | None) -> str:
        """What a selection holds that begins at a character of a row and ends before another; None is the very first or last."""
        first, low = (start.y, start.x) if start is not None else (0, 0)
        last, high = (end.y, end.x) if end is not None else (self.total, None)
        last = min(last, self.total - 1)
        return copied(self.between(first, last), low, high, goes_on=self.line(last + 1).joint is not None)

    def start(self, index: int) -> int:
        """The row at which block `index` starts, its gap included."""
        return self._heights.start(index)

    def block_at(self, row: int) -> int | None:
        """The block at a row, None when no finished block is there."""
        return self._heights.find(row)[0] if 0 <= row < self._heights.total else None

    def span(self, blocks: range) -> range:
        """The rows of some blocks that stand together, without the blank ones above the first."""
        start = self._heights.start(blocks.start) + self._gap(blocks.start)
        blank = next((number for number, line in enumerate(self._rows(blocks.start)) if line.text.strip()), 0)
        return range(start + blank, self._heights.start(blocks.stop))

    def entry_in(self, top: int, bottom: int, chosen: int | None) -> range | None:
        """The blocks of the entry with block `chosen`, or of the nearest one that rows `top` to `bottom` show.

        Without a choice it is the last that they show; None while there is no entry.
        """
        edge, count = bottom - 1, len(self._heights)
        if chosen is not None and chosen < count:
            rows = self.span(blocks := entry(self._story, chosen))
            if rows.start < bottom and rows.stop > top:
                return blocks
            edge = top if rows.stop <= top else edge
        at = self.block_at(edge)
        return entry(self._story, count - 1 if at is None else at) if count else None

    def is_open(self, index: int) -> bool:
        """Whether a block shows its details."""
        return self.full != self.manner(index).flipped

    def manner(self, index: int) -> Manner:
        """How the person wants a block."""
        return self._manners.get(index, USUAL)

    def switch(self, blocks: range, what: Switch) -> None:
        """Turn something on or off for some blocks, for all as for the first."""
        on = not getattr(self.manner(blocks.start), what)
        for index in blocks:
            self._manners[index] = replace(self.manner(index), left=0, **{what: on})
            self._make_exact(index)

    def slide(self, blocks: range, by: int) -> None:
        """Show more of the right of some blocks whose lines are cut, or of the left; no further than there is something."""
        for index in blocks:
            manner = self.manner(index)
            more = by < 0 or any(line.text.endswith("…") for line in self.lines_of(index))
            if manner.cut and more:
                self._manners[index] = replace(manner, left=max(0, manner.left + by))

    def lines_of(self, index: int) -> list[Line]:
        """The rows of a block, which has its exact height from here on."""
        self._make_exact(index)
        return self._rows(index)

    @property
    def drawn(self) -> int:
        """Number of blocks that are drawn."""
        return len(self._drawn)

    def _gap(self, index: int) -> int:
        blocks = self._story.blocks
        return int(gap_between(blocks[index - 1] if index else None, blocks[index]))

    def _shown(self, index: int) -> Block:
        block = self._story.blocks[index]
        return replace(block, excerpt=0) if self.compact and isinstance(block, Action) else block

    def _rows(self, index: int) -> list[Line]:
        block, manner, is_open = self._shown(index), self.manner(index), self.is_open(index)
        key = (block, self.width, is_open, manner.raw, manner.cut, manner.left)
        lines = self._drawn.get(key)
        if lines is None:
            if manner.raw and isinstance(block, Prose):
                lines = raw(block, self.width)
            else:
                lines = rows(with_keys(block, self.say), self.width, is_open)
            lines = self._drawn[key] = cut(lines, self.width, manner.left) if manner.cut else lines
        return lines

    def _make_exact(self, index: int) -> int:
        height = self._gap(index) + len(self._rows(index))
        self._heights.set(index, height)
        self._exact.add(index)
        return height

    def _draw_open(self) -> list[Line]:
        """Rows of the open end of the reply with its cursor, then of what is going on."""
        story, lines = self._story, list[Line]()
        above = story.blocks[-1] if story.blocks else None
        if story.text is not None:
            lines = self._tail.draw(story.text, self.width)
            last = lines[-1] if lines else BLANK
            lines[-1:] = [last._replace(pieces=(*last.pieces, ("▌", "cursor")))]
            lines[:0] = [BLANK] * gap_between(above, Prose(""))
        for block in story.pending():
            lines += [BLANK] * bool((lines and story.text is not None) or (above and gap_between(above, block)))
            lines += rows(with_keys(block, self.say), self.width, self.full)
            above = block
        return lines
