"""Words for the model that stand in files: instructions, skills and commands, of a folder and of the person.

They are found and read here, all of them at once, so that what is shown, accepted and sent are the same bytes. Whether
those of a folder count is for `trust` to say; what is made of them is `guidance`.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Literal, TypeAlias

from tui_agent.core.disk import beginning, is_folder, is_link
from tui_agent.paths import PROJECT_DIR, Paths, home_of

Kind: TypeAlias = Literal["instructions", "skill", "command"]

INSTRUCTIONS = ("AGENTS.override.md", "AGENTS.md", "agents.md", "CLAUDE.md", "GEMINI.md")
"""The files of instructions; of each folder the first that says something counts."""
SKILL = "SKILL.md"
SKILL_FOLDERS = (f"{PROJECT_DIR}/skills", ".agents/skills", ".claude/skills")
COMMAND_FOLDERS = (f"{PROJECT_DIR}/commands", ".agents/commands", ".claude/commands", ".opencode/commands")
MAX_FILE = 1_000_000
"""Bytes of a file; a larger one counts as absent."""
MOST = 200
"""Entries of one folder of skills or commands that are looked at."""
MOST_FOLDERS, MOST_ENTRIES = 200, 4_000
"""Folders inside of the root that are looked into for instructions, and entries of all of them together."""
NOT_LOOKED_INTO = frozenset({"node_modules", "__pycache__", "target", "build", "dist", "vendor", "third_party"})
"""What others wrote or a program made is no place for instructions."""
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")


@dataclass(frozen=True, slots=True)
class Words:
    """One file. `path` is how it is named to the person and the model, `name` what a skill or command is called by.

    `own`: it is the person's, and needs no trust. `below` is the folder inside of the root that instructions are for, ""
    for all of it.
    """

    kind: Kind
    name: str
    path: str
    file: Path
    data: bytes
    own: bool = False
    below: str = ""

    @property
    def text(self) -> str:
        """What it says, without its front matter."""
        return front_matter(self.data)[1]

    @property
    def description(self) -> str:
        """What it is for: as it says itself, else its first line."""
        said = front_matter(self.data)[0].get("description", "")
        first = next((line.strip("# \t") for line in self.text.splitlines() if line.strip("# \t")), "")
        return " ".join((said or first).split())[: 1024 if said else 240]

    @property
    def digest(self) -> str:
        """sha256 hex of its bytes."""
        return hashlib.sha256(self.data).hexdigest()

    def flag(self, name: str, *, default: bool) -> bool:
        """A yes or no of the front matter."""
        return {"true": True, "false": False}.get(front_matter(self.data)[0].get(name, "").lower(), default)


def front_matter(data: bytes) -> tuple[dict[str, str], str]:
    """The texts at the head of a Markdown file, by their keys, and what stands below.

    Of YAML it takes what such heads are made of: one line a key, quoted or not, and blocks that are indented.
    """
    text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    head, mark, body = text.removeprefix("---\n").partition("\n---")
    if not text.startswith("---\n") or not mark:
        return {}, text.strip()
    found: dict[str, str] = {}
    key = ""
    for line in head.split("\n"):
        name, colon, value = line.partition(":")
        if line[:1].isspace() and key:
            found[key] = f"{found[key]} {line.strip()}".strip()
        elif colon and not line.startswith("#"):
            key, value = name.strip(), value.strip()
            if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
                value = value[1:-1]
            found[key] = "" if re.fullmatch(r"[|>][+-]?", value) else value
    return found, body.partition("\n")[2].strip()


# ------------------------------------------------------------------ where they stand


def folders(root: Path) -> tuple[Path, ...]:
    """The folders whose words concern `root`, the one nearest to it last: from the root of its repository on."""
    for top in (root, *root.parents):
        if os.path.lexists(top / ".git"):
            between = root.relative_to(top).parts
            return tuple(top.joinpath(*between[:count]) for count in range(len(between) + 1))
    return (root,)


def of_folder(root: Path) -> tuple[Words, ...]:
    """Everything that a folder brings, the nearest last. Links and special files count as absent."""
    out: list[Words] = []
    for folder in folders(root):
        where = os.path.relpath(folder, root)
        at = "" if where == "." else f"{where}/"
        out += _instructions(folder, at)
        for kind, places in (("skill", SKILL_FOLDERS), ("command", COMMAND_FOLDERS)):
            for place in reversed(places):
                out += _below(kind, folder / place, f"{at}{place}/")  # type: ignore[arg-type] # of the two words above
    return (*out, *_inside(root))


def of_person(paths: Paths) -> tuple[Words, ...]:
    """What the person keeps for every folder, the strongest last; links count."""
    if paths.home is None:
        return ()
    shared = paths.config.parent
    out = [*_file(shared / "AGENTS.md", own=True), *_file(paths.config / "AGENTS.md", own=True)]
    for folder in (".claude/skills", shared / "agents" / "skills", ".agents/skills", paths.config / "skills"):
        out += _below("skill", paths.home / folder, f"{folder}/", own=True)
    for folder in (".claude/commands", paths.config / "commands"):
        out += _below("command", paths.home / folder, f"{folder}/", own=True)
    return tuple(out)


def _instructions(folder: Path, at: str) -> Iterator[Words]:
    for name in INSTRUCTIONS:
        if (data := _read(folder / name)) is not None:
            found = Words("instructions", f"{at}{name}", f"{at}{name}", folder / name, data)
            if found.text:
                yield found
                return


def _inside(root: Path) -> Iterator[Words]:
    """The instructions of the folders inside, the nearest to the root first; of very many folders not all are looked into.

    A home folder, and what is above it, holds the work of others and of everything: nothing inside is looked for there.
    """
    home = Path(os.path.realpath(home_of(os.environ)))
    waiting, entered, seen = deque([] if root in {home, *home.parents} else [""]), 0, 0
    while waiting and entered < MOST_FOLDERS and seen < MOST_ENTRIES:
        at = waiting.popleft()
        entered += 1
        try:
            with os.scandir(root / at) as found:
                entries = sorted(islice(found, MOST_ENTRIES - seen), key=lambda entry: entry.name)
        except OSError:
            continue
        seen += len(entries)
        files = {entry.name for entry in entries}
        if "pyvenv.cfg" in files:
            continue
        if at and not files.isdisjoint(INSTRUCTIONS):
            yield from (replace(one, below=at) for one in _instructions(root / at, f"{at}/"))
        waiting += [
            f"{at}/{entry.name}" if at else entry.name
            for entry in entries
            if not entry.name.startswith(".")
            and entry.name not in NOT_LOOKED_INTO
            and entry.is_dir(follow_symlinks=False)
        ]


def _file(file: Path, *, own: bool) -> Iterator[Words]:
    if (data := _read(file, links=own)) is not None:
        yield Words("instructions", file.name, str(file), file, data, own)


def _below(kind: Kind, folder: Path, at: str, *, own: bool = False) -> Iterator[Words]:
    """The skills or commands of one folder, by name. A command of a folder inside is called `folder:name`."""
    for names, file in _files(kind, folder, own=own):
        if (data := _read(file, links=own)) is not None:
            path = f"{at}{file.relative_to(folder)}" if not own else str(file)
            yield Words(kind, ":".join(names), path, file, data, own)


def _files(kind: Kind, folder: Path, *, own: bool) -> Iterator[tuple[tuple[str, ...], Path]]:
    for name in _names(folder, own=own):
        if kind == "skill":
            if _NAME.fullmatch(name) and len(name) <= 64 and _enterable(folder / name, own=own):
                yield (name,), folder / name / SKILL
        elif name.endswith(".md") and _NAME.fullmatch(name[:-3]):
            yield (name[:-3],), folder / name
        elif _NAME.fullmatch(name) and _enterable(folder / name, own=own):
            for inner in _names(folder / name, own=own):
                if inner.endswith(".md") and _NAME.fullmatch(inner[:-3]):
                    yield (name, inner[:-3]), folder / name / inner


def _enterable(folder: Path, *, own: bool) -> bool:
    return is_folder(folder) and (own or not is_link(folder))


def _names(folder: Path, *, own: bool) -> list[str]:
    if not _enterable(folder, own=own) or (not own and is_link(folder.parent)):
        return []
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry, _ in zip(entries, range(MOST), strict=False))
    except OSError:
        return []


def _read(file: Path, *, links: bool = False) -> bytes | None:
    data = beginning(file, MAX_FILE + 1, links=links)
    return data if data is not None and len(data) <= MAX_FILE else None
