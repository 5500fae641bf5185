"""Habits of models around an action, tolerated in one place for all text protocols.

Only what is unambiguous is dropped: a byte order mark, CRLF, reasoning before the action, and a Markdown
fence around the whole. Whatever could be content of a file is kept, or the reply is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_THOUGHT = re.compile(r"\s*<(think|thinking)>.*?</\1>", re.DOTALL)
_OPENED = re.compile(r"\s*<think(?:ing)?>")
_ORPHAN = re.compile(r"^</think(?:ing)?>[ \t]*$", re.MULTILINE)
_MARKDOWN = (".md", ".markdown", ".mdx", ".mdown", ".qmd", ".rmd")
_MARKDOWN_WORDS = frozenset({"markdown", "md", "mdx"})
_INDENTED = 3
"""Blanks that may stand before a fence."""


def normalise(reply: str) -> str:
    """The reply with LF line ends and without a leading byte order mark."""
    return reply.removeprefix("\ufeff").replace("\r\n", "\n")


def without_thoughts(text: str, begins: re.Pattern[str]) -> str | None:
    """The text behind the reasoning that a server left in it, or None when the reasoning never ends.

    `begins` matches where an action begins; a closing tag without an opening one (the chat template
    wrote that) only counts when the text does not begin with an action.
    """
    start = 0
    while thought := _THOUGHT.match(text, start):
        start = thought.end()
    if _OPENED.match(text, start):
        return None
    if not begins.match(text, start) and (orphan := _ORPHAN.search(text, start)):
        start = orphan.end()
    return text[start:]


def fence(line: str) -> str | None:
    """The info word of a code fence ("" for a bare one), None when the line is no fence."""
    ticks = _ticks(line)
    info = line.lstrip(" ")[ticks:].strip()
    return info if ticks >= 3 and "`" not in info else None


def without_fence(text: str) -> str:
    """The inside of a text that is exactly one fenced block, any other text as it is."""
    lines = text.strip().split("\n")
    if len(lines) < 2 or fence(lines[0]) is None or fence(lines[-1]) != "":
        return text
    return "\n".join(lines[1:-1])


def is_markdown(path: str) -> bool:
    """Whether fences are ordinary content of the file at this path."""
    return path.lower().endswith(_MARKDOWN)


def is_wrapped(lines: Sequence[str]) -> bool:
    """Whether a block begins with a fence and ends with a bare one."""
    return len(lines) > 1 and fence(lines[0]) is not None and fence(lines[-1]) == ""


def left_open(lines: Sequence[str]) -> int | None:
    """The line of the fence that no later one of a block closes, None when there is no such fence."""
    opened, ticks = None, 0
    for number, line in enumerate(lines):
        if (info := fence(line)) is None:
            continue
        if opened is None:
            opened, ticks = number, _ticks(line)
        elif not info and _ticks(line) >= ticks:
            opened = None
    return opened


def unwrap(lines: Sequence[str], path: str) -> Sequence[str] | None:
    """The lines of a file body without the fence that a model put around it.

    A first line that is a fence can be read in two ways: it wraps the body, or the file begins with a code
    block. Where both readings hold, a wrapper is assumed for one block, except in Markdown with the
    word of another language. A last line that is a fence closes one inside of the body, or one around the action.

    Returns:
        The lines to write, or None when it cannot be told which reading is meant.
    """
    first = next((i for i, line in enumerate(lines) if line.strip()), len(lines))
    if first == len(lines) or (word := fence(lines[first])) is None:
        opened = left_open(lines)
        return lines if opened is None or any(line.strip() for line in lines[opened + 1 :]) else None
    rest = lines[first + 1 :]
    last = next((i for i in range(len(rest) - 1, -1, -1) if rest[i].strip()), -1)
    marks = _marks(rest, _ticks(lines[first]))
    infos = [info for _, info in marks]
    closed = bool(marks) and marks[-1] == (last, "")
    inner = infos[:-1] if closed else infos
    markdown, named = is_markdown(path), word.lower() in _MARKDOWN_WORDS
    foreign = markdown and bool(word) and not named
    wraps = (closed or not marks) and _are_blocks(inner)
    content = _are_blocks([word, *infos])
    if content and (foreign or not wraps):
        return lines if markdown else None
    if not wraps or foreign or (content and inner and not (markdown and named)):
        return None
    return rest[:last] if closed else rest


def _marks(lines: Sequence[str], ticks: int) -> list[tuple[int, str]]:
    """Line number and info word of every fence with at least so many ticks: shorter ones cannot end a longer one."""
    return [(i, info) for i, line in enumerate(lines) if (info := fence(line)) is not None and _ticks(line) >= ticks]


def _ticks(line: str) -> int:
    """The backticks that a line begins with; as in Markdown up to three blanks may stand before them."""
    text = line.lstrip(" ")
    return len(text) - len(text.lstrip("`")) if len(line) - len(text) <= _INDENTED else 0


def _are_blocks(infos: Sequence[str]) -> bool:
    """Whether fences with these info words pair up, each opening one with a bare closing one."""
    return len(infos) % 2 == 0 and not any(infos[1::2])
