"""Starts a program behind its supervisor, and ends it: the one place of the product that makes such processes.

What goes in and out of the program are descriptors of whoever starts it: `runner` follows one command to its end, `serving`
keeps a program running and talks with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from tui_agent.workspace import supervisor

RUN_MARK = "TUI_AGENT_RUN"
"""Variable in the environment of every process of one command; its value is random and unique."""

_SETTLE_SECONDS = supervisor.STOP_SECONDS + 0.5
_LOADER = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")  # our own interpreter may need them to start


class Supervised:
    """One supervisor with its program: a socket for request, stop and report.

    `request` is what `supervisor.encode_request` makes, with `mark` in its environment. The program writes to `stdout` and
    `stderr` and reads from `stdin`, or nothing without one; the descriptors stay the caller's to close.
    Raises `OSError` when no process can be made.
    """

    def __init__(self, request: bytes, mark: str, *, stdout: int, stderr: int, stdin: int | None = None) -> None:
        self.swept: tuple[int, ...] = ()
        self._mark = mark
        self._control, control = socket.socketpair()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", supervisor.__file__, *([] if stdin is None else [str(stdin)])],
                stdin=control.fileno(),
                stdout=stdout,
                stderr=stderr,
                pass_fds=() if stdin is None else (stdin,),
                cwd="/",
                env={RUN_MARK: mark} | {name: os.environ[name] for name in _LOADER if name in os.environ},
                start_new_session=True,
            )
        except BaseException:
            self._control.close()
            raise
        finally:
            control.close()
        self._control.setblocking(False)
        self._unsent = memoryview(request)
        self._report = b""
        self._loop = asyncio.get_running_loop()
        # not a task: the end of a loop cancels all tasks, and stops must outlive it
        self.ended: asyncio.Future[None] = self._loop.create_future()
        self._loop.add_writer(self._control, self._send)
        self._loop.add_reader(self._control, self._receive)

    def _send(self) -> None:
        """Send the next part of the request; it may be longer than the socket's buffer."""
        try:
            self._unsent = self._unsent[self._control.send(self._unsent) :]
        except BlockingIOError:
            return
        except ConnectionError:  # the supervisor is gone; the reader sees it too
            self._unsent = self._unsent[:0]
        if not self._unsent:
            self._loop.remove_writer(self._control)

    def _receive(self) -> None:
        """Take the next part of the report; its end means that the supervisor has ended."""
        try:
            data = self._control.recv(65536)
        except BlockingIOError:
            return
        except ConnectionError:
            data = b""
        self._report += data
        if not data:
            self._loop.remove_reader(self._control)
            self.ended.set_result(None)

    async def end(self) -> str:
        """Stop what still runs and return the report, empty when there is none. Once.

        A cancellation that comes meanwhile does not shorten the stop; it is passed on afterwards.
        """
        deadline = time.monotonic() + _SETTLE_SECONDS
        cancelled = False
        if not self.ended.done():
            self._loop.remove_writer(self._control)
            with contextlib.suppress(OSError):  # the other end is gone
                self._control.shutdown(socket.SHUT_WR)
        while not self.ended.done() and (left := deadline - time.monotonic()) > 0:
            try:
                await asyncio.wait({self.ended}, timeout=left)
            except asyncio.CancelledError:
                cancelled = True
        self._loop.remove_reader(self._control)
        if not self._report:
            self._process.kill()
            self.swept = _sweep(self._mark)
        self._control.close()
        self._process.wait()
        if cancelled:
            raise asyncio.CancelledError
        return self._report.decode()


def decode(status: str) -> tuple[int | None, int | None]:
    """Return exit code and signal of a wait status; both None when the command could not be ended."""
    if status == "-":
        return None, None
    code = os.waitstatus_to_exitcode(int(status))
    return (128 - code, -code) if code < 0 else (code, None)


def _sweep(mark: str) -> tuple[int, ...]:
    """Kill whatever carries the mark of a command, for when its supervisor cannot; returns the pids."""
    needle = f"{RUN_MARK}={mark}".encode()
    killed: set[int] = set()
    quiet = 0
    for _ in range(20):
        before = len(killed)
        for path in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):  # ended meanwhile, or another user's
                if needle in path.read_bytes().split(b"\0"):
                    pid = int(path.parent.name)
                    os.kill(pid, signal.SIGKILL)
                    killed.add(pid)
        quiet = quiet + 1 if len(killed) == before else 0
        if quiet == 3:
            break
        time.sleep(0.005)  # one that forks or execs just now shows no environment for a moment
    return tuple(sorted(killed))
