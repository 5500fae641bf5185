"""Runs a program for a model or for the check: the one place of the product that does.

`run` never raises for anything the program does or is: a missing program, a crash, a flood of output or a daemon
left behind are all a `CommandResult`. Its promises:

* no shell, no terminal, no input: own session and process group, standard input is empty;
* only the variables it is given (`child_environment` makes them: an allow-list, never a key);
* the result comes when the program itself has ended, not when the last holder of its pipe has;
* nothing it started is alive afterwards, on every way out, even when the product is killed (`supervisor.py`);
* memory stays bounded by `max_output` and the event loop keeps most of its time, whatever is written.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import errno
import fcntl
import os
import re
import secrets as random_source
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, SupportsFloat

from tui_agent.core.disk import is_file
from tui_agent.core.programs import OPTIONS
from tui_agent.core.wrappers import base_name
from tui_agent.workspace import git, git_view, supervisor
from tui_agent.workspace.git_view import UnfitError
from tui_agent.workspace.running import Interrupted
from tui_agent.workspace.supervised import RUN_MARK, Supervised, decode

__all__ = ["RUN_MARK", "CommandResult", "child_environment", "clean_path", "for_program", "missing", "run", "why_not"]

LIVE_INTERVAL = 0.05
"""Seconds between two calls of `emit`."""
LIVE_PIECE = 8192
"""Most bytes of output in one call of `emit`; of more, the newest are shown."""

_PIPE_BYTES = 1 << 20
_READ_PAUSE = 0.005
_FALLBACK_PATH = "/usr/local/bin:/usr/bin:/bin"

_NOT_OF_THE_FOLDER = frozenset(words[0] for words, options in OPTIONS.items() if not options.runs_code)
"""Programs that may run unasked as they run no code of the folder: one that lies in it (in an environment, say) is another."""
_PASSED = frozenset({"HOME", "PATH", "LANG", "TERM", "TMPDIR", "USER", "SHELL", "VIRTUAL_ENV", "NO_COLOR"})
_MARKERS = {"AGENT": "tui-agent", "AI_AGENT": "tui-agent"}
_PROVIDER_KEY = re.compile(
    r"(ANTHROPIC|AZURE_OPENAI|CEREBRAS|CO|COHERE|DEEPSEEK|FIREWORKS|GEMINI|GOOGLE|GROQ|LLM|MISTRAL|MOONSHOT|OLLAMA"
    r"|OPENAI|OPENROUTER|PERPLEXITY|TOGETHER|XAI|ZAI)_(API|AUTH)_?(KEY|TOKEN)S?"
)


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What one command did.

    `exit_code` is None when it was not started, or was ended by the limit; 128 + N when a signal N ended it.
    `output` is standard output and error as they came; of more than `max_output` bytes the head and the tail, with
    a line between them that counts what was left out. `duration` is in seconds. `error` is one sentence that says
    why it could not be started. `killed` holds the pids of processes it left that had to be ended. `sandbox` is the
    kind that it ran in ("none": in none, "": nobody asked for one), `remarks` are sentences on what that did, or on
    what the command could not tell, `warnings` those that the person must see, too.
    """

    exit_code: int | None
    output: str
    duration: float
    timed_out: bool = False
    interrupted: bool = False
    error: str | None = None
    signal: int | None = None
    killed: tuple[int, ...] = ()
    total_bytes: int = 0
    sandbox: str = ""
    remarks: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


# ------------------------------------------------------------------ environment


def child_environment(
    source: Mapping[str, str],
    *,
    allow: Iterable[str] = (),
    secrets: Iterable[str] = (),
    workspace: Path | None = None,
) -> dict[str, str]:
    """Return the variables of `source` that a command may see, with the markers that an agent runs it.

    `allow` names more variables (a trailing `*` stands for any ending). Names in `secrets`, keys of model providers,
    and variables that hold the value of one of those are never passed, allowed or not. `workspace` is the root of
    a folder that is not trusted: what points into it (PATH entries, a virtual environment) is dropped.
    """
    hidden = {name for name in source if _PROVIDER_KEY.fullmatch(name)} | set(secrets)
    values = {source[name] for name in hidden if source.get(name)}
    patterns = (*_PASSED, "LC_*", *allow)
    passed = {
        name: value
        for name, value in source.items()
        if name not in hidden and any(_matches(name, pattern) for pattern in patterns) and not _reveals(value, values)
    }
    if workspace is not None:
        for name in ("VIRTUAL_ENV", "SHELL"):
            if name in passed and _is_inside(passed[name], workspace):
                del passed[name]
    return passed | {"PATH": clean_path(passed.get("PATH"), workspace)} | _MARKERS


def clean_path(path: str | None, without: Path | None) -> str:
    """A PATH without entries that are empty or relative, or that lie in a folder; the usual one when nothing is left."""
    entries = (path or "").split(os.pathsep)
    kept = [each for each in entries if each.startswith("/") and not (without and _is_inside(each, without))]
    return os.pathsep.join(kept) or _FALLBACK_PATH


def for_program(argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> dict[str, str]:
    """The variables with those that disarm git, which any program may start; of PATH, what runs no code of the folder gets less."""
    more = git.environment(argv, str(cwd))
    if argv and base_name(argv[0]) in _NOT_OF_THE_FOLDER:
        more["PATH"] = clean_path(env.get("PATH"), cwd)
    return {**env, **more}


@contextlib.contextmanager
def prepared(argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> Iterator[git_view.View]:
    """The same while the command runs.

    A git that nobody was asked about is shown a view, whatever `env` says.

    Raises:
        UnfitError: there is none to be shown.
    """
    if not git.is_viewed(argv):
        yield git_view.View(for_program(argv, cwd, env))
        return
    with git_view.shown(cwd, env) as view:
        yield replace(view, variables={**view.variables, "PATH": clean_path(env.get("PATH"), cwd)})


def _matches(name: str, pattern: str) -> bool:
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern


def _reveals(text: str, values: Iterable[str]) -> bool:
    """Whether a text is one of the values or holds one that is too long to be there by chance."""
    return any(text == value or (len(value) >= 8 and value in text) for value in values)


def _is_inside(path: str, folder: Path) -> bool:
    """Whether a path lies in the folder as written or in truth: either may be a link the other way."""
    spellings = {Path(os.path.normpath(path)), Path(os.path.realpath(path))}
    folders = {Path(os.path.normpath(folder.absolute())), Path(os.path.realpath(folder))}
    return any(spelling.is_relative_to(f) for spelling in spellings for f in folders)


# ------------------------------------------------------------------ output


class _Output:
    """Head and tail of a stream of bytes in bounded memory, and the newest part of it for the live view."""

    def __init__(self, limit: int) -> None:
        self.total = 0
        self._head_limit = (limit + 1) // 2
        self._tail_limit = limit - self._head_limit
        self._head = bytearray()
        self._tail = bytearray()
        self._lines = 0
        self._live = bytearray()
        self._live_skipped = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        self.total += len(data)
        self._live += data[-LIVE_PIECE:]
        self._live_skipped += max(0, len(data) - LIVE_PIECE) + max(0, len(self._live) - LIVE_PIECE)
        del self._live[:-LIVE_PIECE]
        room = self._head_limit - len(self._head)
        self._head += data[:room]
        rest = data[room:]
        self._lines += rest.count(b"\n")
        self._tail += rest[max(0, len(rest) - self._tail_limit) :]
        if len(self._tail) > 2 * self._tail_limit:
            del self._tail[: len(self._tail) - self._tail_limit]

    def take_live(self, *, final: bool = False) -> str:
        """Return what came since the last call, at most `LIVE_PIECE` bytes of it, and how much was skipped."""
        data, skipped = bytes(self._live), self._live_skipped
        self._live.clear()
        self._live_skipped = 0
        if not skipped:
            return self._decoder.decode(data, final)
        self._decoder.reset()
        return f"\n[{skipped:,} bytes not shown live]\n" + self._decoder.decode(_without_torn_start(data), final)

    def text(self, errors: str = "replace") -> str:
        """Return the whole as text: head, a line that counts what is left out, tail; `errors` as in `bytes.decode`."""
        tail = self._tail[max(0, len(self._tail) - self._tail_limit) :]
        left_out = self.total - len(self._head) - len(tail)
        if not left_out:
            return (self._head + tail).decode(errors=errors)
        head = codecs.getincrementaldecoder("utf-8")("replace").decode(self._head)  # a torn last character is dropped
        lines = self._lines - tail.count(b"\n")
        return f"{head}\n[{left_out:,} bytes left out, {lines:,} lines]\n" + _without_torn_start(tail).decode(
            errors="replace"
        )


def _without_torn_start(data: bytes | bytearray) -> bytes:
    """Drop the rest of a character whose first byte was cut off."""
    return bytes(data[:3].lstrip(bytes(range(0x80, 0xC0))) + data[3:])


class _Pipe:
    """Moves what arrives on a pipe into an `_Output`, with a pause after each big read.

    The pause bounds what a flood costs: a program that writes as fast as it can is slowed down, not the screen.
    """

    def __init__(self, descriptor: int, output: _Output) -> None:
        self._descriptor = descriptor
        self._output = output
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        os.set_blocking(descriptor, False)
        if hasattr(fcntl, "F_SETPIPE_SZ"):
            with contextlib.suppress(OSError):  # over the user's quota: slower, not wrong
                fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        self._listen()

    def _listen(self) -> None:
        self._loop.add_reader(self._descriptor, self._on_readable)

    def _on_readable(self) -> None:
        data = self._read()
        if data == b"":
            self._loop.remove_reader(self._descriptor)
        elif data and len(data) >= _PIPE_BYTES // 2:
            self._loop.remove_reader(self._descriptor)
            self._timer = self._loop.call_later(_READ_PAUSE, self._listen)

    def _read(self) -> bytes | None:
        """Take one piece; empty at the end of the stream, None when there is nothing now."""
        try:
            data = os.read(self._descriptor, _PIPE_BYTES)
        except BlockingIOError:
            return None
        self._output.feed(data)
        return data

    def close(self) -> None:
        """Take what is in the pipe now and close it. A process that still holds it is not waited for."""
        if self._timer:
            self._timer.cancel()
        self._loop.remove_reader(self._descriptor)
        end = self._output.total + _PIPE_BYTES
        while self._output.total < end and self._read():
            pass
        os.close(self._descriptor)


# ------------------------------------------------------------------ running


async def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    timeout: SupportsFloat,
    emit: Callable[[str], None] | None = None,
    env: Mapping[str, str] | None = None,
    max_output: int = 1_000_000,
) -> CommandResult:
    """Run a program to its end or for at most `timeout` seconds, and end everything it started.

    `emit` gets the output while it runs, at most 20 times a second and `LIVE_PIECE` bytes at a time; as often the
    `timeout` is read again, so it may be one that changes. With nobody to look at it, what is no UTF-8 in the output stays
    as surrogates, so that the bytes are known. `env` is the whole environment, by default what
    `child_environment` makes of the product's own. `max_output` is in bytes.
    A cancellation is passed on when everything is gone, at the latest after 2.5 s, as `Interrupted`.
    """
    try:
        with prepared(argv, cwd, child_environment(os.environ) if env is None else env) as view:
            own = view.variables
            result = await run_prepared(argv, cwd=cwd, timeout=timeout, emit=emit, env=own, max_output=max_output)
            return replace(result, remarks=view.remarks)
    except UnfitError as error:
        return not_shown(error)


def not_shown(why: UnfitError) -> CommandResult:
    """What is said in place of a git that is started with a view or not at all."""
    return CommandResult(None, "", 0.0, error=f"git has nothing to show here: {why}.")


async def run_prepared(
    argv: Sequence[str],
    *,
    cwd: Path,
    timeout: SupportsFloat,
    emit: Callable[[str], None] | None = None,
    env: Mapping[str, str],
    max_output: int = 1_000_000,
) -> CommandResult:
    """As `run`, with an environment that `prepared` made: it is taken as it is."""
    start = time.monotonic()
    output = _Output(max_output)

    def result(exit_code: int | None = None, **more: Any) -> CommandResult:
        text = output.text("replace" if emit else "surrogateescape")
        return CommandResult(exit_code, text, time.monotonic() - start, total_bytes=output.total, **more)

    if not argv or not argv[0]:
        return result(error="The command is empty.")
    mark = random_source.token_hex(8)
    environment = {**env, RUN_MARK: mark}
    try:
        request = supervisor.encode_request(argv, str(cwd), environment)
        child, pipe = _started(request, mark, output)
    except ValueError as problem:
        return result(error=_sentence(argv[0], str(problem)))
    except OSError as problem:
        return result(error=f"No process can be started: {problem.strerror}.")
    in_time, interrupted, report = True, False, ""
    try:
        in_time = await _followed(child, output, start, timeout, emit)
    except asyncio.CancelledError:
        interrupted = True
    finally:
        try:
            report = await child.end()
        except asyncio.CancelledError:
            interrupted = True
        finally:
            pipe.close()
    if emit and (piece := output.take_live(final=True)):
        emit(piece)
    if interrupted:
        raise Interrupted(result(interrupted=True))
    match report.split():
        case ["failed", stage, number]:
            return result(error=why_not(argv[0], cwd, environment, stage, int(number)))
        case words:
            return result(**_ending(words, child.swept, in_time=in_time))


def _ending(report: Sequence[str], swept: tuple[int, ...], *, in_time: bool) -> dict[str, Any]:
    """What the words of a supervisor's report say of the end of a command: fields of a `CommandResult`."""
    match report:
        case ["exit", status, *pids]:
            code, by = decode(status)
            return {"exit_code": code, "signal": by, "killed": tuple(map(int, pids))}
        case ["stopped", status, *pids]:
            error = "The command was ended from outside."
            ended: dict[str, Any] = {"signal": decode(status)[1], "killed": tuple(map(int, pids))}
        case _:
            error = "The process that watches the command was killed, and the command with it."
            ended = {"killed": swept}
    return {**ended, "timed_out": not in_time, "error": error if in_time else None}


def _started(request: bytes, mark: str, output: _Output) -> tuple[Supervised, _Pipe]:
    """A supervisor with its command, and the pipe of the output. Raises `OSError` when no process can be made."""
    source, sink = os.pipe()
    try:
        child = Supervised(request, mark, stdout=sink, stderr=sink)
    except BaseException:
        os.close(source)
        raise
    finally:
        os.close(sink)
    return child, _Pipe(source, output)


async def _followed(
    child: Supervised,
    output: _Output,
    start: float,
    timeout: SupportsFloat,
    emit: Callable[[str], None] | None,
) -> bool:
    """Pass the output on until the command has ended; False when `timeout` seconds since `start` came first."""
    while not child.ended.done():
        left = start + float(timeout) - time.monotonic()
        if left <= 0:
            return False
        await asyncio.wait({child.ended}, timeout=min(left, LIVE_INTERVAL) if emit else left)
        if emit and (piece := output.take_live()):
            emit(piece)
    return True


def missing(program: str, cwd: Path, env: Mapping[str, str]) -> str | None:
    """Why a program could not be started here, in one sentence, without starting it; None when it could."""
    places = [str(cwd)] if "/" in program else env.get("PATH", os.defpath).split(os.pathsep)
    found = [path for place in places if _file_type(path := Path(place, program)) is not None]
    if any(is_file(path) and os.access(path, os.X_OK) for path in found):
        return None
    return why_not(program, cwd, env, "exec", errno.EACCES if found else errno.ENOENT)


def why_not(program: str, cwd: Path, env: Mapping[str, str], stage: str, number: int) -> str:
    """Say in one sentence why a program did not start."""
    if stage == "cwd":
        return f"The folder {str(cwd)!r} cannot be entered: {os.strerror(number)}."
    places = [str(cwd)] if "/" in program else env.get("PATH", os.defpath).split(os.pathsep)
    kind = next(filter(None, (_file_type(Path(place, program)) for place in places)), None)
    match number:
        case errno.E2BIG:
            why = "its arguments are longer than the system allows"
        case errno.ENOENT if kind == stat.S_IFREG:
            why = "the interpreter named in its first line does not exist"
        case errno.ENOENT | errno.ENOTDIR:
            why = "there is no such program" if "/" in program else "there is no such program on PATH"
        case errno.EACCES if kind == stat.S_IFDIR:
            why = "it is a folder"
        case errno.EACCES:
            why = "it is not executable"
        case errno.ENOEXEC:
            why = "it is neither a binary for this machine nor a script with an interpreter in its first line"
        case _:
            why = os.strerror(number)
    return _sentence(program, why)


def _sentence(program: str, why: str) -> str:
    name = program if len(program) <= 100 else program[:99] + "…"
    return f"{name!r} cannot be started: {why}."


def _file_type(path: Path) -> int | None:
    """Return the type bits of what is at a path, None when nothing can be seen there."""
    try:
        return stat.S_IFMT(path.stat().st_mode)
    except OSError:
        return None
