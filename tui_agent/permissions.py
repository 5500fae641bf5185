"""The rules of one session: where each comes from, what it allowed last, and those that the person adds or takes back.

A rule that is added holds for the session, or for this folder: then it stands in `rules.toml` in the person's data
folder, by real path. Never in the project, never in their configuration.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from tui_agent.config import write_private
from tui_agent.core import events as ev
from tui_agent.core.disk import ordinary
from tui_agent.core.patterns import AlwaysRule, always_rules, path_of, pattern_fault
from tui_agent.core.policy import AUTO_RULE, DEFAULT, ROWS, Policy
from tui_agent.core.shell import split
from tui_agent.core.types import AgentError, Permission, PolicyRequest
from tui_agent.workspace import git

Scope: TypeAlias = Literal["session", "folder"]
Kind: TypeAlias = Literal["allow", "unsandboxed"]
"""What a pattern of a folder gives: it is not asked about, or it runs outside of the sandbox."""
_WRITES = {"write": "write_file", "read": "read_file"}
"""The tool that stands for a class of paths in an example."""
Source: TypeAlias = Literal["session", "folder", "mode", "built in", "config", "flag"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule as it is listed. `text` is a pattern of commands, or the name of a row of the table.

    `last` is what it decided last in this session, `count` how often. `unsandboxed`: it says where the command runs,
    not whether.
    """

    permission: Permission
    text: str
    source: Source
    last: str = ""
    count: int = 0
    row: bool = False
    unsandboxed: bool = False

    @property
    def removable(self) -> bool:
        """Whether the person added it here and may take it back here."""
        return self.source in {"session", "folder"}

    @property
    def fixed(self) -> str:
        """Why one that is not removable is not, and what changes it."""
        if self.source == "mode":
            return "it ends with the mode"
        return "it ends with this run" if self.source == "flag" else "it is changed in your configuration, not here"


@dataclass(frozen=True, slots=True)
class RuleStore:
    """The file of the rules by folder. One that is damaged reads as "no rules"."""

    file: Path

    def look(self, root: Path, kind: Kind = "allow") -> tuple[str, ...]:
        """The patterns of a folder that can be patterns; an unsandboxed one may be any command, word by word."""
        entry = self._load().get(os.path.realpath(root))
        patterns = entry.get(kind) if isinstance(entry, dict) else None
        if not isinstance(patterns, list):
            return ()
        return tuple(p for p in patterns if (isinstance(p, str) if kind == "unsandboxed" else not pattern_fault(p)))

    def save(self, root: Path, patterns: Iterable[str], kind: Kind = "allow") -> None:
        """Replace the patterns of a folder.

        Raises:
            AgentError: they could not be saved; the file is as it was.
        """
        import tomli_w  # noqa: PLC0415 - only an answer writes

        rules = self._load()
        place = os.path.realpath(root)
        rules[place] = {**rules.get(place, {}), kind: list(patterns)}
        try:
            write_private(self.file, tomli_w.dumps({"folders": {k: v for k, v in rules.items() if any(v.values())}}))
        except OSError as error:
            raise AgentError(f"the rule could not be saved in {self.file}: {error.strerror}") from error

    def _load(self) -> dict[str, Any]:
        try:
            folders = tomllib.loads(ordinary(self.file).decode()).get("folders")
        except (OSError, ValueError):
            return {}
        return {k: v for k, v in folders.items() if isinstance(v, dict)} if isinstance(folders, dict) else {}


def offered(text: str) -> tuple[AlwaysRule, ...]:
    """The rules that allow what the person typed, the narrowest first: a command, or a pattern for a path.

    Raises:
        AgentError: there can be none for it.
    """
    if (parts := path_of(text)) is not None:
        if fault := pattern_fault(text):
            raise AgentError(f"{text!r} {fault}")
        kind, path = parts
        call = f"{_WRITES.get(kind, kind)} {path}"
        inside = f"{call}any-file" if path.endswith("/") else call
        return (AlwaysRule(text, inside, f"{call.removesuffix('/')}.other"),)
    if rules := always_rules(PolicyRequest("run_command", "run", command=text)):
        return rules
    raise AgentError(
        f"there can be no rule for {text!r}: shells, interpreters, wrappers, package managers, the network, "
        "programs that write and programs by their path are asked each time"
    )


@dataclass(slots=True)
class Rules:
    """The allow patterns that the person added for this session or this folder; `changed` hears of each change.

    `unsandboxed` are the commands that run outside of the sandbox in this folder, as words joined for a shell. `check`
    gives the words of the person's check.
    """

    root: Path
    store: RuleStore
    changed: Callable[[], None] = lambda: None
    check: Callable[[], tuple[str, ...] | None] = lambda: None
    session: tuple[str, ...] = ()
    folder: tuple[str, ...] = field(init=False)
    unsandboxed: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.folder = self.store.look(self.root)
        self.unsandboxed = self.store.look(self.root, "unsandboxed")

    def add(self, pattern: str, scope: Scope = "session") -> None:
        """Allow what matches from now on.

        Raises:
            AgentError: it is no pattern, or it could not be saved.
        """
        if fault := pattern_fault(pattern):
            raise AgentError(f"{pattern!r} {fault}")
        if scope == "session":
            self.session = (*dict.fromkeys((*self.session, pattern)),)
        else:
            self._keep((*dict.fromkeys((*self.store.look(self.root), pattern)),))
        self.changed()

    def free(self, argv: tuple[str, ...]) -> bool:
        """Whether the person wants exactly this command outside of the sandbox."""
        return shlex.join(argv) in self.unsandboxed

    def set_free(self, command: str) -> tuple[str, ...]:
        """Run exactly this command outside of the sandbox in this folder from now on; gives the words that will run.

        Raises:
            AgentError: it is neither the check nor what a rule can be for, or it could not be saved.
        """
        argv = self._freed(command)
        there = self.store.look(self.root, "unsandboxed")
        self._keep((*dict.fromkeys((*there, shlex.join(argv))),), "unsandboxed")
        self.changed()
        return argv

    def how_to_free(self, argv: tuple[str, ...]) -> str:
        """What the person types to let a command run outside of the sandbox always, "" when it must be asked each time."""
        command = shlex.join(argv)
        with contextlib.suppress(AgentError):
            if self._freed(command) == argv:
                return f"/allow-cmd --unsandboxed {command}"
        return ""

    def _freed(self, command: str) -> tuple[str, ...]:
        check = self.check()
        if check is not None and command == shlex.join(check):
            return check
        if not always_rules(PolicyRequest("run_command", "run", command=command)):
            raise AgentError(f"{command!r} is asked about each time it should run outside of the sandbox")
        return git.argv(split(command))

    def remove(self, rule: Rule) -> None:
        """Ask again for what this rule allowed, or confine it again; one that is not there any more is no fault.

        Raises:
            AgentError: it was not added for the session or the folder, or that could not be saved.
        """
        if not rule.removable:
            raise AgentError(f"{rule.text} is {rule.source}: {rule.fixed}")
        if rule.source == "session":
            self.session = tuple(p for p in self.session if p != rule.text)
        else:
            kind: Kind = "unsandboxed" if rule.unsandboxed else "allow"
            self._keep(tuple(p for p in self.store.look(self.root, kind) if p != rule.text), kind)
        self.changed()

    def _keep(self, patterns: tuple[str, ...], kind: Kind = "allow") -> None:
        self.store.save(self.root, patterns, kind)
        if kind == "allow":
            self.folder = patterns
        else:
            self.unsandboxed = patterns

    def over(self, policy: Policy) -> Policy:
        """The policy with these rules in it, and with what another window has added or taken back in this folder."""
        self.folder, self.unsandboxed = self.store.look(self.root), self.store.look(self.root, "unsandboxed")
        return replace(policy, allow=(*dict.fromkeys((*policy.allow, *self.folder, *self.session)),))


def listed(policy: Policy, rules: Rules, events: Iterable[ev.Durable | ev.Unknown], today: Policy) -> tuple[Rule, ...]:
    """Every rule in force, those of the person's own hand first.

    `policy` is the person's, without `rules`; `today` what the present mode makes of it.
    """
    used: dict[str, list[str]] = {}
    for event in events:
        if isinstance(event, ev.ToolDone | ev.CheckDone) and event.receipt is not None:
            summary = event.summary if isinstance(event, ev.ToolDone) else f"check  {shlex.join(event.argv)}"
            by = AUTO_RULE if event.receipt.by.startswith(AUTO_RULE) else event.receipt.by
            used.setdefault(by, []).append(summary)
            if event.receipt.sandbox == "none" and (argv := event.receipt.arguments.get("argv")):
                used.setdefault(_freed(shlex.join(git.argv(argv))), []).append(summary)

    def rule(permission: Permission, text: str, source: Source, decided: str, **more: bool) -> Rule:
        times = used.get(decided, [])
        return Rule(permission, text, source, times[-1] if times else "", len(times), **more)

    def allow(text: str, source: Source) -> Rule:
        return rule("allow", text, source, f"allow pattern: {text}")

    found = [rule("allow", "what asks, in the sandbox", "mode", AUTO_RULE)] if today.auto else []
    found += [allow(p, "session") for p in rules.session]
    found += [allow(p, "folder") for p in rules.folder]
    found += [rule("allow", p, "folder", _freed(p), unsandboxed=True) for p in rules.unsandboxed]
    found += [rule("deny", p, "config", f"deny pattern: {p}") for p in policy.deny]
    found += [allow(p, "flag") for p in policy.unsandboxed]
    found += [allow(p, "built in" if p in DEFAULT.allow else "config") for p in policy.allow]
    for row in ROWS:
        now, own = today.table[row], policy.table[row]
        source: Source = "mode" if now != own else "built in" if own == DEFAULT.table[row] else "config"
        found.append(rule(now, row, source, f"table: {row} = {now}", row=True))
    return tuple(found)


def _freed(command: str) -> str:
    """What `used` counts a run outside of the sandbox under."""
    return f"unsandboxed: {command}"
