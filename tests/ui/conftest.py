"""The apps of the tests of the screen are at rest before anything is looked at."""

from __future__ import annotations

from tests import resting

resting.patch()
