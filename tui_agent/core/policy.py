"""The permission policy: what may happen without asking, what must ask, what is refused.

`decide` is a pure function of a request and a `Policy`. The order is fixed: malformed, deny
patterns, allow patterns (unless a floor holds), then the row of the table, raised by floors.
Without a person to ask, ask means deny. Over any limit the answer is deny. The knowledge about
programs stands as tables in `programs` and `wrappers`.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re
import shlex
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import get_args

from tui_agent.core.programs import (
    AWKS,
    CLASSES,
    DOWNLOADERS,
    GIT_NETWORK,
    NETWORK_SUBCOMMANDS,
    OPTIONS,
    PACKAGE_MANAGERS,
    TOOLS,
    WRITERS,
    inside,
    interprets,
)
from tui_agent.core.shell import ASSIGNMENT, MAX_WORDS, Command, MalformedError, Word, check_text, needs_shell, split
from tui_agent.core.types import ConfigError, Permission, PermissionClass, PolicyRequest, Verdict
from tui_agent.core.wrappers import PRIVILEGE, Found, base_name, search_argv, search_text, without_git_options

ROWS: tuple[PermissionClass, ...] = ("read", "search", "write", "run", "git", "shell", "network", "mcp")
_STRICTNESS: Mapping[Permission, int] = {"allow": 0, "ask": 1, "deny": 2}


def pattern_fault(pattern: object) -> str:
    """Why something cannot be a pattern of commands, in words that follow it; "" when it can."""
    if not isinstance(pattern, str) or not pattern.strip(" \t"):
        return "is not a command"
    try:
        check_text(pattern)
    except MalformedError as fault:
        return f"holds a fault: {fault}"
    if needs_shell(pattern) or "\n" in pattern:
        return "needs a shell, so it can never match"
    if "/" in split(pattern)[0] or not split(pattern)[0]:
        return "must begin with the bare name of a program"
    return ""


@dataclass(frozen=True, slots=True)
class Policy:
    """What the person allows, and the state of the session that the answer depends on.

    `table` has one permission per class. `allow` and `deny` are patterns: words split like a
    command. An allow pattern that stands in `programs.OPTIONS` accepts the options listed there,
    any other matches exactly its own words; a deny pattern matches every command that begins with it.
    `interactive`: somebody can be asked. `trusted`: the folder is. `cli_yes`: --yes was given.
    `auto`: mode AUTO, which counts only in a working `sandbox`. `unseen_edits`: the session holds an
    edit that no person saw; then allow patterns that run code of the workspace hold only in a
    sandbox. `unsandboxed` are allow patterns that hold even then (`--allow check`).

    Raises:
        ConfigError: a value is wrong; the message names its key.
    """

    table: Mapping[PermissionClass, Permission]
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    interactive: bool = True
    trusted: bool = True
    cli_yes: bool = False
    unseen_edits: bool = False
    sandbox: bool = False
    auto: bool = False
    unsandboxed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for row in self.table:
            if row not in ROWS:
                raise ConfigError(f"permissions.{row} is unknown; there are {', '.join(ROWS)}")
        for row in ROWS:
            value = self.table.get(row)
            if value not in get_args(Permission):
                raise ConfigError(f"permissions.{row} must be allow, ask or deny, not {value!r}")
        object.__setattr__(self, "table", MappingProxyType(dict(self.table)))
        for name in ("allow", "deny", "unsandboxed"):
            patterns = getattr(self, name)
            if not isinstance(patterns, list | tuple):
                raise ConfigError(f"permissions.{name} must be a list of patterns, not {patterns!r}")
            for pattern in patterns:
                if fault := pattern_fault(pattern):
                    raise ConfigError(f"permissions.{name}: {pattern!r} {fault}")
            object.__setattr__(self, name, tuple(patterns))


DEFAULT = Policy(
    table={
        "read": "allow",
        "search": "allow",
        "write": "ask",
        "run": "ask",
        "git": "ask",
        "shell": "ask",
        "network": "ask",
        "mcp": "ask",
    },
    allow=("pytest", "make check", "git status", "git diff", "cargo test", "ls"),
)


AUTO_RULE = "mode: AUTO"
"""Begins the rule of what only mode AUTO allowed."""


# ------------------------------------------------------------------ the decision


def decide(request: PolicyRequest, policy: Policy) -> Verdict:
    """Say what may be done with a request, and by which rule. Total: every input has an answer."""
    try:
        if request.tool in {"run_command", "run_shell"}:
            verdict = _decide_command(request, policy)
        else:
            verdict = _decide_tool(request, policy)
    except MalformedError as fault:
        return Verdict("deny", f"malformed: {fault}", "none")
    if verdict.permission == "ask" and not policy.interactive:
        return Verdict("deny", f"nobody to ask: {verdict.rule}", verdict.permission_class)
    return verdict


def _decide_tool(request: PolicyRequest, policy: Policy) -> Verdict:
    tool = request.tool
    server, slash, name = tool.partition("/")
    known: PermissionClass | None = "mcp" if slash and server and name else TOOLS.get(tool)
    if known is None or known != request.permission:
        return Verdict("deny", f"unknown tool: {tool!r} of class {request.permission}", "none")
    if known == "none":
        return Verdict("allow", "no effect outside the session", "none")
    check_text(tool)
    if request.path is not None:
        check_text(request.path)
    floor = next(iter(request.floors), "")
    if _hidden(tool):
        floor = "hidden characters"
    if known == "write" and request.path is not None:
        parts = set(map(_folded, request.path.split("/")))
        if parts & _PROTECTED:
            return Verdict("deny", "floor: protected path", known)
        if _hidden(request.path):
            floor = "hidden characters"
        elif ".ssh" in parts or not inside(request.path):
            floor = floor or "outside the workspace or under .ssh"
    permission, rule = policy.table[known], f"table: {known} = {policy.table[known]}"
    if known == "write" and policy.cli_yes and permission == "ask" and request.path is not None and not floor:
        return Verdict("allow", "flag: --yes", known)
    return _raised(permission, rule, floor, known, policy)


def _decide_command(request: PolicyRequest, policy: Policy) -> Verdict:
    argv, found = _analysed(request)
    text = request.command if request.command is not None else "\n".join(argv or ())
    permission_class: PermissionClass = "shell" if argv is None else classify(argv)

    unsure = found.opaque if policy.deny else ""
    for pattern in policy.deny:
        for command in found.commands:
            match _denied(_pattern_words(pattern), command):
                case True:
                    return Verdict("deny", f"deny pattern: {pattern}", permission_class)
                case None:
                    unsure = unsure or "an argument that is made at run time"

    floor = next(iter(request.floors), "") or next(_floors(text, found), "")
    if not floor and unsure:
        floor = f"deny patterns cannot be checked: {unsure}"
    pattern = _allowed(argv, policy.unsandboxed + policy.allow) if argv else ""
    if pattern and not floor:
        runs_code = _runs_code(pattern)
        if not policy.trusted and pattern != "ls":
            floor = "the folder is not trusted"
        elif runs_code and policy.unseen_edits and not policy.sandbox and pattern not in policy.unsandboxed:
            floor = "code nobody saw, and no sandbox"
        else:
            return Verdict("allow", f"allow pattern: {pattern}", permission_class)
    if not policy.trusted:
        floor = floor or "the folder is not trusted"

    permission, rule = _row(permission_class, argv, policy)
    if permission_class == "shell" and permission != "deny":
        # Opening the shell row does not open the rows that say deny.
        for command in found.commands:
            words = tuple(word.text for word in command)
            inner, inner_rule = _row(classify(words), words, policy)
            if inner == "deny":
                permission, rule = inner, f"{inner_rule} ({base_name(words[0])})"
                break
    return _raised(permission, rule, floor, permission_class, policy)


def _raised(
    permission: Permission, rule: str, floor: str, permission_class: PermissionClass, policy: Policy
) -> Verdict:
    """Raise the answer of the table by a floor, or lower ask to allow in mode AUTO."""
    if permission != "deny" and floor:
        return Verdict("ask", f"floor: {floor}", permission_class)
    if permission == "ask" and policy.auto and policy.sandbox and policy.trusted:
        return Verdict("allow", f"{AUTO_RULE} in a sandbox ({rule})", permission_class)
    return Verdict(permission, rule, permission_class)


def _row(permission_class: PermissionClass, argv: tuple[str, ...] | None, policy: Policy) -> tuple[Permission, str]:
    """Return the strictest row that a command falls under: network and write are running, too."""
    rows: tuple[PermissionClass, ...] = (permission_class,)
    if permission_class in {"network", "write"}:
        rows = (permission_class, "run")
    elif permission_class == "git" and argv and _subcommand(argv) in GIT_NETWORK:
        rows = ("git", "network")
    row = max(rows, key=lambda name: _STRICTNESS[policy.table[name]])
    return policy.table[row], f"table: {row} = {policy.table[row]}"


# ------------------------------------------------------------------ reading a request


def _analysed(request: PolicyRequest) -> tuple[tuple[str, ...] | None, Found]:
    """Return the argv (None: a shell is needed) and what would be started; raises `MalformedError`."""
    if request.command is not None and request.argv is not None:
        raise MalformedError("both a text and an argv")
    if request.command is not None:
        return _analysed_text(request.command, as_shell=request.tool == "run_shell")
    argv = request.argv
    if not isinstance(argv, list | tuple) or not all(isinstance(word, str) for word in argv):
        raise MalformedError("argv is not a list of strings")
    if request.tool == "run_shell":
        raise MalformedError("a shell takes a text")
    argv = tuple(argv)
    _check_argv(argv)
    return argv, search_argv(argv)


def _analysed_text(text: str, *, as_shell: bool) -> tuple[tuple[str, ...] | None, Found]:
    check_text(text)
    if not text.strip(" \t\n"):
        raise MalformedError("the command is empty")
    if as_shell or needs_shell(text):
        return None, search_text(text)
    argv = split(text)
    _check_argv(argv)
    return argv, search_argv(argv)


def _check_argv(argv: tuple[str, ...]) -> None:
    if not argv or not argv[0]:
        raise MalformedError("the name of the program is empty")
    if len(argv) > MAX_WORDS:
        raise MalformedError(f"more than {MAX_WORDS} words")
    check_text(" ".join(argv))


_ENV_PRINTS = frozenset({"-", "-i", "-0", "--ignore-environment", "--null"})


def classify(argv: tuple[str, ...] | list[str]) -> PermissionClass:
    """Return the class of a program by its base name and, for installers, its sub-command."""
    name = base_name(argv[0]) if argv else ""
    found = CLASSES.get(name, "run")
    if name == "env" and all(word in _ENV_PRINTS or ASSIGNMENT.match(word) for word in argv[1:]):
        return "run"  # it starts nothing
    if name == "sed" and any(re.match(r"-[A-Za-z]*i|--in-place", word) for word in argv[1:]):
        return "write"
    if NETWORK_SUBCOMMANDS.get(name, frozenset()) & set(_subcommands(argv)):
        return "network"
    return found


def needs_network(request: PolicyRequest) -> bool:
    """Whether a command is one that its class says is for the network. A text for a shell never is."""
    try:
        argv = _analysed(request)[0]
    except MalformedError:
        return False
    return argv is not None and (
        classify(argv) == "network" or (classify(argv) == "git" and _subcommand(argv) in GIT_NETWORK)
    )


def _subcommand(argv: tuple[str, ...]) -> str:
    words = without_git_options(tuple(map(Word, argv)))
    return words[1].text if len(words) > 1 else ""


def _subcommands(argv: tuple[str, ...] | list[str]) -> Iterator[str]:
    """Yield what may be the sub-command: the first word without a dash, and the words behind options before it."""
    after_option = False
    for word in argv[1:]:
        if not word.startswith(("-", "+")):
            yield word
            if not after_option:
                return
        after_option = word.startswith("-")


# ------------------------------------------------------------------ patterns


@lru_cache(maxsize=256)
def _pattern_words(pattern: str) -> tuple[str, ...]:
    return split(pattern)


def _allowed(argv: tuple[str, ...], patterns: tuple[str, ...]) -> str:
    """Return the first allow pattern that matches, "" if none does."""
    for pattern in patterns:
        words = _pattern_words(pattern)
        options = OPTIONS.get(words)
        if argv == words or (options and argv[: len(words)] == words and options.accept(argv[len(words) :])):
            return pattern
    return ""


def _runs_code(pattern: str) -> bool:
    options = OPTIONS.get(_pattern_words(pattern))
    return options is None or options.runs_code


def _denied(words: tuple[str, ...], command: Command) -> bool | None:
    """Say whether a command begins with a deny pattern; None if that shows only at run time."""
    command = without_git_options(command)
    texts = [base_name(command[0].text), *(word.text for word in command[1:])]
    for want, text, word in zip(words, texts, command, strict=False):
        if not word.fixed:
            return None
        if want != text:
            return False
    return len(command) >= len(words)


# ------------------------------------------------------------------ floors

_INVISIBLE = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5") | {chr(c) for c in range(0x180B, 0x1810)}
_PROTECTED = frozenset({".git", ".tui_agent", "git~1"})
_KEPT = _PROTECTED | {".ssh"}
"""Names below which no command writes unasked."""
_HARMLESS_TARGETS = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})


def _hidden(text: str) -> bool:
    """Say whether a character is invisible, changes the order of others or looks like a blank that it is not."""
    return not text.isascii() and any(
        char in _INVISIBLE
        or unicodedata.category(char) in {"Cf", "Cn", "Co", "Zl", "Zp"}
        or (unicodedata.category(char) == "Zs" and char != " ")
        or "\ufe00" <= char <= "\ufe0f"
        or "\U000e0100" <= char <= "\U000e01ef"
        for char in text
    )


def _floors(text: str, found: Found) -> Iterator[str]:
    """Yield the reasons why a command is never automatic."""
    if _hidden(text):
        yield "hidden characters"
    names = [base_name(command[0].text) for command in found.commands]
    for name in names:
        if name in PRIVILEGE:
            yield name
    for name, command in zip(names, found.commands, strict=True):
        if name == "rm" and _removes_too_much(command):
            yield "recursive delete of a root, a parent, home or .git"
    writes = not _HARMLESS_TARGETS.issuperset(found.targets) or any(map(_writes, names, found.commands))
    if writes and any(_names_protected(word) for word in found.words):
        yield "writing under .git, .tui_agent or .ssh"
    if DOWNLOADERS.intersection(names) and (found.unseen_program or any(map(_reads_program, names, found.commands))):
        yield "a download and an interpreter"
    if found.fork_bomb:
        yield "a function that calls itself"


def _writes(name: str, command: Command) -> bool:
    words = [word.text for word in command]
    if name == "git":
        return any(word.startswith("--output") for word in words)
    return name in WRITERS or classify(words) == "write"


def _reads_program(name: str, command: Command) -> bool:
    """Say whether an interpreter reads its program from input, or is given one that is made at run time."""
    words = command[1:]
    return interprets(name) and (
        all(word.text.startswith("-") for word in words)
        or any(word.text in {"-", "/dev/stdin"} or not word.fixed for word in words)
    )


def _names_protected(word: str) -> bool:
    """Say whether a word of a command names a protected folder, also as `of=.git/x` or `-t.git`."""
    return any(_is_protected(re.sub(r"^-[A-Za-z]", "", part)) for part in re.split(r"[/=:]", word))


def _folded(part: str) -> str:
    """Return a part of a path as the most forgiving file system reads it."""
    visible = "".join(char for char in unicodedata.normalize("NFKC", part) if not _hidden(char))
    return visible.casefold().rstrip(" .")


def _is_protected(part: str) -> bool:
    """Say whether a part of a path is, or may match as a glob, a protected name."""
    folded = _folded(part)
    if folded in _KEPT:
        return True
    if not folded.startswith(".") or not re.search(r"[*?\[{]", folded):
        return False
    return "{" in folded or len(folded) > 64 or any(fnmatch.fnmatchcase(name, folded) for name in _KEPT)


def _removes_too_much(command: Command) -> bool:
    """Judge `rm`: recursive, and a target that is or may be more than something inside the workspace."""
    recursive = options = False
    targets: list[Word] = []
    options = True
    for word in command[1:]:
        if options and word.text == "--":
            options = False
        elif options and word.text.startswith("-") and word.text != "-":
            long = word.text.startswith("--")
            recursive = recursive or ("--recursive".startswith(word.text) if long else "r" in word.text.casefold())
        else:
            targets.append(word)
    return recursive and (not targets or any(map(_too_much, targets)))  # without targets they come from xargs


def _too_much(target: Word) -> bool:
    text = target.text
    if text.startswith(("~", "$")) or "{}" in text or (not target.fixed and re.search(r"[$`{(]", text)):
        return True
    path = text.rstrip("*") or "."
    parts = path.split("/")
    normal = posixpath.normpath(path)
    shallow = path.startswith("/") and len([part for part in normal.split("/") if part]) <= 2
    return normal == "." or ".." in parts or shallow or any(map(_is_protected, parts))


# ------------------------------------------------------------------ "always"


@dataclass(frozen=True, slots=True)
class AlwaysRule:
    """The allow pattern that "always" would save, one command it matches and one it does not."""

    pattern: str
    matches: str
    refuses: str


def always_rule(request: PolicyRequest) -> AlwaysRule | None:
    """Return the rule that "always" may offer for a request, None if it must be asked each time.

    There is none for shell text, wrappers, interpreters, package managers, network, programs that
    write, paths as programs, and commands with a floor.
    """
    if request.tool != "run_command" or request.floors:
        return None
    try:
        argv, found = _analysed(request)
    except MalformedError:
        return None
    if argv is None or any("\n" in word for word in argv) or next(_floors(" ".join(argv), found), ""):
        return None
    for words, options in OPTIONS.items():
        if argv[: len(words)] == words and options.accept(argv[len(words) :]):
            return AlwaysRule(" ".join(words), shlex.join(argv), options.refused)
    name = base_name(argv[0])
    if name == "git" and (argv[1:2] != (_subcommand(argv),) or argv[1] in GIT_NETWORK):
        return None  # options before the sub-command name programs and other folders
    if classify(argv) not in {"run", "git"} or "/" in argv[0]:
        return None
    if name in PACKAGE_MANAGERS | AWKS | {"env"} or interprets(name):
        return None
    pattern = shlex.join(argv)
    return AlwaysRule(pattern, pattern, f"{pattern} --other")
