"""A text on its way to the person's clipboard, and a picture on its way from it: the first way that works.

`routes` is pure and orders the ways; `send` tries them and says which one it was. A terminal never answers whether it
took a text by its escape sequence, so the words for that way do not say "copied". Nothing is read from the clipboard but
by `picture`: a text is pasted by the terminal itself.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from tui_agent.core.disk import private_folder

Kind: TypeAlias = Literal["program", "tmux", "terminal", "file"]

OSC52_MAX = 74_000
"""Bytes; longer texts are dropped by terminals without a word."""

SECONDS = 2.0
"""How long a program may take."""

_TOOLS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("WAYLAND_DISPLAY", ("wl-copy",)),
    ("DISPLAY", ("xclip", "-selection", "clipboard")),
    ("DISPLAY", ("xsel", "--clipboard", "--input")),
    ("", ("pbcopy",)),
    ("WSL_DISTRO_NAME", ("clip.exe",)),
)
"""The variable that says that a program can work, and its words; all read the text from stdin."""

_PICTURES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("WAYLAND_DISPLAY", ("wl-paste", "--no-newline", "--type", "image/png")),
    ("DISPLAY", ("xclip", "-selection", "clipboard", "-t", "image/png", "-o")),
    ("", ("pngpaste", "-")),
)
"""The same for programs that write the picture of the clipboard to stdout, and fail when there is none."""

_TMUX = ("tmux", "load-buffer", "-w", "-")
"""tmux keeps the text and hands it on to the terminal; it drops the sequence of a program inside of it."""

PROGRAMS = (*(argv[0] for _, argv in _TOOLS), _TMUX[0])
"""What `routes` looks for."""

_PNG = b"\x89PNG\r\n\x1a\n"

_DEAF = ("Apple_Terminal",)
"""Names of terminals that are known to ignore the sequence."""


@dataclass(frozen=True, slots=True)
class Route:
    """One way to the clipboard; `argv` is what is started for it, nothing for the last two kinds."""

    kind: Kind
    argv: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The way, as a person is told it."""
        match self.kind:
            case "program":
                return f"by {self.argv[0]}"
            case "tmux":
                return "by tmux, which hands it on to your terminal"
            case "terminal":
                return "through the terminal (OSC 52); not every terminal takes it"
            case _:
                return "into a file: there is no way to the clipboard from here"


def routes(environment: Mapping[str, str], which: Callable[[str], str | None], size: int = 0) -> tuple[Route, ...]:
    """The ways for a text of `size` bytes, the best first; the last one is always a file.

    `which` finds a program. A program of this machine does not count over ssh: its clipboard is not the person's.
    """
    found = [Route("program", argv) for argv in _usable(_TOOLS, environment, which)]
    if environment.get("TMUX"):
        found += [Route("tmux", _TMUX)] if which("tmux") else []
    elif _hears(environment) and size <= OSC52_MAX:
        found.append(Route("terminal"))
    return (*found, Route("file"))


def _usable(
    tools: Sequence[tuple[str, tuple[str, ...]]], environment: Mapping[str, str], which: Callable[[str], str | None]
) -> list[tuple[str, ...]]:
    """The programs that reach the person's clipboard from here."""
    if environment.get("SSH_CONNECTION") or environment.get("SSH_TTY"):
        return []
    return [argv for variable, argv in tools if (not variable or environment.get(variable)) and which(argv[0])]


def _hears(environment: Mapping[str, str]) -> bool:
    """Whether the sequence may reach a clipboard: not on the console, not inside of screen."""
    return (
        environment.get("TERM") not in {"linux", "dumb"}
        and not environment.get("STY")
        and environment.get("TERM_PROGRAM") not in _DEAF
    )


def sequence(text: str) -> str:
    """What asks a terminal to put a text on its clipboard."""
    return f"\x1b]52;c;{base64.b64encode(text.encode('utf-8', 'replace')).decode()}\a"


async def send(
    text: str, ways: Sequence[Route], environment: Mapping[str, str], write: Callable[[str], None], file: Path
) -> str:
    """Send a text the first of the `ways` that works, and say which it was and how much.

    `write` sends to the terminal as it is; programs get `environment`; `file` is replaced, in a folder for the person
    alone, when nothing else is left.

    Raises:
        OSError: not even the file could be written.
    """
    data = text.encode("utf-8", "replace")
    much = amount(text)
    for way in ways:
        match way.kind:
            case "program" | "tmux":
                if await _given(way.argv, data, environment):
                    return f"{much} copied {way.words}"
            case "terminal":
                write(sequence(text))
                return f"{much} sent {way.words}"
            case "file":
                await asyncio.to_thread(_write, file, data)
                return f"{much} written to {file}: no way to the clipboard was found"
    raise ValueError("the ways to the clipboard end with a file")


async def picture(
    environment: Mapping[str, str], which: Callable[[str], str | None], folder: Path, most: int
) -> Path | None:
    """The picture of the clipboard as a file of its own in `folder`, None when it holds none of at most `most` bytes.

    Raises:
        OSError: the file could not be written.
    """
    for argv in _usable(_PICTURES, environment, which):
        data = await _taken(argv, environment, most)
        if data.startswith(_PNG):
            file = folder / f"{hashlib.sha256(data).hexdigest()[:12]}.png"
            await asyncio.to_thread(_write, file, data)
            return file
    return None


async def _taken(argv: Sequence[str], environment: Mapping[str, str], most: int) -> bytes:
    """What a program writes, b"" when it cannot be started, fails, writes more than `most` or not in time."""
    output, theirs = os.pipe()  # of our own: with asyncio's, waiting for the end would wait for whoever keeps it, too
    reader = asyncio.StreamReader()
    pipe, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(output, "rb", 0)
    )
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=subprocess.DEVNULL,
            env=dict(environment),
            start_new_session=True,
        )
    except OSError:
        pipe.close()
        return b""
    finally:
        os.close(theirs)
    try:
        async with asyncio.timeout(SECONDS):
            data = b""
            while len(data) <= most and (piece := await reader.read(1 << 16)):
                data += piece
            return data if len(data) <= most and await process.wait() == 0 else b""
    except TimeoutError:
        return b""
    finally:
        pipe.close()
        await _ended(process)


def amount(text: str) -> str:
    """How much it is, in words."""
    lines = text.count("\n") + (not text.endswith("\n"))
    return f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"


async def _given(argv: Sequence[str], data: bytes, environment: Mapping[str, str]) -> bool:
    """Hand the data to a program; False when it cannot be started, fails, or does not take it in time."""
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=dict(environment),
            start_new_session=True,
        )
    except OSError:
        return False
    try:
        async with asyncio.timeout(SECONDS):
            # Not `communicate`: a program that stays behind to serve the clipboard keeps what it inherited.
            assert process.stdin is not None
            process.stdin.write(data)
            with suppress(BrokenPipeError, ConnectionResetError):
                await process.stdin.drain()
            process.stdin.close()
            return await process.wait() == 0
    except TimeoutError:
        return False
    finally:
        await _ended(process)


async def _ended(process: asyncio.subprocess.Process) -> None:
    """End what has not ended, and what it started."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


def _write(file: Path, data: bytes) -> None:
    private_folder(file.parent)
    with suppress(FileNotFoundError):
        file.unlink()  # never through a link that somebody put there
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
        out.write(data)
