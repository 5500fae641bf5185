"""Hunks are exact on bytes, rows say what changed, and no input makes the search long."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tui_agent.core.diff import Hunk, apply_hunks, compare, diff, is_binary, mixed_endings, same_hunks, unified
from tui_agent.core.matching import GAP_LINES

PIECES = [b"a", b"b", b"\n", b"\r\n", b"\r", b"", b"x = 1\n", b"}\n", b"\xef\xbb\xbf", b"\xff", "\u2028é\x85".encode()]
texts = st.lists(st.sampled_from(PIECES), max_size=40).map(b"".join)
either = st.one_of(st.none(), texts, st.binary(max_size=60))


def lines(*numbers: int) -> bytes:
    return b"".join(b"line %d\n" % n for n in numbers)


@given(base=either, new=either, context=st.integers(0, 4))
def test_all_hunks_give_the_new_text_and_none_the_base(base, new, context):
    found = diff(base, new, context)
    everything = {hunk.number for hunk in found.hunks}
    assert apply_hunks(base, found) == new
    assert apply_hunks(base, found, everything) == new
    if base != new:
        assert apply_hunks(base, found, ()) == base


@examples(300)
@given(base=texts, new=texts, data=st.data())
def test_any_subset_is_the_base_plus_the_chosen_hunks(base, new, data):
    found = diff(base, new, context=0)
    if found.binary or not found.hunks:
        return
    chosen = data.draw(st.sets(st.sampled_from([hunk.number for hunk in found.hunks])))
    expected, done = b"", 0
    old = base.split(b"\n")
    old = [line + b"\n" for line in old[:-1]] + ([old[-1]] if old[-1] else [])
    for hunk in found.hunks:
        expected += b"".join(old[done : hunk.old.start])
        keep = ("context", "add") if hunk.number in chosen else ("context", "remove")
        expected += b"".join(row.line for row in hunk.rows() if row.kind in keep)
        done = hunk.old.stop
    expected += b"".join(old[done:])
    assert apply_hunks(base, found, chosen) == expected


def test_every_subset_of_six_hunks():
    base = lines(*range(120))
    new = base
    for n in range(10, 120, 20):
        new = new.replace(b"line %d\n" % n, b"changed %d\n" % n)
    found = diff(base, new)
    assert [hunk.number for hunk in found.hunks] == [1, 2, 3, 4, 5, 6]
    for size in range(7):
        for chosen in itertools.combinations(range(1, 7), size):
            expected = base
            for number in chosen:
                n = 20 * number - 10
                expected = expected.replace(b"line %d\n" % n, b"changed %d\n" % n)
            assert apply_hunks(base, found, frozenset(chosen)) == expected


@given(base=texts, new=texts, context=st.integers(0, 3))
def test_rows_are_numbered_and_hold_the_lines_of_their_side(base, new, context):
    found = diff(base, new, context)
    end_old = end_new = 0
    for hunk in found.hunks:
        rows = list(hunk.rows())
        assert len(rows) == len(hunk)
        assert [row.line for row in rows] == hunk.lines(0, len(hunk))
        assert [row.old for row in rows if row.old] == [n + 1 for n in hunk.old]
        assert [row.new for row in rows if row.new] == [n + 1 for n in hunk.new]
        assert sum(row.kind == "add" for row in rows) == hunk.added
        assert sum(row.kind == "remove" for row in rows) == hunk.removed
        assert hunk.changed(0, len(hunk)) == hunk.added + hunk.removed
        assert hunk.old.start >= end_old
        assert hunk.new.start >= end_new
        end_old, end_new = hunk.old.stop, hunk.new.stop
    assert found.added - found.removed == count_lines(new) - count_lines(base)


def count_lines(text: bytes) -> int:
    return text.count(b"\n") + (not text.endswith(b"\n") and text != b"")


@given(texts)
def test_equal_texts_have_no_hunks(text):
    assert diff(text, text).hunks == ()


def test_the_diff_is_minimal_where_it_is_easy():
    found = diff(lines(1, 2, 3, 4, 5), lines(1, 2, 30, 4, 5, 6), context=1)
    (hunk,) = found.hunks
    assert [(row.kind, row.old, row.new, row.text) for row in hunk.rows()] == [
        ("context", 2, 2, "line 2"),
        ("remove", 3, None, "line 3"),
        ("add", None, 3, "line 30"),
        ("context", 4, 4, "line 4"),
        ("context", 5, 5, "line 5"),
        ("add", None, 6, "line 6"),
    ]
    assert (found.added, found.removed) == (2, 1)


def test_a_repetitive_gap_is_searched_by_difflib():
    base, new = b"}\n\nx\n}\n\nx\n", b"}\n\nx\ny\n}\n\nx\n"
    found = diff(base, new)
    assert (found.added, found.removed) == (1, 0)


@pytest.mark.parametrize(("base", "new"), [(None, b""), (b"", None), (None, b"a\n"), (b"a\n", None)])
def test_coming_and_going_of_a_file_is_one_hunk(base, new):
    found = diff(base, new)
    assert len(found.hunks) == 1
    assert apply_hunks(base, found, ()) == base
    assert apply_hunks(base, found, {1}) == new


def test_binary_is_a_summary_only_and_applied_whole():
    base, new = b"\x89PNG\0\1", b"\x89PNG\0\2"
    found = diff(base, new)
    assert found.binary
    assert is_binary(None, new)
    assert [len(hunk) for hunk in found.hunks] == [0]
    assert apply_hunks(base, found) == new
    assert apply_hunks(base, found, ()) == base
    assert unified(found, "logo.png") == "Binary files a/logo.png and b/logo.png differ\n"


def test_marks_of_a_row():
    (hunk,) = diff(b"\xef\xbb\xbfa\r\nb", b"\xef\xbb\xbfa\nb\n").hunks
    first, second, *_ = (row for row in hunk.rows() if row.kind == "remove")
    assert (first.text, first.ending, first.bom) == ("a", "\r\n", True)
    assert (second.text, second.ending, second.bom) == ("b", "", False)


def test_bytes_that_are_no_utf8_survive_as_surrogates():
    (hunk,) = diff(b"", b"\xff\n").hunks
    assert hunk.row(0).text == "\udcff"


def test_rows_outside_a_hunk_do_not_exist():
    (hunk,) = diff(b"", b"a\n").hunks
    with pytest.raises(IndexError):
        hunk.row(1)
    with pytest.raises(IndexError):
        hunk.row(-1)


def test_mixed_endings():
    assert mixed_endings(b"a\r\n", b"a\n")
    assert mixed_endings(None, b"a\r\nb\n")
    assert not mixed_endings(b"a\r\n", b"b\r\n")
    assert not mixed_endings(b"a\n", None)


def test_applying_to_other_bytes_is_refused():
    found = diff(b"a\n", b"b\n")
    with pytest.raises(ValueError, match="other bytes"):
        apply_hunks(b"c\n", found)
    with pytest.raises(ValueError, match="no such hunk: 7"):
        apply_hunks(b"a\n", found, {1, 7})


def test_unified_text():
    found = diff(b"a\nb\nc", b"a\nB\nc\n", context=1)
    assert unified(found, "src/x.py") == (
        "--- a/src/x.py\n+++ b/src/x.py\n@@ -1,3 +1,3 @@\n a\n-b\n-c\n\\ No newline at end of file\n+B\n+c\n"
    )
    assert unified(diff(None, b"a\n"), "n") == "--- a/n\n+++ b/n\n@@ -0,0 +1 @@\n+a\n"
    assert unified(diff(b"a\n", b"a\n"), "n") == ""


@given(base=texts.filter(lambda t: t != b""), new=texts)
def test_unified_text_holds_what_applying_needs(base, new):
    """A reader that knows nothing of hunks gets the new text from the base and the printed diff."""
    found = diff(base, new)
    printed = unified(found, "p").encode("utf-8", "surrogateescape")
    result, done, added = b"", 0, False
    old = [line + b"\n" for line in base.split(b"\n")[:-1]] + ([base.split(b"\n")[-1]] if base[-1:] != b"\n" else [])
    body = printed.split(b"\n")[2:-1]
    for line in body:
        if line.startswith(b"@@"):
            start, _, count = line.split()[1][1:].partition(b",")
            at = int(start) - (count != b"0")
            result += b"".join(old[done:at])
            done = at
        elif line.startswith(b"\\"):
            result = result[:-1] if added else result
        else:
            added = line[:1] in b" +"
            result += line[1:] + b"\n" if added else b""
            done += line[:1] in b" -"
    assert result + b"".join(old[done:]) == new


def test_hunks_come_one_by_one_with_pauses_in_between():
    base = b"".join(b"%d\n" % n for n in range(60_000))
    new = base.replace(b"\n700\n", b"\nseven\n").replace(b"\n59000\n", b"\nnine\n")
    steps = list(compare(base, new))
    found = [step for step in steps if isinstance(step, Hunk)]
    assert [hunk.number for hunk in found] == [1, 2]
    assert steps.count(None) > 20


@pytest.mark.parametrize(
    ("base", "new"),
    [
        ([b"0\n", b"1\n"] * 900, [b"1\n", b"1\n", b"0\n"] * 600),
        ([b"x\n"] * GAP_LINES, [b"x\n", b"y\n"] * (GAP_LINES // 2)),
        ([b"a\n", b"b\n"] * GAP_LINES, [b"b\n", b"b\n", b"a\n"] * GAP_LINES),
    ],
    ids=["two-letters", "one-letter", "too-long-for-difflib"],
)
def test_bad_input_ends_coarse_but_exact(base, new):
    found = diff(b"".join(base), b"".join(new))
    assert apply_hunks(b"".join(base), found) == b"".join(new)


@given(st.lists(st.sampled_from("abcd"), max_size=40), st.data())
def test_hunks_that_are_the_same_change_the_same_lines(letters: list[str], data: st.DataObject) -> None:
    base = "".join(f"{n} {letter}\n" for n, letter in enumerate(letters))
    lines = base.splitlines(keepends=True)
    picked = data.draw(st.sets(st.integers(0, max(0, len(lines) - 1)), max_size=6))
    new = "".join("x\n" if n in picked else line for n, line in enumerate(lines))
    one = base.encode(), new.encode()
    ahead = b"p\n" * data.draw(st.integers(0, 9))
    moved = ahead + one[0], ahead + one[1]
    assert same_hunks(one, moved) == {hunk.number: hunk.number for hunk in diff(*one).hunks}
    for mine, there in same_hunks(one, (one[0], one[1] + b"end\n")).items():
        a, b = diff(*one).hunks[mine - 1], diff(one[0], one[1] + b"end\n").hunks[there - 1]
        changed = [[row.line for row in hunk.rows() if row.kind != "context"] for hunk in (a, b)]
        assert changed[0] == changed[1]


def test_alike_hunks_that_cannot_be_told_apart_are_not_the_same() -> None:
    part = b"".join(b"%d\n" % n for n in range(10))
    old, new = part + b"a\n" + part, part + b"b\n" + part
    assert same_hunks((old * 2, new * 2), (old * 2, new * 2)) == {1: 1, 2: 2}
    assert same_hunks((old * 2, new * 2), (old * 2, new + old)) == {}
    assert same_hunks((old * 2, new * 2), (old * 3, new * 3)) == {}
