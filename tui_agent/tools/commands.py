"""Commands: the arguments of a call as an effect, and the result of a run as text for a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from tui_agent.core.context import head_and_tail, rest_of
from tui_agent.core.types import RunArgv, RunScript
from tui_agent.tools.arguments import ToolError
from tui_agent.tools.files import MAX_RESULT

_MAX_WORDS = 1000
_MAX_BYTES = 32 * 1024
_HEAD = MAX_RESULT // 4

Keep = Callable[[str], str]
"""Keeps a long text and gives its name, "" when it could not be kept."""


class CommandResult(Protocol):
    """What the runner says about one command that has ended. `duration` in seconds."""

    @property
    def exit_code(self) -> int | None:
        """None when it was stopped or never started."""

    @property
    def timed_out(self) -> bool:
        """It was stopped at its time limit."""

    @property
    def interrupted(self) -> bool:
        """The person stopped it."""

    @property
    def output(self) -> str:
        """Standard output and error, with a mark where the middle was left out."""

    @property
    def duration(self) -> float:
        """Seconds from start to end."""

    @property
    def error(self) -> str | None:
        """Why it could not be started."""

    @property
    def killed(self) -> Sequence[int]:
        """Processes it left behind, which were ended."""

    @property
    def sandbox(self) -> str:
        """The kind of sandbox that it ran in, "none" for none, "" when nobody asked for one."""

    @property
    def warnings(self) -> Sequence[str]:
        """Remarks that the person must see, too."""

    @property
    def remarks(self) -> Sequence[str]:
        """Sentences on what the sandbox did or may have done."""


def command(argv: Sequence[str], timeout: float) -> RunArgv:
    """The effect of run_command; no shell will see the words."""
    if not argv[0].strip():
        raise ToolError("argv[0] is empty: it must name a program")
    _check(argv)
    return RunArgv(tuple(argv), timeout)


def script(text: str, timeout: float) -> RunScript:
    """The effect of run_shell."""
    if not text.strip():
        raise ToolError("script is empty")
    _check([text])
    return RunScript(text, timeout)


def _check(words: Sequence[str]) -> None:
    if any("\0" in word for word in words):
        raise ToolError("a command cannot contain a NUL character", "refused")
    if len(words) > _MAX_WORDS or sum(len(word.encode()) + 1 for word in words) > _MAX_BYTES:
        raise ToolError(f"the command is too long: at most {_MAX_WORDS} words and {_MAX_BYTES:,} bytes", "refused")


def words(effect: RunArgv | RunScript) -> tuple[str, ...]:
    """The words that are executed for an effect."""
    return effect.argv if isinstance(effect, RunArgv) else ("/bin/sh", "-c", effect.script)


def render(result: CommandResult, timeout: float, keep: Keep = lambda _: "") -> str:
    """The output, at most 16,000 characters of head and tail, then how the command ended.

    `keep` takes an output that is cut here, and gives the name by which the rest of it can be read.
    """
    lines = [cut(result.output.rstrip("\n"), keep)] if result.output.strip() else []
    if result.error is not None:
        lines.append(f"could not be started: {result.error}")
    elif result.timed_out:
        lines.append(f"(stopped after the time limit of {timeout:g} s)")
    elif result.interrupted:
        lines.append("interrupted by the person; what it had done by then stays done")
    elif result.exit_code is None:
        lines.append("(stopped before it ended)")
    else:
        lines.append(f"(exit {result.exit_code})")
    if result.killed:
        lines.append(f"(processes left running were ended: {', '.join(map(str, result.killed))})")
    lines += [f"({remark})" for remark in (*result.remarks, *result.warnings)]
    return "\n".join(lines)


def cut(text: str, keep: Keep) -> str:
    """Head and tail of a long output, at most 16,000 characters; errors stand at its end, so the tail is the longer part."""
    tail = MAX_RESULT - 300 - _HEAD
    name = keep(text) if len(text) > _HEAD + tail else ""
    return head_and_tail(text, _HEAD, tail, rest_of(name) or "a narrower command shows them")


def note(result: CommandResult) -> str:
    """The short result for the screen."""
    if result.error is not None:
        return "not started"
    how = "time limit" if result.timed_out else "stopped" if result.exit_code is None else f"exit {result.exit_code}"
    return f"{how}, unsandboxed" if result.sandbox == "none" else how
