"""Draw the pictures of this folder from the real app: `make screenshots`, or those of some scenes: `draw.py working idle`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Collection
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from screenshots import one_shot  # noqa: E402 - the checkout comes first
from screenshots.scenes import SCENES, SIZES, play, prepared  # noqa: E402 - the checkout comes first


async def draw(names: Collection[str]) -> None:
    """One SVG a scene and size, of all scenes or of those with these names."""
    for scene in (scene for scene in SCENES if not names or scene.name in names):
        for width, height in SIZES:
            with prepared(scene) as app:
                async with app.run_test(size=(width, height)) as pilot:
                    await play(scene, pilot)
                    app.save_screenshot(f"{scene.name}-{width}x{height}.svg", str(HERE))
                    print(f"{scene.name}-{width}x{height}.svg")


if __name__ == "__main__":
    wanted = sys.argv[1:]
    asyncio.run(draw(wanted))
    if not wanted or "one-shot" in wanted:
        one_shot.draw(HERE, SIZES)
