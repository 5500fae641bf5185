"""Which descriptions of tools the person takes as they are: a hash for each, kept by server.

At the first sight of a server its tools count as they are: the person has named it, or trusted the file that does. From then
on one that is new or whose description or schema has changed is off until they take it, with its difference shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tui_agent.answers import AnswerFile
from tui_agent.core.types import AgentError
from tui_agent.mcp.said import Offer
from tui_agent.workspace.receipts import Blobs


@dataclass(frozen=True, slots=True)
class Pins:
    """The answers in `file`, and copies of what was taken beside it."""

    file: Path

    @property
    def _answers(self) -> AnswerFile:
        return AnswerFile(self.file, "servers")

    @property
    def _copies(self) -> Blobs:
        return Blobs(self.file.with_name("accepted"))

    def taken(self, key: Path, offers: Mapping[str, Offer]) -> frozenset[str]:
        """The names of the tools that count as they are now; those of a server that was never seen all do, and are kept.

        Raises:
            AgentError: the answers cannot be read or kept; then none counts.
        """
        if problem := self._answers.problem():
            raise AgentError(problem)
        known = self._answers.get(key)
        if known is None:
            self.take(key, offers.values())
            return frozenset(offers)
        return frozenset(name for name, offer in offers.items() if known.get(name) == offer.pin)

    def take(self, key: Path, offers: Iterable[Offer]) -> None:
        """Let these tools count as they are now. Raises `AgentError` when that cannot be kept."""
        known = dict(self._answers.get(key) or {})
        for offer in offers:
            self._copies.put(offer.data)  # for the difference, should it change; without one it is shown whole
            known[offer.name] = offer.pin
        self._answers.put(key, known)

    def before(self, key: Path, name: str) -> bytes | None:
        """The description of a tool as it was taken, for its difference; None when it is not known."""
        pin = (self._answers.get(key) or {}).get(name)
        return self._copies.get(pin) if isinstance(pin, str) and pin.isalnum() else None
