"""What receipts show of what a task asks for. Pure.

A passing check is no proof that something was added, renamed or deleted. What is asked for is conservative: where a task
names nothing that can be looked up, nothing is.
"""

from __future__ import annotations

import builtins
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from tui_agent.core.asides import kept_in, parted, without_asides
from tui_agent.core.late import late
from tui_agent.core.names import (
    FILE_LIST,
    MOST,
    QUOTED_FILE,
    READ,
    TEST_FILE,
    files_in,
    is_data,
    listed,
    may_be_code,
    same_file,
    without_files,
)
from tui_agent.core.programs import CLASSES, PACKAGE_MANAGERS, PLAIN


@dataclass(frozen=True, slots=True)
class Changed:
    """The bytes of a file before and after, None where there was or is no file."""

    before: bytes | None
    after: bytes | None


_CODED = late(r"`([A-Za-z_][\w.]*)(?:\(\))?`|\b([A-Za-z_]\w*)\(\)")
_SHAPED = late(r"(?<![\w./-])([a-z]+(?:_[a-z0-9]+)+|[a-z]+(?:[A-Z][a-z0-9]+)+|(?:[A-Z][a-z0-9]+){2,})(?![\w/.-]*\w)")
_NAME = r"[`'\"]?([A-Za-z_][\w./-]*?)(?:\(\))?[`'\"]?"
_RENAME = late(
    rf"\brename\s+(the\s+)?(\w+\s+)?{_NAME}\s+(?:to|into|as|->)\s+{_NAME}(?=[\s,;:!?)]|\.(?:\s|$)|$)", re.IGNORECASE
)
_AND_RENAME = late(
    rf"(?:\s*,|\s+and)\s+{_NAME}\s+(?:to|into|as|->)\s+{_NAME}(?=[\s,;:!?)]|\.(?:\s|$)|$)", re.IGNORECASE
)
_FOLDERS = frozenset({"folder", "directory", "dir", "package", "module"})
_ADD = late(
    r"\b(add|create|write|implement|define|introduce)\s+(?:a|an|the)?\s*(?:new\s+)?"
    r"(?:function|method|class|constant|variable|command|option|flag|test)\s+(called\s+|named\s+|`)?"
    r"((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)(\([^()\n]*\)|`|\s+(?:to|in|into)\s+\S+\.\w)?",
    re.IGNORECASE,
)
_BEGINS = r"(?:^|[.;:!?,\n]|\b(?:and|then|please|now|also)\b|\b(?:can|could|would|will)\s+you\b|\byou\s+to\b)[ \t*>\u2022-]{0,8}(?:please\s+)?"
"""Where a wish begins: what stands elsewhere may be what the code is to do."""
_CODE = r"(?:function|method|class|constant|variable|command|option|flag|property|helper|decorator|fixture)"
_ADD_CODE = late(
    rf"{_BEGINS}(add|create|write|implement|define|introduce)\s+(?:(?:a|an|the|another)\s+)?(?:new\s+)?"
    rf"`([A-Za-z_]\w*)(?:\([^`\n]*\))?`(?=\s*[.,;:]|\s*$|\s+(?:to|in|into|that|which|{_CODE})\b)",
    re.IGNORECASE | re.MULTILINE,
)
_ENDS = r"(?=\s*(?:[.,;:!?)]|$|\n)|\s+(?:and|then|since|because|as|which|please|completely|entirely|again)\b)"
_DELETE = late(
    rf"{_BEGINS}(?:delete|remove|erase|rm)\s+(?:the\s+)?(?:(?:old|obsolete|unused|stale|dead|empty|temporary|files?|scripts?|modules?)\s+)"
    rf"{{0,3}}({FILE_LIST}){_ENDS}",
    re.IGNORECASE | re.MULTILINE,
)
_CREATE = late(
    rf"{_BEGINS}create\s+(?:(?:a|an|the|two|some)\s+)?(?:(?:new|empty|small|simple|files?|scripts?|modules?|called|named)\s+){{0,3}}"
    rf"(?:({FILE_LIST})|[`'\"]?(Makefile|Dockerfile|[Jj]ustfile|Procfile|Jenkinsfile|Gemfile|Rakefile|LICENSE|\.\w+ignore|\.editorconfig)"
    r"(?![\w.]))",
    re.IGNORECASE | re.MULTILINE,
)
_KINDS = "function|method|class|constant|variable"
_SMALL = frozenset(
    {"from", "in", "of", "and", "or", "that", "which", "for", "it", "to", "is", "as", "with", "if", "not"}
)
"""Words that name nothing."""
_REMOVE_CODE = late(
    rf"{_BEGINS}(?:delete|remove|drop)\s+(?:the\s+)?(?:(?:old|obsolete|unused|dead)\s+)?"
    rf"(?:(?:class\s+)?(?:{_KINDS})\s+(?:([A-Za-z_]\w*)(?![\w.(])|[`'\"]?([A-Za-z_]\w*)(?:\([^()\n]*\)|[`'\"])(?![\w.]))"
    rf"|`([A-Za-z_]\w*)(?:\(\))?`\s+(?:{_KINDS})\b)",
    re.IGNORECASE | re.MULTILINE,
)
_MOVE = late(
    rf"{_BEGINS}(?:move|git\s+mv|mv)\s+(?:the\s+)?(?:(?:file|script|module)\s+)?({QUOTED_FILE})\s+(?:to|into)\s"
    rf"|{_BEGINS}(?:move|extract)\s(?:[^.;!?\n]|\.(?=\w)){{1,80}}?\s(?:from|in|out\s+of)\s+{QUOTED_FILE}\s+(?:to|into)\s+"
    rf"(?:a\s+new\s+)?(?:(?:file|module)\s+)?({QUOTED_FILE})",
    re.IGNORECASE | re.MULTILINE,
)
_SCOPED = frozenset({
    "method", "variable", "var", "parameter", "param", "argument", "arg", "attribute", "field", "property", "local", "column",
    "key", "member",
})  # fmt: skip
"""Kinds of names that may stand elsewhere for another thing."""
_HISTORY = late(r"^(?:change|history|news|release|migrat|upgrad)", re.IGNORECASE)
_PROSE = (".md", ".mdx", ".rst", ".txt", ".adoc")
_PROGRAMS = (
    CLASSES.keys()
    | PACKAGE_MANAGERS
    | PLAIN
    | {"tox", "nox", "black", "cmake", "ctest", "docker", "python", "node", "unittest"}
)
_TEST_NAME = late(r"[Tt]ests?(?:_\w+|[A-Z0-9]\w*)?|\w+_(?:test|spec)s?|\w+Tests?")
_RECIPES: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "make": frozenset({"Makefile", "makefile", "GNUmakefile"}),
        "just": frozenset({"justfile", "Justfile", ".justfile"}),
        "cargo": frozenset({"Cargo.toml"}),
        "tox": frozenset({"tox.ini", "setup.cfg", "pyproject.toml"}),
        "nox": frozenset({"noxfile.py"}),
        "pytest": frozenset({"pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini", "conftest.py"}),
        **dict.fromkeys(("npm", "pnpm", "yarn", "bun", "npx"), frozenset({"package.json"})),
    }
)
"""The files that say what a program checks, by program."""
_REMOVAL = late(
    r"\b(?:delet|remov|renam|mov(?:e|ing)|drop|eras|merg|replac|split|inlin|consolidat|convert|rid\b|rm\b|clean)",
    re.IGNORECASE,
)
"""Words of a task that a file may go with."""
_TESTS_WANTED = late(
    r"\b(?:add|write|create|generate|extend|improve|increase|more|missing|no|without|lacks?|needs?)\s+(?:[\w-]+\s+){0,4}?(?:tests?|specs?)\b"
    r"|\bcover(?:s|ed|age)?\b.{0,80}\btests?\b|\btest\s+coverage\b|(?:^|[.;:!?,\n])[ \t]*(?:please\s+)?test\s+(?!fail)",
    re.IGNORECASE,
)
_OTHER_WORK = late(
    r"\b(?:fix(?!\s+(?:any|whatever)\b)|repair|change|refactor|rename|implement|replace|convert|move|support|handle|remove|delete"
    r"|make(?!\s+(?:them|it|sure|tests?|the\s+tests?|all\s+tests?)\b))\b",
    re.IGNORECASE,
)
_VAGUE = frozenset({"something", "anything", "whatever"})
_BRANDS = frozenset({
    "NoneType", "CoffeeScript", "DataFrame", "GitHub", "GitLab", "JavaScript", "LinkedIn", "NumPy", "PowerShell", "PyTorch", "StackOverflow",
    "TypeScript", "WordPress", "YouTube", "iPhone",
})  # fmt: skip
_KEEPS = late(r"\balias|\bdeprecat|\bcompatib|\bkeep(?:ing)?\s+(?:the\s+)?old\b", re.IGNORECASE)
"""Words of a rename after which the old name may stay."""
_INSTEAD = late(
    r"\binstead\b|\brather\s+than\b|\bnever\s?mind\b|\bforget\s+(?:it|that|this|about)\b|^\W*(?:no|nope|stop|wait|undo|leave)\b"
    r"|\b(?:do\s+not|don['\u2019]t)\s+(?!forget|stop|worry)\w",
    re.IGNORECASE,
)
"""Words by which what is said later takes the place of what was said before."""
_GENERIC = frozenset(
    {"file", "function", "class", "method", "variable", "constant", "module", "it", "this", "that", "them", "these"}
)


# ------------------------------------------------------------------ what the task names


def missing(asked: Sequence[str], changed: Mapping[str, Changed] | None) -> str:
    """What `task_evidence` says of a task and what was said after it; "" where the changes cannot be looked at."""
    return "" if changed is None else task_evidence(asked[0], changed, *asked[1:])


def task_evidence(task: str, changed: Mapping[str, Changed], *later: str) -> str:
    """What the task names and the changes do not show, in words that follow "NOT VERIFIED: "; "" when nothing is missing.

    A rename needs the new name there and the old one gone, an addition the new name there. Else one named file
    changed, or one named identifier in a changed file, is enough. Test files are what the work is measured by, so
    naming them only is naming nothing, and where another file is named nothing in them is evidence.

    Args:
        task: what the person said.
        changed: what the receipts of the run show, by path relative to the workspace.
        later: what they said to the run while it went on: each adds to the task, or takes its place by its words.
    """
    if not changed:
        return "every file is as it was before"
    texts = [without_asides(text) for text in _in_force((task, *later))]
    files = [name for text in texts for name in files_in(text) if not TEST_FILE.search(name)]
    tests = any(_TESTS_WANTED.search(text) for text in texts) and not any(_OTHER_WORK.search(text) for text in texts)
    if tests and any(TEST_FILE.search(path) and change.after is not None for path, change in changed.items()):
        return ""
    everywhere, changed = changed, {p: c for p, c in changed.items() if not (files and TEST_FILE.search(p))}
    found = [words for text in texts if (words := _made(text, changed, everywhere)) is not None]
    names = [name for text in texts for name in _identifiers(text)]
    if found or not (files or names):
        return next(filter(None, found), "")
    if any(same_file(path, name) for path in changed for name in files):
        return ""
    if any(
        _holds(side, name)
        for name in [*_own_names(names), *_own_names(filter(may_be_code, files)), *filter(is_data, files)]
        for change in changed.values()
        for side in (change.before, change.after)
    ):
        return ""
    return f"nothing that the task names was changed ({listed(dict.fromkeys([*files, *names]))})"


def _in_force(said: Sequence[str]) -> list[str]:
    """Of what a person said, in order, what they did not take back by saying another thing instead."""
    texts: list[str] = []
    for text in said:
        if texts and _INSTEAD.search(text[:READ]):
            texts.clear()
        texts.append(parted(text[:READ]))
    return texts


def _made(text: str, changed: Mapping[str, Changed], everywhere: Mapping[str, Changed]) -> str | None:
    """What is missing of what a text asks to rename, to add, to move or to remove, "" when nothing is; None: of nothing."""
    found = [
        _gone(text, everywhere),
        _moved(text, everywhere),
        _created(text, everywhere),
        *(_renamed(wish, changed, everywhere) for wish in _renames(text)),
        _added(text, changed),
    ]
    said = [words for words in found if words is not None]
    return next(filter(None, said), "") if said else None


def _gone(text: str, changed: Mapping[str, Changed]) -> str | None:
    files = [name for match in _DELETE.finditer(text) for name in files_in(match[1])]
    names = [name for match in _REMOVE_CODE.finditer(text) if (name := _removed(match, changed))]
    left = [name for name in files if not any(same_file(p, name) and c.after is None for p, c in changed.items())]
    left += [name for name in names if not any(_is_less(change, name) for change in changed.values())]
    if left:
        return f"the task asks to remove {listed(left)}, and no change shows that"
    return "" if files or names else None


def _removed(match: re.Match[str], changed: Mapping[str, Changed]) -> str:
    """The name of what is to be removed; of a mere word only where that is a name in what was changed."""
    marked, word = match[2] or match[3], match[1] or ""
    if marked or _SHAPED.fullmatch(word):
        return str(marked or word)
    known = word.lower() not in _SMALL and any(
        _holds(c.before, word) or _holds(c.after, word) for c in changed.values()
    )
    return word if known else ""


def _is_less(change: Changed, name: str) -> bool:
    return change.before is None or _count(change.after, name) < _count(change.before, name)


def _created(text: str, changed: Mapping[str, Changed]) -> str | None:
    names = [name for match in _CREATE.finditer(text) for name in ([match[2]] if match[2] else files_in(match[1]))]
    absent = [name for name in names if not any(same_file(p, name) and c.after is not None for p, c in changed.items())]
    if absent:
        return f"the task asks for {listed(absent)}, and no change shows that"
    return "" if names else None


def _moved(text: str, changed: Mapping[str, Changed]) -> str | None:
    if (found := _MOVE.search(text)) is None:
        return None
    which = files_in(found[1] or found[2])
    if found[1] and not any(same_file(p, name) and c.after is None for p, c in changed.items() for name in which):
        return f"{listed(which)} was not moved"
    if found[2] and not any(same_file(p, name) and c.after is not None for p, c in changed.items() for name in which):
        return f"nothing was moved to {listed(which)}"
    return ""


@dataclass(frozen=True, slots=True)
class _Rename:
    """What is to be renamed: a `kind` of thing, "" when that is not said. `stays`: the old name may stay, too."""

    kind: str
    old: str
    new: str
    stays: bool


def _renames(text: str) -> Iterator[_Rename]:
    """What a text asks to rename."""
    stays = _KEEPS.search(text) is not None
    for renamed in _RENAME.finditer(text):
        _, kind, old, new = renamed.groups()
        if renamed[1] and not kind and old.isalpha() and old.islower() and text[renamed.start(3) - 1] not in "`'\"":
            kind, old = old, "it"  # "rename the title to ...": a word for a thing, not its name
        kind = (kind or "").strip().lower()
        yield _Rename(kind, old, new.rstrip("."), stays)
        at = renamed.end()
        while (more := _AND_RENAME.match(text, at)) and (_SHAPED.fullmatch(more[1]) or "`" in more[0]):
            yield _Rename(kind, more[1], more[2].rstrip("."), stays)
            at = more.end()


def _added(text: str, changed: Mapping[str, Changed]) -> str | None:
    added = {
        name: verb for verb, before, name, behind in _ADD.findall(text) if before or behind or _SHAPED.fullmatch(name)
    }
    absent = [name for name, verb in added.items() if not any(_came(name, verb, *item) for item in changed.items())]
    for verb, name in _ADD_CODE.findall(text):
        if name not in added and not (_in_any(name, changed) or any(_came(name, verb, *i) for i in changed.items())):
            absent.append(name)
        added[name] = verb
    if absent:
        return f"the task asks for {listed(absent)}, and no changed file has it as a new name"
    return "" if added else None


def says_what_is_checked(argv: Sequence[str], paths: Iterable[str]) -> list[str]:
    """Those of some files that say what a check does: its program's own, or a script that it names."""
    own = frozenset[str]().union(*(_RECIPES.get(posixpath.basename(word), ()) for word in argv))
    scripts = {posixpath.normpath(word) for word in argv}
    return [path for path in dict.fromkeys(paths) if posixpath.basename(path) in own or path in scripts]


def doubts(
    task: str, argv: Sequence[str], touched: Iterable[str], changed: Mapping[str, Changed], by_check: Iterable[str]
) -> list[str]:
    """Why a person should look at what passed its check, a sentence each.

    Args:
        task: what the person said.
        argv: the check.
        touched: the files that the run changed.
        changed: the same with their bytes, as far as they can be looked at.
        by_check: the files that the check itself changed.
    """
    found = []
    if files := says_what_is_checked(argv, touched):
        found.append(f"{listed(files)} says what the check does, and this run changed it")
    if files := list(by_check):
        found.append(f"the check itself changed {listed(files)}")
    named = files_in(without_asides(task[:READ]))
    kept = kept_in(task[:READ])
    untouchable = [path for path in touched if any(same_file(path, name) for name in kept)]
    found += [f"{path} was to stay as it is, and this run changed it" for path in untouchable]
    for path, change in changed.items():
        meant, before, after = any(same_file(path, name) for name in named), change.before, change.after
        if before is None or not (meant or TEST_FILE.search(path)):
            continue
        which = "which the task names" if meant else "a test that the task does not name"
        if after is None and not _REMOVAL.search(task):
            found.append(f"{path}, {which}, was deleted")
        elif after is not None and meant and before.split() == after.split():
            found.append(f"of {path}, {which}, only blanks were changed")
        elif after is not None and not meant and not _lines(before) <= _lines(after):
            found.append(f"of {path}, {which}, lines were changed or removed")
    return found[:MOST]


def _lines(data: bytes) -> set[bytes]:
    return {line.strip() for line in data.split(b"\n")}


def _own_names(names: Iterable[str]) -> Iterator[str]:
    """What stands in the code of names such as `str.format`."""
    return (name.rpartition(".")[2] for name in names)


def _identifiers(task: str) -> list[str]:
    """Names of what stands in the code; none of programs, of tests, or of exceptions and other types of the language."""
    files = set(files_in(task))
    coded = [a or b for a, b in _CODED.findall(task)]
    found = [name for name in [*coded, *_SHAPED.findall(without_files(task))] if name not in files and len(name) > 2]
    own = [name for name in found if not isinstance(getattr(builtins, name, None), type)]
    named = [name for name in own if name not in _PROGRAMS | _BRANDS and not _TEST_NAME.fullmatch(name)]
    return list(dict.fromkeys(named))[:MOST]


def _renamed(wish: _Rename, changed: Mapping[str, Changed], everywhere: Mapping[str, Changed]) -> str:
    kind, old, new = wish.kind, wish.old, wish.new
    if old.lower() in _GENERIC:  # "rename the file to ...": which one is not said
        return (
            ""
            if (new.islower() and new.isalpha()) or _in_any(new, changed)
            else f"the new name {new} is in no changed file"
        )
    if new.lower() in _VAGUE:
        return "" if any(_is_less(change, old) for change in changed.values()) else f"{old} was not renamed"
    there = any(_is_at(path, new) and change.after is not None for path, change in changed.items())
    if there and any(_is_at(path, old) and change.after is None for path, change in changed.items()):
        return ""
    if _is_file(old) or kind in _FOLDERS:
        return f"{old} was not renamed to {new}"
    name, was = new.rpartition(".")[2], old.rpartition(".")[2]
    if not _in_any(name, changed):
        return f"the new name {new} is in no changed file"
    if wish.stays:
        return ""
    scoped = kind in _SCOPED
    left_in = [] if scoped else [p for p, change in everywhere.items() if _still(p, change.after, old, new)]
    if not left_in and (scoped or old != was):  # of another class or function it stays, so that it is fewer is enough
        fewer = any(_is_less(change, was) for change in everywhere.values())
        left_in = [] if fewer else list(everywhere)
    return f"the old name {old} is still in {listed(left_in)}" if left_in else ""


def _still(path: str, data: bytes | None, old: str, new: str) -> bool:
    """Whether an old name is still in a file that does not only tell of its renaming."""
    if _HISTORY.search(posixpath.basename(path)):
        return False
    if path.lower().endswith(_PROSE):
        return any(_holds(line, old) and not _holds(line, new) for line in (data or b"").split(b"\n"))
    return _holds(data, old)


def _is_file(name: str) -> bool:
    return "/" in name or ("." in name and not may_be_code(name))


def _is_at(path: str, name: str) -> bool:
    """Whether a path is a file of this name, lies in a folder, or belongs to a module of this name."""
    named = posixpath.normpath(name)
    module = f"/{named.replace('.', '/')}/" in f"/{posixpath.splitext(path)[0]}/"
    return module or same_file(path, named) or f"/{named}/" in f"/{path}"


def _came(name: str, verb: str, path: str, change: Changed) -> bool:
    """Whether a name is there that was asked for: what is to be implemented or written may have stood there as a stub."""
    if _is_file(name):
        return same_file(path, name) and change.after is not None
    stub = verb.lower() in {"implement", "write", "define"}
    own = name.rpartition(".")[2]
    return any(
        _holds(change.after, n) and (stub or not _holds(change.before, n))
        for n in (own, own.replace("_", "-"), own.upper())
    )


def _in_any(name: str, changed: Mapping[str, Changed]) -> bool:
    """Whether the name is more often in a changed file than before, or is the name of one."""
    return any(_count(c.after, name) > _count(c.before, name) or same_file(p, name) for p, c in changed.items())


def _holds(data: bytes | None, name: str) -> bool:
    return _count(data, name) > 0


def _count(data: bytes | None, name: str) -> int:
    return len(re.findall(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])".encode(), data or b""))
