"""The small program between the product and each command: it starts one program and ends everything it left.

It runs on its own (`python -I -S supervisor.py [STDIN]`), once per command, for four reasons:

* It is the *child subreaper*, so a process that leaves the group with `setsid` or a double fork becomes its
  child and is found and ended. Nothing else finds a daemon that also cleared its environment.
* It outlives the product. When the product dies, by whatever signal, its end of the socket closes and the
  command ends; when this program is killed instead, the kernel kills the command (parent-death signal).
* It has one thread, so it may prepare the child between fork and exec. The product has many and may not.
* The product can start it from any thread: no parent-death signal hangs on the starting thread.

Standard input is a stream socket. In: one request (`encode_request`); the end of the stream, even as a half close,
means *stop*. Out: one report (see `main`), then the end of the stream. Standard output and error are the
command's; STDIN is the number of the descriptor that it reads from, without one it reads nothing. Stop is TERM to all descendants, KILL after `STOP_SECONDS`. Only light imports: they cost each command.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence

STOP_SECONDS = 2.0
"""Between TERM and KILL for a command that was stopped."""
GRACE_SECONDS = 0.2
"""How long leftovers may still run after the command itself has ended."""
LEFTOVER_SECONDS = 1.0
"""Between TERM and KILL for leftovers of a command that has ended by itself."""
KILL_SECONDS = 0.3
"""How long to wait for the kernel after KILL."""

NICENESS = 5
"""How far commands give way to the screen, and to whatever else the person does."""

_PROC = os.path.isdir("/proc/self")  # noqa: PTH112 - pathlib is a slow import
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def encode_request(argv: Sequence[str], cwd: str, env: Mapping[str, str]) -> bytes:
    """Return the request as bytes: a length of eight bytes, then NUL-separated cwd, number of words, words, variables.

    Raises:
        ValueError: a NUL character, a lone surrogate or a variable name that no program can be given.
    """
    words = [cwd, str(len(argv)), *argv, *(f"{name}={value}" for name, value in env.items())]
    if any("\0" in word for word in words):
        raise ValueError("a NUL character cannot be passed to a program")
    if any(not name or "=" in name for name in env):
        raise ValueError("the name of an environment variable is empty or holds '='")
    try:
        body = b"\0".join(os.fsencode(word) for word in words)
    except UnicodeEncodeError as error:
        raise ValueError("a lone surrogate cannot be passed to a program") from error
    return len(body).to_bytes(8, "big") + body


def _receive() -> list[bytes] | None:
    """Read the request; None when the stream ended before it was complete."""
    data = b""
    while len(data) < 8 or len(data) - 8 < int.from_bytes(data[:8], "big"):
        chunk = os.read(0, 1 << 20)
        if not chunk:
            return None
        data += chunk
    return data[8:].split(b"\0")


def _prctl(option: int, value: int) -> None:
    """Call prctl(2) where it exists; elsewhere only the process group is known and ended."""
    with contextlib.suppress(ImportError, OSError, AttributeError):
        import ctypes  # noqa: PLC0415 - missing in some builds of Python

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _become(
    argv: list[bytes], cwd: bytes, env: Mapping[bytes, bytes], parent: int, failure: int, *, source: int | None
) -> None:
    """Turn the forked process into the command, which reads `source`; on failure write what failed and its errno, and exit."""
    stage = "start"
    try:
        os.setsid()
        os.nice(NICENESS)
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(127)
        os.dup2(os.open(os.devnull, os.O_RDONLY) if source is None else source, 0)
        if source is not None:
            os.close(source)
        signal.set_wakeup_fd(-1)
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_DFL)  # python and nohup leave some ignored, and that is inherited
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        stage = "cwd"
        os.chdir(cwd)
        stage = "exec"
        os.execvpe(argv[0], argv, env)  # noqa: S606 - without a shell is the point
    except OSError as error:
        os.write(failure, f"{stage} {error.errno}".encode())
    finally:
        os._exit(127)


def _spawn(request: list[bytes], source: int | None) -> tuple[int, bytes]:
    """Start the command, which reads `source`; returns its pid, and what failed or nothing."""
    cwd, count, *rest = request
    argv, variables = rest[: int(count)], rest[int(count) :]
    env = dict(variable.split(b"=", 1) for variable in variables)
    parent = os.getpid()
    failed, failure = os.pipe()  # closes itself at exec
    try:
        child = os.fork()
    except OSError as error:  # the user's limit of processes
        return 0, f"start {error.errno}".encode()
    if not child:
        _become(argv, cwd, env, parent, failure, source=source)
    os.close(failure)
    if source is not None:
        os.close(source)
    null = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):  # the pipe belongs to the command alone
        os.dup2(null, descriptor)
    return child, os.read(failed, 100)


def _descendants() -> set[int]:
    """Return the pids of all descendants, zombies left out; needs /proc."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - pathlib is a slow import
        if name.isdigit():
            with contextlib.suppress(OSError):  # it has ended meanwhile
                with open(f"/proc/{name}/stat", "rb") as stat:  # noqa: PTH123 - same
                    state, parent = stat.read().rpartition(b")")[2].split()[:2]
                if state != b"Z":
                    children.setdefault(int(parent), []).append(int(name))
    found: set[int] = set()
    todo = [os.getpid()]
    while todo:
        fresh = children.get(todo.pop(), [])
        found.update(fresh)
        todo += fresh
    return found


def _name_of(pid: int) -> bytes:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/comm", "rb") as name:  # noqa: PTH123 - as above
        return name.read().rstrip(b"\n")
    return b""


class _Family:
    """The command and all that descends from it, as seen from their parent."""

    def __init__(self, child: int, wake: int) -> None:
        self.child = child
        self.status: int | None = None
        self.gone = False
        self.stopped = False
        self.signalled: set[int] = set()
        self._wake = wake
        self._poll = select.poll()
        self._poll.register(wake, select.POLLIN)
        self._poll.register(0, select.POLLIN)

    def wait(self, ready: Callable[[], bool], seconds: float | None = None) -> None:
        """Reap children and listen for a stop until `ready()` or until `seconds` have passed."""
        end = None if seconds is None else time.monotonic() + seconds
        self._reap()
        while not ready() and (end is None or end > time.monotonic()):
            events = self._poll.poll(None if end is None else max(0.0, end - time.monotonic()) * 1000 + 1)
            for descriptor, _ in events:
                if descriptor == 0:
                    self._poll.unregister(0)
                    self.stopped = True
                elif set(os.read(self._wake, 4096)) - {signal.SIGCHLD}:
                    self.stopped = True  # the machine shuts down, or someone ended us: the same as a stop
            self._reap()

    def _reap(self) -> None:
        """Collect every child that has ended, adopted ones too."""
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == self.child:
                    self.status = status
                if not pid:
                    return
        except ChildProcessError:
            self.gone = True

    def terminate(self) -> None:
        """Ask all to end; a stopped job is woken to hear it.

        They are frozen first: a script whose program heard it a moment before would go on to its next line.
        bubblewrap itself is not asked: it would die at once, and the kernel would kill what it holds without a word.
        """
        if not _PROC:
            for number in (signal.SIGTERM, signal.SIGCONT):
                self._signal_group(number)
            return
        family = self._freeze()
        asked = family - {self.child} if family > {self.child} and _name_of(self.child) == b"bwrap" else family
        self._signal(asked, signal.SIGTERM)
        self._signal(family, signal.SIGCONT)

    def kill(self) -> None:
        """End all, whatever they do about it."""
        if _PROC:
            self._signal(self._freeze(), signal.SIGKILL)
        else:
            self._signal_group(signal.SIGKILL)

    def _freeze(self) -> set[int]:
        """Stop all where they are, so that a fork bomb cannot grow faster than it is counted; returns their pids."""
        frozen: set[int] = set()
        end = time.monotonic() + KILL_SECONDS
        while (fresh := _descendants() - frozen) and time.monotonic() < end:
            self._signal(fresh, signal.SIGSTOP)
            frozen |= fresh
        return frozen

    def _signal(self, pids: set[int], number: int) -> None:
        self.signalled |= pids - {self.child}
        for pid in pids:
            with contextlib.suppress(ProcessLookupError, PermissionError):  # ended meanwhile, or set-uid: reported
                os.kill(pid, number)

    def _signal_group(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.child, number)


def _supervise(child: int, wake: int) -> bytes:
    """Watch the command to its end and end what it left; returns the report."""
    family = _Family(child, wake)
    family.wait(lambda: family.status is not None or family.stopped)
    verb = "exit" if family.status is not None else "stopped"
    if verb == "exit":
        family.wait(lambda: family.gone or family.stopped, GRACE_SECONDS)
    if not family.gone:
        family.terminate()
        family.wait(lambda: family.gone, STOP_SECONDS if family.stopped else LEFTOVER_SECONDS)
    if not family.gone:
        family.kill()
        family.wait(lambda: family.gone, KILL_SECONDS)
    status = "-" if family.status is None else family.status
    return " ".join([verb, str(status), *map(str, sorted(family.signalled))]).encode()


def main() -> None:
    """Serve one request. The report is `exit|stopped WAITSTATUS PID…` or `failed STAGE ERRNO`."""
    wake, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    request = _receive()
    if request is None:
        return  # the product died or gave up
    poll = select.poll()
    poll.register(0, select.POLLIN)
    if poll.poll(0):
        return  # stopped before it began
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    child, failure = _spawn(request, int(sys.argv[1]) if sys.argv[1:] else None)
    report = b"failed " + failure if failure else _supervise(child, wake)
    with contextlib.suppress(OSError):  # nobody is left to read it
        os.write(0, report)


if __name__ == "__main__":
    main()
