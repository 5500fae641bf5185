"""What changed its place is painted, whoever asks where it is.

Textual 8.2.8 makes its map of the screen anew when somebody asks, between a scroll and a layout that is due, for the place
of a widget that is not shown. The layout then finds everything where the map has it already, and what has moved is never painted.

And of a screen that lies below another it paints each time what it had painted there before, too: soon the whole screen.

Rich 15.0 cuts a line character by character: a picture that is joined of several falls apart at the edge of a dialog, and its
joiner or a mark of a letter goes over to what stands beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from rich.cells import split_text
from rich.segment import Segment
from textual import screen
from textual._compositor import Compositor, CompositorMap
from textual.geometry import Region
from textual.screen import Screen


def moved(old: CompositorMap, new: CompositorMap) -> Iterator[Region]:
    """What of the screen shows something else, by the places of the widgets alone."""
    for widget in old.keys() | new.keys():
        places = [at[widget] for at in (old, new) if widget in at]
        seen = [place.clip.intersection(place.region) for place in places]
        if len(seen) == 1 or seen[0] != seen[1]:
            yield from (region for region in seen if region)


class Painting(Compositor):
    """Textual's compositor, which keeps what has moved when it makes its map anew."""

    @property
    def full_map(self) -> CompositorMap:
        """Every widget and its place."""
        old, stale = self._full_map, self._full_map_invalidated
        new = super().full_map
        if stale:
            self._dirty_regions.update(moved(old, new))
        return new


_shown_on_top = Screen._compositor_refresh  # noqa: SLF001 - what is wrong with it is mended here


def _refresh(below: Screen[Any]) -> None:
    """Paint what changed; of a screen below another that and nothing more, by the one on top."""
    app, dirty = below.app, below._compositor._dirty_regions  # noqa: SLF001
    if below is app.screen or app.is_inline:
        _shown_on_top(below)
    elif below in app._background_screens and dirty:  # noqa: SLF001
        app.screen.refresh(*dirty)
        dirty.clear()
        below._dirty_widgets.clear()  # noqa: SLF001


@lru_cache(1 << 14)
def _cut(segment: Segment, at: int) -> tuple[Segment, Segment]:
    """Cut a segment at a cell, between whole signs; of one that is cut through, each half is a blank."""
    text, style, control = segment
    if at >= segment.cell_length:
        return segment, Segment("", style, control)
    before, after = split_text(text, at)
    return Segment(before, style, control), Segment(after, style, control)


def patch_painting() -> None:
    """Let every screen have such a compositor, and be painted and cut so; there is no other way offered."""
    setattr(Segment, "_split_cells", staticmethod(_cut))  # noqa: B010 - it is a constant by its type
    setattr(screen, "Compositor", Painting)  # noqa: B010 - it is not exported
    setattr(Screen, "_compositor_refresh", _refresh)  # noqa: B010
