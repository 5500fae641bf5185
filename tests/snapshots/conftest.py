"""The apps of the pictures are at rest before anything is looked at."""

from __future__ import annotations

from tests import resting

resting.patch()
