"""An approval request in words: title, summary, warnings, keys, and the view that shows all of it.

Pure functions on what will be executed; every outside text passes the sanitiser.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from textual.content import Content

from tui_agent.core.display import Shown, sanitise
from tui_agent.core.types import (
    Answer,
    Effect,
    ListFiles,
    ReadFile,
    RunArgv,
    RunScript,
    SearchText,
    SetPlan,
    WriteBytes,
)
from tui_agent.ui.diff_view import DiffView
from tui_agent.ui.looks import Looks
from tui_agent.ui.wrap_view import TextView, WrapView
from tui_agent.workspace import git

_DIM = "dim"
_WARNING = "$text-warning"
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


NARROW = 48
"""Below this many cells only what cannot be done without is written."""

NOTHING = Shown(())


@dataclass(frozen=True, slots=True)
class Subject:
    """A request in the dialog's words. `what` is sanitised, the rest is our own text."""

    title: str
    verb: str
    yes: str
    what: Shown = NOTHING
    facts: str = ""
    expected: frozenset[str] = frozenset()
    """Marks of the sanitiser that say nothing here."""


def subject(effect: Effect) -> Subject:
    """Describe what an effect will do."""
    match effect:
        case WriteBytes(path=path, base=base, new=new):
            what = sanitise(path, "path")
            if base is None:
                return Subject("Create this file?", "create", "apply", what)
            if new is None:
                return Subject("Delete this file?", "delete", "delete", what)
            return Subject("Apply this edit?", "edit", "apply", what)
        case RunArgv(argv=argv, timeout=timeout):
            how = f"no shell · {git.FACT}" if git.is_git(argv) else "no shell"
            return Subject(
                "Run this command?",
                "run",
                "run",
                facts=f"{how} · at most {timeout:g} s",
                expected=frozenset({"long"}),
            )
        case RunScript(timeout=timeout):
            facts = f"by /bin/sh · at most {timeout:g} s"
            return Subject(
                "Run this shell script?", "shell", "run", facts=facts, expected=frozenset({"multi-line", "long"})
            )
        case ReadFile():
            return Subject("Read this file?", "read", "allow")
        case ListFiles():
            return Subject("List this folder?", "list", "allow")
        case SearchText(path=path):
            return Subject("Search here?", "search", "allow", sanitise(path, "path"))
        case SetPlan():
            return Subject("Accept this plan?", "plan", "accept")
    raise TypeError(f"no dialog for {effect!r}")


def body(effect: Effect, looks: Looks | None = None) -> WrapView:
    """The view that shows all of an effect."""
    match effect:
        case WriteBytes(path=path, base=base, new=new):
            return DiffView(base, new, path=path, looks=looks)
        case RunArgv(argv=argv):
            return TextView(sanitise(argv, "argv"))
        case RunScript(script=script):
            return TextView(sanitise(script, "command"), "one")
        case SearchText(text=text):
            return TextView(sanitise(text, "text"))
        case SetPlan(items=items):
            return TextView(sanitise("\n".join(f"{status}: {text}" for status, text in items), "text"))
        case ReadFile(path=path) | ListFiles(path=path):
            return TextView(sanitise(path, "path"))
    raise TypeError(f"no dialog for {effect!r}")


def may_approve(view: WrapView) -> bool:
    """Whether enough was on screen, and enough is taken, for `y` to mean anything."""
    if isinstance(view, DiffView) and view.chosen == frozenset():
        return False
    return view.complete and (view.end_seen or not must_see_end(view))


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


def seen_line(view: WrapView, *, again: bool) -> str:
    """What of a request has been on screen, in words."""
    unseen = view.total - view.seen
    if not view.complete:
        return "comparing…"
    if isinstance(view, DiffView) and view.chosen == frozenset():
        return "nothing is taken: n says no"
    if again and unseen:
        return f"y again: {unseen:,} of {view.total:,} not seen"
    if must_see_end(view) and not view.end_seen:
        return "PgDn to see the end"
    if not view.total:
        return ""
    lines = "line" if view.total == 1 else "lines"
    if not unseen:
        return f"all {view.total:,} changed {lines} shown" if view.total > 1 else "the changed line is shown"
    return f"{view.seen:,} of {view.total:,} changed {lines} seen"


def must_see_end(view: WrapView) -> bool:
    """Whether `y` waits until the end was on screen: for all but plain diffs."""
    return view.full_view or not isinstance(view, DiffView)


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
        parts.append(Content.assemble(*counts))
        if view.hunks:
            parts.append(Content.styled(f"hunk {view.hunk}/{len(view.hunks)}{more}", _DIM))
        if view.chosen is not None:
            parts.append(Content.styled(f"takes {len(view.chosen)} of {len(view.hunks)} hunks", _WARNING))
        if width >= NARROW or view.looks.sides != "auto":
            parts.append(Content.styled(view.layout_words, _DIM))
    else:
        parts += [Content.styled(asked.facts, _DIM), styled(one_line(where), _DIM)]
    return flow([*parts, Content.styled(whole, _DIM)], width)


def warning_lines(reasons: Iterable[str], warns: Iterable[str], width: int) -> list[Content]:
    """Why to look closely: reasons of the mechanism ("" is none), then what the sanitiser found."""
    parts = [styled(one_line(reason), _WARNING) for reason in reasons if reason]
    parts += [Content.styled(_WARNS.get(name, name), _WARNING) for name in sorted(warns)]
    return flow([Content.styled("look closely:", _WARNING), *parts], width) if parts else []


def info_lines(view: WrapView, after: str, width: int, *, again: bool, said: str = "") -> list[Content]:
    """What was on screen, and what runs after applying; `said` is a word about the last key."""
    parts = [Content.styled(said, _WARNING)] if said else []
    parts += [Content.styled(seen_line(view, again=again), _WARNING if again else _DIM)]
    if after:
        parts.append(styled(one_line(f"after applying: {after}"), _DIM))
    return flow(parts, width)


def keys_line(keys: Iterable[tuple[str, str]], width: int, *, dead: str = "") -> list[Content]:
    """Keys with what they do; one that does not work now is dim."""
    bright = "bold $text-accent"
    parts = [Content.assemble((key, _DIM if key == dead else bright), f" {label}") for key, label in keys]
    return flow(parts, width)


@dataclass(frozen=True, slots=True)
class Offer:
    """What can be done beside answering: `others`: more requests wait; `edits`: the text can be edited."""

    others: bool = False
    edits: bool = False


def key_lines(
    view: WrapView, yes: str, width: int, *, armed: bool, offer: Offer | None = None, room: int = 9
) -> list[Content]:
    """The keys that work now, in at most `room` lines, the answers in any case; blank while the dialog is deaf."""
    narrow = width < NARROW
    answers = [("y", yes), ("n", "no…" if narrow else "no, say why"), ("s", "skip"), ("Esc", "no and stop")]
    dead = "" if may_approve(view) else "y"
    more = extra_keys(view, offer or Offer(), yes, narrow=narrow)
    lines = keys_line([*answers, *more], width, dead=dead)
    while more and len(lines) > max(room, len(keys_line(answers, width))):
        more.pop()
        lines = keys_line([*answers, *more], width, dead=dead)
    return lines if armed else [Content.styled("wait…", _DIM), *[Content("")] * (len(lines) - 1)]


def extra_keys(view: WrapView, offer: Offer, yes: str, *, narrow: bool) -> list[tuple[str, str]]:
    """The keys that are no answers, the most useful first."""
    keys = []
    diff = view if isinstance(view, DiffView) else None
    if diff is not None and (diff.cursor_hunk or diff.left_out):
        keys.append(("Space", "take hunk" if diff.cursor_hunk in diff.left_out else "leave out hunk"))
    if diff is not None and len(diff.hunks) > 1:
        keys.append(("] [", "hunk"))
    if view.max_scroll_y:
        keys.append(("PgDn", "more") if narrow else ("PgUp PgDn", "scroll"))
    if offer.others:
        keys.append(("< >", "other"))
    keys.append(("Y", f"{yes} + note"))
    if offer.edits:
        keys.append(("e", "edit first"))
    if diff is not None and diff.layout_words:
        keys.append(("v", "layout"))
    if not narrow:
        keys.append(("z", "full"))
    if diff is not None:
        keys.append(("w", "no wrap" if diff.looks.wraps else "wrap"))
    return keys


def field_lines(answer: Answer, width: int) -> list[Content]:
    """The keys of the field for a reason or a note."""
    word = {"no": "no, with this reason or none", "skip": "skip, with this reason or none"}
    return keys_line([("Enter", word.get(answer, "yes, with this note")), ("Esc", "back")], width)
