"""A conversation as whole lines, one after the other: for screen readers, and for terminals that can do no more.

No alternate screen, no cursor that moves, nothing that is drawn twice. It is the same session as on the screen, with
the same questions, whose answers are numbers.
"""

from __future__ import annotations

import os
import signal
from dataclasses import replace

from tui_agent.core import events as ev
from tui_agent.core.types import AgentError
from tui_agent.modes import MODES, mode
from tui_agent.oneshot import SIGNALS, Style, banner, run_once, say
from tui_agent.questions import TERMINAL, Terminal
from tui_agent.review import take_back
from tui_agent.session import Session

HELP = f"""Type a task and press Enter. While it runs, Ctrl+C stops it. Questions are answered with a number and Enter.
  /mode NAME   go on in another mode: {", ".join(MODES)}
  /approve     carry out the plan that was made in mode plan
  /revert      take back the edits after which the check failed
  /help        this
  /quit        leave; so does the end of input (Ctrl+D)
What else the screen has is here a command of the shell: tui-agent --help."""

ENDED = frozenset(128 + number for number in SIGNALS if number != signal.SIGINT)
"""Exit codes of a task during which the program was told to end."""
_LEAVE = frozenset({"/quit", "/exit", "/q"})


async def converse(session: Session, style: Style) -> int:
    """Carry out one task after the other, as they are typed, until the person leaves; returns the exit code of the last.

    Ctrl+C stops a task only; what ends a program ends this one in the middle of a task, too.
    """
    say(". ".join(banner(session)))
    say("Type a task, or /help.")
    code = 0
    terminal = Terminal(os.open(TERMINAL, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    try:
        while (line := await terminal.ask("task > ")) is not None and line not in _LEAVE:
            if task := await command(session, line) if line.startswith("/") else line:
                code = await run_once(session, task, replace(style, opening=False))
                if code in ENDED:
                    break
    finally:
        terminal.close()
    return code


async def command(session: Session, line: str) -> str:
    """Carry out a line that begins with a slash; gives the task that follows from it, "" when none does."""
    name, _, rest = line.partition(" ")
    try:
        if name == "/mode" and rest:
            session.enter(mode(rest.strip()))
            say(f"mode {session.mode.name}: {session.mode.what}")
        elif name == "/approve":
            task = session.approve_plan()
            say(f"mode {session.mode.name}: {session.mode.what}")
            return task
        elif name == "/revert":
            say(await take_back(session) or _taken_back(session))
        elif name in {"/help", "/mode"}:
            say(HELP)
        else:
            say(f"there is no command {name} here. /help says what there is.")
    except AgentError as error:
        say(str(error))
    return ""


def _taken_back(session: Session) -> str:
    back = next(event for event in reversed(session.events) if isinstance(event, ev.Undone))
    return f"taken back: {', '.join(back.paths)}"
