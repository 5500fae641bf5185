"""The permission policy: what may happen without asking, what must ask, what is refused.

`decide` is a pure function of a request and a `Policy`. The order is fixed: malformed, deny
patterns, allow patterns (unless a floor holds), then the row of the table, raised by floors.
Without a person to ask, ask means deny. Over any limit the answer is deny. The knowledge about
programs stands as tables in `programs` and `wrappers`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import get_args

from tui_agent.core.analysis import analysed
from tui_agent.core.floors import PROTECTED, floors_of, folded, hidden
from tui_agent.core.patterns import covering, matching, missed, options_of, path_of, pattern_fault, words_of
from tui_agent.core.programs import (
    GIT_KNOWN,
    GIT_NETWORK,
    TOOLS,
    classify,
    given,
    inside,
    subcommand,
)
from tui_agent.core.shell import Command, MalformedError, check_text
from tui_agent.core.types import ConfigError, Permission, PermissionClass, PolicyRequest, Verdict
from tui_agent.core.wrappers import base_name, without_git_options

ROWS: tuple[PermissionClass, ...] = ("read", "search", "write", "run", "git", "shell", "network", "mcp")
_STRICTNESS: Mapping[Permission, int] = {"allow": 0, "ask": 1, "deny": 2}
_COMMANDS = frozenset({"run_command", "run_shell"})
FLOOR = "floor: "
"""Begins the rule of what asks whatever the table, a pattern or a flag says."""
UNTRUSTED = "the folder is not trusted"
"""The floor that the person can take away, by trusting the folder."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What the person allows, and the state of the session that the answer depends on.

    `table` has one permission per class. `allow` and `deny` are patterns (see `patterns`): words split like a
    command. An allow pattern that stands in `programs.OPTIONS` accepts the options listed there,
    any other matches exactly its own words; a deny pattern matches every command that begins with it. An allow pattern
    may also be for a file or a folder.
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
                if fault := pattern_fault(pattern, paths=name == "allow"):
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
        verdict = _decide_command(request, policy) if request.tool in _COMMANDS else _decide_tool(request, policy)
    except MalformedError as fault:
        return Verdict("deny", f"malformed: {fault}", "none")
    if verdict.permission == "ask":
        floor = verdict.rule.removeprefix(FLOOR) if verdict.rule.startswith(FLOOR) else ""
        near = missed(request, _patterns(policy), floor)
        why = f"mode AUTO does not cover it: {floor}" if policy.auto and floor else ""
        verdict = replace(verdict, missed=near or why)
    if verdict.permission == "ask" and not policy.interactive:
        verdict = Verdict("deny", f"nobody to ask: {verdict.rule}", verdict.permission_class)
    if verdict.permission == "deny" and request.tool in _COMMANDS:
        named = [p for p in _patterns(policy) if path_of(p) is None and not _off(p, policy)]
        return replace(verdict, instead=tuple(sorted(p for p in named if not _begins(request.argv or (), p))))
    return verdict


def _begins(argv: tuple[str, ...], pattern: str) -> bool:
    """Whether a command begins like a pattern: one that is denied all the same is not to be told that it needs no approval."""
    words = tuple(pattern.split())
    return bool(words) and argv[: len(words)] == words


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
    if hidden(tool):
        floor = "hidden characters"
    if known == "write" and request.path is not None:
        parts = set(map(folded, request.path.split("/")))
        if parts & PROTECTED:
            return Verdict("deny", "floor: protected path", known)
        if hidden(request.path):
            floor = "hidden characters"
        elif ".ssh" in parts or not inside(request.path):
            floor = floor or "outside the workspace or under .ssh"
    if not floor and (pattern := covering(request, policy.allow)):
        return Verdict("allow", f"allow pattern: {pattern}", known)
    permission, rule = policy.table[known], f"table: {known} = {policy.table[known]}"
    if known == "write" and policy.cli_yes and permission == "ask" and request.path is not None and not floor:
        return Verdict("allow", "flag: --yes", known)
    return _raised(permission, rule, floor, known, policy)


def _decide_command(request: PolicyRequest, policy: Policy) -> Verdict:
    argv, found = analysed(request)
    text = request.command if request.command is not None else "\n".join(argv or ())
    permission_class: PermissionClass = "shell" if argv is None else classify(argv)

    unsure = found.opaque if policy.deny else ""
    for pattern in policy.deny:
        for command in found.commands:
            match _denied(words_of(pattern), command):
                case True:
                    return Verdict("deny", f"deny pattern: {pattern}", permission_class)
                case None:
                    unsure = unsure or "an argument that is made at run time"
                case _ if _may_start(words_of(pattern), command):
                    unsure = unsure or f"{base_name(command[0].text)} may start what it is given"

    floor = next(iter(request.floors), "") or next(floors_of(text, found), "")
    if not floor and unsure:
        floor = f"deny patterns cannot be checked: {unsure}"
    pattern = matching(argv, _patterns(policy)) if argv else ""
    if pattern and not floor:
        floor = _off(pattern, policy)
        if not floor:
            return Verdict("allow", f"allow pattern: {pattern}", permission_class)
    if not policy.trusted:
        floor = floor or UNTRUSTED

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
        return Verdict("ask", f"{FLOOR}{floor}", permission_class)
    if permission == "ask" and policy.auto and policy.sandbox and policy.trusted:
        return Verdict("allow", f"{AUTO_RULE} in a sandbox ({rule})", permission_class)
    return Verdict(permission, rule, permission_class)


def _row(permission_class: PermissionClass, argv: tuple[str, ...] | None, policy: Policy) -> tuple[Permission, str]:
    """Return the strictest row that a command falls under: network and write are running, too."""
    rows: tuple[PermissionClass, ...] = (permission_class,)
    if permission_class in {"network", "write"}:
        rows = (permission_class, "run")
    elif permission_class == "git" and argv and subcommand(argv) in GIT_NETWORK:
        rows = ("git", "network")
    row = max(rows, key=lambda name: _STRICTNESS[policy.table[name]])
    return policy.table[row], f"table: {row} = {policy.table[row]}"


def needs_network(request: PolicyRequest) -> bool:
    """Whether a command is one that its class says is for the network. A text for a shell never is."""
    try:
        argv = analysed(request)[0]
    except MalformedError:
        return False
    return argv is not None and (
        classify(argv) == "network" or (classify(argv) == "git" and subcommand(argv) in GIT_NETWORK)
    )


# ------------------------------------------------------------------ patterns


def _patterns(policy: Policy) -> tuple[str, ...]:
    """Every allow pattern, those of `--allow` first."""
    return policy.unsandboxed + policy.allow


def _off(pattern: str, policy: Policy) -> str:
    """The floor that keeps an allow pattern from holding now, "" when none does."""
    options = options_of(pattern)
    if not policy.trusted and pattern != "ls":
        return UNTRUSTED
    runs_code = options is None or options.runs_code
    if runs_code and policy.unseen_edits and not policy.sandbox and pattern not in policy.unsandboxed:
        return "code nobody saw, and no sandbox"
    return ""


def may_hold(pattern: str, policy: Policy) -> bool:
    """Whether an allow pattern can hold here at all: none of a command does in a folder that is not trusted."""
    return path_of(pattern) is not None or _off(pattern, policy) != UNTRUSTED


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


def _may_start(words: tuple[str, ...], command: Command) -> bool:
    """Say whether a program that starts others is given the words of a deny pattern; git, whether it may be an alias."""
    argv = tuple(word.text for word in command)
    if base_name(argv[0]) == "git" and subcommand(argv) not in GIT_KNOWN | GIT_NETWORK | {""}:
        return True
    parts = [base_name(part) for part in given(argv)]
    return any(tuple(parts[at : at + len(words)]) == words for at in range(len(parts)))
