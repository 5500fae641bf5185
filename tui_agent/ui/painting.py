"""What changed its place is painted, whoever asks where it is.

Textual 8.2.8 makes its map of the screen anew when somebody asks, between a scroll and a layout that is due, for the place
of a widget that is not shown. The layout then finds everything where the map has it already, and what has moved is never painted.
"""

from __future__ import annotations

from collections.abc import Iterator

from textual import screen
from textual._compositor import Compositor, CompositorMap
from textual.geometry import Region


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


def patch_painting() -> None:
    """Let every screen have such a compositor; Textual offers no other way."""
    setattr(screen, "Compositor", Painting)  # noqa: B010 - it is not exported
