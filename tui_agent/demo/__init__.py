"""The demo: a small project with failing tests and a recorded model that repairs it, through everything real.

The project is copied to a temporary folder, with its own configuration and data folders beside it; the
person's own stay untouched.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tui_agent.config import Settings
from tui_agent.core.endings import Limits
from tui_agent.core.profile import Profile
from tui_agent.core.types import ApprovalRequest, Decision, Model
from tui_agent.paths import PACKAGE, Paths
from tui_agent.providers.scripted import load_script, scripted
from tui_agent.session import Terms

TASK = "Two tests fail. Find out why and repair slugs.py."
NOTE = (
    "A recorded model repairs a small project here, for real. {composer.send} sends the task; you approve each change."
)
CHECK = (sys.executable, "-m", "unittest")
PROFILE = Profile("demo", "scripted", "scripted", model="recorded", local=True)


@dataclass(frozen=True, slots=True)
class Demo:
    """A prepared demo: where it plays and who answers."""

    terms: Terms
    model: Model


def model(delay: float = 0.0) -> Model:
    """The recorded model; `delay` is seconds per word."""
    return scripted(load_script(PACKAGE / "demo" / "replies.json"), name="demo", delay=delay)


@contextmanager
def prepared(delay: float = 0.0) -> Iterator[Demo]:
    """A fresh copy of the project, counted as trusted and its check as accepted; removed at the end."""
    with tempfile.TemporaryDirectory(prefix="tui-agent-demo-") as temp:
        base = Path(temp).resolve()
        root = base / "slugs"
        shutil.copytree(PACKAGE / "demo" / "project", root, ignore=shutil.ignore_patterns("__pycache__"))
        settings = Settings(checks={str(root): CHECK}, limits=Limits(max_invalid=1))
        paths = Paths(base / "config", base / "data", base / "state")
        yield Demo(Terms(root, settings, paths, trusted=True), model(delay))


async def recorded_person(batch: tuple[ApprovalRequest, ...]) -> tuple[Decision, ...]:
    """The answers of the recording: yes to each."""
    return tuple(Decision(request.id, "yes") for request in batch)
