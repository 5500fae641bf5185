"""The borders of the loop: work that talks while it runs, and adapters that may fail in any way."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Generic, TypeVar, cast

from tui_agent.core import events as ev
from tui_agent.core.reply import ReplyBuilder
from tui_agent.core.types import (
    CallDelta,
    Delta,
    Emit,
    Model,
    Outcome,
    Preparing,
    ProviderError,
    ReasoningDelta,
    RefusalDelta,
    ReplyEnd,
    Request,
    RetryTick,
    TextDelta,
    ToolCall,
)

CHECKPOINT_CHARS = 8_000
CHECKPOINT_SECONDS = 2.0

R = TypeVar("R")


async def ended(work: asyncio.Future[R]) -> None:
    """Wait until something has ended. Cancelling the wait does nothing: what was done has to be recorded first.

    Use it for what ends soon by itself, or was told to end.
    """
    while not work.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait({work})


class Stage(Generic[R]):
    """A piece of work that talks while it runs: its output through one bounded queue, its result at the end."""

    def __init__(self, work: Callable[[Emit], Awaitable[R]]) -> None:
        self._queue: asyncio.Queue[str | None] = asyncio.Queue(256)
        self._task: asyncio.Task[R] = asyncio.ensure_future(_awaited(work(self._put)))
        self._task.add_done_callback(lambda _: self._put(None))

    def _put(self, piece: str | None) -> None:
        if self._queue.full():  # live output is for the eye: the newest matters
            self._queue.get_nowait()
        self._queue.put_nowait(piece)

    async def output(self) -> AsyncGenerator[str, None]:
        """Pieces of output until the work is done."""
        while (piece := await self._queue.get()) is not None:
            yield piece

    def cancel(self) -> None:
        """Tell the work to end; nothing happens to work that has ended."""
        self._task.cancel()

    async def settle(self) -> R | None:
        """Wait for the end, however often that is cancelled meanwhile; None when the work was cancelled."""
        await ended(self._task)
        return None if self._task.cancelled() else self._task.result()


async def _awaited(work: Awaitable[R]) -> R:
    return await work


async def guarded(model: Model, request: Request) -> AsyncGenerator[Delta, None]:
    """The provider border: whatever an adapter raises becomes the error that ends its stream."""
    try:
        async with aclosing(cast("AsyncGenerator[Delta, None]", model.stream(request))) as deltas:
            async for delta in deltas:
                yield delta
    except Exception as error:  # noqa: BLE001 - the provider border
        message = f"the {model.author.wire} adapter failed: {type(error).__name__}: {error}"
        yield ReplyEnd("error", error=ProviderError("protocol", message))


def tool_failed(call: ToolCall, error: Exception) -> Outcome:
    """The outcome of a call whose tool raised: text for the model, with the tool's own words."""
    text = f"error: {call.name} failed: {type(error).__name__}: {error}. Check the types and values of its arguments."
    return Outcome("error", text, note="failed")


async def stream_reply(
    model: Model, request: Request, builder: ReplyBuilder, clock: Callable[[], float], *, live: bool = True
) -> AsyncGenerator[ev.Event, None]:
    """Stream one reply into `builder`, yielding what the eye sees and a checkpoint of the text now and then.

    `live` False: the text is an action that is being written, so only its size is for the eye.
    """
    unsaved: list[str] = []
    waiting, written, saved_at = 0, 0, clock()
    sizes: Counter[int] = Counter()
    names: dict[int, str] = {}
    streaming = False
    async with aclosing(guarded(model, request)) as deltas:
        async for delta in deltas:
            builder.add(delta)
            match delta:
                case TextDelta(text) | RefusalDelta(text):
                    if not streaming:
                        streaming = True
                        yield ev.Phase("streaming")
                    unsaved.append(text)
                    waiting += len(text)
                    written += len(text)
                    # first what the eye sees: a checkpoint of what it has not seen is what a lost session left
                    yield TextDelta(text) if live else ev.ArgumentsDelta("reply", written)
                    if waiting > CHECKPOINT_CHARS or clock() - saved_at > CHECKPOINT_SECONDS:
                        yield ev.Checkpoint("".join(unsaved))
                        waiting, saved_at = 0, clock()
                        unsaved.clear()
                case CallDelta(key, name=name, arguments=piece):
                    names[key] = name or names.get(key, "")
                    sizes[key] += len(piece)
                    yield ev.ArgumentsDelta(names[key], sizes[key])
                case RetryTick(seconds=0.0, error=error, whole=0.0):
                    yield ev.Notice(error.message)
                case Preparing(what):
                    yield ev.Phase("waiting", what)
                case RetryTick(attempt, 0.0, tries=tries):
                    yield ev.Phase("waiting", f"try {attempt + 1} of {tries}")
                case ReasoningDelta() | RetryTick():
                    yield delta
