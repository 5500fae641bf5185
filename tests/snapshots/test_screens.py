"""Every screen at three sizes, as pictures. Look at each before you accept it: `pytest tests/snapshots --snapshot-update`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from screenshots.scenes import SCENES, SIZES, Scene, play, prepared

KEPT = Path(__file__).parent / "__snapshots__" / "test_screens"
ALIKE = {
    ("approval", "approval-fresh", "40x20"),  # without line numbers the change is the same one
    ("working", "working-colour-blind", "40x20"),  # nothing red or green is in sight
}


@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s[0]}x{s[1]}")
@pytest.mark.parametrize("scene", SCENES, ids=lambda s: s.name)
def test_screen(snap_compare: Any, scene: Scene, size: tuple[int, int]) -> None:
    async def bring(pilot: Any) -> None:
        await play(scene, pilot)

    with prepared(scene) as app:
        assert snap_compare(app, terminal_size=size, run_before=bring)


def test_no_two_scenes_are_the_same_picture() -> None:
    """A scene that did not come where its name says is usually the picture of the one before."""
    seen: dict[str, tuple[str, str]] = {}
    for scene in SCENES:
        for width, height in SIZES:
            size = f"{width}x{height}"
            drawn = (KEPT / f"test_screen[{scene.name}-{size}].svg").read_text(encoding="utf-8")
            drawn = re.sub(r"terminal-\d+", "", drawn) + size
            first, _ = seen.setdefault(drawn, (scene.name, size))
            assert first == scene.name or (first, scene.name, size) in ALIKE
    assert len(list(KEPT.iterdir())) == len(SCENES) * len(SIZES)
