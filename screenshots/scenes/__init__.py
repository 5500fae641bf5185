"""The screens of the product as scenes: used for the pictures of README and for the snapshot tests alike.

Each scene brings the real app, with a scripted model and fixed times, into one state. Nothing here
depends on the machine, the clock or the network.
"""

from __future__ import annotations

from screenshots.scenes import asking, composing, keeping, providers, reviewing, servers, start, talk, undoing
from screenshots.scenes.stage import SIZES, Scene, play, prepared

__all__ = ["SCENES", "SIZES", "Scene", "play", "prepared"]

SCENES = tuple(
    scene
    for part in (start, talk, composing, asking, reviewing, keeping, providers, servers, undoing)
    for scene in part.SCENES
)
