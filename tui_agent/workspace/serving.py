"""A program that is kept running and talked with: bytes to its standard input, bytes from its standard output.

It has the same promises as a command of `runner`: a session and group of its own, only the variables it is given, nothing
of it is alive after its end or the product's. Memory stays bounded: what it writes is handed on as it comes, with a pause
after each big piece, what it does not read may grow to `MOST_UNREAD`, of its standard error the newest is kept.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tui_agent.core.types import AgentError
from tui_agent.workspace import supervisor
from tui_agent.workspace.runner import for_program, why_not
from tui_agent.workspace.supervised import RUN_MARK, Supervised, decode

MOST_UNREAD = 8 * 1024 * 1024
"""Bytes that may wait for a program that does not read."""
KEPT = 4_000
"""Bytes of standard error that are kept, the newest."""
LEAVE_SECONDS = 0.5
"""How long a program may take to leave by itself once its standard input has ended."""

_PIECE = 1 << 16
_PAUSE = 0.005
"""Seconds after each full piece: it bounds what a flood costs the screen."""


class Served:
    """One program that runs until `end`, or until it ends by itself: then `ended` is called, once, with why.

    `take` gets what it writes to standard output.

    Raises:
        AgentError: it could not be started; one sentence. That there is no such program only `ended` says.
    """

    def __init__(
        self,
        argv: Sequence[str],
        cwd: Path,
        env: Mapping[str, str],
        *,
        take: Callable[[bytes], None],
        ended: Callable[[str], None],
    ) -> None:
        mark = secrets.token_hex(8)
        self._argv, self._cwd, self._env = tuple(argv), cwd, {**for_program(argv, cwd, env), RUN_MARK: mark}
        self._take, self._told = take, ended
        self._loop = asyncio.get_running_loop()
        self._errors = bytearray()
        self._unsent = bytearray()
        self._ending: asyncio.Future[None] | None = None
        theirs: list[int] = []
        ours: list[int] = []
        try:
            request = supervisor.encode_request(argv, str(cwd), self._env)
            for reads in (False, True, True):
                source, sink = os.pipe()
                ours.append(source if reads else sink)
                theirs.append(sink if reads else source)
            self._child = Supervised(request, mark, stdin=theirs[0], stdout=theirs[1], stderr=theirs[2])
        except (OSError, ValueError) as error:
            for descriptor in ours:
                os.close(descriptor)
            why = error.strerror if isinstance(error, OSError) else str(error)
            raise AgentError(f"{argv[0]!r} cannot be started: {why}") from None
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        self._stdin, self._stdout, self._stderr = ours
        for descriptor in ours:
            os.set_blocking(descriptor, False)
        self._loop.add_reader(self._stdout, self._read, self._stdout, self._take)
        self._loop.add_reader(self._stderr, self._read, self._stderr, self._keep)
        self._child.ended.add_done_callback(lambda _: self._begin_end())

    # -------------------------------------------------------------- out

    def write(self, data: bytes) -> None:
        """Send bytes in the order of the calls, never half of them.

        Raises:
            AgentError: the program does not read what it is sent.
        """
        if self._ending is not None:
            return
        if len(self._unsent) + len(data) > MOST_UNREAD:
            raise AgentError("it does not read what it is sent")
        if not self._unsent:
            self._loop.add_writer(self._stdin, self._send)
        self._unsent += data

    def _send(self) -> None:
        try:
            sent = os.write(self._stdin, self._unsent[:_PIECE])
        except BlockingIOError:
            return
        except OSError:  # it has closed its end; its own end is told elsewhere
            self._unsent.clear()
        else:
            del self._unsent[:sent]
        if not self._unsent:
            self._loop.remove_writer(self._stdin)

    # -------------------------------------------------------------- in

    def _read(self, descriptor: int, take: Callable[[bytes], None]) -> None:
        try:
            data = os.read(descriptor, _PIECE)
        except BlockingIOError:
            return
        if len(data) in {0, _PIECE}:
            self._loop.remove_reader(descriptor)
        if len(data) == _PIECE:
            self._loop.call_later(_PAUSE, self._listen, descriptor, take)
        if data:
            take(data)

    def _listen(self, descriptor: int, take: Callable[[bytes], None]) -> None:
        if self._ending is None:
            self._loop.add_reader(descriptor, self._read, descriptor, take)

    def _keep(self, data: bytes) -> None:
        self._errors += data
        del self._errors[:-KEPT]

    @property
    def said(self) -> str:
        """The newest of what it wrote to standard error."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        return decoder.decode(bytes(self._errors.lstrip(bytes(range(0x80, 0xC0))))).strip()

    # -------------------------------------------------------------- the end

    def _begin_end(self) -> asyncio.Future[None]:
        if self._ending is None:
            self._ending = asyncio.ensure_future(self._end(by_itself=self._child.ended.done()))
        return self._ending

    def _drain(self) -> None:
        """Take what it wrote last."""
        for descriptor, take in ((self._stdout, self._take), (self._stderr, self._keep)):
            with contextlib.suppress(BlockingIOError):
                for _ in range(MOST_UNREAD // _PIECE):
                    if not (data := os.read(descriptor, _PIECE)):
                        break
                    take(data)

    async def _end(self, *, by_itself: bool) -> None:
        if by_itself:
            self._drain()
        self._loop.remove_writer(self._stdin)
        os.close(self._stdin)
        with contextlib.suppress(asyncio.CancelledError):  # the loop ends: then at once
            await asyncio.wait({self._child.ended}, timeout=LEAVE_SECONDS)
        try:
            report = await self._child.end()
        finally:
            for descriptor in (self._stdout, self._stderr):
                self._loop.remove_reader(descriptor)
                os.close(descriptor)
        if by_itself:
            self._told(self._why(report.split()))

    def _why(self, report: list[str]) -> str:
        match report:
            case ["failed", stage, number]:
                return why_not(self._argv[0], self._cwd, self._env, stage, int(number)).rstrip(".")
            case ["exit", status, *_]:
                code, by = decode(status)
                return f"it was ended by signal {by}" if by else f"it ended with exit code {code}"
            case _:
                return "it was ended from outside"

    async def end(self) -> None:
        """End it and everything it started; comes back when that is done, at the latest after 3 s.

        A cancellation does not shorten that; it is passed on afterwards.
        """
        ending = self._begin_end()
        cancelled = False
        while not ending.done():
            try:
                await asyncio.wait({ending})
            except asyncio.CancelledError:
                cancelled = True
        ending.result()
        if cancelled:
            raise asyncio.CancelledError
