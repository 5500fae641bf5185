"""Stand-in until branch `policy` is merged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tui_agent.core.types import Permission, PolicyRequest, Verdict


@dataclass(frozen=True, slots=True)
class Policy:
    """Stand-in."""

    table: Mapping[str, Permission] = field(default_factory=dict)
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    interactive: bool = True
    trusted: bool = True
    cli_yes: bool = False


DEFAULT = Policy({"read": "allow", "search": "allow", "write": "ask", "run": "ask", "none": "allow", "shell": "ask"})


def decide(request: PolicyRequest, policy: Policy) -> Verdict:
    """Stand-in."""
    answer: Permission = policy.table.get(request.permission, "deny")
    rule = f"{request.permission} = {answer}"
    if request.floors and answer == "allow":
        answer, rule = "ask", request.floors[0]
    return Verdict(answer, rule, request.permission)
