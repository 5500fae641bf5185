"""Record the session that the tests of replay play: `python -m tests.replay.record` writes it anew.

Four tasks: one that steps down to JSON, fails its check and is verified; one whose edit is refused with a reason and
whose answer comes in plain words; one that repeats itself; one that is interrupted.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from contextlib import aclosing
from pathlib import Path
from typing import Any

from tests.fakes import Person
from tui_agent.config import Settings
from tui_agent.core import events as ev
from tui_agent.core.profile import Profile
from tui_agent.core.types import Author, Model, Request, TextDelta
from tui_agent.paths import Paths
from tui_agent.providers.scripted import scripted
from tui_agent.session import Session, Terms

FOLDER = Path(__file__).parent / "session"
CHECK = ("grep", "-q", "total = 3", "sums.py")
START = {"sums.py": "total = 1\n", "notes.txt": "remember the milk\n"}


def action(name: str, **arguments: Any) -> dict[str, Any]:
    import json

    return {"text": json.dumps({"tool": name, **arguments})}


def final(text: str) -> dict[str, Any]:
    return action("x") | {"text": f'{{"final": "{text}"}}'}


REPLIES: list[dict[str, Any]] = [
    {
        "text": "I look first.",
        "calls": [
            {"name": "list_files", "arguments": {}},
            {"name": "read_file", "arguments": {"path": "sums.py"}},
            {"name": "read_file", "arguments": {"path": "notes.txt"}},
        ],
    },
    {"text": '{"name": "search", "arguments": {"text": "total"}}'},
    {"text": '{"tool": "edit_file", "path": "sums.py"'},
    {"text": "Now I change it."},
    action("edit_file", path="sums.py", old="total = 9", new="total = 3"),
    action("edit_file", path="sums.py", old="total = 1", new="total = 2"),
    action("edit_file", path="sums.py", old="total = 2", new="total = 3"),
    final("total is 3 in sums.py"),
    action("write_file", path="notes.txt", content="gone\n"),
    {"text": "You did not want that."},
    {"text": "So nothing is changed."},
    action("read_file", path="notes.txt"),
    action("read_file", path="notes.txt"),
    action("read_file", path="notes.txt"),
    final("never said to the end"),
]


def one_by_one() -> Model:
    """The replies in order, whatever is asked: the count of a text protocol's messages says nothing about it."""
    left = iter(REPLIES)

    async def stream(request: Request):
        source = scripted([next(left)] * (len(request.messages) + 1)).stream(request)
        async for delta in source:
            yield delta

    return Model(Author("scripted", "script", "script"), stream)


async def record(root: Path, data: Path, person: Person) -> Session:
    """The session, played in `root` with its log and blobs below `data`."""
    for name, text in START.items():
        (root / name).write_text(text)
    settings = Settings(checks={str(root): CHECK})
    session = Session(
        Terms(root, settings, Paths(data, data, data), trusted=True, environment={"PATH": "/usr/bin:/bin"}), person
    )
    session.use(one_by_one(), Profile("recorded", "scripted", "scripted", model="script"))
    for task in ("Make total 3 in sums.py", "Clear the notes", "Read the notes"):
        async with aclosing(session.run(task)) as events:
            _ = [event async for event in events]
    async with aclosing(session.run("And now?")) as events:
        async for event in events:
            if isinstance(event, ev.ArgumentsDelta | TextDelta):
                break
    return session


def person() -> Person:
    """Whose answers are recorded."""
    return Person(["yes", "yes", "no:keep my notes"])


def main() -> None:
    """Write the fixture."""
    with tempfile.TemporaryDirectory() as temp:
        root = Path(temp).resolve() / "work"
        root.mkdir()
        session = asyncio.run(record(root, Path(temp) / "data", person()))
        shutil.rmtree(FOLDER, ignore_errors=True)
        shutil.copytree(session.folder, FOLDER, ignore=shutil.ignore_patterns("lock"))
        log = FOLDER / "log.jsonl"
        log.write_text(log.read_text().replace(str(root), "/home/ada/work"))


if __name__ == "__main__":
    main()
