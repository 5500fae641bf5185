"""Draw the pictures of this folder from the real app: `make screenshots`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from screenshots import one_shot  # noqa: E402 - the checkout comes first
from screenshots.scenes import SCENES, SIZES, play, prepared  # noqa: E402 - the checkout comes first


async def draw() -> None:
    """One SVG a scene and size."""
    for scene in SCENES:
        for width, height in SIZES:
            with prepared(scene) as app:
                async with app.run_test(size=(width, height)) as pilot:
                    await play(scene, pilot)
                    app.save_screenshot(f"{scene.name}-{width}x{height}.svg", str(HERE))
                    print(f"{scene.name}-{width}x{height}.svg")


if __name__ == "__main__":
    asyncio.run(draw())
    one_shot.draw(HERE, SIZES)
