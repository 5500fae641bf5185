"""The person's own editor: which program, how it is told a line, and a text edited in it.

The app gives the terminal away meanwhile and waits: nothing is drawn over the editor.
"""

from __future__ import annotations

import math
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import textwrap
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePath

from tui_agent.core.disk import is_file
from tui_agent.core.types import AgentError
from tui_agent.paths import append_private, user_paths

VARIABLES = ("VISUAL", "EDITOR")
FALLBACKS = ("nano", "vim", "vi")
_GOTO = ("code", "code-insiders", "codium", "vscodium", "cursor", "windsurf")
_COLON = ("hx", "helix", "zed", "zeditor", "subl", "sublime_text")
_LINE = ("idea", "pycharm", "webstorm", "goland", "clion", "rustrover", "kate")
_WAIT = {**dict.fromkeys((*_GOTO, *_COLON[2:], *_LINE[:-1]), "--wait"), "kate": "--block", "gedit": "--wait"}
"""What makes an editor with a window of its own wait until the file is closed."""
_PLUS = ("vi", "vim", "nvim", "nano", "emacs", "emacsclient", "micro", "kak", "joe", "mg", "jed", "ne", "gedit")

_VI = ("vi", "vim", "nvim", "nvi")
_HOW = (
    "{program} opens next. In it i begins to write. Esc, then :wq and Enter, comes back with the text; Esc, then :q! and "
    "Enter, without it. Set EDITOR for another program. This is said once."
)


class EditorError(AgentError):
    """The editor is missing or failed."""


def editor(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The program of VISUAL, else of EDITOR, else one that is found, with its own arguments.

    Raises:
        EditorError: there is none, or the variable cannot be read.
    """
    return _wanted(VARIABLES, FALLBACKS, environment)


def _wanted(variables: Iterable[str], others: Iterable[str], environment: Mapping[str, str]) -> tuple[str, ...]:
    name = ""
    for name in variables:
        if value := environment.get(name, "").strip():
            try:
                return tuple(shlex.split(value))
            except ValueError as error:
                raise EditorError(f"{name} cannot be read: {error}. Set it to the name of a program.") from error
    found = next(filter(None, (shutil.which(other, path=environment.get("PATH")) for other in others)), None)
    if found is None:
        raise EditorError(f"No {name.lower()} was found. Set {name} to the name of yours.")
    return (found,)


def at_line(argv: tuple[str, ...], path: str, line: int) -> tuple[str, ...]:
    """The command that opens a file at a line, from 1, and waits; an unknown editor is told the file only."""
    name = PurePath(argv[0]).name.removesuffix(".exe")
    wait = _WAIT.get(name, "")
    argv = (*argv, wait) if wait and wait not in argv else argv
    if name in _GOTO:
        return (*argv, "--goto", f"{path}:{line}")
    if name in _COLON:
        return (*argv, f"{path}:{line}")
    if name in _LINE:
        return (*argv, "--line", str(line), path)
    if name in _PLUS:
        return (*argv, f"+{line}", path)
    return (*argv, path)


def own_environment(environment: Mapping[str, str], keys: Iterable[str]) -> dict[str, str]:
    """The person's environment for their editor: all of it, but the keys of the providers."""
    secret = set(keys)
    return {name: value for name, value in environment.items() if name not in secret}


def pager(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The program of PAGER, else one that is found, with its own arguments.

    Raises:
        EditorError: there is none, or the variable cannot be read.
    """
    return _wanted(("PAGER",), ("less", "more"), environment)


def open_at(path: str, line: int, environment: Mapping[str, str]) -> None:
    """Open a file at a line and wait; the terminal must have been given away.

    Raises:
        EditorError: there is no editor, it could not be started, or it ended with a failure.
    """
    argv = at_line(editor(environment), path, line)
    if PurePath(argv[0]).name in _VI:
        _say_how(argv[0], user_paths(environment).state / "vi-told")
    if code := _run(argv, environment, "EDITOR"):
        raise EditorError(f"{argv[0]} ended with {code}; nothing was taken from it.")


def page(text: str, environment: Mapping[str, str]) -> None:
    """Show a text in the person's pager and wait; the terminal must have been given away.

    Raises:
        EditorError: there is no pager, or it could not be started.
    """
    with copy_of("", text.encode("utf-8", "replace")) as path:
        _run((*pager(environment), str(path)), environment, "PAGER")


def _say_how(program: str, told: Path) -> None:
    """Say how it is left and wait for Enter, the first time in a person's life: who lands there by accident is stuck."""
    if is_file(told):
        return
    try:
        with Path("/dev/tty").open("r+b", buffering=0) as terminal, deaf():
            said = textwrap.fill(_HOW.format(program=program), max(20, shutil.get_terminal_size().columns - 1))
            terminal.write(f"\n{said}\n\nEnter opens it. ".encode())
            terminal.readline()
    except OSError:
        return  # without a terminal nobody reads it
    append_private(told, program)


def _run(argv: tuple[str, ...], environment: Mapping[str, str], variable: str) -> int:
    """Run a program of the person's to its end; its exit code."""
    try:
        with deaf():
            return subprocess.run(argv, env=dict(environment), check=False).returncode
    except OSError as error:
        raise EditorError(f"{argv[0]} could not be started: {error.strerror}. Set {variable}.") from error


class _Deafness:
    """Since when Ctrl+C is not meant for this program, until when it was not."""

    until = 0.0


_LATE = 0.5
"""Seconds in which a Ctrl+C that was not meant for us may still be on its way when the other program has ended."""


def is_deaf() -> bool:
    """Whether a Ctrl+C was meant for the program that has the terminal."""
    return time.monotonic() < _Deafness.until


@contextmanager
def deaf() -> Iterator[None]:
    """Ctrl+C in the terminal that was given away must not end us; a program has its default back, as the signal is caught.

    In another thread than the main one whoever started that is deaf already.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, lambda *_: None)
    _Deafness.until = math.inf
    try:
        yield
    finally:
        _Deafness.until = time.monotonic() + _LATE
        signal.signal(signal.SIGINT, before)


@contextmanager
def copy_of(name: str, text: bytes) -> Iterator[Path]:
    """A private copy of a text, for another program; `name` only tells the kind of file.

    Raises:
        EditorError: there is no room for it, or no folder.
    """
    suffix = PurePath(name).suffix
    kind = suffix if suffix[1:].isalnum() and suffix.isascii() else ""
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="tui-agent-", ignore_cleanup_errors=True))
            path = Path(folder) / f"proposal{kind}"
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(text)
        except OSError as error:
            raise EditorError(f"No temporary file could be made for it: {error.strerror or error}.") from error
        yield path


def edited(path: Path) -> bytes:
    """What became of such a copy.

    Raises:
        EditorError: it is not there any more.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise EditorError(f"The edited text could not be read: {error.strerror}.") from error
