"""Reading something that is no file of the folder: a skill, the web, a long output of this session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Lookup:
    """Read from `source`: a skill by its name, the results of a search, a page by its address; `part` is a file of a skill."""

    source: Literal["skill", "search", "page"]
    text: str
    part: str = ""


@dataclass(frozen=True, slots=True)
class ReadOutput:
    """Read a part of an output that was too long to be told whole: `limit` bytes from the byte `start` on."""

    name: str
    start: int
    limit: int
