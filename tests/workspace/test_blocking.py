"""Blocking work beside the event loop."""

from __future__ import annotations

import asyncio
import gc
from contextlib import suppress
from threading import Event
from typing import Any

from tests.waiting import PATIENCE
from tui_agent.tools.arguments import ToolError
from tui_agent.workspace.blocking import off_loop


async def test_what_fails_after_a_stop_is_printed_nowhere() -> None:
    begun, go_on = Event(), Event()
    printed: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: printed.append(context))

    def work() -> None:
        begun.set()
        go_on.wait(PATIENCE)
        raise ToolError("a.py was not read in this session")

    task = asyncio.create_task(off_loop(work))
    await asyncio.to_thread(begun.wait, PATIENCE)
    task.cancel()
    await asyncio.sleep(0)
    go_on.set()
    with suppress(asyncio.CancelledError):
        await task
    assert task.cancelled()
    del task
    for _ in range(9):  # what waited for it lets go of it, too
        await asyncio.sleep(0)
    gc.collect()
    assert printed == []
