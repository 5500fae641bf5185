"""Blocks to rows: what each kind of transcript entry looks like at a width. Pure; styles are names.

Three text levels, one accent, and green or red only on a word or a sign that says the same.
"""

from __future__ import annotations

from functools import singledispatch

from tui_agent.ui.blocks import Action, Block, Card, Note, Said, Thought, amount
from tui_agent.ui.lines import Line, Piece, shown, unmarked, width_of, wrap
from tui_agent.ui.markdown import Prose, draw

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
    return wrap([(f"{verb} {amount(block.size)} chars", "dim")], width, gutter_of(width))


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
    return [_barred(line) for line in lines]


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
    lines = wrap([*verb, *shown(first if full else block.object)], width, gutter, hang)
    if len(lines) > OBJECT_ROWS and not full:
        *head, last = lines[:OBJECT_ROWS]
        lines = [*head, last._replace(pieces=(*last.pieces[:-1], (last.pieces[-1][0][:-2] + " …", last.pieces[-1][1])))]
    lines = _beside(lines, block, width, hang)
    if full:
        lines += [line for source in more for line in wrap(shown(source), width, hang)]
    if block.reason:
        lines += wrap(shown(block.reason, "strong"), width, hang)
    return lines + _output(block, width, hang, full)


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
    return [*head, last._replace(pieces=(*last.pieces, (space, ""), *result))]


def _spaced(parts: list[list[Piece]]) -> list[Piece]:
    """The parts, two blanks apart."""
    return [piece for number, part in enumerate(parts) for piece in ([("  ", "")] if number else []) + part]


def _output(block: Action, width: int, hang: str, full: bool) -> list[Line]:
    """The lines below an action, and how many are not shown."""
    if not (full or block.excerpt) or not block.output.strip():
        return []
    output = block.output.replace("\r\n", "\n").strip("\n").split("\n")
    if full:
        return [line for source in output for line in wrap(shown(source), width, hang, words=False)]
    part = output[-block.excerpt :] if block.tail else output[: block.excerpt]
    lines = [line for source in part for line in wrap(_shortened(source), width, hang, words=False)]
    hidden = len(output) - len(part)
    if not hidden or block.live:
        return lines
    more = wrap([(f"… {hidden} more line{'s' if hidden != 1 else ''}", "dim")], width, hang)
    return more + lines if block.tail else lines + more


def _shortened(source: str) -> list[Piece]:
    """A line of output, at most `EXCERPT` characters of it."""
    return shown(source) if len(source) <= EXCERPT else [*shown(source[:EXCERPT]), (" …", "dim")]
