"""Instructions, skills and commands in a folder, and a session that has them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.fakes import Person
from tui_agent.config import Settings
from tui_agent.core import events as ev
from tui_agent.core.profile import Profile
from tui_agent.core.types import Request
from tui_agent.paths import Paths
from tui_agent.providers.scripted import scripted
from tui_agent.session import Session, Terms
from tui_agent.trust import TrustStore
from tui_agent.words import Words


def put(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def skill(
    folder: Path, name: str, description: str = "what it does", body: str = "Do it well.", more: str = ""
) -> Path:
    return put(folder, f"{name}/SKILL.md", f"---\nname: {name}\ndescription: {description}\n{more}---\n{body}\n")


def words(name: str, text: str, kind: Any = "instructions") -> Words:
    return Words(kind, name, name, Path(name), text.encode())


def paths_of(base: Path) -> Paths:
    return Paths(base / ".config/tui_agent", base / "data", base / "state", base)


def session(base: Path, replies: list[Any] | None = None, **kw: Any) -> tuple[Session, list[Request]]:
    """A session in `base/work` with what that folder brings accepted."""
    root, paths, seen = base / "work", paths_of(base), []
    root.mkdir(exist_ok=True)
    trust = TrustStore(paths.data / "trust.toml").answer(root, trusted=True)
    terms = Terms(root, Settings(), paths, trusted=True, words=trust.words, environment={"HOME": str(base)})
    made = Session(terms, Person())
    made.use(
        scripted([{"text": r} if isinstance(r, str) else r for r in replies or ["Done."] * 5], seen=seen),
        replace(Profile("p", "scripted", "scripted", model="m"), **kw),
    )
    return made, seen


async def play(made: Session, task: str = "do it") -> list[ev.Event]:
    return [event async for event in made.run(task)]


def notices(made: Session) -> list[str]:
    return [event.text for event in made.events if isinstance(event, ev.Notice)]


def calls(*wanted: dict[str, Any]) -> dict[str, Any]:
    return {"calls": list(wanted)}


def reads(path: str) -> dict[str, Any]:
    return {"name": "read_file", "arguments": {"path": path}}
