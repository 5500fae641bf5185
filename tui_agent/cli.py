"""The command line: which subcommand, and the borders around it. Each is imported when it is called for."""

from __future__ import annotations

import argparse
import atexit
import errno
import io
import os
import shlex
import signal
import sys
import traceback
from collections.abc import Collection, Sequence
from types import FrameType
from typing import NoReturn

from tui_agent.core.disk import private_folder
from tui_agent.core.display import plain
from tui_agent.core.secrets import Secrets
from tui_agent.core.types import AgentError, ConfigError
from tui_agent.paths import Paths, user_paths
from tui_agent.subcommands import BY_NAME, START
from tui_agent.subcommands.parsing import NOT_WRITTEN, USAGE_ERROR


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program; returns its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    complete_streams()
    secrets = Secrets()
    try:
        try:
            return dispatch(words, secrets)
        finally:
            sys.stdout.flush()  # here a disk that refuses is still told; the interpreter would print its own trace
            sys.stderr.flush()
    except AgentError as error:
        print(f"tui-agent: {plain(secrets.hide(str(error)))}", file=sys.stderr)
        return USAGE_ERROR if isinstance(error, ConfigError) else 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        silence()  # whoever read our output has gone
        return 141
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
            return not_written(error)
        if error.errno != errno.EIO:
            return crashed(user_paths(), secrets)
        silence()  # the terminal that we wrote to is gone
        return 128 + signal.SIGHUP
    except Exception:  # noqa: BLE001 - the top border: a crash leaves a reason, and never a raw traceback on the screen
        return crashed(user_paths(), secrets)


def dispatch(words: Sequence[str], secrets: Secrets) -> int:
    """Run the subcommand that the first word names, else one task or the screen; `secrets` gets the keys it learns.

    Raises:
        ConfigError: what was given is nearly a command, and no task.
    """
    command = BY_NAME.get(words[0]) if words else None
    if command is None and words:
        refuse_what_is_nearly_a_command(words)
    entry = (command or START).load()
    options = argparse.Namespace(secrets=secrets)
    return entry.run(entry.parser().given(words[1:] if command else words, options))


def refuse_what_is_nearly_a_command(words: Sequence[str]) -> None:
    """A model is not asked what a mistyped command means.

    Raises:
        ConfigError: the first word is nearly a command, and alone, before flags, or before a word of that command.
    """
    first, *rest = words
    if first.startswith("-"):
        return
    from tui_agent.schema import nearest  # noqa: PLC0415 - only here

    flags = bool(rest) and rest[0].startswith("-")
    meant = nearest(first, (*BY_NAME, "--help", "--version"), 0.75)
    if meant and (not rest or flags or rest[0] in words_of(meant)):
        as_task = shlex.join([*rest, "--", first] if flags else ["--", first, *rest])
        raise ConfigError(
            f"there is no command {first!r}; did you mean {meant}? As a task it goes behind --: tui-agent {as_task}"
        )


def words_of(name: str) -> Collection[str]:
    """What may stand right behind a command, as far as it is known word by word."""
    if name not in BY_NAME:
        return BY_NAME if name == "--help" else ()
    from tui_agent.completions import command  # noqa: PLC0415 - only after a slip

    found = command(name, "", BY_NAME[name].load().parser(), words={"WORD": BY_NAME[name].words})
    return {*found.choices, *(inner.name for inner in found.inner)}


def complete_streams() -> None:
    """Make stdin, stdout and stderr usable, whatever the caller left of them.

    A closed one becomes /dev/null, so that no file of ours gets its number; one that another program left non-blocking is
    waited for again. What the encoding of a terminal cannot say is
    escaped; who reads a pipe or a file gets the text itself.
    """
    while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(fd, True)
    os.close(fd)
    for fd in (0, 1, 2):
        os.set_blocking(fd, True)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 - for as long as we live
        elif mode == "w" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="backslashreplace")


def silence() -> None:
    """Point stdout and stderr to nowhere: what is left in them would fail at exit, and change the exit code."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def not_written(why: OSError) -> int:
    """A disk refuses what we print: say so where that can still be said."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        print(f"tui-agent: what had to be written could not be: {why.strerror}", file=sys.stderr, flush=True)
    except OSError:
        os.dup2(nowhere, 2)  # it is the disk behind stderr; the interpreter would change our exit code at its end
    return NOT_WRITTEN


def crashed(paths: Paths, secrets: Secrets) -> int:
    """Keep the traceback, without keys, in the state folder and say where it is."""
    text = secrets.hide(traceback.format_exc())
    reason = plain(text.strip().splitlines()[-1])
    try:
        private_folder(paths.state)
        file = paths.state / "crash.log"
        file.write_text(text, encoding="utf-8")
        file.chmod(0o600)
        where = f"Details: {file}"
    except OSError:
        where = text
    print(f"tui-agent stopped on an internal error: {reason}\n{where}", file=sys.stderr)
    return 70


def entry() -> NoReturn:
    """The console script."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _leave)
    try:
        code = main()
    except SystemExit as end:  # by a signal, or by what was asked for
        code = end.code if isinstance(end.code, int) else end.code is not None
        _settle(code)
        raise
    _settle(code)
    sys.exit(code)


def _settle(code: int) -> None:
    """It is over, and how: an interrupt ends the wait for a thread, and nothing else, for Python would die of it."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda *_: os._exit(code))
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)


def _leave(number: int, _frame: FrameType | None) -> NoReturn:
    """End as an exception does, so that whatever was changed is put back, by start-up too."""
    raise SystemExit(128 + number)
