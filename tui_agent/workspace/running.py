"""The seam between the workspace and whatever runs programs for it: injected, so that tests need none."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from tui_agent.core.types import Emit
from tui_agent.tools.commands import CommandResult


class Run(Protocol):
    """The runner: it never raises for anything the program does; `timeout` in seconds."""

    async def __call__(self, argv: tuple[str, ...], *, cwd: Path, timeout: float, emit: Emit | None) -> CommandResult:
        """Run a program to its end or its limit."""


async def default_run(argv: tuple[str, ...], *, cwd: Path, timeout: float, emit: Emit | None) -> CommandResult:
    """The product's own runner, imported when the first command runs."""
    from tui_agent.workspace.runner import run  # noqa: PLC0415 - reading and editing do not pay for it

    return await run(argv, cwd=cwd, timeout=timeout, emit=emit)
