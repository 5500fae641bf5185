"""Waiting for what a test is about. A limit only ends a test that hangs; how long something took is never asserted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

PATIENCE = 60.0
"""Seconds until something that never comes is given up; nothing waits that long when all is well."""


async def until(true: Callable[[], Any], seconds: float = PATIENCE) -> None:
    """Wait until `true()`, in a loop that goes on meanwhile."""
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110 - the condition is anything at all
            await asyncio.sleep(0.01)
