"""Allow patterns: which can be one, what they match, why one does not fit any more, and those that "always" may offer.

A pattern is the beginning of a command ("git diff"), or a class of tools and a path: "write:src/a.py" is that file,
"write:src/" all that lies in that folder. A path is the real one, from the root of the workspace.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from tui_agent.core.analysis import analysed
from tui_agent.core.floors import PROTECTED, floors_of, folded, hidden
from tui_agent.core.programs import (
    OPTIONS,
    PACKAGE_MANAGERS,
    PLAIN,
    TOOLS,
    Options,
    classify,
    git_shows,
    inside,
    names_program,
    starts_others,
)
from tui_agent.core.shell import Command, MalformedError, check_text, needs_shell, split
from tui_agent.core.types import PolicyRequest
from tui_agent.core.wrappers import base_name

PATH_CLASSES = ("read", "search", "write")
"""The classes of tools that a pattern of a path can be for."""
_OF_FOLDERS = frozenset({"list_files", "search"})
"""Tools whose path is a folder."""
_REMOVES = "delete_file"


def path_of(pattern: str) -> tuple[str, str] | None:
    """The class and the path of a pattern for paths, None for a pattern of commands."""
    kind, colon, path = pattern.partition(":")
    return (kind, path) if colon and kind in PATH_CLASSES else None


def pattern_fault(pattern: object, *, paths: bool = True) -> str:
    """Why something cannot be a pattern, in words that follow it; "" when it can. `paths`: also one for paths."""
    if not isinstance(pattern, str) or not pattern.strip(" \t"):
        return "is not a command"
    try:
        check_text(pattern)
    except MalformedError as fault:
        return f"holds a fault: {fault}"
    if (parts := path_of(pattern)) is not None:
        path = parts[1].removesuffix("/")
        if not paths:
            return "is a path: only commands can be denied"
        if not inside(path) or hidden(path) or not {"", "."}.isdisjoint(path.split("/")):
            return "needs a path from the folder down, such as src/ or src/a.py"
        if parts[0] == "write" and PROTECTED & set(map(folded, path.split("/"))):
            return "is protected: tools never write there, so it can never match"
        return ""
    if needs_shell(pattern) or "\n" in pattern:
        return "needs a shell, so it can never match"
    if "/" in split(pattern)[0] or not split(pattern)[0]:
        return "must begin with the bare name of a program"
    return ""


# ------------------------------------------------------------------ what matches


@lru_cache(maxsize=256)
def words_of(pattern: str) -> tuple[str, ...]:
    """The words of a pattern of commands."""
    return split(pattern)


def options_of(pattern: str) -> Options | None:
    """The words that may follow a pattern of commands, None when it matches exactly its own."""
    return OPTIONS.get(words_of(pattern))


def matching(argv: tuple[str, ...], patterns: Iterable[str]) -> str:
    """The first pattern that matches a command, "" if none does."""
    return next((pattern for pattern in patterns if path_of(pattern) is None and _matches(argv, pattern)), "")


def _matches(argv: tuple[str, ...], pattern: str) -> bool:
    words, options = words_of(pattern), options_of(pattern)
    return argv == words or bool(options and argv[: len(words)] == words and options.accept(argv[len(words) :]))


def covering(request: PolicyRequest, patterns: Iterable[str]) -> str:
    """The first pattern that a tool's path falls under, "" if there is none."""
    return next((pattern for pattern in patterns if _covers(pattern, request) and not _lacks(pattern, request)), "")


def _covers(pattern: str, request: PolicyRequest) -> bool:
    parts = path_of(pattern)
    if parts is None or request.path is None or parts[0] != TOOLS.get(request.tool):
        return False
    return f"{request.path}/".startswith(parts[1]) if parts[1].endswith("/") else request.path == parts[1]


def _lacks(pattern: str, request: PolicyRequest) -> str:
    """What a pattern that a path falls under does not allow with it, "" when it allows it."""
    if request.tool == _REMOVES:
        return "is not for deleting"
    return f"does not cover this file: {request.careful}" if request.careful and pattern[-1] == "/" else ""


# ------------------------------------------------------------------ what nearly matches


def missed(request: PolicyRequest, patterns: Iterable[str], floor: str) -> str:
    """Which pattern nearly allows a request that is asked about, and why it does not; "" when none comes near.

    `floor` is the reason for which one that matches does not hold.
    """
    known = tuple(patterns)
    if request.path is not None:
        return next(filter(None, (_missed_path(pattern, request, floor) for pattern in known)), "")
    try:
        argv, found = analysed(request)
    except MalformedError:
        return ""
    commands = (argv,) if argv else tuple(map(_texts, found.commands))
    of_commands = sorted((p for p in known if path_of(p) is None), key=lambda p: len(words_of(p)), reverse=True)
    near = ((p, _missed_command(p, each, floor, script=argv is None)) for p in of_commands for each in commands)
    return next((f"the rule {pattern} {why}" for pattern, why in near if why), "")


def _texts(command: Command) -> tuple[str, ...]:
    return tuple(word.text for word in command)


def _missed_command(pattern: str, argv: tuple[str, ...], floor: str, *, script: bool) -> str:
    words, options = words_of(pattern), options_of(pattern)
    if _matches(argv, pattern):
        return "is for the command alone, not in a script" if script else f"does not hold now: {floor}" if floor else ""
    if script or argv[: min(2, len(words))] != words[:2]:
        return ""
    if options is None:
        return "is for exactly those words"
    rest = argv[len(words) :]  # of a pattern with options the words are few: they all stand there
    return f"does not cover {rest[max(n for n in range(len(rest)) if options.accept(rest[:n]))]}"


def _missed_path(pattern: str, request: PolicyRequest, floor: str) -> str:
    parts = path_of(pattern)
    if parts is None or request.path is None or parts[0] != TOOLS.get(request.tool):
        return ""
    if _covers(pattern, request):
        why = _lacks(pattern, request) or (f"does not hold now: {floor}" if floor else "")
        return f"the rule {pattern} {why}" if why else ""
    beside = request.path.rpartition("/")[0] == parts[1].rpartition("/")[0] and not parts[1].endswith("/")
    return f"the rule {pattern} is for that file only" if beside else ""


# ------------------------------------------------------------------ "always"


@dataclass(frozen=True, slots=True)
class AlwaysRule:
    """The allow pattern that "always" would save, one call it matches and one it does not."""

    pattern: str
    matches: str
    refuses: str


def always_rules(request: PolicyRequest) -> tuple[AlwaysRule, ...]:
    """The rules that "always" may offer for a request, the narrowest first; none if it must be asked each time.

    For a file there is one of its own, and one for its folder unless that is the whole workspace; none for deleting.
    For a command there is one only for programs of a table that take no other program as a word: none for shell text,
    wrappers, interpreters, package managers, network, programs that write, unknown ones, and commands with a floor.
    """
    if request.floors:
        return ()
    if request.path is not None:
        return _rules_for_path(request, request.path)
    return _rules_for_command(request) if request.tool == "run_command" else ()


def always_rule(request: PolicyRequest) -> AlwaysRule | None:
    """The widest of `always_rules`, None when there is none."""
    return next(reversed(always_rules(request)), None)


def _rules_for_path(request: PolicyRequest, path: str) -> tuple[AlwaysRule, ...]:
    kind = TOOLS.get(request.tool, "none")
    if kind not in PATH_CLASSES or request.tool == _REMOVES or pattern_fault(f"{kind}:{path}"):
        return ()
    if {".ssh", *PROTECTED}.intersection(map(folded, path.split("/"))):
        return ()
    folder = path if request.tool in _OF_FOLDERS else path.rpartition("/")[0]
    asked = f"{request.tool} {path}"
    rules = [] if request.tool in _OF_FOLDERS else [AlwaysRule(f"{kind}:{path}", asked, f"{asked}.other")]
    if folder and not request.careful:
        rules.append(AlwaysRule(f"{kind}:{folder}/", asked, f"{request.tool} {folder}.other"))
    return tuple(rules)


def _rules_for_command(request: PolicyRequest) -> tuple[AlwaysRule, ...]:
    try:
        argv, found = analysed(request)
    except MalformedError:
        return ()
    if argv is None or any("\n" in word for word in argv) or next(floors_of(" ".join(argv), found), ""):
        return ()
    exact = shlex.join(argv)
    for words, options in OPTIONS.items():
        if argv[: len(words)] == words and options.accept(argv[len(words) :]):
            wide = AlwaysRule(" ".join(words), exact, options.refused)
            # a pattern with an option table is never exact by itself
            return (wide,) if argv == words else (AlwaysRule(exact, exact, wide.pattern), wide)
    # by its bare name, of a table, and with no word that is a program itself
    if not (argv[0] in PLAIN or git_shows(argv)) or classify(argv) not in {"run", "git"}:
        return ()
    if (
        argv[0] in PACKAGE_MANAGERS
        or names_program(argv)
        or any(word != "." and starts_others(base_name(word)) for word in argv[1:])
    ):
        return ()
    return (AlwaysRule(exact, exact, f"{exact} --other"),)
