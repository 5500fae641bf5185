"""How git is run, whoever asks for it: without the programs that a repository can name in its own configuration.

A repository is data from outside, and its configuration may start programs: a file system monitor, hooks, external
diffs, text converters, filters. `argv` makes the words that are shown and executed, `environment` what goes with
them; both are used for every git that this product starts (`runner.run` asks for the second by itself).
The folder's configuration is only read here, to learn the names of what must be switched off; no program runs for it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tui_agent.core.wrappers import GIT_VALUES, base_name

_DIFFS = frozenset(
    ("diff", "show", "log", "whatchanged", "reflog", "format-patch", "diff-tree", "diff-index", "diff-files")
)
"""Sub-commands that take `--no-ext-diff --no-textconv`."""
_NO_PROGRAMS = ("--no-ext-diff", "--no-textconv")

_FIXED = (
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("safe.bareRepository", "explicit"),
    ("diff.external", ""),
)
_OFF = {
    "filter": (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")),
    "diff": (("textconv", "cat"), ("command", "")),  # an empty converter is an error, `cat` converts nothing
}
"""What is set for each name of a section; an empty command is never started."""
_VARIABLES = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "GIT_PAGER": "cat"}

_SECTION = re.compile(r"\s*\[\s*([\w.-]+?)(?:\.([^\]\"\s]+)|\s+\"((?:[^\"\\]|\\.)*)\")?\s*\]")
_KEY = re.compile(r"\s*([A-Za-z][\w-]*)\s*(?:=|$)")
_INCLUDE = re.compile(
    r"^\s*(?:\[\s*include(?:if)?[^\]\n]*\]\s*)?path\s*=\s*\"?([^\"\n]+?)\"?\s*$", re.IGNORECASE | re.MULTILINE
)
_MAX_BYTES = 1 << 20
_MAX_FILES = 32
_MAX_NAMES = 200


def is_git(words: Sequence[str]) -> bool:
    """Whether these words start git, by whatever path."""
    return bool(words) and base_name(words[0]) == "git"


FACT = "the repository's programs off"
"""What a person is told beside a git command."""


def argv(words: Sequence[str]) -> tuple[str, ...]:
    """The same command with what git itself offers against foreign programs; other commands are as they were."""
    if not is_git(words):
        return tuple(words)
    at = _subcommand(words)
    own = () if "--no-pager" in words[1:at] else ("--no-pager",)
    more = _NO_PROGRAMS if at < len(words) and words[at] in _DIFFS else ()
    return (words[0], *own, *words[1 : at + 1], *more, *words[at + 1 :])


def _subcommand(words: Sequence[str]) -> int:
    """Where the sub-command stands; `len(words)` when there is none."""
    at = 1
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in GIT_VALUES else 1
    return min(at, len(words))


def environment(words: Sequence[str], folder: str) -> dict[str, str]:
    """Variables for this git command in `folder`: its settings win over every file of the repository."""
    settings = [*_FIXED]
    for section, name in sorted(set().union(*map(names, _folders(words, folder)))):
        settings += [(f"{section}.{name}.{key}", value) for key, value in _OFF[section]]
    pairs = enumerate(settings)
    numbered = {
        f"GIT_CONFIG_{part}_{n}": text for n, pair in pairs for part, text in zip(("KEY", "VALUE"), pair, strict=True)
    }
    return {**_VARIABLES, **numbered, "GIT_CONFIG_COUNT": str(len(settings))}


def _folders(words: Sequence[str], folder: str) -> Iterator[str]:
    """Where the command may find a repository: here, and where its own options lead."""
    yield folder
    for at, word in enumerate(words[: _subcommand(words)]):
        name, sign, value = word.partition("=")
        if name in {"-C", "--git-dir", "--work-tree"}:
            folder = os.path.join(folder, value if sign else words[at + 1] if at + 1 < len(words) else "")  # noqa: PTH118
            yield folder


# ------------------------------------------------------------------ the repository's own configuration


def names(folder: str) -> set[tuple[str, str]]:
    """The (section, name) pairs of filters and diff drivers in the configuration of the repository around `folder`."""
    found: set[tuple[str, str]] = set()
    for text in texts(folder):
        for section, name, _ in settings(text):
            if name and section in _OFF and len(found) < _MAX_NAMES:
                found.add((section, name))
    return found


def settings(text: str) -> Iterator[tuple[str, str, str]]:
    """(section, name or "", key or "" for the header itself) of a configuration file, read leniently."""
    section = name = ""
    for line in text.removeprefix("\ufeff").split("\n"):
        rest = line
        while header := _SECTION.match(rest):  # several may stand in one line
            section, plain, quoted = header[1].lower(), header[2], header[3]
            name = (plain or "").lower() if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
            rest = rest[header.end() :]
            yield section, name, ""
        if section and (key := _KEY.match(rest)):
            yield section, name, key[1].lower()


def texts(folder: str) -> Iterator[str]:
    """The configuration files of the repository around `folder`, those they include, too, whatever the condition."""
    todo = [file for place in _repository(Path(folder)) for file in (place / "config", place / "config.worktree")]
    seen: set[Path] = set()
    while todo and len(seen) < _MAX_FILES:
        file = todo.pop(0)
        if file in seen:
            continue
        seen.add(file)
        if (text := _read(file)) is None:
            continue
        yield text
        # resolved as git does: from the folder of the including file, `~` from home
        todo += [file.parent / os.path.expanduser(path) for path in _INCLUDE.findall(text)]  # noqa: PTH111 - does not raise


def _repository(folder: Path) -> list[Path]:
    """The folders that hold the configuration of the nearest repository, none outside one."""
    if (folder / "HEAD").is_file() and (folder / "config").is_file():
        return [folder]  # a bare one, or the inside of `.git`
    for place in (folder, *folder.parents):
        mark = place / ".git"
        if mark.is_dir():
            return [mark]
        if (text := _read(mark)) is not None and text.startswith("gitdir:"):
            own = place / text.removeprefix("gitdir:").strip()
            common = _read(own / "commondir")
            return [own, *([own / common.strip()] if common else [])]
    return []


def _read(file: Path) -> str | None:
    """A file's text; None when there is none, or when it is no ordinary file."""
    try:
        fd = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    with os.fdopen(fd, "rb") as f:
        if not os.path.isfile(f.fileno()):  # noqa: PTH113 - on the open descriptor
            return None
        return f.read(_MAX_BYTES).decode("utf-8", "surrogateescape")


def branch_of(root: Path) -> str:
    """The branch of a folder from `.git/HEAD` as a file; no program is run for it."""
    try:
        head = (root / ".git" / "HEAD").read_text(encoding="utf-8", errors="replace")[:300].strip()
    except OSError:
        return ""
    name = head.removeprefix("ref: refs/heads/")
    return name if name != head else head[:8]
