"""The rules of one session: where each comes from, what it allowed last, and those that the person adds or takes back.

A rule that is added holds for the session, or for this folder: then it stands in `rules.toml` in the person's data
folder, by real path. Never in the project, never in their configuration.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from tui_agent.config import write_private
from tui_agent.core import events as ev
from tui_agent.core.policy import DEFAULT, ROWS, AlwaysRule, Policy, always_rule, pattern_fault
from tui_agent.core.types import AgentError, Permission, PolicyRequest

Scope: TypeAlias = Literal["session", "folder"]
Source: TypeAlias = Literal["session", "folder", "built in", "config", "flag"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule as it is listed. `text` is a pattern of commands, or the name of a row of the table.

    `last` is what it decided last in this session, `count` how often.
    """

    permission: Permission
    text: str
    source: Source
    last: str = ""
    count: int = 0
    row: bool = False

    @property
    def removable(self) -> bool:
        """Whether the person added it here and may take it back here."""
        return self.source in {"session", "folder"}


@dataclass(frozen=True, slots=True)
class RuleStore:
    """The file of the rules by folder. One that is damaged reads as "no rules"."""

    file: Path

    def look(self, root: Path) -> tuple[str, ...]:
        """The patterns of a folder that can be patterns."""
        entry = self._load().get(os.path.realpath(root))
        patterns = entry.get("allow") if isinstance(entry, dict) else None
        return tuple(p for p in patterns if not pattern_fault(p)) if isinstance(patterns, list) else ()

    def save(self, root: Path, patterns: Iterable[str]) -> None:
        """Replace the patterns of a folder.

        Raises:
            AgentError: they could not be saved; the file is as it was.
        """
        import tomli_w  # noqa: PLC0415 - only an answer writes

        rules = {**self._load(), os.path.realpath(root): {"allow": list(patterns)}}
        try:
            write_private(self.file, tomli_w.dumps({"folders": {k: v for k, v in rules.items() if v.get("allow")}}))
        except OSError as error:
            raise AgentError(f"the rule could not be saved in {self.file}: {error.strerror}") from error

    def _load(self) -> dict[str, Any]:
        try:
            folders = tomllib.loads(self.file.read_text(encoding="utf-8")).get("folders")
        except (OSError, ValueError):
            return {}
        return {k: v for k, v in folders.items() if isinstance(v, dict)} if isinstance(folders, dict) else {}


def offered(command: str) -> AlwaysRule:
    """The rule that allows a command the person typed.

    Raises:
        AgentError: there can be none for it.
    """
    rule = always_rule(PolicyRequest("run_command", "run", command=command))
    if rule is None:
        raise AgentError(
            f"there can be no rule for {command!r}: shells, interpreters, wrappers, package managers, the network, "
            "programs that write and programs by their path are asked each time"
        )
    return rule


@dataclass(slots=True)
class Rules:
    """The allow patterns that the person added for this session or this folder; `changed` hears of each change."""

    root: Path
    store: RuleStore
    changed: Callable[[], None] = lambda: None
    session: tuple[str, ...] = ()
    folder: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.folder = self.store.look(self.root)

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

    def remove(self, rule: Rule) -> None:
        """Ask again for what this rule allowed; one that is not there any more is no fault.

        Raises:
            AgentError: it was not added for the session or the folder, or that could not be saved.
        """
        if not rule.removable:
            raise AgentError(f"{rule.text} is {rule.source}: it is changed in your configuration, not here")
        if rule.source == "session":
            self.session = tuple(p for p in self.session if p != rule.text)
        else:
            self._keep(tuple(p for p in self.store.look(self.root) if p != rule.text))
        self.changed()

    def _keep(self, patterns: tuple[str, ...]) -> None:
        self.store.save(self.root, patterns)
        self.folder = patterns

    def over(self, policy: Policy) -> Policy:
        """The policy with these rules in it."""
        return replace(policy, allow=(*dict.fromkeys((*policy.allow, *self.folder, *self.session)),))


def listed(policy: Policy, rules: Rules, events: Iterable[ev.Durable | ev.Unknown]) -> tuple[Rule, ...]:
    """Every rule in force, those of the person's own hand first; `policy` is the one without `rules`."""
    used: dict[str, list[str]] = {}
    for event in events:
        if isinstance(event, ev.ToolDone) and event.receipt is not None:
            used.setdefault(event.receipt.by, []).append(event.summary)

    def rule(permission: Permission, text: str, source: Source, decided: str, *, row: bool = False) -> Rule:
        times = used.get(decided, [])
        return Rule(permission, text, source, times[-1] if times else "", len(times), row)

    def allow(text: str, source: Source) -> Rule:
        return rule("allow", text, source, f"allow pattern: {text}")

    found = [allow(p, "session") for p in rules.session]
    found += [allow(p, "folder") for p in rules.folder]
    found += [rule("deny", p, "config", f"deny pattern: {p}") for p in policy.deny]
    found += [allow(p, "flag") for p in policy.unsandboxed]
    found += [allow(p, "built in" if p in DEFAULT.allow else "config") for p in policy.allow]
    for row in ROWS:
        source: Source = "built in" if policy.table[row] == DEFAULT.table[row] else "config"
        found.append(rule(policy.table[row], row, source, f"table: {row} = {policy.table[row]}", row=True))
    return tuple(found)
