"""Rows to strips: the colours of a theme, the selection and the words that are looked for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.cache import LRUCache
from textual.strip import Strip
from textual.widget import Widget

from tui_agent.ui.lines import Line, width_of

KEPT = 1_000
"""Rows whose strips are kept, at one width and in one theme."""


class Strips:
    """Draws the rows of a widget whose component classes `transcript--NAME` are their styles."""

    def __init__(self, widget: Widget) -> None:
        self._widget = widget
        self._kept: LRUCache[Line, Strip] = LRUCache(KEPT)
        self._styles: dict[str, Style] = {}
        self._wanted: re.Pattern[str] | None = None

    def forget(self, *, styles: bool = False) -> None:
        """Draw every row anew: the width changed, or with `styles` the theme."""
        self._kept.clear()
        if styles:
            self._styles.clear()

    def look_for(self, wanted: re.Pattern[str] | None) -> None:
        """Mark what this finds from now on."""
        if wanted != self._wanted:
            self._wanted = wanted
            self._kept.clear()

    def draw(self, line: Line, width: int, span: tuple[int, int] | None) -> Strip:
        """A row as a strip of `width` cells; `span` is what of its characters is selected, -1 its end."""
        if span is not None:
            start, end = span
            return self._painted(line, width, [(start, len(line.text) if end == -1 else end)], self._selected)
        strip = self._kept.get(line)
        if strip is None:
            strip = self._painted(line, width, list(self._places(line)), self._style("match"))
            self._kept[line] = strip
        return strip

    def _places(self, line: Line) -> Iterator[tuple[int, int]]:
        if self._wanted is not None:
            for match in self._wanted.finditer(line.text, line.gutter):
                yield match.span()

    @property
    def _selected(self) -> Style:
        return self._widget.screen.get_component_rich_style("screen--selection")

    def _painted(self, line: Line, width: int, spans: list[tuple[int, int]], chosen: Style) -> Strip:
        strip = self._plain(line, width)
        text = line.text
        for start, end in spans:
            low, high = cell_len(text[: max(start, line.gutter)]), cell_len(text[:end])
            if low < high:
                before, middle, after = strip.crop(0, low), strip.crop(low, high), strip.crop(high)
                painted = Strip([Segment(s.text, (s.style or Style()) + chosen) for s in middle], high - low)
                strip = Strip.join([before, painted, after])
        return strip.crop(0, width) if strip.cell_length > width else strip

    def _plain(self, line: Line, width: int) -> Strip:
        segments: list[Segment] = []
        used = width_of(line.pieces)
        # Fewer segments are fewer bytes: neighbours of one style are written as one.
        for text, name in (*line.pieces, (" " * (width - used), "")):
            style = self._style(name)
            if segments and segments[-1].style is style:
                segments[-1] = Segment(segments[-1].text + text, style)
            elif text:
                segments.append(Segment(text, style))
        return Strip(segments, max(width, used))

    def _style(self, name: str) -> Style:
        style = self._styles.get(name)
        if style is None:
            widget = self._widget
            style = widget.get_component_rich_style(f"transcript--{name}") if name else widget.rich_style
            self._styles[name] = style
        return style
