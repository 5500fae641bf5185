"""Work that blocks, done beside the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from threading import Event
from typing import TypeVar

from tui_agent.core.stage import ended
from tui_agent.core.types import Outcome
from tui_agent.tools.arguments import ToolError
from tui_agent.workspace.paths import reason

T = TypeVar("T")


async def to_the_end(work: Callable[[], T]) -> T:
    """Do blocking work off the event loop, to its end whoever wants to stop: something has happened that must be told."""
    task = asyncio.ensure_future(asyncio.to_thread(work))
    await ended(task)
    return task.result()


async def off_loop(work: Callable[[], T], stopped: Event | None = None) -> T | Outcome:
    """Do blocking work off the event loop; what a rule or the world says against it becomes an `Outcome`.

    A cancellation sets `stopped`, and is passed on only when the work has ended: a file is never left half written
    by an Esc.
    """
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if stopped is not None:
            stopped.set()
        await ended(task)
        if not task.cancelled():
            task.exception()  # nobody asks for it any more, and what nobody asked for is printed
        raise
    except ToolError as error:
        return Outcome(error.status, str(error), note=error.note, invalid=error.invalid)
    except OSError as error:
        named = f" ({error.filename})" if isinstance(error.filename, str) else ""
        return Outcome("error", f"failed: {reason(error)}{named}")
