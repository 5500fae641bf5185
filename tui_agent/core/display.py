"""What an outside string looks like on the screen: the one sanitiser.

Every string from a model, a provider, a file, a tool, the environment or a directory name
passes through here before it reaches a widget, a title, a notification, a log line or a
terminal on stdout. Nothing is dropped and nothing acts: what a terminal would obey, hide or
reorder is written out as `<ESC>`, `<U+202E>` or `<300 spaces>`. The one exception is prose: a selector or a joiner
behind a picture or a letter that it belongs to is left out there, for all that it changes is how that looks.

What comes out is spans, not one string: an escape has a style of its own, so a file that
holds the eight letters `<U+202E>` cannot pass for one that holds the character. For a command
and for an argv the styled spans determine the input.

`sanitise` looks at a whole string in one of the `Context`s, `Sanitiser` at a stream, `plain`
and `label` give a `str` where styles cannot be drawn.

Tabs: in texts and diffs a tab is four blanks in the style `tab`, everywhere else `<TAB>`; no
tab reaches the terminal.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, TypeAlias, get_args

from tui_agent.core.characters import HIDDEN, SURE, cells, changes, escape, kind
from tui_agent.core.lookalikes import posing

Style: TypeAlias = Literal["plain", "escape", "tab", "note"]
"""plain: the input's own text; escape: stands for something else; tab: four blanks for a tab; note: said by the product."""

Context: TypeAlias = Literal[
    "action", "argv", "command", "diff", "diff_line", "path", "prose", "text", "title", "tool_name", "url"
]

Warn: TypeAlias = Literal[
    "bidi",
    "binary",
    "combining",
    "control",
    "edge-space",
    "invalid",
    "invisible",
    "line-endings",
    "long",
    "mixed-script",
    "mode",
    "multi-line",
    "non-ascii-space",
    "padding",
    "resolved",
    "userinfo",
    "whitespace-only",
]


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of text to be drawn in one style."""

    text: str
    style: Style = "plain"


@dataclass(frozen=True, slots=True)
class Shown:
    """One string, ready for the screen.

    `warns` are the marks to draw beside it. `full_view`: the approval key stays inactive until
    the end was on screen. `resolved` is the real target (already sanitised) that the spans name
    besides the request: the file behind a link, the host of a misleading URL.
    """

    spans: tuple[Span, ...]
    warns: frozenset[Warn] = frozenset()
    full_view: bool = False
    resolved: str | None = None

    @property
    def plain(self) -> str:
        """The text without styles; safe to print, but an escape can be imitated in it."""
        return _joined(self.spans)


@dataclass(frozen=True, slots=True)
class _Rules:
    """What one context does differently."""

    lines: bool = False  # newlines are real, else <LF>
    tabs: bool = False  # tabs are four blanks, else <TAB>
    blanks: int = 32  # a wider gap (in cells) is padding
    lookalikes: bool = True  # letters that pose as Latin ones are escaped
    name: bool = False  # it names one thing: strict about look-alikes, in quotes if a blank stands at an edge
    long: bool = True  # size matters
    joins: bool = False  # what only changes how the character before it is drawn is left out
    approve: bool = False  # the end must be seen, however harmless the text looks


_RULES: dict[Context, _Rules] = {
    "action": _Rules(long=False),  # what was done, on one line: it may be a command
    "argv": _Rules(approve=True),
    "command": _Rules(lines=True, approve=True),
    "diff": _Rules(lines=True, tabs=True, long=False),
    "diff_line": _Rules(tabs=True),
    "path": _Rules(name=True),
    # These answer nothing, and programs align their output in columns: only absurd gaps are cut.
    "prose": _Rules(lines=True, tabs=True, blanks=128, lookalikes=False, long=False, joins=True),
    "text": _Rules(lines=True, tabs=True, blanks=128, lookalikes=False, long=False),
    "title": _Rules(lookalikes=False),
    "tool_name": _Rules(name=True),
    "url": _Rules(name=True),
}
assert set(_RULES) == set(get_args(Context))

_WHITE = frozenset(" \t\n")
_TAB_CELLS = 4
_NEWLINES = 8  # more in a row are padding
_REPEATS = 32  # more of one escaped character are counted, not repeated
_MARKS = 8  # combining marks that one character may carry
_HOST_CHARS = 253  # a longer name is no host
_LONG_CHARS, _LONG_LINES = 1000, 24  # about what a dialog holds without scrolling

# ------------------------------------------------------------------ tokens

_TOKEN = re.compile(
    rf"(?P<plain>(?! )(?:[{SURE}]++| (?![ \t\n]|\Z))++)|(?P<space>[ \t\n]++)|(?P<same>(.)\4*+)", re.DOTALL
)
_BLANK_LINES = re.compile(rf"(?:\n *){{{_NEWLINES + 1}}}")

_Token: TypeAlias = tuple[str, str]
"""(group of `_TOKEN`, text)"""


def _ordinary(text: str, rules: _Rules) -> bool:
    """Tell, at the speed of C, that a text can be shown as it is. False may also mean "look closer"."""
    if not (text.replace("\n", "") if rules.lines else text).isprintable():
        return False
    if " " * (rules.blanks + 1) in text or _BLANK_LINES.search(text):
        return False
    if text.isascii():
        return True
    marks = {ord(char): "\u0301" for char in set(text) if kind(char) == "combining"}
    alike = "\n" + text.translate(marks) if marks else ""
    return not (HIDDEN.search(text) or "\n\u0301" in alike or "\u0301" * (_MARKS + 1) in alike)


def _tokens(text: str, rules: _Rules) -> Iterator[_Token]:
    """Cut a text into stretches that are ordinary, that are white, or that repeat one character."""
    if _ordinary(text, rules):
        body = text.strip(" \n")
        start = text.index(body) if body else len(text)
        cut = ("space", text[:start]), ("plain", body), ("space", text[start + len(body) :])
        yield from (token for token in cut if token[1])
    else:
        for match in _TOKEN.finditer(text):
            yield match.lastgroup or "", match[0]


def _letters(word: str) -> Iterator[_Token]:
    """Cut a word, which holds no white space, into its characters."""
    return (("same", char) for char in word)


class Sanitiser:
    """Make a stream safe piece by piece; each piece costs its own length only.

    What is returned for all pieces together is what the whole would give at once, however it was
    cut. A run of white space or of one escaped character is held back until it ends.
    """

    def __init__(self, context: Context = "text") -> None:
        self._rules = _RULES[context]
        self._run: list[str] = []  # the open run, in pieces
        self._marks = _MARKS  # marks on the last character; full where there is none to carry one
        self._last = ""  # the last character, if it was ordinary
        self._out: list[Span] = []
        self._warns: set[Warn] = set()

    @property
    def warns(self) -> frozenset[Warn]:
        """The warnings so far."""
        return frozenset(self._warns)

    def feed(self, chunk: str, foreign: frozenset[str] = frozenset()) -> tuple[Span, ...]:
        """Take the next piece and return what can be shown now; `foreign` letters are escaped as look-alikes.

        Raises:
            TypeError: the piece is no string.
        """
        _require_str(chunk)
        for group, text in _letters(chunk) if foreign else _tokens(chunk, self._rules):
            if group == "space":
                self._extend(text)
            elif group == "plain":
                self._plain(text)
            elif text[0] in foreign:
                self._extend(text, "mixed-script")
            else:
                self._same(text)
        return self._take()

    def finish(self) -> tuple[Span, ...]:
        """Return what was held back; the next `feed` begins a new text."""
        self._close()
        self._marks, self._last = _MARKS, ""
        return self._take()

    def _take(self) -> tuple[Span, ...]:
        spans, self._out = _merged(self._out), []
        return spans

    def _plain(self, text: str) -> None:
        self._close()
        self._out.append(Span(text))
        self._marks, self._last = 0, text[-1]
        while self._marks < len(text) and kind(text[-1 - self._marks]) == "combining":
            self._marks += 1

    def _same(self, text: str) -> None:
        sort = kind(text[0])
        if self._rules.joins and changes(text[0], self._last):
            self._last, text = text[0], text[1:]
        if not text:
            return
        if sort is None:
            self._plain(text)
        elif sort != "combining":
            self._extend(text, sort)
        else:
            self._close_unless(text[0])
            room = _MARKS - self._marks
            if text[:room]:
                self._out.append(Span(text[:room]))
                self._last = text[0]
            self._marks = min(_MARKS, self._marks + len(text))
            if text[room:]:
                self._extend(text[room:], sort)

    def _extend(self, text: str, warn: Warn | None = None) -> None:
        """Continue the open run, or begin the next one."""
        self._close_unless(text[0])
        self._run.append(text)
        self._last = ""
        if warn:
            self._warns.add(warn)

    def _close_unless(self, char: str) -> None:
        """End the open run if this character does not continue it: white space any, others only themselves."""
        if self._run and self._run[0][0] != char and not (char in _WHITE and self._run[0][0] in _WHITE):
            self._close()

    def _close(self) -> None:
        """End the open run: only now its length is known."""
        if not self._run:
            return
        run = "".join(self._run)
        self._run = []
        if run[0] in _WHITE:
            self._space(run)
        else:
            self._counted(run[0], len(run))
        self._marks = 0 if self._out[-1].style != "escape" and self._out[-1].text[-1] == " " else _MARKS

    def _counted(self, char: str, count: int) -> None:
        shown = f"{escape(char)}<{count - 1} more>" if count > _REPEATS else escape(char) * count
        self._out.append(Span(shown, "escape"))

    def _space(self, run: str) -> None:
        """Show white space; gaps that could push the rest out of sight are counted or made visible."""
        rules = self._rules
        if rules.lines and len(run) <= _NEWLINES and "\t" not in run:
            self._out.append(Span(run))
            return
        many = rules.lines and run.count("\n") > _NEWLINES
        wide = rules.tabs and "\t" in run and max(map(_gap, run.split("\n"))) > rules.blanks
        self._warns |= {"padding"} if many or wide else set()
        for char, same in groupby(run):
            count = len(list(same))
            span = Span(escape(char) * count, "escape")
            if char == "\n" and not rules.lines:
                self._warns.add("control")
            if char == "\n" and count > _NEWLINES:
                span = self._padding(f"\n<{count - 1} blank lines>\n" if rules.lines else f"<{count} newlines>")
            elif char == "\t" and count * _TAB_CELLS > rules.blanks:
                span = self._padding(f"<{count} tabs>")
            elif char == " " and count > rules.blanks:
                span = self._padding(f"<{count} spaces>")
            elif char == " " or (char == "\n" and rules.lines and not many):
                span = Span(char * count)
            elif char == "\t" and rules.tabs and not wide:
                span = Span(" " * _TAB_CELLS * count, "tab")
            self._out.append(span)

    def _padding(self, shown: str) -> Span:
        self._warns.add("padding")
        return Span(shown, "escape")


def _gap(blank: str) -> int:
    """Count the cells of blanks and tabs."""
    return len(blank) + (_TAB_CELLS - 1) * blank.count("\t")


def _merged(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Join neighbours of one style."""
    return tuple(
        Span("".join(span.text for span in group), style)
        for style, group in groupby(spans, key=lambda span: span.style)
    )


def _joined(spans: Iterable[Span]) -> str:
    return "".join(span.text for span in spans)


def _require_str(value: object) -> None:
    if not isinstance(value, str):
        raise TypeError(f"expected a string, got {type(value).__name__}")


# ------------------------------------------------------------------ whole strings


def sanitise(text: str | Sequence[str], context: Context, *, resolved: str | None = None) -> Shown:
    """Show one outside string.

    Args:
        text: the string; for argv the sequence of words; otherwise a sequence means chunks of one string.
        context: where it stands. A diff_line comes with its sign and without its newline.
        resolved: the real target, given by the caller where it is not what the text says (a link, `..`).

    Returns:
        The spans; those of an argv are quoted as a shell would need it, so that word borders are
        visible, and ` → target` follows where the target is another.

    Raises:
        TypeError: a value is no string, or an argv is one.
    """
    whole = _whole(text, context)
    rules = _RULES[context]
    spans, warns = _body(whole, context)
    if rules.approve and any("\n" in span.text if span.style == "plain" else "<LF>" in span.text for span in spans):
        warns.add("multi-line")
    if context in {"diff", "diff_line"} and _CR_AT_END.search(whole):
        warns.add("line-endings")
    at_edge = whole != whole.strip(" ")
    if rules.name and at_edge:
        warns.add("edge-space")
    if rules.name and (at_edge or not whole):
        spans = [Span("'", "escape"), *spans, Span("'", "escape")]
    if rules.long and _is_long(_joined(spans)):
        warns.add("long")
    target = _host(whole, warns) if context == "url" else None
    if resolved is not None and resolved != whole:
        warns.add("resolved")
        target = resolved
    if target is not None:
        behind, more = _body(target, "path")
        warns |= more
        spans += [Span(" → ", "note"), *behind]
        target = _joined(behind)
    full = rules.approve or "long" in warns or any(span.style == "escape" for span in spans)
    return Shown(_merged(spans), frozenset(warns), full_view=full, resolved=target)


def plain(text: str | Sequence[str], context: Context = "text") -> str:
    """Show a string where styles cannot be drawn: a log line, a title, stdout.

    Raises:
        TypeError: as `sanitise`.
    """
    return sanitise(text, context).plain


def label(text: str, width: int, context: Context = "title") -> str:
    """Show a string on one line of at most `width` cells; what does not fit is replaced by one `…`.

    Neither an escape nor a character with its marks is cut in two. `context` is one of a single line: "path" for the name of
    a file, in which look-alikes are escaped.

    Raises:
        TypeError: it is no string.
    """
    _require_str(text)
    if width < 1 or not text:
        return ""
    kept: list[str] = []
    used = 0
    for unit in _units(_spans(text, context)):
        kept.append(unit)
        used += cells(unit)
        if used > width:
            while used >= width:
                used -= cells(kept.pop())
            return "".join(kept) + "…"
    return "".join(kept)


def _whole(text: str | Sequence[str], context: Context) -> str:
    """Check the types and make one string of words or chunks."""
    if isinstance(text, str) and context != "argv":
        return text
    if not isinstance(text, (list, tuple)):
        wanted = "a list of words" if context == "argv" else "a string"
        raise TypeError(f"expected {wanted}, got {type(text).__name__}")
    for part in text:
        _require_str(part)
    return shlex.join(text) if context == "argv" else "".join(text)


def _body(whole: str, context: Context) -> tuple[list[Span], set[Warn]]:
    """Sanitise a whole string, look-alikes included."""
    rules, machine = _RULES[context], Sanitiser(context)
    if whole.isascii() or not rules.lookalikes:
        spans = list(machine.feed(whole))
    else:
        pieces = posing(whole, name=rules.name)
        spans = [span for piece, letters in pieces for span in machine.feed(piece, letters)]
    return [*spans, *machine.finish()], set(machine.warns)


def _is_long(shown: str) -> bool:
    return len(shown) > _LONG_CHARS or shown.count("\n") >= _LONG_LINES


_CR_AT_END = re.compile(r"\r(?=\n|\Z)")
_ESCAPED = re.compile("<[^>]*>|.")
_AUTHORITY = re.compile(r"[^/?#]*//([^/?#]*)")


def _host(url: str, warns: set[Warn]) -> str | None:
    """Name the host that will really be asked, in ASCII, if the URL hides it."""
    match = _AUTHORITY.match(url)
    if not match:
        return None
    _, at, place = match[1].rpartition("@")
    name = place.partition("]")[0] + "]" if place.startswith("[") else place.partition(":")[0]
    if at:
        warns.add("userinfo")
    hidden = name if at and name else None
    if name.isascii() or len(name) > _HOST_CHARS:
        return hidden
    try:
        return name.encode("idna").decode("ascii")
    except UnicodeError:  # no legal name, so nobody can be asked
        return hidden


def _spans(text: str, context: Context) -> Iterator[Span]:
    """Sanitise only as far as the caller looks, where look-alikes do not need all of it."""
    if _RULES[context].lookalikes:
        yield from sanitise(text, context).spans
        return
    machine = Sanitiser(context)
    for start in range(0, len(text), 1024):
        yield from machine.feed(text[start : start + 1024])
    yield from machine.finish()


def _units(spans: Iterable[Span]) -> Iterator[str]:
    """Cut where a cut does no harm: between escapes, or between characters as a person sees them."""
    unit = ""
    for span in spans:
        for char in _ESCAPED.findall(span.text) if span.style == "escape" else span.text:
            joins = kind(char[0]) == "combining" or "\u1161" <= char <= "\u11ff" or "\U0001f3fb" <= char <= "\U0001f3ff"
            if unit and not joins and not (_is_flag(unit) and _is_flag(char)):
                yield unit
                unit = ""
            unit += char
    yield unit


def _is_flag(unit: str) -> bool:
    """Tell whether this is half of a flag."""
    return len(unit) == 1 and "\U0001f1e6" <= unit <= "\U0001f1ff"
