"""Edits as functions on bytes: exact or not at all, and never a byte outside the edit."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tui_agent.tools.arguments import ToolError
from tui_agent.tools.files import Edit, edit, propose, write

PIECES = st.text(alphabet=st.sampled_from("ab \t\n\u00e9\u201c\U0001f600"), max_size=12)
ENDINGS = st.sampled_from(["\n", "\r\n"])


def refusal(call, *arguments) -> str:
    with pytest.raises(ToolError) as caught:
        call("f.py", *arguments)
    return str(caught.value)


def one(base: bytes, old: str, new: str, *, replace_all: bool = False) -> bytes:
    return edit("f.py", base, [Edit(old, new, replace_all)])


# ------------------------------------------------------------------ properties


@given(
    st.lists(PIECES, min_size=1, max_size=8),
    st.lists(ENDINGS, min_size=8, max_size=8),
    st.booleans(),
    PIECES,
    st.data(),
)
def test_an_edit_changes_its_place_and_nothing_else(lines, endings, bom, new, data) -> None:
    """Any file of mixed line ends: the old text as the model sees it is replaced, all other bytes stay."""
    flat = [line.replace("\n", "") for line in lines]
    raw = "".join(line + end for line, end in zip(flat, endings, strict=False))
    shown = raw.replace("\r\n", "\n")
    start = data.draw(st.integers(0, len(shown)))
    end = data.draw(st.integers(start, len(shown)))
    old = shown[start:end]
    assume(old and old != new and shown.find(old) == start and shown.find(old, start + 1) < 0)
    base = (b"\xef\xbb\xbf" if bom else b"") + raw.encode()
    result = one(base, old, new)
    assert result.startswith(b"\xef\xbb\xbf") == bom
    text = result.removeprefix(b"\xef\xbb\xbf").decode()
    assert text.replace("\r\n", "\n") == shown[:start] + new + shown[end:]
    before, after = _lines_around(raw, shown, start, end)
    assert text.startswith(before)
    assert text.endswith(after)


def _lines_around(raw: str, shown: str, start: int, end: int) -> tuple[str, str]:
    """What stands before and after the edited lines in the file, byte for byte."""
    first, last = shown.count("\n", 0, start), shown.count("\n", end)
    pieces = raw.split("\n")
    return "".join(p + "\n" for p in pieces[:first]), "\n".join(pieces[len(pieces) - last :]) if last else ""


@given(st.binary(max_size=60), PIECES, PIECES)
def test_any_bytes_are_edited_exactly_or_refused(base: bytes, old: str, new: str) -> None:
    try:
        result = one(base, old, new)
    except ToolError:
        return
    assert base.decode() is not None
    assert result != base


@given(st.text(alphabet="ab\r\n", max_size=30), st.text(alphabet="ab\n", min_size=1, max_size=30), st.booleans())
def test_a_whole_write_reads_back_as_it_was_sent(have: str, content: str, bom: bool) -> None:
    base = (b"\xef\xbb\xbf" if bom else b"") + have.encode()
    if have.replace("\r\n", "\n") == content.replace("\r\n", "\n"):
        assert "no change" in refusal(write, base, content)
        return
    result = write("f.txt", base, content)
    assert result.startswith(b"\xef\xbb\xbf") == bom
    assert result.decode("utf-8-sig").replace("\r\n", "\n") == content.replace("\r\n", "\n")


@given(st.lists(st.text(alphabet="abc", min_size=1, max_size=4), min_size=2, max_size=6, unique=True), st.randoms())
def test_several_edits_do_not_depend_on_their_order(words: list[str], random) -> None:
    base = "".join(f"<{word}>" for word in words).encode()
    edits = [Edit(f"<{word}>", f"[{word.upper()}]") for word in words]
    random.shuffle(edits)
    assert edit("f", base, edits) == "".join(f"[{word.upper()}]" for word in words).encode()


@given(st.text(alphabet="ab", min_size=1, max_size=3), st.text(alphabet="ab", max_size=12))
def test_only_a_single_match_is_edited_overlaps_counted(old: str, text: str) -> None:
    count = sum(text.startswith(old, at) for at in range(len(text)))
    if count == 1:
        assert one(text.encode(), old, "X").decode() == text.replace(old, "X")
    else:
        assert ("occurs 0 times" if count == 0 else f"occurs {count} times") in refusal(
            edit, text.encode(), [Edit(old, "X")]
        )


def test_line_numbers_only_in_the_new_text() -> None:
    base = b"def a():\n    return 1\n"
    assert "line-number" in refusal(edit, base, [Edit("    return 1", "     1\tdef a():\n     2\t    return 2")])


# ------------------------------------------------------------------ examples beside the corpus


def test_mixed_file_keeps_the_ending_of_each_line() -> None:
    assert one(b"a\r\nb\nc\r\n", "a\nb\nc\n", "a\nB\nc\n") == b"a\r\nB\nc\r\n"
    assert one(b"a\r\nb\nc\r\n", "b", "b\nb2") == b"a\r\nb\nb2\nc\r\n"
    assert one(b"a\r\nb\nc\r\n", "c", "c\nd") == b"a\r\nb\nc\r\nd\r\n"


def test_replace_all_refuses_overlaps() -> None:
    assert "overlap" in refusal(edit, b"aaa", [Edit("aa", "b", replace_all=True)])
    assert one(b"aaaa", "a", "bb", replace_all=True) == b"bbbbbbbb"


def test_two_matches_name_their_lines() -> None:
    text = refusal(edit, b"x = 1\ny = 2\nx = 1\n", [Edit("x = 1", "x = 2")])
    assert "2 times" in text
    assert "lines 1 and 3" in text or "lines 1, 3" in text


def test_identical_apart_from_line_ends_is_no_edit() -> None:
    assert "identical" in refusal(edit, b"a\r\nb\r\n", [Edit("a\r\nb", "a\nb")])


def test_failed_batch_names_its_edit() -> None:
    text = refusal(edit, b"a\nb\n", [Edit("a", "A"), Edit("zzz", "Z")])
    assert text.startswith("edit 2 of 2: ")
    assert "None of the edits was applied" in text


def test_a_proposal_quotes_the_whole_file() -> None:
    assert propose("f.txt", None, "", "x\n") == b"x\n"
    assert propose("f.txt", b"a\r\nb\r\n", "a\nb\n", "a\nc\n") == b"a\r\nc\r\n"
    assert refusal(propose, None, "x", "y").startswith("stale base: ")
    assert refusal(propose, b"a\nb\n", "a\n", "c\n").startswith(
        "stale base: on-disk contents of f.py do not match the 'old' you provided. Read the file again and retry."
    )
    assert "first difference is line 2" in refusal(propose, b"a\nb\n", "a\nc\n", "x\n")
    assert "newlines at the end" in refusal(propose, b"a\n", "a", "b\n")
    assert refusal(propose, b"a\n", "a\n", "a\n") == "no changes (proposed content matches current file)"
    assert refusal(propose, None, "", "") == "refused: cannot create an empty file"
    assert "empty" in refusal(propose, b"a\n", "a\n", "")


@pytest.mark.parametrize(
    ("base", "new", "word"),
    [
        (b"a\n", "```\nb\n```\n", "fence"),
        (b"a\nb\nc\n", "a\n// ... rest of the file unchanged ...\n", "placeholder"),
        (b"a\nb\nc\n", "a\n<!-- rest of the code remains unchanged -->\n", "placeholder"),
        (b"a\nb\nc\n", "a\n    # [... existing code ...]\n", "placeholder"),
        (b"a\nb\n", "     1\ta\n     2\tc\n", "numbers"),
        (b"a\n", "x\\ny\\nz", "newline"),
        (b"a\n", "x\0y", "NUL"),
    ],
)
def test_habits_that_would_damage_a_file(base: bytes, new: str, word: str) -> None:
    assert word in refusal(write, base, new)


@pytest.mark.parametrize(
    "new",
    [
        "x: tuple[int, ...]\n",
        "raise NotImplementedError  # ...\n",
        "# the rest is history\nx = 1\n",
        "print('a\\nb\\nc')",
        "1\tone\n2\ttwo\n",
        "...\n",
        "cp = '...existing'\n",
        "say 'the same code'\n",
    ],
)
def test_ordinary_text_is_not_mistaken_for_a_habit(new: str) -> None:
    assert write("f.py", b"something else\n", new) == new.encode()


def test_markdown_may_be_a_fence() -> None:
    assert write("README.md", b"a\n", "```\nb\n```\n") == b"```\nb\n```\n"


def test_eleven_megabytes_on_one_line_take_no_quadratic_time() -> None:
    base = b"x" * 11_000_000 + b" NEEDLE\n"
    assert one(base, "NEEDLE", "thread") == b"x" * 11_000_000 + b" thread\n"
    assert "occurs 0 times" in refusal(edit, base, [Edit("needle", "thread")])


@pytest.mark.parametrize(
    ("base", "old", "new", "result"),
    [
        ("\ufeffx\nx\n", "\ufeffx", "y", "\ufeffy\nx\n"),  # with the mark the beginning is meant, and only that
        ("\ufeffx\n", "x", "\ufeffa", "\ufeffa\n"),  # the file keeps its own, once
        ("x\ny\n", "\ufeffx", "\ufeffz", "z\ny\n"),
        ("a\ufeffb\n", "\ufeff", "", "ab\n"),
        ("a\ufeffx x\n", "\ufeffx", "y", "ay x\n"),
        ("ab\n", "b", "\ufeffc", "a\ufeffc\n"),
        ("a\n", "a", "\ufeffa", "\ufeffa\n"),
        ("y x\n", "\ufeffx", "z", "does not occur|not found|no match|was not found"),
        ("\ufeffx\n", "\ufeff", "y", "only the byte order mark"),
    ],
)
def test_the_mark_is_passed_over_where_a_file_begins_and_nowhere_else(
    base: str, old: str, new: str, result: str
) -> None:
    if "\n" in result:
        assert edit("f", base.encode(), [Edit(old, new)]).decode() == result
        return
    with pytest.raises(ToolError, match=result):
        edit("f", base.encode(), [Edit(old, new)])
