"""What a request for a command asks for: the words of a program or a script for a shell, and all that it would start."""

from __future__ import annotations

from tui_agent.core.shell import MAX_WORDS, MalformedError, check_text, needs_shell, split
from tui_agent.core.types import PolicyRequest
from tui_agent.core.wrappers import Found, search_argv, search_text


def analysed(request: PolicyRequest) -> tuple[tuple[str, ...] | None, Found]:
    """The argv (None: a shell is needed) and what would be started.

    Raises:
        MalformedError: it is no command.
    """
    if request.command is not None and request.argv is not None:
        raise MalformedError("both a text and an argv")
    if request.command is not None:
        return _analysed_text(request.command, as_shell=request.tool == "run_shell")
    argv = request.argv
    if not isinstance(argv, list | tuple) or not all(isinstance(word, str) for word in argv):
        raise MalformedError("argv is not a list of strings")
    if request.tool == "run_shell":
        raise MalformedError("a shell takes a text")
    argv = tuple(argv)
    _check_argv(argv)
    return argv, search_argv(argv)


def _analysed_text(text: str, *, as_shell: bool) -> tuple[tuple[str, ...] | None, Found]:
    check_text(text)
    if not text.strip(" \t\n"):
        raise MalformedError("the command is empty")
    if as_shell or needs_shell(text):
        return None, search_text(text)
    argv = split(text)
    _check_argv(argv)
    return argv, search_argv(argv)


def _check_argv(argv: tuple[str, ...]) -> None:
    if not argv or not argv[0]:
        raise MalformedError("the name of the program is empty")
    if len(argv) > MAX_WORDS:
        raise MalformedError(f"more than {MAX_WORDS} words")
    check_text(" ".join(argv))
