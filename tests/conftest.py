"""What every test may rely on."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

from tests import examples
from tests.fakes import Person
from tui_agent.config import Settings, Web
from tui_agent.core.policy import DEFAULT, Policy
from tui_agent.core.profile import Profile
from tui_agent.core.types import Request
from tui_agent.paths import Paths
from tui_agent.providers.scripted import scripted
from tui_agent.session import Session, Terms

examples.prepare()

# Under nohup SIGHUP is ignored, in the background of a script SIGINT and SIGQUIT, and every program that a test starts would inherit that.
for _number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    signal.signal(_number, signal.default_int_handler if _number is signal.SIGINT else signal.SIG_DFL)


def talking(
    base: Path, replies: list[Any], web: Web, person: Any = None, policy: Policy = DEFAULT, **terms: Any
) -> tuple[Session, list[Request]]:
    """A session of a recorded model in a trusted folder, and the requests that the model gets."""
    (base / "work").mkdir(exist_ok=True)
    seen: list[Request] = []
    paths = Paths(base / "config", base / "data", base / "state")
    given = {"trusted": True, "environment": {}, **terms}
    made = Session(Terms(base / "work", Settings(web=web, policy=policy), paths, **given), person or Person())
    made.use(
        scripted([{"text": r} if isinstance(r, str) else r for r in replies], seen=seen),
        Profile("p", "scripted", "scripted", model="m"),
    )
    return made, seen
