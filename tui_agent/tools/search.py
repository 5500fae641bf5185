"""Search the text of a folder: which program does it, what its output means, how a model is told.

The search always runs as a child process with a time limit, because a regular expression can take for
ever: ripgrep where there is one, else this module's own `main`. Both honour ignore files, look into
dotfiles, follow no link and print `PATH US LINE US TEXT`; the caller decides by path which hits may be shown.
"""

from __future__ import annotations

import os
import re
import stat
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import tui_agent
from tui_agent.tools.files import MAX_RESULT
from tui_agent.tools.names import secret
from tui_agent.tools.walk import files

TIMEOUT = 20.0
"""Seconds that one search may take."""
MAX_HITS = 100
"""Hits that a model is shown."""
MAX_COUNTED = 1000
"""Hits that are counted."""
_MAX_PER_FILE = 50
_MAX_FILE_BYTES = 20_000_000
_MAX_TEXT = 300
_US = "\x1f"
_BOOT = "import sys; sys.path.insert(0, sys.argv.pop(1)); from tui_agent.tools.search import main; main(sys.argv[1:])"


@dataclass(frozen=True, slots=True)
class Hit:
    """One matching line; `line` counts from 1, `text` is cut to 300 characters."""

    path: str
    line: int
    text: str


@lru_cache(maxsize=64)
def is_regex(text: str) -> bool:
    """Whether the text can be read as a regular expression; else it is searched for as it is."""
    try:
        with warnings.catch_warnings(action="ignore"):  # a doubtful pattern must not write on the screen
            re.compile(text)
    except (re.error, OverflowError, RecursionError):
        return False
    return True


def ripgrep(program: str, text: str, below: str) -> tuple[str, ...]:
    """The ripgrep command that searches `below` (relative to its working directory, "" for all)."""
    return (
        *(program, "--no-config", "--hidden", "--no-require-git", "--no-ignore-global"),
        *("--no-ignore-exclude", "--no-ignore-dot", "--no-messages", "--color=never", "--no-heading", "--sort=path"),
        *("--with-filename", "--line-number", f"--field-match-separator={_US}", f"--max-count={_MAX_PER_FILE}"),
        *(f"--max-columns={_MAX_TEXT}", "--max-columns-preview", f"--max-filesize={_MAX_FILE_BYTES}"),
        *(() if is_regex(text) else ("--fixed-strings",)),
        *(f"--regexp={text}", "--", "./" + below),
    )


def python(text: str, below: str) -> tuple[str, ...]:
    """The same search by this module in a fresh interpreter."""
    home = str(Path(tui_agent.__file__).resolve().parent.parent)
    return (sys.executable, "-I", "-X", "utf8", "-c", _BOOT, home, text, below)


def parse(output: str, shown: Callable[[str], bool]) -> list[Hit]:
    """The first 1,000 hits of either program in paths that `shown` accepts; other output is skipped."""
    hits, verdicts = [], dict[str, bool]()
    for row in output.split("\n"):
        path, _, rest = row.partition(_US)
        number, found, text = rest.partition(_US)
        path = path.removeprefix("./")
        if not found or not number.isdigit():
            continue
        if path not in verdicts:
            verdicts[path] = shown(path)
        if verdicts[path]:
            hits.append(Hit(path, int(number), text.rstrip("\r")[:_MAX_TEXT]))
            if len(hits) == MAX_COUNTED:
                break
    return hits


def render(text: str, below: str, hits: Sequence[Hit]) -> str:
    """What a model is told: a count up to 1,000, then `path:line: text` of at most 100 hits, 16,000 characters in all."""
    where = below or "the workspace"
    if not hits:
        return f"[0 hits for {text!r} in {where}; the search is case-sensitive, (?i) in front makes it insensitive]"
    rows, room = [], MAX_RESULT - 300
    for hit in hits[:MAX_HITS]:
        row = f"{hit.path}:{hit.line}: {hit.text}"
        room -= len(row) + 1
        if room < 0:
            break
        rows.append(row)
    paths = len({hit.path for hit in hits})
    count = f"{len(hits)} or more" if len(hits) == MAX_COUNTED else str(len(hits))
    header = f"[{count} hits in {paths} file{'s' if paths > 1 else ''}]"
    if not is_regex(text):
        header += " (no valid regular expression, so searched as plain text)"
    if len(rows) < len(hits):
        rows.append(f"[{len(hits) - len(rows)} more hits left out. Narrow the text or give a path.]")
    return "\n".join([header, *rows])


# ------------------------------------------------------------------ the child


def main(argv: Sequence[str]) -> None:
    """Print the hits for TEXT below PATH in the current folder; the entry point of the child process."""
    text, below = argv
    for hit in _first(search(str(Path.cwd()), text, below), MAX_COUNTED):
        row = f"{hit.path}{_US}{hit.line}{_US}{hit.text}\n"
        sys.stdout.buffer.write(row.encode("utf-8", "surrogateescape"))


def _first(hits: Iterator[Hit], count: int) -> Iterable[Hit]:
    return (hit for hit, _ in zip(hits, range(count), strict=False))


def search(root: str, text: str, below: str) -> Iterator[Hit]:
    """Hits in regular files of at most 20 MB with one name each; secrets and binary files are skipped."""
    matches = re.compile(text, re.MULTILINE).search if is_regex(text) else _literal(text)
    whole = not re.search(r"\\[AZ]|\(\?", text)
    for path, info in files(root, below):
        if info.st_nlink > 1 or info.st_size > _MAX_FILE_BYTES or secret(tuple(path.split("/"))):
            continue
        content = _read(f"{root}/{path}")
        if content is None or (whole and not matches(content)):
            continue
        count = 0
        for number, line in enumerate(content.split("\n"), 1):
            if matches(line):
                yield Hit(path, number, line.rstrip("\r")[:_MAX_TEXT])
                count += 1
                if count >= _MAX_PER_FILE:
                    break


def _literal(text: str) -> Callable[[str], object]:
    return lambda line: text in line or None


def _read(path: str) -> str | None:
    """The text of a regular file, or None when it cannot be read or is binary."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            data = file.read(_MAX_FILE_BYTES)
    except OSError:
        return None
    return None if b"\0" in data[:8192] else data.decode("utf-8", "replace")
