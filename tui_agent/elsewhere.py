"""What stands behind the tools that look up what is no file of the folder: skills, and the web while search is on."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tui_agent.core.address import origin
from tui_agent.core.disk import beginning
from tui_agent.core.lookup import Lookup
from tui_agent.core.types import AgentError, Outcome
from tui_agent.guidance import Guidance
from tui_agent.providers.web import Reach, endpoint, fetch, ready, search, told_hits, told_page
from tui_agent.tools.lookups import READ_OUTPUT, READ_SKILL, WEB_FETCH, WEB_SEARCH
from tui_agent.words import Words

DEFAULT_ENGINE = "ddg"
MAX_PART = 100_000
"""Bytes of a file of a skill that are read."""


@dataclass(slots=True)
class Beyond:
    """Implements `tools.lookups.Elsewhere` for one session. `searching`: the person has turned search on, by `engine`."""

    guidance: Guidance
    reach: Reach = field(default_factory=Reach)
    engine: str = DEFAULT_ENGINE
    searching: bool = False
    intents: Literal["auto", "words", "model", "off"] = "auto"
    """What decides the intent of a message, see `routing`."""
    kept_out: bool = False
    """The message is about the folder only, so that the model has no web for it."""
    apart: bool = False
    """The person's own question is looked up."""

    @property
    def names(self) -> frozenset[str]:
        """The tools that are offered now."""
        web = {WEB_SEARCH, WEB_FETCH} if self.apart or (self.searching and not self.kept_out) else set()
        return frozenset(web | {READ_OUTPUT} | ({READ_SKILL} if self.guidance.offered else set()))

    def search_by(self, engine: str) -> None:
        """Turn search on with this engine, or off with "".

        Raises:
            AgentError: it cannot be asked.
        """
        if engine:
            ready(engine, self.reach)
            self.engine = engine
        self.searching = bool(engine)

    def where(self, effect: Lookup) -> str:
        """Whom it would be asked of; a skill is on this machine."""
        if effect.source == "skill":
            return ""
        return f"asks {origin(endpoint(self.engine, self.reach) if effect.source == 'search' else effect.text)}"

    async def carry_out(self, effect: Lookup) -> Outcome:
        """Look it up."""
        if effect.source == "skill":
            return await asyncio.to_thread(self._skill, effect.text, effect.part)
        try:
            if effect.source == "page":
                page = await fetch(effect.text, self.reach)
                return Outcome("applied", told_page(page), note=f"{len(page.text):,} characters")
            hits = await search(effect.text, self.engine, self.reach)
        except AgentError as error:
            return Outcome("error", f"error: {error}", note="failed")
        return Outcome(
            "applied", told_hits(effect.text, self.engine, hits), note=f"{len(hits)} result{'s' * (len(hits) != 1)}"
        )

    def _skill(self, name: str, part: str) -> Outcome:
        skill = next((one for one in self.guidance.offered if one.name == name), None)
        if skill is None:
            known = ", ".join(one.name for one in self.guidance.offered)
            return Outcome("error", f"error: there is no skill {name}; there are: {known}", note="no such skill")
        if not part:
            return Outcome("applied", skill.text, note=f"{len(skill.text.splitlines())} lines")
        data = part_of(skill, part)
        if data is None:
            text = f"error: the skill {name} has no text file {part}"
            return Outcome("error", text, note="no such file")
        return Outcome("applied", data, note=f"{len(data.splitlines())} lines")


def part_of(skill: Words, part: str) -> str | None:
    """The text of another file in the folder of a skill; None when there is none in it. Hidden files and links out of it do not count."""
    folder = Path(os.path.realpath(skill.file.parent))
    file = Path(os.path.realpath(folder / part))
    hidden = any(name.startswith(".") for name in Path(part).parts)
    data = beginning(file, MAX_PART) if folder in file.parents and not hidden else None
    if data is None or b"\0" in data:
        return None
    text = data.decode("utf-8", "replace")
    return text if len(data) < MAX_PART else f"{text}\n[cut here]"
