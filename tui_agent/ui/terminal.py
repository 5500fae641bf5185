"""The terminal as a thing that was lent to us: patched keys, one restore string, and a guard around the app.

Textual leaves the alternate screen and the mouse modes on after SIGTERM and SIGHUP, reads Alt+Enter as
Enter, and is dumb for good on a terminal that another program left non-blocking. That is mended here. SIGKILL cannot be caught: `RESTORE` printed from a fresh
shell (`tui-agent reset-terminal`) is the way back.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import enum
import os
import select
import signal
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from textual import _ansi_sequences
from textual.app import App, SuspendNotSupported
from textual.drivers.linux_driver import LinuxDriver

from tui_agent.restore import RESTORE
from tui_agent.ui.attention import BELL
from tui_agent.ui.editor import EditorError, deaf, is_deaf

STOP_SECONDS = 2.0
"""From a signal on, the process may show no sign of life for this long."""
ENDING_SECONDS = 15.0
"""And it has this long to end by itself, however alive it is."""
BEAT_SECONDS = 0.1
"""How often it is to show one."""

SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGINT)


KITTY_FLAGS = 25
"""What Textual asks of a terminal with the kitty keyboard protocol: tell keys apart, report all, with their text."""


def mouse_modes(on: bool) -> str:
    """What lets a terminal report the mouse, or keep it for itself."""
    return "".join(f"\x1b[?{mode}{'h' if on else 'l'}" for mode in (1000, 1003, 1015, 1006)) + "\x1b[?1016l" * (not on)


def modes(mouse: bool) -> str:
    """Every mode that the screen needs, once more: something else on this terminal may have switched one off.

    The keyboard flags are set and not pushed, so that one pop at the end still gives back what was there before.
    """
    kept = "\x1b[?1049h\x1b[?25l\x1b[?1004h\x1b[?2004h\x1b[?7l"
    return f"{kept}\x1b[={KITTY_FLAGS}u{mouse_modes(mouse)}"


class _ExtraKey(enum.Enum):
    """Keys that Textual's own `Keys` does not name."""

    ALT_ENTER = "alt+enter"


def patch_keys() -> bool:
    """Teach Textual's parser that ESC CR is Alt+Enter; return whether that was needed.

    Without it Alt+Enter arrives as `enter` and sends a half-written message. A Textual that
    knows the sequence itself is left alone.
    """
    sequences: Any = _ansi_sequences.ANSI_SEQUENCES_KEYS  # declared read-only, and a dict
    if "\x1b\r" in sequences:
        return False
    sequences["\x1b\r"] = (_ExtraKey.ALT_ENTER,)
    return True


_start: Callable[[LinuxDriver], None] = LinuxDriver.start_application_mode


def _start_blocking(driver: LinuxDriver) -> None:
    """Take the terminal, at the start and after each suspension, and wait whenever it takes nothing more for now."""
    for fd in (0, 1, 2):
        if os.isatty(fd):
            os.set_blocking(fd, True)
    _start(driver)


_write: Callable[[LinuxDriver, str], None] = LinuxDriver.write


class _Lent:
    """Whether another program has the terminal."""

    now = False


def _write_when_ours(driver: LinuxDriver, data: str) -> None:
    """Write, unless another program has the terminal: all of the screen is drawn when it comes back. A bell is heard there, too."""
    if not _Lent.now:
        _write(driver, data)
    elif data == BELL and (out := driver._file) is not None:  # noqa: SLF001 - whoever writes for it has ended meanwhile
        with contextlib.suppress(OSError):
            os.write(out.fileno(), data.encode())


def patch_output() -> None:
    """Let no write fail for want of patience: the thread that draws would end, and the screen wait for it for ever.

    And let none reach a terminal that was lent.
    """
    setattr(LinuxDriver, "start_application_mode", _start_blocking)  # noqa: B010 - nothing offers another way
    setattr(LinuxDriver, "write", _write_when_ours)  # noqa: B010


def is_lent() -> bool:
    """Whether another program has the terminal, so that nobody looks at this one."""
    return _Lent.now


@contextlib.contextmanager
def lent(app: App[Any]) -> Iterator[None]:
    """Give the terminal to another program inside of this; the app goes on, unseen and deaf. What fails in here must not get out.

    Raises:
        EditorError: it cannot be given away, or somebody has it.
    """
    if _Lent.now:
        raise EditorError("Another program has the terminal.")
    try:
        with app.suspend(), deaf():
            _Lent.now = True
            yield
            _Lent.now = False
    except SuspendNotSupported as error:
        raise EditorError("This terminal cannot be given to another program.") from error


@contextlib.contextmanager
def guard(on_signal: Callable[[int, Callable[[], None]], None], *, seconds: float = STOP_SECONDS) -> Iterator[None]:
    """Run the app inside this: whatever ends it, the terminal is given back and the exit code is right.

    On SIGTERM, SIGHUP, SIGQUIT or SIGINT `on_signal(number, alive)` is called once, in the main thread
    between two bytecodes; it asks the app to end, by `loop.call_soon_threadsafe`, because an idle
    event loop would not wake up otherwise. Later signals are ignored: closing a terminal sends
    several. `alive` is a sign of life: a command that does not hear takes two seconds to be ended, and what
    became of it must be in the log. After the body `SystemExit(128 + number)` is raised. When the process still lives
    `seconds` after the signal and the last sign of life, the terminal is restored and the process ends with that code,
    whatever the main thread is stuck in.

    Call it in the main thread. Children are ended by whoever started them.
    """
    terminal = _Terminal()
    taken: list[int] = []

    def handle(number: int, _frame: FrameType | None) -> None:
        if not taken:
            taken.append(number)
            on_signal(number, deadline.beat)

    deadline = _Deadline(terminal, seconds)
    before = {number: signal.signal(number, handle) for number in SIGNALS}
    if os.isatty(0):
        threading.Thread(target=_wait_for_hang_up, name="hang-up", daemon=True).start()
    atexit.register(terminal.give_back)
    try:
        yield
    except BaseException as error:
        if taken:
            raise SystemExit(128 + taken[0]) from error
        raise
    finally:
        terminal.give_back()
        atexit.unregister(terminal.give_back)
        deadline.disarm()
        for number, handler in before.items():
            signal.signal(number, handler)
    if taken:
        raise SystemExit(128 + taken[0])


def show_life(alive: Callable[[], None]) -> None:
    """Call `alive` now and every `BEAT_SECONDS`, for as long as the running event loop runs."""
    alive()
    asyncio.get_running_loop().call_later(BEAT_SECONDS, show_life, alive)


def _wait_for_hang_up() -> None:
    """Act as on SIGHUP when the terminal is gone: one that is not our controlling terminal goes without a signal.

    Nothing but a hang-up ends this wait, so it costs nothing. Textual would read the end of its input for ever.
    """
    waiting = select.poll()
    waiting.register(0, 0)
    if any(event & select.POLLHUP for _, event in waiting.poll()):
        os.kill(os.getpid(), signal.SIGHUP)


@contextlib.contextmanager
def drawing_on_the_terminal() -> Iterator[None]:
    """Draw there although stderr leads elsewhere (`2>log`): Textual draws on what the interpreter began with as stderr."""
    began = sys.__stderr__
    if not os.isatty(2) and os.isatty(1):
        sys.__stderr__ = sys.__stdout__  # type: ignore[misc]  # a constant by its stub only
    try:
        yield
    finally:
        sys.__stderr__ = began  # type: ignore[misc]


class _Terminal:
    """The terminal's settings as they were found, and the way back to them."""

    def __init__(self) -> None:
        self._fds = [fd for fd in (0, 1, 2) if os.isatty(fd)]
        self._fd = next(iter(self._fds), None)
        self._before = None if self._fd is None else termios.tcgetattr(self._fd)

    def give_back(self, *, always: bool = False) -> None:
        """Restore modes and settings when the terminal is still raw, or `always`.

        Textual puts the settings back at the very moment it leaves the alternate screen, so raw
        means that nobody cleaned up. A second restore would do harm: it pops the shell's own
        keyboard mode and moves the cursor. A terminal that is gone has nothing to restore.
        """
        if self._fd is None or self._before is None:
            return
        try:
            if not always and termios.tcgetattr(self._fd) == self._before:
                return
            termios.tcsetattr(self._fd, termios.TCSANOW, self._before)
            # A terminal stopped by Ctrl+S, or full, would block the write and with it the end.
            if select.select((), (self._fd,), (), 0.2)[1]:
                os.write(self._fd, RESTORE)
        except (OSError, termios.error):
            self._let_go()

    def _let_go(self) -> None:
        """The terminal is gone: what is still buffered for it must not fail at the end and change the exit code."""
        nowhere = os.open(os.devnull, os.O_RDWR)
        for fd in self._fds:
            os.dup2(nowhere, fd)
        os.close(nowhere)


class _Deadline:
    """A thread that ends the process some seconds after a signal, even when the main thread is stuck in C.

    The interpreter itself writes the number of each signal into a pipe (`set_wakeup_fd`), so no
    Python handler has to run for the clock to start.
    """

    def __init__(self, terminal: _Terminal, seconds: float) -> None:
        self._terminal = terminal
        self._seconds = seconds
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        self._wakeup_before = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        self._clean = False
        self._alive = 0.0
        threading.Thread(target=self._watch, name="deadline", daemon=True).start()

    def beat(self) -> None:
        """The main thread is alive: it ends what is to be ended."""
        self._alive = time.monotonic()

    def disarm(self) -> None:
        """Start no clock from now on; one that runs goes on, so that a slow interpreter exit is bounded too."""
        self._clean = True
        signal.set_wakeup_fd(self._wakeup_before)
        os.close(self._writer)

    def _wait(self) -> None:
        """Return when there was no sign of life for too long, or when it took too long all the same."""
        began = self._alive = time.monotonic()
        while (now := time.monotonic()) < min(self._alive + self._seconds, began + ENDING_SECONDS):
            time.sleep(min(self._alive + self._seconds, began + ENDING_SECONDS) - now)

    def _watch(self) -> None:
        while numbers := os.read(self._reader, 64):
            for number in numbers:
                if number in SIGNALS and not (number == signal.SIGINT and is_deaf()):
                    self._wait()
                    self._terminal.give_back(always=not self._clean)
                    os._exit(128 + number)
        os.close(self._reader)
