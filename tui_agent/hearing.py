"""What the model is told beside what the person writes: skills in force, instructions of folders inside.

Each is told once, whole, and no summary takes its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from tui_agent.core import events as ev
from tui_agent.core.sent import sent
from tui_agent.core.standing import standing
from tui_agent.core.tail import paths_of
from tui_agent.guidance import LOCAL, Guidance, for_folder, in_force
from tui_agent.words import Words

Events = Sequence[ev.Durable | ev.Unknown]


def named(guidance: Guidance, events: Events, text: str) -> list[Words]:
    """The skills that a message names and that are not in force yet."""
    return [skill for skill in guidance.mentioned(text) if not guides(skill, events)]


def guides(skill: Words, events: Events) -> bool:
    """Whether a skill is in force: whole in what is sent."""
    return any(message.text == in_force(skill) for message in sent(events))


def put_in_force(skill: Words, number: int) -> list[ev.Durable]:
    """The events that make a skill guide the work from here on; `number` is that of the first of them in the log."""
    return _pinned(in_force(skill), f"skill {skill.name}, in force for the rest of this session", number)


def between(guidance: Guidance, events: Events, root: Path, said: Iterable[ev.Durable]) -> list[ev.Durable]:
    """What the model is to hear before its next step: instructions of folders that were touched, what the person `said`."""
    out: list[ev.Durable] = []
    for one in guidance.local(paths_of(events, root)):
        if not _heard(events, text := for_folder(one)):
            cut = f", the first {LOCAL:,} characters" if len(one.text) > LOCAL else ""
            out += _pinned(text, f"{one.path} counts from here on{cut}", len(events) + len(out))
    for word in said:
        for skill in named(guidance, events, word.text) if isinstance(word, ev.Steered) else ():
            out += put_in_force(skill, len(events) + len(out))
        out.append(word)
    return out


def _heard(events: Events, text: str) -> bool:
    """Whether the model was told this, in what still stands of the conversation."""
    return any(isinstance(event, ev.Notice) and event.text == text for event in standing(events))


def _pinned(text: str, said: str, number: int) -> list[ev.Durable]:
    """Events that tell the model something that stays whole, and the person that it was told."""
    return [ev.Notice(text, "model"), ev.Marked((number,), "pinned"), ev.Notice(said)]
