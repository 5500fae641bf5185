"""The seam between the workspace and whatever runs programs for it: injected, so that tests need none."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tui_agent.core.types import Emit
from tui_agent.tools.commands import CommandResult


class Run(Protocol):
    """The runner: it never raises for anything the program does; `timeout` in seconds."""

    async def __call__(self, argv: tuple[str, ...], *, cwd: Path, timeout: float, emit: Emit | None) -> CommandResult:
        """Run a program to its end or its limit."""


class Commands(Protocol):
    """Runs what a model asks for, as confined as this machine can."""

    async def ready(self) -> object:
        """Find out how commands are confined here; only before this has returned is `working` a guess."""

    @property
    def working(self) -> bool:
        """Whether commands run in a sandbox that works."""

    def words(self, *, network: bool = False) -> str:
        """How the next command will be confined, for the person who is asked; "" when it will not be."""

    async def __call__(
        self, argv: tuple[str, ...], *, cwd: Path, timeout: float, emit: Emit | None, network: bool = False
    ) -> CommandResult:
        """Run a program to its end or its limit; `network` lets it reach out."""


@dataclass(frozen=True, slots=True)
class Unconfined:
    """Commands in no sandbox."""

    run: Run
    working: bool = False

    async def ready(self) -> None:
        """Nothing has to be found out."""

    def words(self, *, network: bool = False) -> str:
        """Nothing confines them."""
        return ""

    async def __call__(
        self, argv: tuple[str, ...], *, cwd: Path, timeout: float, emit: Emit | None, network: bool = False
    ) -> CommandResult:
        """Run a program as it is."""
        return await self.run(argv, cwd=cwd, timeout=timeout, emit=emit)


async def default_run(argv: tuple[str, ...], *, cwd: Path, timeout: float, emit: Emit | None) -> CommandResult:
    """The product's own runner, imported when the first command runs."""
    from tui_agent.workspace.runner import run  # noqa: PLC0415 - reading and editing do not pay for it

    return await run(argv, cwd=cwd, timeout=timeout, emit=emit)
