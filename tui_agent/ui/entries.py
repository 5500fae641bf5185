"""A story as entries that a person steps through: what belongs together, what copying gives, where words stand. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tui_agent.ui import proposal
from tui_agent.ui.blocks import Action, Block, Card, Note, Said, Thought
from tui_agent.ui.lines import Line
from tui_agent.ui.markdown import Prose, bare, is_code, parts, unmarked_source
from tui_agent.ui.story import Story


def entry(story: Story, index: int) -> range:
    """The blocks that one entry with block `index` is made of: a whole message, a text, a code block, or one action."""
    first, stop = index, index + 1
    while first > 0 and _joined(story, first):
        first -= 1
    while stop < len(story.blocks) and _joined(story, stop):
        stop += 1
    return range(first, stop)


def _joined(story: Story, index: int) -> bool:
    """Whether a block goes on with what the block above it began."""
    above, block = story.blocks[index - 1], story.blocks[index]
    if isinstance(block, Said):
        return not block.first
    if not (isinstance(block, Prose) and isinstance(above, Prose)):
        return False
    if block.mode.fence is not None:
        return True
    return not is_code(block) and not is_code(above) and story.message_at(index)[0] != index


def turn(blocks: Sequence[Block], index: int, by: int) -> int | None:
    """The next message of the person behind block `index`, or with `by` -1 before it."""
    steps = range(index + 1, len(blocks)) if by > 0 else range(index - 1, -1, -1)
    return next((at for at in steps if isinstance(block := blocks[at], Said) and block.first), None)


def messages(story: Story) -> list[tuple[int, int, str]]:
    """Every message of the person: its block, the number of its turn, and its text as it came."""
    return [
        (index, block.turn, story.message_at(index)[1])
        for index, block in enumerate(story.blocks)
        if isinstance(block, Said) and block.first
    ]


# ------------------------------------------------------------------ copying


def source(story: Story, index: int) -> str:
    """What an entry was made from, as it came: the Markdown of an answer, the difference of an edit, what a tool said.

    Nothing of the model's reasoning: it is not part of the answer.
    """
    block = story.blocks[index]
    match block:
        case Said():
            return story.message_at(index)[1]
        case Prose():
            return _part(story, index)
        case Action():
            difference = proposal.text(block.call) if block.call is not None else ""
            return difference or block.output or f"{block.verb} {block.object}"
        case Note():
            return "  ".join(filter(None, (block.label, block.text)))
        case Card():
            return "\n".join(filter(None, (block.title, block.cause, block.next)))
        case Thought():
            return ""


def message(story: Story, index: int) -> str:
    """The whole message or answer that an entry is a part of; other entries as `source` gives them."""
    return story.message_at(index)[1] if isinstance(story.blocks[index], Prose | Said) else source(story, index)


def code(story: Story, index: int) -> str:
    """The code block at an entry, else the next one of its answer, else the one before; of an action, what was asked."""
    block = story.blocks[index]
    if isinstance(block, Action):
        return block.object
    if not isinstance(block, Prose):
        return ""
    start = story.message_at(index)[0]
    found = [first for first in _entries(story, start) if is_code(story.blocks[first])]  # type: ignore[arg-type]
    here = entry(story, index).start
    at = next((first for first in found if first >= here), found[-1] if found else None)
    return "" if at is None else bare(_part(story, at))


def last_code(answer: str) -> str:
    """The last code block of an answer, without its fences."""
    return next((code for part in reversed(parts(answer)) if (code := bare(part)) != part), "")


def _part(story: Story, index: int) -> str:
    """The source of one entry of an answer."""
    start, text = story.message_at(index)
    here = entry(story, index).start
    number = sum(1 for first in _entries(story, start) if first < here)
    found = parts(text)
    return found[number] if number < len(found) else text


def _entries(story: Story, start: int) -> Iterator[int]:
    """Where the entries of the answer start that starts at block `start`."""
    index = start
    while index < len(story.blocks) and isinstance(story.blocks[index], Prose):
        if index > start and story.message_at(index)[0] != start:
            return
        yield index
        index = entry(story, index).stop


# ------------------------------------------------------------------ searching


@dataclass(frozen=True, slots=True)
class Search:
    """Words that are looked for, and where they stand: (block, how many of them stand before in this block)."""

    words: str
    places: tuple[tuple[int, int], ...] = ()
    at: int = 0

    @property
    def pattern(self) -> re.Pattern[str]:
        """Finds the words, in any case."""
        return pattern(self.words)

    @property
    def told(self) -> str:
        """Where the reader is, in words."""
        return f"{self.at + 1} of {len(self.places)}" if self.places else "not found"


def pattern(words: str) -> re.Pattern[str]:
    """Finds words as they are, in any case."""
    return re.compile(re.escape(words), re.IGNORECASE)


def search(blocks: Sequence[Block], words: str, near: int) -> Search:
    """Every place of the words; the reader is at the last one that does not stand behind block `near`."""
    wanted = pattern(words)
    places = tuple(
        (index, nth) for index, block in enumerate(blocks) for nth in range(len(wanted.findall(_text(block))))
    )
    at = max((number for number, (index, _) in enumerate(places) if index <= near), default=0)
    return Search(words, places, at)


def _text(block: Block) -> str:
    """What of a block is searched: all that it can show."""
    match block:
        case Prose(source=text) | Said(text=text):
            return unmarked_source(text)
        case Action():
            return "\n".join((f"{block.verb} {block.object}", *block.facts, block.word, block.reason, block.output))
        case Note():
            return f"{block.label}  {block.text}"
        case Card():
            return f"{block.title}\n{block.cause}\n{block.next}"
        case Thought():
            return block.text


def row_of(lines: Sequence[Line], wanted: re.Pattern[str], nth: int) -> int | None:
    """The row on which the `nth` place stands, the last one when fewer are shown, None when none is."""
    text, starts = "", []
    for line in lines:
        text += "\n" if line.joint is None else line.joint
        starts.append(len(text))
        text += line.text[line.gutter :]
    found = [match.start() for match in wanted.finditer(text)]
    if not found:
        return None
    at = found[min(nth, len(found) - 1)]
    return max(number for number, start in enumerate(starts) if start <= at)
