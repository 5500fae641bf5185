"""What is completed where: places, quoting, ranges, ranking. Values only."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_agent.ui.actions import BY_SLASH
from tui_agent.ui.completion import Choice, Place, commands, common, filled, mention, place, ranked
from tui_agent.workspace.images import named


@pytest.mark.parametrize(
    ("before", "kind", "start", "word"),
    [
        ("/", "command", 0, "/"),
        ("/he", "command", 0, "/he"),
        ("/mode ", "argument", 6, ""),
        ("/mode  re", "argument", 7, "re"),
        ("/MODE re", "argument", 6, "re"),
        ("@", "file", 0, ""),
        ("look at @src/pa", "file", 8, "src/pa"),
        ("(@a", "file", 1, "a"),
        ('@"my fi', "file", 0, "my fi"),
        ('@"my file.py"', "file", 0, "my file.py"),
        (r"@my\ fi", "file", 0, "my fi"),
        ("/mode @re", "argument", 6, "@re"),
        ("/redo @x", "file", 6, "x"),
    ],
)
def test_places(before: str, kind: str, start: int, word: str) -> None:
    found = place(before)
    assert found is not None
    assert (found.kind, found.start, found.word) == (kind, start, word)


@pytest.mark.parametrize(
    "before", ["", "hello", "a/b", "/usr/bin", "me@example.org", "@a b", "x /help", "/nothing x", "/redo x", '@"a" b']
)
def test_no_places(before: str) -> None:
    assert place(before) is None


def test_a_command_stands_in_the_first_line_only() -> None:
    assert place("/he", "text\n") is None
    assert place("@he", "text\n") is not None


@pytest.mark.parametrize(
    ("before", "word", "lines"),
    [
        ("@f.py:10-20", "f.py", ":10-20"),
        ("@f.py:10", "f.py", ":10"),
        ("@f.py:", "f.py", ":"),
        ('@"my f.py":3-', "my f.py", ":3-"),
        ("@a:b", "a:b", ""),
    ],
)
def test_a_range_of_lines_stays_behind_the_name(before: str, word: str, lines: str) -> None:
    found = place(before)
    assert found is not None
    assert (found.word, found.lines) == (word, lines)
    assert filled(found, Choice("src/f.py")) == f"@src/f.py{lines}"


def test_an_exclamation_mark_asks_for_ignored_files_and_is_not_part_of_the_name() -> None:
    found = place("@!build/o")
    assert found == Place("file", 0, "build/o", every=True)
    assert filled(found, Choice("build/out.o")) == "@build/out.o"


@given(st.text(st.sampled_from("ab/. \"\\é漢'()-"), min_size=1, max_size=12).map(lambda text: f"{text}.png"))
def test_a_mention_is_read_again_as_the_path_it_was_made_of(path: str) -> None:
    written = mention(path)
    assert named(f"see {written} please") == [path], "as pictures are found"
    found = place(f"see {written}")
    assert found is not None
    assert found.word == path
    assert found.start == 4


def test_commands_are_those_of_the_table_and_other_names_are_found_too() -> None:
    assert {choice.value for choice in commands("/")} == {a.slash for a in BY_SLASH.values()}
    assert commands("/cost")[0].value == "/cost"
    assert commands("/help")[0].value == "/help"
    assert commands("/he")[0].value == "/help"
    assert "F1" in commands("/help")[0].hint


@pytest.mark.parametrize("word", list(BY_SLASH))
def test_an_exact_command_is_always_the_first(word: str) -> None:
    assert commands(word)[0].value == word


def test_what_needs_an_argument_is_filled_with_room_for_it() -> None:
    at = Place("command", 0, "/allow")
    assert filled(at, Choice("/allow-cmd")) == "/allow-cmd "
    assert filled(at, Choice("/help")) == "/help"


def test_ranking() -> None:
    choices = [Choice("gpt-large"), Choice("large"), Choice("other")]
    assert [choice.value for choice in ranked(choices, "large")] == ["large", "gpt-large"]
    assert [choice.value for choice in ranked(choices, "")] == ["gpt-large", "large", "other"]


@given(st.lists(st.text("ab", max_size=5), min_size=1, max_size=4), st.text("ab", max_size=3))
def test_what_all_share_begins_each_of_them_and_goes_on_from_the_word(values: list[str], word: str) -> None:
    shared = common([Choice(value) for value in values], word)
    if shared:
        assert all(value.startswith(shared) for value in values)
        assert shared.startswith(word)
        assert len(shared) > len(word)
        assert not all(value.startswith(shared + letter) for letter in "ab" for value in values)
