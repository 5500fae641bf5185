"""What receipts show of a task, and which claims of an answer they do not show. Pure.

A passing check is no proof that something was added or renamed, and an answer is no proof of anything. Both functions
are conservative: where a task or an answer names nothing that can be looked up, they say nothing.
"""

from __future__ import annotations

import builtins
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType

from tui_agent.core import events as ev
from tui_agent.core.late import late
from tui_agent.core.receipt import Receipt


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
_FILES = late(rf"(?<![\w/.@:-])(?:\./)?({_FILE})(?![\w/-])(?!\.\w)")
_URL = late(r"\b[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE)
_NOT_FILES = frozenset({"e.g", "i.e", "etc", "com", "org", "net", "io", "dev"})
_TEST_FILE = late(r"(?:^|/)tests?/|(?:^|/)test_[^/]*$|[._-](?:test|spec)s?\.\w+$|(?:^|/)conftest\.py$")
_CODED = late(r"`([A-Za-z_][\w.]*)(?:\(\))?`|\b([A-Za-z_]\w*)\(\)")
_SHAPED = late(r"(?<![\w./-])([a-z]+(?:_[a-z0-9]+)+|[a-z]+(?:[A-Z][a-z0-9]+)+|(?:[A-Z][a-z0-9]+){2,})(?![\w/.-]*\w)")
_NAME = r"[`'\"]?([A-Za-z_][\w./-]*?)(?:\(\))?[`'\"]?"
_RENAME = late(
    rf"\brename\s+(the\s+)?(\w+\s+)?{_NAME}\s+(?:to|into|as|->)\s+{_NAME}(?=[\s,;:!?)]|\.(?:\s|$)|$)", re.IGNORECASE
)
_FOLDERS = frozenset({"folder", "directory", "dir", "package", "module"})
_ADD = late(
    r"\b(add|create|write|implement|define|introduce)\s+(?:a|an|the)?\s*(?:new\s+)?"
    r"(?:function|method|class|constant|variable|command|option|flag|test)\s+(called\s+|named\s+|`)?"
    r"((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)(\(\)|`|\s+(?:to|in|into)\s+\S+\.\w)?",
    re.IGNORECASE,
)
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
_EXTENSIONS = (
    "adoc asm astro bash bat bib c cc cfg cjs clj cmake conf cpp cs css csv cxx dart diff ejs el env erl ex exs f90 fish fs go "
    "gradle graphql h hbs hpp hs htm html hxx ini ipynb java jinja jl js json jsonc jsx kt kts less lock log lua m md mdx mjs "
    "mk ml mli mm nim nix org patch php pl plist pm proto ps1 py pyi pyx r rb rkt rs rst sass scala scm scss sh sol sql svelte "
    "svg swift tcl tcss tex tf toml ts tsx txt vim vue xml yaml yml zig zsh "
)
"""Endings of names that are files and nothing else; `os.path` or `requests.get` may be either."""
_ASIDE = late(
    r"\b(?:why|where|when|what)\b(?:[^.!?\n]|\.(?=\w)){0,200}\?|\bFile \"[^\"\n]*\", line \d+.*|\b(?:see(?:\s+also)?|cf|like|as\s+in|similar\s+to|based\s+on|according\s+to|following)\.?"
    rf"\s+[`'\"]*(?:\./)?{_FILE}",
    re.IGNORECASE,
)
"""Where a text names something to point at it or to ask about it, or a traceback does: that need not change."""
_JOINED = late(rf"(\.(?:{'|'.join(_EXTENSIONS.split())}))\.(?=[A-Z][a-z]*(?![\w.]))")
"""A file's name at the end of a sentence, and the first word of the next without a blank between them."""
_TESTS_WANTED = late(
    r"\b(?:add|write|create|generate|extend|improve|more|missing|no|without|lacks?|needs?)\s+(?:[\w-]+\s+){0,4}?(?:tests?|specs?)\b",
    re.IGNORECASE,
)
_OTHER_WORK = late(
    r"\b(?:fix(?!\s+(?:any|whatever)\b)|repair|change|refactor|rename|implement|replace|convert|move|support|handle|remove|delete"
    r"|make(?!\s+(?:them|it|sure|tests?|the\s+tests?|all\s+tests?)\b))\b",
    re.IGNORECASE,
)
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
_PRODUCTS = frozenset({"node.js", "next.js", "vue.js", "nuxt.js", "three.js", "react.js", "express.js", "d3.js"})


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
    texts = [_ASIDE.sub(" ", text) for text in _in_force((task, *later))]
    files = [name for text in texts for name in files_in(text) if not _TEST_FILE.search(name)]
    tests = any(_TESTS_WANTED.search(text) for text in texts) and not any(_OTHER_WORK.search(text) for text in texts)
    if tests and any(_TEST_FILE.search(path) and change.after is not None for path, change in changed.items()):
        return ""
    everywhere, changed = changed, {p: c for p, c in changed.items() if not (files and _TEST_FILE.search(p))}
    found = [words for text in texts if (words := _made(text, changed, everywhere)) is not None]
    names = [name for text in texts for name in _identifiers(text)]
    if found or not (files or names):
        return next(filter(None, found), "")
    if any(_same_file(path, name) for path in changed for name in files):
        return ""
    if any(
        _holds(side, name)
        for name in [*names, *filter(_may_be_code, files)]
        for change in changed.values()
        for side in (change.before, change.after)
    ):
        return ""
    return f"nothing that the task names was changed ({_list(dict.fromkeys([*files, *names]))})"


def _in_force(said: Sequence[str]) -> list[str]:
    """Of what a person said, in order, what they did not take back by saying another thing instead."""
    texts: list[str] = []
    for text in said:
        if texts and _INSTEAD.search(text[:_READ]):
            texts.clear()
        texts.append(_JOINED.sub(r"\1. ", text[:_READ]))
    return texts


def _made(text: str, changed: Mapping[str, Changed], everywhere: Mapping[str, Changed]) -> str | None:
    """What is missing of a rename or an addition that a text asks for, "" when nothing is; None: it asks for neither."""
    if renamed := _RENAME.search(text):
        stays = _KEEPS.search(text) is not None
        _, kind, old, new = renamed.groups()
        if renamed[1] and not kind and old.isalpha() and old.islower() and text[renamed.start(3) - 1] not in "`'\"":
            kind, old = old, "it"  # "rename the title to ...": a word for a thing, not its name
        return _renamed((kind or "").strip().lower(), old, new.rstrip("."), changed, {} if stays else everywhere)
    added = {
        name: verb for verb, before, name, behind in _ADD.findall(text) if before or behind or _SHAPED.fullmatch(name)
    }
    absent = [name for name, verb in added.items() if not any(_came(name, verb, *item) for item in changed.items())]
    if absent:
        return f"the task asks for {_list(absent)}, and no changed file has it as a new name"
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
        found.append(f"{_list(files)} says what the check does, and this run changed it")
    if files := list(by_check):
        found.append(f"the check itself changed {_list(files)}")
    named = files_in(task[:_READ])
    for path, change in changed.items():
        meant, before, after = any(_same_file(path, name) for name in named), change.before, change.after
        if before is None or not (meant or _TEST_FILE.search(path)):
            continue
        which = "which the task names" if meant else "a test that the task does not name"
        if after is None and not _REMOVAL.search(task):
            found.append(f"{path}, {which}, was deleted")
        elif after is not None and meant and before.split() == after.split():
            found.append(f"of {path}, {which}, only blanks were changed")
        elif after is not None and not meant and not _lines(before) <= _lines(after):
            found.append(f"of {path}, {which}, lines were changed or removed")
    return found[:_MOST]


def _lines(data: bytes) -> set[bytes]:
    return {line.strip() for line in data.split(b"\n")}


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


def _may_be_code(name: str) -> bool:
    return "/" not in name and f" {name.rpartition('.')[2].lower()} " not in f" {_EXTENSIONS}"


def _identifiers(task: str) -> list[str]:
    files = set(files_in(task))
    text = _FILES.sub(" ", _URL.sub(" ", task))
    coded = [a or b for a, b in _CODED.findall(task)]
    found = [name for name in [*coded, *_SHAPED.findall(text)] if name not in files and len(name) > 2]
    found = [
        name for name in found if not isinstance(getattr(builtins, name, None), type)
    ]  # what is raised or meant by it
    return list(dict.fromkeys(found))[:_MOST]


def _renamed(kind: str, old: str, new: str, changed: Mapping[str, Changed], everywhere: Mapping[str, Changed]) -> str:
    if old.lower() in _GENERIC:  # "rename the file to ...": which one is not said
        return (
            ""
            if (new.islower() and new.isalpha()) or _in_any(new, changed)
            else f"the new name {new} is in no changed file"
        )
    there = any(_is_at(path, new) and change.after is not None for path, change in changed.items())
    if there and any(_is_at(path, old) and change.after is None for path, change in changed.items()):
        return ""
    if _is_file(old) or kind in _FOLDERS:
        return f"{old} was not renamed to {new}"
    name, was = new.rpartition(".")[2], old.rpartition(".")[2]
    if not _in_any(name, changed):
        return f"the new name {new} is in no changed file"
    left_in = [path for path, change in everywhere.items() if _holds(change.after, old)]
    if not left_in and old != was:  # "Foo.bar": of another class it stays, so that it is fewer is enough
        fewer = any(c.before is None or _count(c.before, was) > _count(c.after, was) for c in everywhere.values())
        left_in = [] if fewer else list(everywhere)
    return f"the old name {old} is still in {_list(left_in)}" if left_in else ""


def _is_file(name: str) -> bool:
    return "/" in name or ("." in name and not _may_be_code(name))


def _is_at(path: str, name: str) -> bool:
    """Whether a path is a file of this name, lies in a folder, or belongs to a module of this name."""
    named = posixpath.normpath(name)
    module = f"/{named.replace('.', '/')}/" in f"/{posixpath.splitext(path)[0]}/"
    return module or _same_file(path, named) or f"/{named}/" in f"/{path}"


def _came(name: str, verb: str, path: str, change: Changed) -> bool:
    """Whether a name is there that was asked for: what is to be implemented or written may have stood there as a stub."""
    if _is_file(name):
        return _same_file(path, name) and change.after is not None
    stub = verb.lower() in {"implement", "write", "define"}
    own = name.rpartition(".")[2]
    return any(_holds(change.after, n) and (stub or not _holds(change.before, n)) for n in (own, own.replace("_", "-")))


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

_NEGATED = late(
    r"\b(?:not|n't|never|cannot|can't|should|would|could|will|if|once|when|whether|until|unless|before|after|please|must|may|might"
    r"|no|none|to|make sure|need|want|ensure)\b|n't\b",
    re.IGNORECASE,
)
_RUNNER = r"(?:pytest|unittest|tox|nox|jest|vitest|mocha|rspec|ctest|(?:tests?|test suite|checks?|suite|build)\b)"
_NOT_ALONG = r"\b(?!\s+(?:an?|the|it|them|its|their|through|to|into|by|on|over|via|along|around|as|arguments?|args|options?|flags?|values?)\b)"
_PASS = late(
    rf"\b(?:{_RUNNER}|everything|all of (?:it|them))[`'\"*)]*(?:\s+(?:now|all|still|also|is|are|has|have|both|suite))*"
    rf"\s+(?:pass|passes|passed|passing|succeeds?|succeeded|green){_NOT_ALONG}"
    rf"|\b(?:tests?|checks?)[`'\"*]*\s*[:=]\s*(?:all\s+)?\d*\s*pass(?:ed)?{_NOT_ALONG}"
    rf"|\b(?:\d+|all)\s+(?:of\s+\d+\s+)?(?:(?:unit|new|other)\s+)?(?:(?:tests?|checks?)\s+)?passed{_NOT_ALONG}"
    rf"|\b(?:ran|executed)\s[^.;]{{0,40}}?{_RUNNER}[^.;]{{0,40}}?\b(?:succeeded|pass(?:ed|es)?|worked){_NOT_ALONG}"
    rf"|\b{_RUNNER}[`'\"*)]*\s+(?:now\s+)?(?:runs?|ran|completes?|completed|finish(?:es|ed)?)\s+without\s+(?:any\s+)?(?:errors?|failures?)\b",
    re.IGNORECASE,
)
_MAY_CLAIM = re.compile(r"pass|succe|green|worked|without|(?:e[dn]|wrote)\b", re.IGNORECASE)
"""What each claim holds: most answers to questions hold nothing of it, and the long patterns need not be made."""
_DONE_TO = r"(?:changed|edited|updated|modified|created|written|rewritten|deleted|removed|fixed|repaired|refactored|added|saved)"
_QUOTED_FILE = rf"[`'\"*]*(?:\./)?{_FILE}[`'\"*]*"
_LIST = rf"{_QUOTED_FILE}(?:(?:\s*,\s*(?:and\s+)?|\s+and\s+){_QUOTED_FILE}){{0,8}}"
_FIRST = r"(?:\bI(?:['\u2019]ve|\s+have)?\s+|^[\s*>\u2022-]*)(?:(?:now|also|just|then|successfully)\s+)?"
_THING = r"(?!no\b|nothing\b)(?:(?!\.\w)[^,;:]){1,60}?"
"""What was changed, without the name of a file."""
_CHANGE = late(
    rf"\b(?:{_DONE_TO}|wrote|rewrote)\s+(?:the\s+)?(?:files?\s+)?({_LIST})"
    rf"|(?<![\w/.@+`'\"*-])({_LIST})\s+(?:was|were|has\s+been|have\s+been|is\s+now|are\s+now)\s+(?:(?:now|also|successfully)\s+)?{_DONE_TO}\b"
    r"(?!\s+(?:by|when|if|before|in\s+\d|last|at|ago|recently|earlier|in\s+(?:the\s+|an?\s+)?(?:last|latest|previous|earlier|commit|version))\b)"
    rf"|{_FIRST}(?:{_DONE_TO}|implemented|renamed|replaced)\s+{_THING}\sin\s+(?:the\s+)?(?:files?\s+)?({_LIST})"
    rf"|{_FIRST}(?:added|wrote|written|saved)\s+{_THING}\sto\s+(?:the\s+)?(?:files?\s+)?({_LIST})"
    rf"|\b(?:renamed|moved)\s+(?:the\s+)?(?:files?\s+)?{_QUOTED_FILE}\s+(?:to|as|into|->|→)\s+({_QUOTED_FILE})"
    rf"|(?<![\w/.@+`'\"*-]){_QUOTED_FILE}\s+(?:was|has\s+been|is\s+now)\s+(?:renamed|moved)\s+(?:to|as|into)\s+({_QUOTED_FILE})",
    re.IGNORECASE,
)
_OTHERS = late(
    r"\b(?:that|which|who|whoever|you|they|someone|somebody|(?:function|method|script|program|user|author|commit)s?)"
    r"(?:\s+(?:had|has|have|also|already|then|once))*\s*$",
    re.IGNORECASE,
)
"""Before a verb: somebody else did it."""
_QUOTED = late(r"\b(?:your|git)\s+(?:\w+\s+)?log\b|\bthat\s+you\s+(?:sent|posted|pasted|gave)\b", re.IGNORECASE)
"""A sentence about what is not from here."""
_WHAT = (
    r"(?:it|them|this|that|everything|all|(?:the|my|your|these|those|both|all)\s+(?:\w+\s+)?"
    r"(?:changes?|fix|fixes|commits?|branch|work|edits?|files?))"
)
_TO_GIT = r"to\s+(?:git|github|gitlab|origin|main|master|upstream|the\s+(?:remote|repo\w*|branch))"
_COMMITTED = late(
    rf"(?:{_FIRST}|,\s+|\band\s+(?:then\s+)?|\b{_WHAT}\s+(?:are\s+now|is\s+now|has\s+been|have\s+been)\s+)"
    rf"(committed|pushed)(?:\s+and\s+(committed|pushed))?(?=[`'\"*]*(?:\s*$|\s*[,:)]|\s+(?:{_WHAT}|{_TO_GIT}|as|with|and)\b))",
    re.IGNORECASE,
)
_WORKED = late(
    r"\b(?:ran|executed)\s+`([^`\n]+)`[^.;]{0,40}?\b(?:succeeded|passed|worked|without\s+(?:any\s+)?errors?)\b"
    r"|\b(?:it|that|the\s+(?:command|script|program|run))\s+(?:has\s+)?(?:all\s+)?(?:worked|succeeded)\b",
    re.IGNORECASE,
)
_TESTS = late(r"test|check|spec|tox|nox|jest|mocha|phpunit|verify|lint", re.IGNORECASE)
_BUILDS = late(r"make|build|compile|tsc|gcc|javac|gradle|mvn|ninja", re.IGNORECASE)
_OPERATORS = late(r"\s*(?:[;&|\n()]|\|\||&&)\s*")
_LOOK = frozenset({
    "awk", "cat", "cd", "chmod", "cp", "diff", "du", "echo", "export", "fd", "file", "find", "git", "grep", "head", "less",
    "ln", "ls", "mkdir", "more", "mv", "open", "printf", "pwd", "rg", "rm", "sed", "sort", "stat", "tail", "tee", "touch",
    "tree", "type", "vi", "vim", "wc", "which",
})  # fmt: skip
"""Programs that run no test, whatever file they are given."""
_NO_RUN = frozenset({"--version", "--help", "--collect-only", "--co"})
"""Options that make of a test runner a command that runs no test."""
_INSTALLERS = frozenset({
    "apt", "apt-get", "brew", "bun", "cargo", "conda", "gem", "npm", "pdm", "pip", "pip3", "pipenv", "pnpm", "poetry", "uv",
    "yarn",
})  # fmt: skip
_INSTALL = frozenset({"add", "i", "init", "install", "remove", "uninstall"})
_SENTENCE = late(r"[^.!?;\n]+(?:\.(?=\w)[^.!?;\n]*)*")


def unbacked_claims(text: str, events: Iterable[ev.Event | ev.Unknown]) -> list[str]:
    """What an answer says was done and no receipt shows, one sentence each for the person.

    Args:
        text: the final answer.
        events: everything durable of the session, the run that the answer ends included.
    """
    said = re.sub(r"```.*?```", "", text[-_READ:], flags=re.DOTALL)
    if not _MAY_CLAIM.search(said):
        return []
    events = tuple(events)
    changed, tested, built = _shown(events)
    claims: list[str] = []
    for found in _SENTENCE.finditer(said):
        sentence = found[0]
        if said[found.end() : found.end() + 1] == "?" or _QUOTED.search(sentence):
            continue
        claim = _PASS.search(sentence)
        backed = claim is not None and (tested or (built and "build" in claim[0].lower()))
        if claim and not backed and not _NEGATED.search(sentence[: claim.end()]):
            claims.append(f'the answer says "{_short(claim[0])}", but no test or check passed after the last edit')
        claims += _claims_of_commands(sentence, events)
        for match in _CHANGE.finditer(sentence):
            named = files_in(next(filter(None, match.groups())))
            if match[3]:  # "fixed the failure in test_a.py": the failure is there, what was wrong need not be
                named = [name for name in named if not _TEST_FILE.search(name)]
            files = [name for name in named if not any(_same_file(p, name) for p in changed)]
            before = sentence[: match.start()]
            if files and not _NEGATED.search(before) and not _OTHERS.search(before):
                that = "that file" if len(files) == 1 else _list(files)
                claims.append(f'the answer says "{_short(match[0])}", but nothing changed {that}')
    return list(dict.fromkeys(claims))[:_MOST]


def _shown(events: Iterable[ev.Event | ev.Unknown]) -> tuple[set[str], bool, bool]:
    """The files that receipts changed, and whether a test or check, or a build, passed after the last change."""
    changed: set[str] = set()
    tested = built = False
    for event in events:
        if isinstance(event, ev.CheckDone):
            tested = event.passed
        elif isinstance(event, ev.Undone):
            tested = built = False
        elif isinstance(event, ev.ToolDone) and event.receipt is not None:
            receipt = event.receipt
            paths = {path for path, _, _ in receipt.changes}
            changed |= paths
            if _runs(receipt, _TESTS):  # one that did not end shows nothing either
                tested = receipt.exit_code == 0
            elif _runs(receipt, _BUILDS):
                built = receipt.exit_code == 0
            elif paths:
                tested = built = False
    return changed, tested, built


def _claims_of_commands(sentence: str, events: Sequence[ev.Event | ev.Unknown]) -> Iterator[str]:
    """What a sentence says that commands did, and their receipts do not show."""
    ran = [e.receipt for e in events if isinstance(e, ev.ToolDone) and e.receipt is not None and _commands(e.receipt)]
    for claim in _COMMITTED.finditer(sentence):
        for verb in map(str.lower, filter(None, claim.groups())):
            done = any(r.exit_code == 0 and _is_git(r, _GIT[verb]) for r in ran)
            if not done and not _NEGATED.search(sentence[: claim.start()]):
                yield f'the answer says "{verb}", but no git {_GIT[verb]} has succeeded'
    if (match := _WORKED.search(sentence)) and not _NEGATED.search(sentence[: match.start()]):
        named = [r for r in ran if match[1] is None or _same_command(r, match[1])]
        if (named and named[-1].exit_code != 0) or (match[1] and not named):
            end = "it did not" if named else "it was not run"
            yield f'the answer says "{_short(match[0])}", but the receipts say that {end}'


_GIT: Mapping[str, str] = MappingProxyType({"committed": "commit", "pushed": "push"})


def _is_git(receipt: Receipt, verb: str) -> bool:
    return any(posixpath.basename(words[0]) == "git" and verb in words for words in _commands(receipt) if words)


def _same_command(receipt: Receipt, said: str) -> bool:
    return any(" ".join(words) == " ".join(said.split()) for words in _commands(receipt))


def _commands(receipt: Receipt) -> list[list[str]]:
    """The words of a command, or of each of those in a script; none of what ran nothing."""
    argv, script = receipt.arguments.get("argv"), receipt.arguments.get("script")
    if argv:
        return [list(map(str, argv))]
    return [piece.split() for piece in _OPERATORS.split(str(script))] if script else []


def _runs(receipt: Receipt, what: re.Pattern[str]) -> bool:
    """Whether a command, or one of those in a script, is such a one, and does not only name it."""
    return any(
        bool(words)
        and posixpath.basename(words[0]) not in _LOOK
        and _NO_RUN.isdisjoint(words)
        and not any(posixpath.basename(a) in _INSTALLERS and b in _INSTALL for a, b in pairwise(words))
        and any(what.search(word) for word in words)
        for words in _commands(receipt)
    )


def _short(text: str) -> str:
    return " ".join(text.split())[:80]
