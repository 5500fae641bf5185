"""Every screen at three sizes, as pictures. Look at each before you accept it: `pytest tests/snapshots --snapshot-update`."""

from __future__ import annotations

from typing import Any

import pytest

from screenshots.scenes import SCENES, SIZES, Scene, play, prepared


@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s[0]}x{s[1]}")
@pytest.mark.parametrize("scene", SCENES, ids=lambda s: s.name)
def test_screen(snap_compare: Any, scene: Scene, size: tuple[int, int]) -> None:
    async def bring(pilot: Any) -> None:
        await play(scene, pilot)

    with prepared(scene) as app:
        assert snap_compare(app, terminal_size=size, run_before=bring)
