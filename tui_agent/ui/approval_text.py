"""The lines around the view of the approval dialog: reason, summary, warnings, what was seen, keys.

Pure functions on a sheet; every outside text passes the sanitiser.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from textual.content import Content

from tui_agent.core.display import Shown, sanitise
from tui_agent.core.patterns import AlwaysRule
from tui_agent.core.types import Answer, WriteBytes
from tui_agent.review import Note
from tui_agent.ui.approval_frame import Room
from tui_agent.ui.diff_view import DiffView
from tui_agent.ui.keymap import USUAL, Keymap
from tui_agent.ui.sheet import Sheet
from tui_agent.ui.subject import Subject, may_approve, must_see_end
from tui_agent.ui.wrap_view import WrapView

_DIM = "dim"
_WARNING = "$text-warning"
_ALL_KEYS = "{dialog.help} all keys"
_ESCAPE = "bold reverse $text-warning"
_WARNS = {
    "bidi": "text that changes direction",
    "combining": "stacked marks",
    "control": "control characters",
    "edge-space": "blanks at an end",
    "invalid": "bytes that are no text",
    "invisible": "invisible characters",
    "line-endings": "line endings",
    "long": "very long",
    "mixed-script": "letters of mixed scripts",
    "multi-line": "several lines",
    "non-ascii-space": "unusual blanks",
    "padding": "blanks that push text away",
    "userinfo": "a user name in the address",
    "whitespace-only": "only white space differs",
}

SHORT = 68
"""Below this many columns the status line has room for one hint."""
NARROW = 48
"""Below this many cells only what cannot be done without is written."""


@dataclass(frozen=True, slots=True)
class Around:
    """What the lines depend on beside the sheet.

    `after` runs after applying, `whole` tells of all edits of the question. `asking` is what the field is open for;
    `armed`: keys count. `others`: more requests wait. `first`: the person never was asked before. `dead` tells of a key that
    does nothing here.
    """

    after: str = ""
    first: bool = False
    whole: str = ""
    asking: Answer | Note | None = None
    armed: bool = True
    others: bool = False
    keys: Keymap = USUAL
    dead: str = ""


def texts(sheet: Sheet, around: Around, room: Room) -> dict[str, list[Content]]:
    """The lines of every text part of the dialog."""
    view, asked, request, width = sheet.view, sheet.subject, sheet.request, room.width
    if around.asking is not None:
        keys = field_lines(around.asking, width)
    elif sheet.choosing is not None:
        keys = rule_lines(sheet.rules, sheet.choosing, around, asked.yes, width)
    else:
        keys = key_lines(sheet, around, width, room.key_rows)
    reasons = (request.caution, *request.policy.floors)
    return {
        "reason": reason_lines(request.reason, width, room=2 if room.rows >= 24 else 1),
        "summary": summary_lines(asked, view, request.where, width, around.whole),
        "warnings": warning_lines(reasons, (view.warns - asked.expected) | asked.what.warns, width),
        "info": info_lines(sheet, around, width),
        "keys": keys,
    }


def footer(sheet: Sheet, asking: Answer | Note | None, room: Room, *, armed: bool, too_small: bool) -> tuple[str, ...]:
    """What works now, for the status line, by its actions; where there is little room, only where all keys are told."""
    if too_small and asking in {None, "yes"}:
        return small(asking)
    if asking is not None:
        if isinstance(asking, Note):
            return "Enter keeps the note", "Esc back"
        return "Enter sends", f"empty: without a {'note' if asking == 'yes' else 'reason'}", "Esc back"
    if not armed:
        return "wait…", "keys go to your text"
    if sheet.choosing is not None:
        return "{dialog.yes} {dialog.folder} keep this rule", "Esc back"
    if room.columns < SHORT:
        return (_ALL_KEYS,)
    if sheet.fresh is not None:
        return "the file changed meanwhile", _ALL_KEYS, "{dialog.no} {dialog.skip} work", "{dialog.yes} looks again"
    return "{dialog.yes} {dialog.no} {dialog.skip} work now", _ALL_KEYS, "Enter does nothing", "PgUp PgDn scroll"


def small(asking: Answer | Note | None, how: str = "") -> tuple[str, ...]:
    """That nothing can be approved in so little room, `how` it could, and what Escape does."""
    told = ": ".join(filter(None, ("too small to approve", how)))
    return told, "Esc no and stop" if asking is None else "Esc back"


def one_line(text: str) -> Shown:
    """An outside text on one line."""
    return sanitise(" ".join(text.split()), "text")


def styled(shown: Shown, style: str = "") -> Content:
    """A sanitised text; what stands for something else looks different."""
    return Content.assemble(*((span.text, style if span.style == "plain" else _ESCAPE) for span in shown.spans))


def flow(parts: list[Content], width: int, gap: str = "   ") -> list[Content]:
    """Set parts in lines of at most `width` cells; a part that is longer continues on the next line."""
    lines: list[Content] = []
    for part in filter(None, parts):
        if lines and lines[-1].cell_length + len(gap) + part.cell_length <= width:
            lines[-1] = Content.assemble(lines[-1], gap, part)
            continue
        lines += part.fold(width) if part.cell_length > width else [part]
    return lines


def seen_line(view: WrapView, *, again: bool, own: Keymap = USUAL) -> str:
    """What of a request has been on screen, in words; `own` are the keys of the person."""
    unseen = view.total - view.seen
    if not view.complete:
        return "comparing…"
    if isinstance(view, DiffView) and view.chosen == frozenset():
        return own.say("nothing is taken: {dialog.no} says no")
    if isinstance(view, DiffView) and view.base == view.new:
        return own.say("nothing is changed: {dialog.no} says no")
    if again and unseen:
        return f"{own.way('dialog.yes')} again: {unseen:,} of {view.total:,} not seen"
    if not view.counts:
        return "" if must_see_end(view) else f"{view.total:,} changed line{'s' * (view.total != 1)}"
    if must_see_end(view) and not view.end_seen:
        cut = "" if view.wraps else own.say("; {dialog.wrap} shows lines that are cut")
        return f"PgDn to see the end{cut}"
    if not view.total:
        return ""
    lines = "line" if view.total == 1 else "lines"
    if not unseen:
        return f"all {view.total:,} changed {lines} shown" if view.total > 1 else "the changed line is shown"
    return f"{view.seen:,} of {view.total:,} changed {lines} seen"


def reason_lines(reason: str, width: int, *, room: int) -> list[Content]:
    """What the model said it wants, in at most `room` lines."""
    if not reason.strip():
        return []
    lines = Content.assemble(("model: ", _DIM), styled(one_line(reason), _DIM)).wrap(width)
    if len(lines) <= room:
        return lines
    return [*lines[: room - 1], Content.assemble(lines[room - 1][: width - 1], "…")]


def summary_lines(asked: Subject, view: WrapView, where: str, width: int, whole: str = "") -> list[Content]:
    """What will happen to what: for a diff with the counts of the whole change and the position in it.

    `whole` tells of the other changes of the same question.
    """
    parts = [Content.styled(asked.verb, _DIM), styled(asked.what, "bold")]
    if isinstance(view, DiffView):
        more = "" if view.complete else "…"
        counts = (f"+{view.added:,}{more}", "$text-success"), " ", (f"-{view.removed:,}{more}", "$text-error")
        parts.append(Content.assemble(*counts) if not view.binary else Content(""))
        if view.has_lines:
            parts.append(Content.styled(f"hunk {view.hunk}/{len(view.hunks)}{more}", _DIM))
        parts.append(Content.styled(view.ending, _DIM))
        if view.chosen is not None:
            parts.append(Content.styled(f"takes {len(view.chosen)} of {len(view.hunks)} hunks", _WARNING))
        if width >= NARROW or view.looks.sides != "auto":
            parts.append(Content.styled(view.layout_words, _DIM))
    else:
        parts += [*Content.styled(asked.facts, _DIM).wrap(width), styled(one_line(where), _DIM)]
    return flow([*parts, Content.styled(whole, _DIM)], width)


def warning_lines(reasons: Iterable[str], warns: Iterable[str], width: int) -> list[Content]:
    """Why to look closely: reasons of the mechanism ("" is none), then what the sanitiser found."""
    parts = [line for reason in reasons if reason for line in styled(one_line(reason), _WARNING).wrap(width)]
    parts += [Content.styled(_WARNS.get(name, name), _WARNING) for name in sorted(warns)]
    return flow([Content.styled("look closely:", _WARNING), *parts], width) if parts else []


def info_lines(sheet: Sheet, around: Around, width: int) -> list[Content]:
    """What was on screen, a word about the last key or the file, and what runs after applying."""
    own, writes = around.keys, isinstance(sheet.request.effect, WriteBytes)
    stale = styled(one_line(stale_words(sheet)), _WARNING).wrap(width) if sheet.fresh is not None else []
    parts = [Content.styled(said, _WARNING) for said in (around.dead, sheet.said) if said]
    parts.append(Content.styled(seen_line(sheet.view, again=sheet.again, own=own), _WARNING if sheet.again else _DIM))
    if count := len(sheet.notes.items):
        parts.append(Content.styled(f"notes {count}: they go with your answer", _DIM))
    if around.first:
        yes = own.shown("dialog", "y")
        parts.append(Content.styled(f"Nothing is {'written' if writes else 'done'} until you press {yes}.", _DIM))
    if around.after and writes:
        parts.append(styled(one_line(f"after applying: {around.after}"), _DIM))
    missed = sheet.request.missed and f"asked because {sheet.request.missed}"
    again = styled(one_line(missed), _DIM).wrap(width) if missed else []
    return [*stale, *flow(parts, width), *again]  # the last gives way first where there is no room


def stale_words(sheet: Sheet) -> str:
    """What of a file is not any more as it was shown."""
    changed, fresh, effect = "the file changed on disk since this was shown", sheet.fresh, sheet.request.effect
    if isinstance(fresh, str):
        return f"{changed}, and this change cannot be made on it: {fresh}"
    if not isinstance(fresh, WriteBytes) or not isinstance(effect, WriteBytes):
        return changed
    if fresh.base == effect.base:
        return f"{changed}: not its text, but its permissions or its folder"
    gone, came = fresh.base is None, effect.base is None
    return (
        "the file is gone since this was shown"
        if gone
        else "a file came there since this was shown"
        if came
        else changed
    )


def keys_line(keys: Iterable[tuple[str, str]], width: int, *, dead: str = "", own: Keymap = USUAL) -> list[Content]:
    """Keys of the table with what they do, as the person has them; one that does not work now is dim."""
    bright = "bold $text-accent"
    parts = [
        Content.assemble((name, _DIM if key == dead else bright), f" {label}")
        for key, label in keys
        if (name := " ".join(filter(None, (own.shown("dialog", part) for part in key.split(" ")))))
    ]
    return flow(parts, width)


def key_lines(sheet: Sheet, around: Around, width: int, room: int) -> list[Content]:
    """The keys that work now, in at most `room` lines, the answers in any case; blank while the dialog is deaf."""
    narrow, yes = width < NARROW, sheet.subject.yes if sheet.fresh is None else "look again"
    answers = [("y", yes), ("n", "no…" if narrow else "no, say why"), ("s", "skip"), ("Esc", "no and stop")]
    if isinstance(sheet.fresh, WriteBytes):
        answers.insert(0, ("r", "show the new change"))
    dead = "" if may_approve(sheet.view) else "y"
    more = extra_keys(sheet, around, narrow=narrow)
    lines = keys_line([*answers, *more], width, dead=dead, own=around.keys)
    while more and len(lines) > max(room, len(keys_line(answers, width, own=around.keys))):
        more.pop()
        lines = keys_line([*answers, *more], width, dead=dead, own=around.keys)
    return lines if around.armed else deaf(lines)


def deaf(lines: list[Content]) -> list[Content]:
    """As many lines, but nothing works yet."""
    return [Content.styled("wait…", _DIM), *[Content("")] * (len(lines) - 1)]


def extra_keys(sheet: Sheet, around: Around, *, narrow: bool) -> list[tuple[str, str]]:
    """The keys that are no answers, the most useful first."""
    keys, diff = [], sheet.diff
    if diff is not None and (diff.cursor_hunk or diff.left_out):
        keys.append(("Space", "take hunk" if diff.cursor_hunk in diff.left_out else "leave out hunk"))
    if diff is not None and len(diff.hunks) > 1:
        keys.append(("] [", "hunk"))
    if sheet.view.max_scroll_y:
        keys.append(("PgDn", "more") if narrow else ("PgUp PgDn", "scroll"))
    if around.others:
        keys.append(("< >", "other"))
    if sheet.rules:
        keys.append(("a", "allow…"))
    if sheet.fresh is None:
        keys.append(("Y", f"{sheet.subject.yes} + note"))
    if sheet.about is not None:
        keys.append(("m", "note on line"))
    if "e" in sheet.errands:
        keys.append(("e", "edit first"))
    if sheet.about is None and sheet.takes("m"):
        keys.append(("m", "note"))
    if diff is not None and diff.layout_words:
        keys.append(("v", "layout"))
    if not narrow:
        keys.append(("z", "full"))
    if diff is not None and diff.folds:
        keys.append(("x", "unchanged"))
    if "o" in sheet.errands and sheet.view.max_scroll_y and not narrow:
        keys.append(("o", "pager"))
    if diff is not None:
        keys.append(("w", "no wrap" if diff.looks.wraps else "wrap"))
    return keys


def rule_lines(
    rules: tuple[AlwaysRule, ...], chosen: AlwaysRule, around: Around, yes: str, width: int
) -> list[Content]:
    """The rules that can be kept, each with a command that it matches and one that it does not; the keys that keep one.

    Where there is little room only the chosen one is shown.
    """
    lines: list[Content] = []
    for rule in rules if width >= NARROW else (chosen,):
        mark = ("› " if rule == chosen else "  ") if len(rules) > 1 else ""
        style = "bold" if rule == chosen else ""
        named = {
            f"{mark}allow without asking:": rule.pattern,
            "it matches:": rule.matches,
            "it does not match:": rule.refuses,
        }
        parts = [
            Content.assemble((label, _DIM), " ", styled(sanitise(text, "text"), style)) for label, text in named.items()
        ]
        lines += flow(parts, width)
    keys = [("y", f"in this session, and {yes}"), ("f", f"in this folder, later too, and {yes}"), ("Esc", "back")]
    if len(rules) > 1:
        keys.insert(0, ("a", "the other rule"))
    found = keys_line(keys, width, own=around.keys)
    return lines + (found if around.armed else deaf(found))


def field_lines(asking: Answer | Note, width: int) -> list[Content]:
    """The keys of the field for a reason or a note."""
    if isinstance(asking, Note):
        return keys_line([("Enter", f"keep the note on line {asking.line}, empty: none"), ("Esc", "back")], width)
    word = {"no": "no, with this reason or none", "skip": "skip, with this reason or none"}
    return keys_line([("Enter", word.get(asking, "yes, with this note")), ("Esc", "back")], width)
