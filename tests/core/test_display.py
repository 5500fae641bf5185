from __future__ import annotations

import re
import shlex
import subprocess
import sys
import unicodedata
from itertools import groupby
from typing import get_args

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.examples import examples
from tui_agent.core.change import notice
from tui_agent.core.characters import SURE, cells, kind
from tui_agent.core.display import Context, Sanitiser, Shown, Span, label, plain, sanitise
from tui_agent.core.lookalikes import posing

MULTI_LINE = {"text", "prose", "diff", "command"}
STRINGS = [context for context in get_args(Context) if context != "argv"]
NAMES = {"NUL": "\0", "BEL": "\a", "BS": "\b", "TAB": "\t", "LF": "\n", "CR": "\r", "ESC": "\x1b", "DEL": "\x7f"}
WRITTEN = re.compile(
    r"\n<(?P<lines>\d+) blank lines>\n|<(?P<newlines>\d+) newlines>|<(?P<tabs>\d+) tabs>|<(?P<spaces>\d+) spaces>"
    r"|<(?P<more>\d+) more>|<U\+(?P<code>[0-9A-F]+)>|<(?P<name>[A-Z]+)>"
)

ANY_CHAR = st.characters(exclude_categories=())  # surrogates, private and unassigned ones too
ODD_CHAR = st.sampled_from(
    " \t\n\r\0\a\b\x1b\x7f\x9b\x85\u00a0\u00ad\u034f\u0301\u0338\u093e\u200b\u200d\u200f\u202e\u2028\u2029\u2066"
    "\u2800\u3000\u3164\ufe0f\ufeff\uffa0\ud800\ue000\U000e0041\U000e0100\U0010ffff"
    "aeZ09'\"<>+U\\$`[]@/.:…→é日שไ\u0430\u043e\u0436\u0391\u03bf\U0001f600\U0001f1e9ﬁ"
)
COUNT = st.sampled_from([1, 2, 7, 8, 9, 32, 33, 129])
WHITE = st.builds(lambda unit, count: unit * count, st.text(" \t\n", min_size=1, max_size=3), COUNT)
MARKS = st.builds(lambda unit, count: unit * count, st.sampled_from(["\u0301", "\u0338", "\u0301\u093e"]), COUNT)
RUN = st.builds(lambda char, count: char * count, ODD_CHAR, COUNT)
WORDS = st.sampled_from(["rm -rf x", "<U+202E>", "<ESC>", "<3 spaces>", "<8 more>", "\n<8 blank lines>\n", "' '", "→ "])
PIECE = WHITE | MARKS | RUN | WORDS | st.text(ODD_CHAR, max_size=6) | st.text(ANY_CHAR, max_size=6)
PIECES = st.lists(PIECE, max_size=8)
TEXT = PIECES.map("".join)
check = examples(150)


def assert_safe(text: str, *, lines: bool) -> None:
    run = 0
    for char in text:
        category = unicodedata.category(char)
        assert category not in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"} or (lines and char == "\n"), ascii(char)
        assert category != "Zs" or char == " ", ascii(char)
        assert not re.match(
            "[\u115f\u1160\u3164\uffa0\u2800\u034f\u180b-\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]", char
        )
        run = run + 1 if category.startswith("M") else 0
        assert run <= 8


def read_back(shown: Shown) -> str:
    """Recover the input from the spans: that this works for every input is the proof of injectivity."""
    text = ""
    for span in shown.spans:
        if span.style == "plain":
            text += span.text
        elif span.style == "tab":
            text += "\t" * (len(span.text) // 4)
        else:
            assert span.style == "escape"
            at = 0
            while at < len(span.text):
                found = WRITTEN.match(span.text, at)
                assert found, span.text[at:]
                at = found.end()
                text += written(found, text)
    return text


def written(found: re.Match[str], before: str) -> str:
    if found["code"]:
        return chr(int(found["code"], 16))
    if found["name"]:
        return NAMES[found["name"]]
    if found["more"]:
        return before[-1] * int(found["more"])
    if found["lines"]:
        return "\n" * (int(found["lines"]) + 1)
    char = "\n" if found["newlines"] else "\t" if found["tabs"] else " "
    return char * int(found["newlines"] or found["tabs"] or found["spaces"])


def merged(spans: list[Span]) -> list[tuple[str, str]]:
    """Span borders mean nothing: compare style by character."""
    return [(char, span.style) for span in spans for char in span.text]


# ------------------------------------------------------------------ properties


@check
@given(TEXT, st.sampled_from(STRINGS))
def test_nothing_that_a_terminal_obeys_or_hides_comes_out(text: str, context: Context) -> None:
    assert_safe(sanitise(text, context).plain, lines=context in MULTI_LINE)


@check
@given(st.lists(TEXT, max_size=4))
def test_argv_is_safe_on_one_line(words: list[str]) -> None:
    assert_safe(sanitise(words, "argv").plain, lines=False)


@check
@given(TEXT, TEXT)
def test_a_resolved_target_is_safe_too(text: str, target: str) -> None:
    shown = sanitise(text, "path", resolved=target)
    assert_safe(shown.plain, lines=False)
    assert ("resolved" in shown.warns) == (text != target)


@check
@given(TEXT, st.sampled_from(["command", "diff", "diff_line", "text", "title"]))
def test_the_input_can_be_read_back_from_the_spans(text: str, context: Context) -> None:
    assert read_back(sanitise(text, context)) == text


@check
@given(st.lists(TEXT, max_size=4))
def test_the_words_can_be_read_back_from_an_argv(words: list[str]) -> None:
    assert shlex.split(read_back(sanitise(words, "argv"))) == words


@check
@given(TEXT, st.sampled_from(["path", "tool_name"]))
def test_a_name_can_be_read_back_from_within_its_quotes(text: str, context: Context) -> None:
    shown = sanitise(text, context)
    spans = merged(list(shown.spans))
    if spans and spans[0] == ("'", "escape"):
        assert "edge-space" in shown.warns or not text
        spans = spans[1:-1]
    assert read_back(Shown(unmerged(spans))) == text


def unmerged(chars: list[tuple[str, str]]) -> tuple[Span, ...]:
    """Undo `merged`."""
    grouped = groupby(chars, key=lambda pair: pair[1])
    return tuple(Span("".join(char for char, _ in pairs), style) for style, pairs in grouped)


@check
@given(TEXT, TEXT, st.sampled_from(["command", "title", "text"]))
def test_different_inputs_look_different(one: str, two: str, context: Context) -> None:
    assume(one != two)
    assert sanitise(one, context).spans != sanitise(two, context).spans


@check
@given(st.lists(TEXT, max_size=3), st.lists(TEXT, max_size=3))
def test_different_argvs_look_different(one: list[str], two: list[str]) -> None:
    assume(one != two)
    assert sanitise(one, "argv").spans != sanitise(two, "argv").spans


@check
@given(PIECES, st.sampled_from(["text", "prose", "command", "diff_line", "title"]))
def test_a_stream_shows_what_the_whole_shows(pieces: list[str], context: Context) -> None:
    assert streamed(pieces, context) == streamed(["".join(pieces)], context)


@check
@given(TEXT)
def test_character_by_character_is_no_different(text: str) -> None:
    for context in ("text", "prose"):
        assert streamed(list(text), context) == streamed([text], context)
    assert streamed([text], "text")[0] == merged(list(sanitise(text, "text").spans))


@pytest.mark.parametrize(
    "pieces",
    [
        [" " * 100, " \x1b" + " " * 100, " " * 100],
        ["\ta ", " " * 128 + "b"],
        [" " * 128, " b\t"],
        ["e" + "\u0301" * 8, "\u0301"],
        ["e", "\u0301" * 5, "\u0301" * 5, "\u0301" * 40],
        ["\n ", "\n"] * 9,
        ["a\n", "\u0301"],
        ["a", "\u200b", "\u200b" * 40, "\u0301"],
    ],
)
def test_runs_go_on_across_the_borders_of_chunks(pieces: list[str]) -> None:
    assert streamed(pieces, "text") == streamed(["".join(pieces)], "text")


def streamed(pieces: list[str], context: Context) -> tuple[list[tuple[str, str]], frozenset[str]]:
    stream = Sanitiser(context)
    spans = [span for piece in pieces for span in stream.feed(piece)] + list(stream.finish())
    return merged(spans), stream.warns


@check
@given(st.text(st.characters(categories=["L", "N", "P", "S"]), max_size=40))
def test_letters_digits_and_signs_of_any_script_are_unchanged(text: str) -> None:
    assume(not any(kind(char) for char in text))  # fillers are letters, too
    shown = sanitise(text, "text")
    assert shown.plain == text
    assert not shown.warns
    assert not shown.full_view


@check
@given(TEXT, st.integers(0, 30))
def test_a_label_fits_and_is_safe(text: str, width: int) -> None:
    cut = label(text, width)
    assert_safe(cut, lines=False)
    assert cells(cut) <= width
    whole = plain(text, "title")
    assert cut == whole or not width or (cut.endswith("…") and whole.startswith(cut[:-1]))
    assert cut == whole or cells(whole) > width


@check
@given(TEXT)
def test_warnings_and_escapes_go_together(text: str) -> None:
    shown = sanitise(text, "diff_line")
    escaped = any(span.style == "escape" for span in shown.spans)
    assert bool(shown.warns - {"long", "line-endings"}) == escaped
    assert shown.full_view == (escaped or "long" in shown.warns)


@check
@given(TEXT, st.booleans())
def test_posing_cuts_and_loses_nothing(text: str, name: bool) -> None:
    assert "".join(piece for piece, _ in posing(text, name=name)) == text


# ------------------------------------------------------------------ units


def test_the_sure_characters_are_ordinary() -> None:
    assert all(kind(char) is None for char in map(chr, range(sys.maxunicode + 1)) if re.match(f"[{SURE}]", char))


def test_ordinary_text_is_one_span() -> None:
    text = "def f(x):\n    return x  # naïve 日本語 → ✓\n" * 50
    assert sanitise(text, "text").spans == (Span(text),)


@pytest.mark.parametrize("context", STRINGS)
def test_empty(context: Context) -> None:
    shown = sanitise("", context)
    assert shown.plain == ("''" if context in {"path", "tool_name", "url"} else "")
    assert not shown.warns


def test_argv_words_keep_their_borders() -> None:
    assert plain([], "argv") == ""
    assert plain([""], "argv") == "''"
    assert plain(["a", "b"], "argv") == "a b"
    assert plain(["a b"], "argv") == "'a b'"
    assert plain(["sh", "-c", "a\nb"], "argv") == "sh -c 'a<LF>b'"
    assert sanitise(["sh", "-c", "a\nb"], "argv").warns == {"control", "multi-line"}


@pytest.mark.parametrize(
    ("value", "context"),
    [(3, "text"), (None, "path"), (b"x", "text"), (["a", 1], "text"), ("git status", "argv"), ([b"git"], "argv")],
)
def test_other_types_are_refused_by_name_only(value: object, context: Context) -> None:
    with pytest.raises(TypeError, match=r"^expected a .*, got (int|NoneType|bytes|str)$"):
        sanitise(value, context)


def test_stream_and_label_refuse_other_types() -> None:
    with pytest.raises(TypeError):
        Sanitiser().feed(b"x")
    with pytest.raises(TypeError):
        label(None, 5)


@pytest.mark.parametrize(
    ("context", "text", "shown", "warns"),
    [
        ("text", "a\tb", "a    b", set()),
        ("title", "a\tb", "a<TAB>b", set()),
        ("title", "a\nb", "a<LF>b", {"control"}),
        ("text", "x" + " " * 60 + "[ 50%]", "x" + " " * 60 + "[ 50%]", set()),
        ("text", "x" + " " * 300 + "y", "x<300 spaces>y", {"padding"}),
        ("path", "a" + " " * 33 + "b", "a<33 spaces>b", {"padding"}),
        ("path", "a" + "\n" * 9 + "b", "a<9 newlines>b", {"control", "padding"}),
        ("command", "a" + " " * 32 + "b", "a" + " " * 32 + "b", set()),
        ("command", "ls" + "\u3000" * 300 + "; x", "ls<U+3000><299 more>; x", {"non-ascii-space"}),
        ("command", "ls" + "\n " * 9 + "x", "ls" + "<LF> " * 9 + "x", {"multi-line", "padding"}),
        ("diff_line", "+\t\tx", "+        x", set()),
        ("diff_line", "+" + " \t" * 7 + "x", "+" + " <TAB>" * 7 + "x", {"padding"}),
        ("diff_line", "+a\r", "+a<CR>", {"control", "line-endings"}),
        ("text", "\u0301e", "<U+0301>e", {"combining"}),
        ("text", "\u200b\u0301e", "<U+200B><U+0301>e", {"combining", "invisible"}),
        ("text", "❤\ufe0f", "❤<U+FE0F>", {"invisible"}),
        (
            "prose",
            "❤\ufe0f 1\ufe0f\u20e3 👨\u200d👩\u200d👧 👩🏽\u200d🚀 ❤\ufe0f\u200d🔥 ↔\ufe0f",
            "❤ 1\u20e3 👨👩👧 👩🏽🚀 ❤🔥 ↔",
            set(),
        ),
        ("prose", "می\u200cخواهم क्\u200dष", "میخواهم क्ष", set()),
        ("prose", "❤\ufe0f\ufe0f", "❤<U+FE0F>", {"invisible"}),
        ("prose", "a\u200db\ufe0f \u200d", "a<U+200D>b<U+FE0F> <U+200D>", {"invisible"}),
        ("prose", "❤\ufe0e😀\U000e0101", "❤<U+FE0E>😀<U+E0101>", {"invisible"}),
        ("text", "a\u2028b", "a<U+2028>b", {"invisible"}),
        ("path", "caf\udce9", "caf<U+DCE9>", {"invalid"}),
        ("text", "\ue0b0", "<U+E0B0>", {"invalid"}),
        ("text", "\x01", "<U+0001>", {"control"}),
        ("text", "हिन्दी ไทย", "हिन्दी ไทย", set()),
    ],
)
def test_shown(context: Context, text: str, shown: str, warns: set[str]) -> None:
    assert (sanitise(text, context).plain, sanitise(text, context).warns) == (shown, warns)


@pytest.mark.parametrize(
    ("context", "text", "shown"),
    [
        ("command", "p\u0443thon x", "p<U+0443>thon x"),
        ("action", "run  p\u0443thon x", "run  p<U+0443>thon x"),
        ("command", "git commit -m 'Δx исправил bug, о компании'", "git commit -m 'Δx исправил bug, о компании'"),
        ("diff_line", "+if is\u0410dmin:", "+if is<U+0410>dmin:"),
        ("text", "p\u0443thon", "p\u0443thon"),
        ("path", "\u0441\u043e\u0440\u0443.py", "<U+0441><U+043E><U+0440><U+0443>.py"),
        ("path", "отчёт/о_компании.py", "отчёт/о_компании.py"),
        ("path", "reportж.py", "report<U+0436>.py"),
        ("path", "日本語abc.py", "日本語abc.py"),
        ("path", "con\ufb01g.py", "con<U+FB01>g.py"),
        ("path", "\U0001d5cb\U0001d5c6", "<U+1D5CB><U+1D5C6>"),
        ("tool_name", "r\u0435ad_file", "r<U+0435>ad_file"),
    ],
)
def test_lookalikes(context: Context, text: str, shown: str) -> None:
    assert sanitise(text, context).plain == shown
    assert ("mixed-script" in sanitise(text, context).warns) == (text != shown)


@pytest.mark.parametrize(
    ("url", "shown", "host", "warns"),
    [
        ("https://docs.python.org/3/?q=a@b#c@d", "https://docs.python.org/3/?q=a@b#c@d", None, set()),
        ("mailto:a@b.example", "mailto:a@b.example", None, set()),
        ("http://a:b@evil.example:80/", "http://a:b@evil.example:80/ → evil.example", "evil.example", {"userinfo"}),
        ("http://x@[::1]:8/", "http://x@[::1]:8/ → [::1]", "[::1]", {"userinfo"}),
        ("https://a@b@evil.example", "https://a@b@evil.example → evil.example", "evil.example", {"userinfo"}),
        ("https://@/x", "https://@/x", None, {"userinfo"}),
        (
            "https://münchen.example/ä",
            "https://münchen.example/ä → xn--mnchen-3ya.example",
            "xn--mnchen-3ya.example",
            set(),
        ),
        ("https://ü" + "x" * 300 + "/", "https://ü" + "x" * 300 + "/", None, set()),
        ("https://ü..x/", "https://ü..x/", None, set()),
    ],
)
def test_url(url: str, shown: str, host: str | None, warns: set[str]) -> None:
    result = sanitise(url, "url")
    assert (result.plain, result.resolved, result.warns) == (shown, host, warns)


def test_a_resolved_target_follows_in_another_style() -> None:
    shown = sanitise("link", "path", resolved="/out/\x1b[2J")
    assert [(span.text, span.style) for span in shown.spans] == [
        ("link", "plain"), (" → ", "note"), ("/out/", "plain"), ("<ESC>", "escape"), ("[2J", "plain"),
    ]  # fmt: skip
    assert shown.resolved == "/out/<ESC>[2J"
    assert shown.warns == {"control", "resolved"}
    assert shown.spans != sanitise("link → /out/", "path").spans


def test_full_view() -> None:
    assert sanitise("ls", "command").full_view
    assert sanitise(["ls"], "argv").full_view
    assert not sanitise("+x = 1", "diff_line").full_view
    assert sanitise("+x\u202e", "diff_line").full_view
    assert sanitise("+" + "x" * 2000, "diff_line").full_view


def test_long() -> None:
    assert "long" not in sanitise("x" * 1000, "command").warns
    assert "long" in sanitise("x" * 1001, "command").warns
    assert "long" in sanitise("x\n" * 30, "command").warns
    assert "long" not in sanitise("x " * 5000, "text").warns


def test_a_stream_shows_at_once_what_is_certain() -> None:
    stream = Sanitiser()
    assert stream.feed("two words ") == (Span("two words"),)
    assert stream.feed("more\n") == (Span(" more"),)
    assert stream.feed("\x1b") == (Span("\n"),)
    assert stream.feed("[2J") == (Span("<ESC>", "escape"), Span("[2J"))
    assert stream.finish() == ()
    assert stream.feed("\u0301") == ()
    assert stream.finish() == (Span("<U+0301>", "escape"),)


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("short", 5, "short"),
        ("longer", 5, "long…"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("e\u0301e\u0301e\u0301", 2, "e\u0301…"),
        ("ab\x1bcd", 5, "ab…"),
        ("ab\ncd", 8, "ab<LF>cd"),
        ("🇩🇪🇫🇷🇮🇹", 4, "🇩🇪…"),
        ("x", 0, ""),
        ("xy", 1, "…"),
    ],
)
def test_label(text: str, width: int, shown: str) -> None:
    assert label(text, width) == shown


@pytest.mark.parametrize(
    ("path", "width", "shown"),
    [
        ("src/\u0430pp.py", 40, "src/<U+0430>pp.py"),
        ("src/\u0430pp.py", 9, "src/…"),  # an escape is not cut in two
        ("src/\u0430pp.py", 13, "src/<U+0430>…"),
        ("\u0434\u043e\u043c.py", 40, "\u0434\u043e\u043c.py"),  # a word of its own alphabet poses as nothing
        ("a.py ", 40, "'a.py '"),
        ("a.py ", 5, "'a.p…"),
        ("", 40, ""),
    ],
)
def test_the_label_of_a_path_marks_lookalikes_and_edges(path: str, width: int, shown: str) -> None:
    assert label(path, width, "path") == shown
    assert label(path, width) != shown or path.isascii() or "<U" not in shown


@pytest.mark.parametrize(
    ("old", "new", "warns"),
    [
        ("a\n", "b\n", set()),
        ("a\n", "a\n", set()),
        ("a\n", "a", {"whitespace-only"}),
        ("a \n", "a\n", {"whitespace-only"}),
        ("a\nb\n", "a\r\nb\r\n", {"whitespace-only", "line-endings"}),
        ("a\nb\n", "a\r\nc\n", {"line-endings"}),
        ("", "a\r\n", set()),
        (b"\xff", b"a", {"binary"}),
        ("a", "\0", {"binary"}),
        ("\ud800", "\ud801", set()),
    ],
)
def test_notice(old: str | bytes, new: str | bytes, warns: set[str]) -> None:
    said = notice(old, new)
    assert said.warns == warns
    assert bool(said.spans) == bool(warns) == said.full_view


def test_notice_tells_binaries_apart_and_names_modes() -> None:
    assert notice(b"\0\1a", b"\0\2a").spans != notice(b"\0\1a", b"\0\3a").spans
    assert "PNG 6 bytes" in notice(b"", b"\x89PNG\0\0").plain
    said = notice("a", "a", modes=(0o644, 0o755))
    assert (said.plain, said.warns) == ("mode: 644 → 755", {"mode"})


def test_the_module_needs_the_standard_library_only() -> None:
    code = "import sys, tui_agent.core.display; sys.exit(bool({'textual', 'rich', 'httpx'} & set(sys.modules)))"
    subprocess.run([sys.executable, "-c", code], check=True)
