"""The seam between the workspace and whatever runs programs for it: injected, so that tests need none."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, SupportsFloat

from tui_agent.core.types import Emit
from tui_agent.tools.commands import CommandResult

NOT_SANDBOXED = "not sandboxed"


class Interrupted(asyncio.CancelledError):
    """A command was ended by a cancellation; `result` is what it had said by then."""

    def __init__(self, result: CommandResult) -> None:
        super().__init__("the command was interrupted")
        self.result = result


class Run(Protocol):
    """The runner: it never raises for anything the program does; `timeout` in seconds, see `runner.run`.

    Without `emit` the output is for the product: bytes of it that are no UTF-8 come as surrogates.

    A cancellation is passed on, as `Interrupted` by one that knows what was said by then.
    """

    async def __call__(
        self, argv: tuple[str, ...], *, cwd: Path, timeout: SupportsFloat, emit: Emit | None
    ) -> CommandResult:
        """Run a program to its end or its limit."""


class Commands(Protocol):
    """Runs what a model asks for, as confined as this machine can."""

    async def ready(self) -> object:
        """Find out how commands are confined here; before this has returned, `confines` is a guess."""

    def confines(self, argv: tuple[str, ...]) -> bool:
        """Whether this command would run in a sandbox that works."""

    def where(self, argv: tuple[str, ...], *, network: bool = False) -> str:
        """Where this command would run, in words for the person who is asked."""

    async def __call__(
        self, argv: tuple[str, ...], *, cwd: Path, timeout: SupportsFloat, emit: Emit | None, network: bool = False
    ) -> CommandResult:
        """Run a program to its end or its limit; `network` lets it reach out."""


@dataclass(frozen=True, slots=True)
class Unconfined:
    """Commands in no sandbox."""

    run: Run

    async def ready(self) -> None:
        """Nothing has to be found out."""

    def confines(self, argv: tuple[str, ...]) -> bool:
        """Nothing does."""
        return False

    def where(self, argv: tuple[str, ...], *, network: bool = False) -> str:
        """Nothing confines them."""
        return NOT_SANDBOXED

    async def __call__(
        self, argv: tuple[str, ...], *, cwd: Path, timeout: SupportsFloat, emit: Emit | None, network: bool = False
    ) -> CommandResult:
        """Run a program as it is."""
        return await self.run(argv, cwd=cwd, timeout=timeout, emit=emit)


async def default_run(argv: tuple[str, ...], *, cwd: Path, timeout: SupportsFloat, emit: Emit | None) -> CommandResult:
    """The product's own runner, imported when the first command runs."""
    from tui_agent.workspace.runner import run  # noqa: PLC0415 - reading and editing do not pay for it

    return await run(argv, cwd=cwd, timeout=timeout, emit=emit)
