"""What receipts show of a task, and which claims of an answer they do not show. Pure.

A passing check is no proof that something was added or renamed, and an answer is no proof of anything. Both functions
are conservative: where a task or an answer names nothing that can be looked up, they say nothing.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tui_agent.core import events as ev
from tui_agent.core.types import Receipt


@dataclass(frozen=True, slots=True)
class Changed:
    """The bytes of a file before and after, None where there was or is no file."""

    before: bytes | None
    after: bytes | None


_READ = 10_000
"""Characters of a task, from its beginning, and of an answer, at its end, that are looked at."""
_MOST = 12
"""Names of a task that are looked for, and claims of an answer that are marked."""
_EXTENSION = r"(?:[A-Za-z][A-Za-z0-9]{0,9})"
_FILE = rf"(?:[\w@+-][\w.@+-]*/)*[\w@+-][\w@+-]*(?:\.[\w@+-]+)*\.{_EXTENSION}"
_FILES = re.compile(rf"(?<![\w/.@:-])(?:\./)?({_FILE})(?![\w/-])(?!\.\w)")
_URL = re.compile(r"\b[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE)
_NOT_FILES = frozenset({"e.g", "i.e", "etc", "com", "org", "net", "io", "dev"})
_TEST_FILE = re.compile(r"(?:^|/)tests?/|(?:^|/)test_[^/]*$|[._-](?:test|spec)s?\.\w+$|(?:^|/)conftest\.py$")
_CODED = re.compile(r"`([A-Za-z_][\w.]*)(?:\(\))?`|\b([A-Za-z_]\w*)\(\)")
_SHAPED = re.compile(
    r"(?<![\w./-])([a-z]+(?:_[a-z0-9]+)+|[a-z]+(?:[A-Z][a-z0-9]+)+|(?:[A-Z][a-z0-9]+){2,})(?![\w/.-]*\w)"
)
_NAME = r"[`'\"]?([A-Za-z_][\w./-]*?)(?:\(\))?[`'\"]?"
_RENAME = re.compile(
    rf"\brename\s+(?:the\s+)?(?:\w+\s+)?{_NAME}\s+(?:to|into|as|->)\s+{_NAME}(?=[\s,;:!?)]|\.(?:\s|$)|$)", re.IGNORECASE
)
_ADD = re.compile(
    r"\b(?:add|create|write|implement|define|introduce)\s+(?:a|an|the)?\s*(?:new\s+)?"
    r"(?:function|method|class|constant|variable|command|option|flag|test)\s+(called\s+|named\s+|`)?"
    r"([A-Za-z_]\w*)(\(\)|`|\s+(?:to|in|into)\s+\S+\.\w)?",
    re.IGNORECASE,
)
_GENERIC = frozenset(
    {"file", "function", "class", "method", "variable", "constant", "module", "it", "this", "that", "them", "these"}
)
_PRODUCTS = frozenset({"node.js", "next.js", "vue.js", "nuxt.js", "three.js", "react.js", "express.js", "d3.js"})


# ------------------------------------------------------------------ what the task names


def task_evidence(task: str, changed: Mapping[str, Changed]) -> str:
    """What the task names and the changes do not show, in words that follow "NOT VERIFIED: "; "" when nothing is missing.

    A rename needs the new name there and the old one gone, an addition the new name there. Else one named file
    changed, or one named identifier in a changed file, is enough. Test files are what the work is measured by, so
    naming them only is naming nothing.

    Args:
        task: what the person said.
        changed: what the receipts of the run show, by path relative to the workspace.
    """
    task = task[:_READ]
    if renamed := _RENAME.search(task):
        return _renamed(renamed[1], renamed[2].rstrip("."), changed)
    added = [name for before, name, behind in _ADD.findall(task) if before or behind or _SHAPED.fullmatch(name)]
    absent = [name for name in added if not any(_appeared(name, change) for change in changed.values())]
    if absent:
        return f"the task asks for {_list(absent)}, and no changed file has it as a new name"
    files = [name for name in files_in(task) if not _TEST_FILE.search(name)]
    names = _identifiers(task)
    if added or not (files or names):
        return ""
    if any(_same_file(path, name) for path in changed for name in files):
        return ""
    if any(
        _holds(side, name) for name in names for change in changed.values() for side in (change.before, change.after)
    ):
        return ""
    return f"nothing that the task names was changed ({_list(dict.fromkeys([*files, *names]))})"


def files_in(text: str) -> list[str]:
    """Names of files in a text, in order, each once."""
    found = [name for name in _FILES.findall(_URL.sub(" ", text)) if _is_file_name(name)]
    return list(dict.fromkeys(found))


def _is_file_name(name: str) -> bool:
    base, _, extension = posixpath.basename(name).rpartition(".")
    return (
        name.lower() not in _NOT_FILES | _PRODUCTS
        and extension.lower() not in _NOT_FILES
        and len(base) + len(extension) > 2
    )


def _identifiers(task: str) -> list[str]:
    files = set(files_in(task))
    text = _FILES.sub(" ", _URL.sub(" ", task))
    coded = [a or b for a, b in _CODED.findall(task)]
    found = [name for name in [*coded, *_SHAPED.findall(text)] if name not in files and len(name) > 2]
    return list(dict.fromkeys(found))[:_MOST]


def _renamed(old: str, new: str, changed: Mapping[str, Changed]) -> str:
    if old.lower() in _GENERIC:  # "rename the file to ...": which one is not said
        return (
            ""
            if (new.islower() and new.isalpha()) or _in_any(new, changed)
            else f"the new name {new} is in no changed file"
        )
    if "." in old or "/" in old:  # a file
        moved = any(_same_file(path, new) and c.after is not None for path, c in changed.items())
        left = not any(_same_file(path, old) and c.after is None for path, c in changed.items())
        return "" if moved and not left else f"{old} was not renamed to {new}"
    if not _in_any(new, changed):
        return f"the new name {new} is in no changed file"
    left_in = [path for path, change in changed.items() if _holds(change.after, old)]
    return f"the old name {old} is still in {_list(left_in)}" if left_in else ""


def _appeared(name: str, change: Changed) -> bool:
    return _holds(change.after, name) and not _holds(change.before, name)


def _in_any(name: str, changed: Mapping[str, Changed]) -> bool:
    """Whether the name is more often in a changed file than before, or is the name of one."""
    return any(_count(c.after, name) > _count(c.before, name) or _same_file(p, name) for p, c in changed.items())


def _holds(data: bytes | None, name: str) -> bool:
    return _count(data, name) > 0


def _count(data: bytes | None, name: str) -> int:
    return len(re.findall(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])".encode(), data or b""))


def _same_file(path: str, named: str) -> bool:
    named = posixpath.normpath(named)
    return path == named or path.endswith("/" + named) or posixpath.basename(path) == named


def _list(names: Iterable[str]) -> str:
    return ", ".join(list(names)[:5])


# ------------------------------------------------------------------ what the answer claims

_NEGATED = re.compile(
    r"\b(?:not|n't|never|cannot|can't|should|would|could|will|if|once|when|whether|until|unless|before|after|please|must|may|might"
    r"|no|none|to|make sure|need|want|ensure)\b|n't\b",
    re.IGNORECASE,
)
_PASS = re.compile(
    r"\b(?:tests?|test suite|checks?|suite|build)\b(?:\s+(?:now|all|still|also|is|are|has|have|both|suite))*"
    r"\s+(?:pass|passes|passed|passing|succeeds?|succeeded|green)\b",
    re.IGNORECASE,
)
_CHANGE = re.compile(
    r"\b(?:changed|edited|updated|modified|created|wrote|rewrote|deleted|fixed|repaired|refactored|added|saved)\s+"
    rf"(?:the\s+)?(?:file\s+)?[`'\"*]*(?:\./)?({_FILE})",
    re.IGNORECASE,
)
_TESTS = re.compile(r"test|check|spec|tox|nox|verify|lint", re.IGNORECASE)
_SENTENCE = re.compile(r"[^.!?;\n]+(?:\.(?=\w)[^.!?;\n]*)*")


def unbacked_claims(text: str, events: Iterable[ev.Event | ev.Unknown]) -> list[str]:
    """What an answer says was done and no receipt shows, one sentence each for the person.

    Args:
        text: the final answer.
        events: everything durable of the session, the run that the answer ends included.
    """
    changed, tested = _shown(events)
    claims: list[str] = []
    for sentence in _SENTENCE.findall(re.sub(r"```.*?```", "", text[-_READ:], flags=re.DOTALL)):
        claim = _PASS.search(sentence)
        if claim and not tested and not _NEGATED.search(sentence[: claim.end()]):
            claims.append(f'the answer says "{_short(claim[0])}", but no test or check passed after the last edit')
        for match in _CHANGE.finditer(sentence):
            known = any(_same_file(path, match[1]) for path in changed)
            if _is_file_name(match[1]) and not known and not _NEGATED.search(sentence[: match.start()]):
                claims.append(f'the answer says "{_short(match[0])}", but nothing changed that file')
    return list(dict.fromkeys(claims))[:_MOST]


def _shown(events: Iterable[ev.Event | ev.Unknown]) -> tuple[set[str], bool]:
    """The files that receipts changed, and whether a test or check passed after the last change."""
    changed: set[str] = set()
    tested = False
    for event in events:
        if isinstance(event, ev.CheckDone):
            tested = event.passed
        elif isinstance(event, ev.ToolDone) and event.receipt is not None:
            paths = set(_paths(event.receipt))
            changed |= paths
            argv = event.receipt.arguments.get("argv") or event.receipt.arguments.get("script") or ""
            if event.receipt.exit_code is not None and _TESTS.search(str(argv)):
                tested = event.receipt.exit_code == 0
            elif paths:
                tested = False
    return changed, tested


def _paths(receipt: Receipt) -> Iterator[str]:
    if receipt.path is not None and receipt.before != receipt.after:
        yield receipt.path
    yield from (change.path for change in receipt.changed)


def _short(text: str) -> str:
    return " ".join(text.split())[:80]
