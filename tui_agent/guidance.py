"""What is made of the words that count (`words`): the end of the system prompt, a skill in force, a command filled in.

It is fixed when a session begins, so that the beginning of its requests stays the same; a change on the disk is told.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tui_agent.paths import Paths
from tui_agent.words import Words, of_folder, of_person

BUDGET = 32 * 1024
"""Characters of all instructions together, and of the list of skills a quarter of that."""
LOCAL = BUDGET // 4
"""Characters of the instructions of one folder inside that are sent."""
LEAST = 200
"""Characters below which a piece of a file is of no use."""

NOT_YET = "which goes on with what was read then. /new asks for what changed and reads it"
_INSTRUCTIONS = (
    "Standing instructions for this work, of the person and of this project; the later go before the earlier, and what "
    "the person says in a message goes before all of them. They allow nothing that is refused."
)
_SKILLS = (
    "Skills, each with what it is for. Before work that one fits, read it with read_skill and follow it; read no other:"
)
_LOCAL = (
    "Standing instructions of this project for its folder {folder}, beside those above; for work in there they go before "
    "them. They allow nothing that is refused."
)
_IN_FORCE = "The person puts this skill in force: it guides your work from here to the end of the session."


@dataclass(frozen=True, slots=True)
class Guidance:
    """The words of one session. Of two with the same name the later one counts."""

    words: tuple[Words, ...] = ()

    def _named(self, kind: str) -> dict[str, Words]:
        return {one.name: one for one in self.words if one.kind == kind}

    @property
    def skills(self) -> tuple[Words, ...]:
        """The skills that can be called, by name."""
        return tuple(one for _, one in sorted(self._named("skill").items()))

    @property
    def offered(self) -> tuple[Words, ...]:
        """The skills that the model is told of."""
        return tuple(one for one in self.skills if not one.flag("disable-model-invocation", default=False))

    @property
    def callable(self) -> tuple[Words, ...]:
        """The commands and skills that the person can call by `/name`, by name. A command goes before a skill."""
        skills = {name: one for name, one in self._named("skill").items() if one.flag("user-invocable", default=True)}
        return tuple(one for _, one in sorted({**skills, **self._named("command")}.items()))

    @property
    def shadowed(self) -> tuple[Words, ...]:
        """The skills in whose place another of the same name counts."""
        named = self._named("skill")
        return tuple(one for one in self.words if one.kind == "skill" and named[one.name] is not one)

    def find(self, word: str) -> Words | None:
        """What `/word` calls; `skill:name` is always the skill."""
        if word.startswith("skill:"):
            return next((one for one in self.skills if one.name == word.removeprefix("skill:")), None)
        return next((one for one in self.callable if one.name.lower() == word.lower()), None)

    def mentioned(self, text: str) -> tuple[Words, ...]:
        """The skills that a message names in its middle as `/name` or `/skill:name`, each once."""
        known = {one.name: one for one in self.skills if one.flag("user-invocable", default=True)}
        return tuple(known[name] for name in dict.fromkeys(_MENTION.findall(text)) if name in known)

    def local(self, paths: Iterable[str]) -> tuple[Words, ...]:
        """The instructions of the folders inside in which one of these paths lies, the outermost first."""
        touched = [f"{path}/" for path in paths]
        found = [one for one in self.words if one.below and any(p.startswith(f"{one.below}/") for p in touched)]
        return tuple(sorted(found, key=lambda one: one.below.count("/")))

    def instructions(self, budget: int = BUDGET) -> tuple[str, tuple[str, ...]]:
        """The instructions of the system prompt within so many characters, and what was cut, as sentences.

        The nearest file has the first claim on the budget.
        """
        parts: list[str] = []
        remarks: list[str] = []
        for one in reversed([one for one in self.words if one.kind == "instructions" and one.text and not one.below]):
            text, whole = one.text, len(one.text)
            if whole > budget:
                text = f"{text[:budget]}\n[cut here]" if budget >= LEAST else ""
                remarks.append(
                    f"Of the {whole:,} characters of {one.path} {min(whole, budget) if text else 0:,} are sent: "
                    "all instructions together take no more room"
                )
            budget -= min(whole, budget)
            if text:
                name = one.path if not one.own else "the person's own"
                parts.append(f'<instructions from="{name}">\n{text}\n</instructions>')
        return "\n\n".join([_INSTRUCTIONS, *reversed(parts)]) if parts else "", tuple(remarks)

    def listing(self, budget: int = BUDGET // 4) -> str:
        """The skills for the system prompt: names and descriptions, shortened to so many characters in all."""
        skills = self.offered
        if not skills:
            return ""
        room = max(40, budget // len(skills))
        lines = [f"- {one.name}: {_short(one.description, room - len(one.name) - 4)}" for one in skills]
        kept: list[str] = []
        for line in lines:
            budget -= len(line) + 1
            if budget < 0:
                kept.append(f"[{len(lines) - len(kept)} more; the person can name them]")
                break
            kept.append(line)
        return "\n".join([_SKILLS, *kept])

    def system(self, budget: int, *, skills: bool) -> str:
        """What the system prompt ends with; `skills`: the model has a tool to read them."""
        texts = (self.instructions(budget)[0], self.listing(budget // 4) if skills else "")
        return "\n\n".join(filter(None, texts))


def _short(text: str, length: int) -> str:
    return text if len(text) <= max(length, 1) else f"{text[: max(length, 2) - 1].rstrip()}…"


def in_force(skill: Words) -> str:
    """What the model is told when the person calls a skill."""
    return f'{_IN_FORCE}\n\n<skill name="{skill.name}">\n{skill.text}\n</skill>'


def for_folder(one: Words) -> str:
    """What the model is told when something in the folder of these instructions is touched."""
    text = one.text if len(one.text) <= LOCAL else f"{one.text[:LOCAL]}\n[cut here]"
    return f'{_LOCAL.format(folder=one.below)}\n\n<instructions from="{one.path}">\n{text}\n</instructions>'


_MENTION = re.compile(r"(?<!\S)/(?:skill:)?([A-Za-z0-9](?:[\w.-]*\w)?)(?=[\s.,;:!?)]|$)")
_PLACE = re.compile(r"\$(ARGUMENTS|@|\d)")


def asks_for_more(words: Words) -> bool:
    """Whether it is a command with places for arguments."""
    return words.kind == "command" and bool(_PLACE.search(words.text))


def filled(command: Words, arguments: str) -> str:
    """The message that a command stands for: `$ARGUMENTS` and `$1` to `$9` replaced, the last of those takes the rest.

    A command without such places has the arguments behind it.
    """
    text = command.text
    numbers = [int(m[1]) for m in _PLACE.finditer(text) if m[1].isdecimal()]
    words = arguments.split(maxsplit=max(numbers) - 1) if numbers and max(numbers) > 0 else []

    def put(match: re.Match[str]) -> str:
        if not match[1].isdecimal():
            return arguments
        at = int(match[1])
        return words[at - 1] if 0 < at <= len(words) else "" if at else match[0]

    out = _PLACE.sub(put, text)
    return out if _PLACE.search(text) or not arguments else f"{out}\n\n{arguments}"


class Standing:
    """The guidance of one session as it began, and what became of it since.

    `accepted` are the words of the folder `root` that count; `watched`: the folder may be looked into again.
    """

    def __init__(self, root: Path, paths: Paths, accepted: tuple[Words, ...], *, watched: bool) -> None:
        self.guidance = Guidance((*of_person(paths), *accepted))
        self._root, self._watched = root, watched
        self._known = _digests(of_folder(root)) if watched else {}
        self._budget: int | None = None
        self._said: set[str] = set()

    def anew(self) -> None:
        """Another model answers from here on: the room is counted by its window."""
        self._budget = None

    def system(self, window: int | None, *, skills: bool) -> str:
        """What the system prompt ends with, the same until another model answers. `window` in tokens.

        The instructions have at most a quarter of it.
        """
        self._budget = self._budget or min(BUDGET, window or BUDGET)
        return self.guidance.system(self._budget, skills=skills)

    def remarks(self, window: int | None) -> tuple[str, ...]:
        """What of the instructions is not sent or is other on the disk than it was, each said once. Blocks on the disk."""
        out = list(self.guidance.instructions(self._budget or min(BUDGET, window or BUDGET))[1])
        if changed := self._changed():
            out.append(f"{', '.join(changed)}: changed since this session began, {NOT_YET}")
        new = tuple(remark for remark in out if remark not in self._said)
        self._said |= set(new)
        return new

    def _changed(self) -> tuple[str, ...]:
        if not self._watched:
            return ()
        now = _digests(of_folder(self._root))
        before, self._known = self._known, now
        return tuple(sorted(path for path in {**before, **now} if before.get(path) != now.get(path)))


def _digests(words: Iterable[Words]) -> dict[str, str]:
    return {one.path: one.digest for one in words}
