"""Habits of models that would damage a file, recognised before anything is asked or written.

Each function looks at text that a model wants to put into a file and returns the sentence that
names the habit, or None. Content is never repaired silently: unescaping or stripping on a guess
destroys the files in which such text is meant.
"""

from __future__ import annotations

import re

from tui_agent.core.late import late

_FENCE = late(r"\s*(`{3,}|~{3,})[\w.+-]*[ \t]*\n(.*\n)?\1\s*", re.DOTALL)
_MARKDOWN = (".md", ".markdown", ".mdx", ".rst", ".qmd", ".rmd")
_OMITTED = late(
    r"""^\s*
    (?:\#+|//+|/\*+|<!--|--|;+|%+|\*+|\{/\*|\(\*|"{3}|'{3})?\s*      # an opening of a comment, or none
    (?:
      [\[(<{]?\s*(?:\.{3,}|…)\s*(?=.*\b(?:rest|existing|remaining|remainder|unchanged|omitted|same|previous|other|code
        |more|as\ before|keep|snip)\b)[\w\s,'’():/-]*                  # ... existing code
    | [\[(<{]?\s*(?:the\ )?(?:rest|remainder|remaining)\b[\w\s'’]*\b(?:unchanged|same|omitted|here|as\ before)\b
    )
    \s*(?:\.{3,}|…)?\s*\.?[\])>}]?\s*(?:\*/\}?|-->|\*\)|"{3}|'{3})?\s*$""",
    re.VERBOSE | re.IGNORECASE,
)
_NUMBERED = late(r"^[ \t]*(\d+)(?:\t|\||: ?|→|│| \| )(.*)$")


def fenced(path: str, text: str, field: str) -> str | None:
    """A whole file, or a whole replacement, wrapped in a markdown fence."""
    if path.lower().endswith(_MARKDOWN) or not _FENCE.fullmatch(text):
        return None
    return f"{field} is wrapped in a markdown fence (```); send the raw text of the file without the fence"


def placeholder(text: str, known: str, field: str) -> str | None:
    """A line that stands for code left out, and that the file does not already have."""
    if "..." not in text and "…" not in text and "unchanged" not in text.lower() and "rest" not in text.lower():
        return None
    lines = {line.strip() for line in known.split("\n")}
    for line in text.split("\n"):
        if len(line) < 200 and line.strip() not in lines and _OMITTED.match(line):
            return (
                f"{field} contains an omission placeholder ({line.strip()!r}), which would delete the code it stands "
                "for; send the complete text, or change only a part with edit_file"
            )
    return None


def strip_numbers(text: str) -> str | None:
    """The text without line-number prefixes when every line carries one and they rise by one; else None."""
    lines = text.removesuffix("\n").split("\n")
    found = [_NUMBERED.match(line) for line in lines]
    if not all(found):
        return None
    numbers = [int(m[1]) for m in found if m]
    if numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        return None
    return "\n".join(m[2] for m in found if m) + ("\n" if text.endswith("\n") else "")


def numbered(text: str, known: str, field: str) -> str | None:
    """Line numbers of a read copied into a whole file: most lines without them are lines of the file."""
    bare = strip_numbers(text)
    if bare is None:
        return None
    lines = set(known.split("\n"))
    kept = [line for line in bare.split("\n") if line]
    if not kept or sum(line in lines for line in kept) * 2 < len(kept):
        return None
    return f"{field} carries line-number prefixes from the read output; send the text without the numbers"


def escaped(text: str, field: str) -> str | None:
    r"""Text without any line break but with several literal ``\n``: arguments escaped twice."""
    if "\n" in text or text.count("\\n") < 2 or any(quote in text for quote in "\"'`"):
        return None
    return (
        f"{field} has no line breaks but {text.count(chr(92) + 'n')} literal \\n escapes; send real newlines "
        "(if the backslashes are meant, end the text with a real newline)"
    )
