"""Blocks to rows: what each kind of transcript entry looks like at a width. Pure; styles are names.

Three text levels, one accent, and green or red only on a word or a sign that says the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import singledispatch
from itertools import pairwise

from rich.cells import cell_len, set_cell_size

from tui_agent.ui import proposal
from tui_agent.ui.blocks import Action, Block, Card, Note, Said, Thought
from tui_agent.ui.lines import Line, Piece, shown, sourced, unmarked, width_of, wrap
from tui_agent.ui.markdown import CONTINUED, Prose, draw
from tui_agent.ui.numbers import amount
from tui_agent.ui.selection import copied

NARROW = 50
"""Below this many columns the gutter of everything but the person's words is dropped."""

MEASURE = 100
"""Results are right-aligned at this column at most: the eye does not travel over a wide screen."""

EXCERPT = 400
"""Characters of a line of output that are shown until details are unfolded."""

OBJECT_ROWS = 3
"""Rows of an action's object; longer ones are cut until details are unfolded."""


def gutter_of(width: int) -> str:
    """The furniture at the left of a row."""
    return "" if width < NARROW else "  "


def gap_between(above: Block | None, below: Block) -> bool:
    """Whether a blank row separates two blocks: actions stand together, so do the parts of one text."""
    if above is None:
        return False
    match above, below:
        case (Prose(), Prose()) | (Action(), Action()) | (Note(), Note()):
            return False
        case _, Said(first=False):
            return False
        case _:
            return True


def foldable(block: Block) -> bool:
    """Whether a block has more to show than it shows at first."""
    return bool((isinstance(block, Thought) and block.text) or (isinstance(block, Action) and block.output.strip()))


def estimate(block: Block, width: int) -> int:
    """A guess at the rows of a block, without drawing it."""
    match block:
        case Prose(source=text) | Said(text=text):
            return text.count("\n") + 1 + len(text) // (width + width // 2)
        case Action(excerpt=excerpt, output=output):
            return 1 + (min(excerpt, output.count("\n") + 1) if output else 0)
        case Card():
            return 3
        case _:
            return 1


def raw(block: Prose, width: int) -> list[Line]:
    """The rows of a part of an answer as it was written."""
    gutter = gutter_of(width)
    lines = [Line()] * block.mode.blank
    for source in block.source.rstrip("\n").split("\n"):
        text = source.removeprefix(CONTINUED)
        first, *more = wrap(unmarked(text.expandtabs(4), ""), width, gutter)
        lines += sourced([first._replace(joint=None if text == source else ""), *more], source)
    return lines


def cut(lines: Sequence[Line], width: int, left: int = 0) -> list[Line]:
    """The rows with each line of the text on one of them, from its character `left` on; signs where there is more of it.

    Copied whole.
    """
    whole: list[Line] = []
    starts = [number for number, line in enumerate(lines) if number == 0 or line.joint in {None, "\n"}]
    for start, stop in pairwise([*starts, len(lines)]):
        first, *more = lines[start:stop]
        if more or left:
            gutter, body = _parted(first)
            for line in more:
                body += [(line.joint or "", ""), *_parted(line)[1]]
            seen = _from(body, left)
            if left and seen:
                seen = [("…", "dim"), *_from(seen, 1)]
            if width_of([*gutter, *seen]) > width:
                room = width - 1 - width_of(gutter)
                seen = [*_fitting(seen, room), ("…", "dim")]
            first = first._replace(pieces=(*gutter, *seen), source=copied([first, *more]))
        whole.append(first)
    return whole


def _parted(line: Line) -> tuple[list[Piece], list[Piece]]:
    """The furniture of a row, and what is text."""
    text = "".join(piece[0] for piece in line.pieces)
    return _fitting([*line.pieces], width_of([(text[: line.gutter], "")])), _from(line.pieces, line.gutter)


def _from(pieces: Iterable[Piece], start: int) -> list[Piece]:
    """What stands behind the first characters."""
    out = []
    for text, style in pieces:
        if text[start:]:
            out.append((text[start:], style))
        start = max(0, start - len(text))
    return out


def _fitting(pieces: Iterable[Piece], room: int) -> list[Piece]:
    """As much of the beginning as these cells hold."""
    out = []
    for text, style in pieces:
        cells = cell_len(text)
        if room > 0 and text:
            out.append((text if cells <= room else set_cell_size(text, room), style))
        room -= cells
    return out


def with_keys(block: Block, say: Callable[[str], str]) -> Block:
    """The block with the person's keys in the place of actions."""
    match block:
        case Card(keys=keys) if keys:
            return replace(block, keys=tuple(filter(None, map(say, keys))))
        case Action(how=how) if how:
            return replace(block, facts=(*block.facts, *filter(None, (say(how),))), how="")
    return block


@singledispatch
def rows(block: Block, width: int, full: bool) -> list[Line]:
    """All rows of a block, at least one. `full` unfolds details."""
    raise TypeError(f"no rows for {type(block).__name__}")


@rows.register
def _prose(block: Prose, width: int, full: bool) -> list[Line]:
    return draw(block, width) or [Line()]


@rows.register
def _said(block: Said, width: int, full: bool) -> list[Line]:
    lines: list[Line] = []
    for source in block.text.split("\n"):
        sign = "› " if block.first and not lines else "  "
        lines += wrap(unmarked(source, "said"), width, sign, "  ")
    return lines


@rows.register
def _thought(block: Thought, width: int, full: bool) -> list[Line]:
    verb = "thinking" if block.live else "thought"
    lines = wrap([(f"{verb} {amount(block.size)} chars", "dim")], width, gutter_of(width))
    if full:
        hang = gutter_of(width) + "  "
        lines += [line for source in block.text.strip().split("\n") for line in wrap(shown(source, "dim"), width, hang)]
    return lines


@rows.register
def _note(block: Note, width: int, full: bool) -> list[Line]:
    gutter = gutter_of(width)
    lines: list[Line] = []
    for source in block.text.strip().split("\n"):
        pieces = shown(source, "dim" if block.label else block.style)
        if block.label and not lines:
            label = shown(block.label, block.style if block.style != "dim" else "dim")
            pieces = [*label, *([("  ", ""), *pieces] if pieces else [])]
        lines += wrap(pieces, width, gutter)
    return lines


@rows.register
def _card(block: Card, width: int, full: bool) -> list[Line]:
    bar = f"{gutter_of(width)}▌ "
    lines = wrap(shown(block.title, "fail"), width, bar)
    for text, style in ((block.cause, ""), (block.next, "strong")):
        for source in text.strip().split("\n") if text.strip() else []:
            lines += wrap(shown(source, style), width, bar)
    for row in _packed(block.keys, width - len(bar)):
        lines += wrap(shown(row, "dim"), width, bar)
    return [_barred(line) for line in lines]


def _packed(items: Sequence[str], width: int) -> list[str]:
    """Items in as few rows as they fill, none cut in two."""
    packed: list[str] = []
    for item in items:
        if packed and len(packed[-1]) + 3 + len(item) <= width:
            packed[-1] += f"   {item}"
        else:
            packed.append(item)
    return packed


def _barred(line: Line) -> Line:
    """The bar of a card is red; so is its title, in words."""
    return line._replace(pieces=((line.pieces[0][0], "fail"), *line.pieces[1:]))


@rows.register
def _action(block: Action, width: int, full: bool) -> list[Line]:
    gutter, column = gutter_of(width), 7 if width >= NARROW else 5
    verb = shown(block.verb, "verb")
    verb.append((" " * max(1, column - width_of(verb)), ""))
    hang = gutter + " " * column
    first, *more = block.object.split("\n")
    lines = wrap([*verb, *shown(first if full else block.object, context="action")], width, gutter, hang)
    if len(lines) > OBJECT_ROWS and not full:
        *head, last = lines[:OBJECT_ROWS]
        lines = [*head, last._replace(pieces=(*last.pieces[:-1], (last.pieces[-1][0][:-2] + " …", last.pieces[-1][1])))]
    lines = _beside(lines, block, width, hang)
    if full:
        lines += [line for source in more for line in wrap(shown(source, context="action"), width, hang)]
    if block.reason:
        lines += wrap(shown(block.reason, "strong"), width, hang)
    lines += _output(block, width, hang, full)
    return [*lines, *proposal.lines(block.call, width, hang)] if full and block.call is not None else lines


def _beside(lines: list[Line], block: Action, width: int, hang: str) -> list[Line]:
    """Facts and word right-aligned on the last row where there is room, else below, word first: never cut."""
    parts = [shown(fact, "dim") for fact in block.facts]
    word: list[list[Piece]] = [[(block.word, block.style)]] if block.word else []
    if not (parts or word):
        return lines
    result = _spaced([*parts, *word])
    used, needed = width_of(lines[-1].pieces), width_of(result)
    edge = min(width, max(MEASURE, used + 2 + needed))
    if used + 2 + needed > edge:
        return lines + wrap(_spaced([*word, *parts]), width, hang)
    *head, last = lines
    space = " " * (edge - used - needed)
    row = last._replace(pieces=(*last.pieces, (space, ""), *result))
    # copied without the space that only puts the result to the right
    short = Line((*last.pieces[bool(last.gutter) :], ("  ", ""), *result)).text
    return [*head, row] if head else sourced([row], short)


def _spaced(parts: list[list[Piece]]) -> list[Piece]:
    """The parts, two blanks apart."""
    return [piece for number, part in enumerate(parts) for piece in ([("  ", "")] if number else []) + part]


def _output(block: Action, width: int, hang: str, full: bool) -> list[Line]:
    """The lines below an action, and how many are not shown."""
    if not (full or block.excerpt) or not block.output.strip():
        return []
    output = block.output.replace("\r\n", "\n").strip("\n").split("\n")
    if full:
        return [line for source in output for line in wrap(shown(source), width, hang, words=block.sentences)]
    part = output[-block.excerpt :] if block.tail else output[: block.excerpt]
    lines = [line for source in part for line in wrap(_shortened(source), width, hang, words=block.sentences)]
    hidden = len(output) - len(part)
    if not hidden or block.live:
        return lines
    more = wrap([(f"… {hidden} more line{'s' if hidden != 1 else ''}", "dim")], width, hang)
    return more + lines if block.tail else lines + more


def _shortened(source: str) -> list[Piece]:
    """A line of output, at most `EXCERPT` characters of it."""
    return shown(source) if len(source) <= EXCERPT else [*shown(source[:EXCERPT]), (" …", "dim")]
