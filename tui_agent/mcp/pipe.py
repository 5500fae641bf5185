"""The way to a server that is a program of this machine: one message a line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tui_agent.core.types import AgentError
from tui_agent.providers.sse import MAX_EVENT, LineDecoder
from tui_agent.workspace.serving import Served


class PipeLink:
    """Implements `client.Link` for a program, which is started by `open`."""

    def __init__(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> None:
        self._argv, self._cwd, self._env = argv, cwd, env
        self._lines = LineDecoder()
        self._served: Served | None = None
        self._ended: Callable[[str], None] = lambda _: None

    async def open(self, take: Callable[[bytes], None], ended: Callable[[str], None]) -> None:
        """Start the program. Raises `AgentError`."""

        def read(data: bytes) -> None:
            for line in self._lines.feed(data):
                take(line)
            if self._lines.overflow:
                ended(f"it sent a line of more than {MAX_EVENT:,} bytes")

        self._ended = ended
        self._served = Served(self._argv, self._cwd, self._env, take=read, ended=ended)

    async def send(self, message: bytes) -> bool:
        """Queue one line. Raises `AgentError`."""
        if self._served is None:
            raise AgentError("it was not started")
        try:
            self._served.write(message + b"\n")
        except AgentError as error:
            self._ended(str(error))
            raise
        return True

    def agreed(self, version: str) -> None:
        """A pipe is the same in all versions."""

    @property
    def said(self) -> str:
        """Its standard error."""
        return self._served.said if self._served is not None else ""

    async def close(self) -> None:
        """End the program and all that it started."""
        if self._served is not None:
            await self._served.end()
