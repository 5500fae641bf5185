"""The requests of one question and what has been answered so far: pure, the dialog only shows it.

Questions may be answered in any order; the decisions come out in the order of the requests. What was built
on a request that was refused, edited or taken in part is not asked any more.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TypeAlias

from tui_agent.core.types import NO_BASE, Answer, ApprovalRequest, Decision, WriteBytes
from tui_agent.tools.registry import summary

Decisions: TypeAlias = tuple[Decision, ...]


@dataclass(slots=True)
class Batch:
    """The requests of one question. `at` is the one that is being shown.

    `void` are the words that went with a yes to a request that was built on one that was not taken after all, by its id.
    `own` are those whose text the person edited.
    """

    requests: tuple[ApprovalRequest, ...]
    at: int = 0
    void: dict[str, str] = field(default_factory=dict)
    own: set[str] = field(default_factory=set)
    _given: dict[str, Decision] = field(default_factory=dict)
    _edited: dict[str, ApprovalRequest] = field(default_factory=dict)
    _edits: int = 0

    @property
    def request(self) -> ApprovalRequest:
        """The request that is being asked, as the person left it."""
        return self.present[self.at]

    @property
    def present(self) -> tuple[ApprovalRequest, ...]:
        """All requests as the person left them."""
        return tuple(self._edited.get(request.id, request) for request in self.requests)

    @property
    def open(self) -> tuple[int, ...]:
        """Which requests are not decided, from 0."""
        return tuple(n for n, request in enumerate(self.requests) if request.id not in self._given)

    @property
    def done(self) -> bool:
        """Whether every request is decided."""
        return not self.open

    @property
    def decisions(self) -> Decisions:
        """The decisions so far, in the order of the requests."""
        return tuple(self._given[request.id] for request in self.requests if request.id in self._given)

    def move(self, step: int) -> bool:
        """Go to the next (1) or previous (-1) request that is not decided, round the end; False when there is no other."""
        others = [n for n in self.open if n != self.at]
        if not others:
            return False
        ahead = [n for n in others if (n - self.at) * step > 0] or others
        self.at = ahead[0] if step > 0 else ahead[-1]
        return True

    def instead(self, effect: WriteBytes, *, edited: bool = False) -> None:
        """Another change of the same file takes the place of the present request: a new one with an id of its own.

        The person edited its text (`edited`), or the file had changed since it was shown. It is not yet answered.
        """
        old = self.request
        if not isinstance(old.effect, WriteBytes) or old.effect.path != effect.path:
            raise TypeError("only another change of the same file can take the place of one")
        self._edits += 1
        name = self.requests[self.at].id
        self.own |= {name} if edited else set()
        self._edited[name] = replace(old, id=f"{name}.edited{self._edits}", effect=effect, summary=summary(effect))

    def decide(
        self,
        answer: Answer,
        reason: str = "",
        chosen: Collection[int] | None = None,
        allowed: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Answer the present request and go on to the next one that is open. `chosen`: its hunks, None for all.

        `allowed` are open requests that need no answer any more, each with the rule that allows it.
        """
        request = self.requests[self.at]
        yes = answer == "yes"
        hunks = frozenset(chosen) if yes and chosen is not None else None
        instead = self._edited.get(request.id) if yes else None
        self._given[request.id] = Decision(request.id, answer, reason, chosen=hunks, instead=instead)
        self._given |= {name: Decision(name, "yes", by=rule) for name, rule in allowed.items()}
        missing: set[str] = set()
        for later in self.requests:
            given = self._given.get(later.id)
            if missing & set(later.depends_on) and (given is None or given.answer == "yes"):
                if given is not None and given.by == "key":
                    self.void[later.id] = given.reason
                given = self._given[later.id] = Decision(later.id, "skip", NO_BASE, by="rule")
            if given is not None and (given.answer != "yes" or given.chosen is not None or given.instead is not None):
                missing.add(later.id)
        if not self.done:
            self.move(1)

    def stop(self, by: str) -> None:
        """Stop: all that is not decided gets this answer."""
        for n in self.open:
            name = self.requests[n].id
            self._given[name] = Decision(name, "stop", by=by)
