"""The keys of the transcript: stepping, folding, copying what things were made from, searching, jumping."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.widgets import OptionList

from tests.ui.test_app import idle, running, send
from tests.ui.test_transcript import drag, visible
from tests.waiting import until
from tui_agent.core import events as ev
from tui_agent.core.endings import StopReason
from tui_agent.core.types import AssistantMessage, TextDelta, ToolCall
from tui_agent.providers.scripted import scripted
from tui_agent.ui.entries import code, entry, message, row_of, search, source
from tui_agent.ui.lines import Line
from tui_agent.ui.markdown import bare, parts
from tui_agent.ui.reading import Reading
from tui_agent.ui.rewind import RewindScreen
from tui_agent.ui.story import Story
from tui_agent.ui.transcript import CursorBar, Transcript, into_view

ANSWER = """Here is **the** plan:

- one
- two

```python
def f():
\treturn 1
```

And then

    ~~~
    make\tall
    ~~~

| a | b |
|---|---|
| 1 | 2 |"""
FIRST = "Here is **the** plan:\n\n- one\n- two"
PYTHON = "def f():\n\treturn 1"


def reply(text: str, reasoning: str = "") -> ev.AssistantSaid:
    return ev.AssistantSaid(AssistantMessage(text, reasoning=reasoning))


def ran(output: str, number: int = 1) -> ev.ToolDone:
    call = ToolCall(f"c{number}", "run_command", {"argv": ["make", "all"]})
    return ev.ToolDone(call, "applied", output, "", "run make all")


def told(*events: ev.Event) -> Story:
    story = Story()
    for event in events:
        story.feed(event)
    return story


def entries(story: Story) -> list[int]:
    found, index = [], 0
    while index < len(story.blocks):
        found.append(index)
        index = entry(story, index).stop
    return found


# ------------------------------------------------------------------ what copying gives


def test_each_entry_gives_its_source() -> None:
    story = told(ev.UserSaid("please\n\tdo"), reply(ANSWER, "hm, hm"), ran("built\n"), ev.Notice("a word"))
    assert [source(story, at) for at in entries(story)] == [
        "please\n\tdo",
        "",
        FIRST,
        f"```python\n{PYTHON}\n```",
        "And then",
        "    ~~~\n    make\tall\n    ~~~",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "built\n",
        "a word",
    ]


def test_the_code_at_an_entry() -> None:
    story = told(reply(ANSWER), ran("built"), reply("no code here"), ev.UserSaid("go"))
    found = [code(story, at) for at in entries(story)]
    assert found == [PYTHON, PYTHON, "make\tall", "make\tall", "make\tall", "make all", "", ""]
    assert {message(story, at) for at in entries(story)[:5]} == {ANSWER}


def test_answers_that_follow_one_another_are_apart() -> None:
    story = told(reply("first\n\n```\na\n```"), reply("second\n\n```\nb\n```"))
    assert [source(story, at) for at in entries(story)] == ["first", "```\na\n```", "second", "```\nb\n```"]
    assert [code(story, at) for at in entries(story)] == ["a", "a", "b", "b"]


def test_an_answer_that_streams_can_be_copied_as_far_as_it_came() -> None:
    story = told(ev.UserSaid("go"), *(TextDelta(c) for c in "one\n\n```\ncode\n```\n\nopen"))
    assert [source(story, at) for at in entries(story)] == ["go", "one", "```\ncode\n```"]


def test_what_an_action_without_output_gives() -> None:
    assert source(told(ran("")), 0) == "run make all"


markdown = st.lists(
    st.sampled_from(["text", "**bold**", "", "```", "```py", "~~~", "    ```", "| a | b |", "|---|", "- item", "# h"]),
    min_size=1,
    max_size=30,
).map("\n".join)


@given(st.lists(markdown, min_size=1, max_size=3))
def test_the_entries_of_answers_are_their_parts(texts: list[str]) -> None:
    story = told(*map(reply, texts))
    expected = [part for text in texts for part in parts(text)]
    assert [source(story, at) for at in entries(story)] == expected
    streamed = Story()
    for text in texts:
        for character in text:
            streamed.feed(TextDelta(character))
        streamed.feed(reply(text))
    assert streamed.blocks == story.blocks
    assert [source(streamed, at) for at in entries(streamed)] == expected


@given(markdown)
def test_parts_lose_no_word(text: str) -> None:
    assert "\n".join(parts(text)).split() == text.split()
    assert all(part.strip() for part in parts(text))


@pytest.mark.parametrize(
    ("part", "expected"),
    [("```\na\n```", "a"), ("```py\na", "a"), ("  ```\n  a\n   b\n  ```", "a\n b"), ("plain", "plain"), ("```", "")],
)
def test_bare_code(part: str, expected: str) -> None:
    assert bare(part) == expected


# ------------------------------------------------------------------ searching, and where things stand


def test_a_search_counts_every_place_and_starts_at_the_reader() -> None:
    story = told(ev.UserSaid("Needle [x]"), reply("a needle and a NEEDLE", "needle"), ran("no\nneedle"))
    found = search(story.blocks, "needle", len(story.blocks))
    assert found.places == ((0, 0), (1, 0), (2, 0), (2, 1), (3, 0))
    assert found.told == "5 of 5"
    assert search(story.blocks, "needle", 1).told == "2 of 5"
    assert search(story.blocks, "[x]", 9).told == "1 of 1"
    assert search(story.blocks, "nowhere", 9).told == "not found"


def test_the_row_of_a_place_that_was_wrapped() -> None:
    lines = [Line((("a long", ""),)), Line((("word", ""),), joint=" "), Line((("  long word", ""),), 2)]
    wanted = search([], "long word", 0).pattern
    assert [row_of(lines, wanted, nth) for nth in (0, 1, 2)] == [0, 2, 2]
    assert row_of(lines, search([], "gone", 0).pattern, 0) is None


@given(st.integers(0, 50), st.integers(1, 30), st.integers(0, 50), st.integers(1, 20))
def test_into_view(start: int, count: int, top: int, height: int) -> None:
    rows = range(start, start + count)
    new = into_view(rows, top, height)
    seen = range(new, new + height)
    if count < height:
        assert rows.start in seen
        assert rows.stop - 1 in seen
    else:
        assert rows.start in seen or rows.stop - 1 in seen or set(seen) <= set(rows)


# ------------------------------------------------------------------ by the keys


@asynccontextmanager
async def reading(
    tmp_path: Path, events: Sequence[ev.Event], size: tuple[int, int] = (100, 30)
) -> AsyncIterator[tuple[Any, Any, Transcript, Reading]]:
    """The whole app with these events in its transcript, which has the focus."""
    async with running(tmp_path, scripted([]), size=size) as (app, pilot):
        app.main._side.display = False
        view = app.main.transcript
        for event in events:
            view.feed(event)
        await until(lambda: view.rows.total > 0)
        await pilot.press("tab")
        await pilot.pause()
        assert app.main.pane == "transcript"
        yield app, pilot, view, app.main.reading


def told_by(app: Any) -> list[str]:
    """The notices so far."""
    return [notice.message for notice in app._notifications]


def marked(view: Transcript) -> list[str]:
    """The rows with the cursor."""
    bar = view.screen.query_one(CursorBar).render().plain.split("\n")
    return [row.strip() for row, sign in zip(visible(view), bar, strict=True) if sign == "▌"]


async def test_the_cursor_steps_through_entries_and_copies_them(tmp_path: Path) -> None:
    async with reading(tmp_path, [ev.UserSaid("do it"), reply(ANSWER), ran("built\nall")]) as (app, pilot, view, _):
        assert marked(view) == ["run    make all"]
        await pilot.press("y")
        assert app.clipboard == "built\nall"
        await pilot.press("c")
        assert app.clipboard == "make all"
        await pilot.press("k", "up", "up", "up")
        assert marked(view) == ["def f():", "return 1"]
        await pilot.press("y")
        assert app.clipboard == f"```python\n{PYTHON}\n```"
        await pilot.press("c")
        assert app.clipboard == PYTHON
        await pilot.press("Y")
        assert app.clipboard == ANSWER
        await pilot.press("{")
        assert marked(view) == ["› do it"]
        await pilot.press("j", "y")
        assert app.clipboard == FIRST
        await pilot.press("escape")
        assert marked(view) == []
        assert app.main.composer.has_focus


@pytest.mark.parametrize("width", [40, 80, 120])
async def test_what_is_copied_does_not_depend_on_the_width(tmp_path: Path, width: int) -> None:
    words = "a paragraph of **many** words " * 12 + "its end"
    async with reading(tmp_path, [reply(words)], (width, 24)) as (app, pilot, _, _):
        await pilot.press("y")
        assert app.clipboard == words


async def test_one_entry_folds(tmp_path: Path) -> None:
    events = [reply("so", "first\nsecond thought"), ran("one\ntwo", 1), ran("three\nfour", 2)]
    async with reading(tmp_path, events) as (_, pilot, view, _):
        await pilot.press("up", "enter")
        assert marked(view) == ["run    make all", "one", "two"]
        assert "three" not in "\n".join(visible(view))
        await pilot.press("space")
        assert marked(view) == ["run    make all"]
        await pilot.press("g", "enter")
        assert marked(view) == ["thought 20 chars", "first", "second thought"]
        await pilot.press("ctrl+o")
        assert {"three", "four", "two", "first"} <= {row.strip() for row in visible(view)}
        await pilot.press("ctrl+o")
        assert not {"three", "two", "first"} & {row.strip() for row in visible(view)}


async def test_reasoning_is_never_copied(tmp_path: Path) -> None:
    async with reading(tmp_path, [reply("", "a thought")]) as (app, pilot, view, _):
        await pilot.press("g", "enter", "y")
        assert marked(view)[0] == "thought 9 chars"
        assert app.clipboard == ""


def long_story(turns: int) -> list[ev.Event]:
    events: list[ev.Event] = []
    for turn in range(turns):
        events += [ev.UserSaid(f"question {turn}"), reply(f"answer {turn}\n\n" + "words and words\n\n" * 6)]
        events += [ran(f"hidden {turn}\nlast", turn), ev.RunEnded(StopReason.COMPLETED)]
    return events


async def test_jumping_between_the_own_messages(tmp_path: Path) -> None:
    async with reading(tmp_path, long_story(125)) as (_, pilot, view, _):
        for number in (124, 123, 122):
            await pilot.press("{")
            await pilot.pause()
            assert marked(view) == [f"› question {number}"]
        await pilot.press("}")
        assert marked(view) == ["› question 123"]
        await pilot.press("home", "}")
        assert marked(view) == ["› question 1"]
        await pilot.press("end")
        assert view.below == 0


async def test_a_search_goes_from_place_to_place_and_unfolds(tmp_path: Path) -> None:
    async with reading(tmp_path, long_story(125)) as (app, pilot, view, reader):
        await pilot.press("/", *"hidden 1", "enter")
        await until(lambda: reader.search is not None)
        await pilot.pause()
        assert reader.search.told == "36 of 36"  # 1, 10 to 19, 100 to 124
        assert "hidden 124" in "\n".join(visible(view))
        assert "36 of 36: hidden 1" in app.main._footer.render().plain
        await pilot.press("N")
        assert reader.search.told == "35 of 36"
        assert "hidden 123" in "\n".join(marked(view))
        await pilot.press("n", "n")
        assert reader.search.told == "1 of 36"
        assert "hidden 1" in marked(view)
        found = [s.text for y in range(view.size.height) for s in view.render_line(y) if s.style and s.style.reverse]
        assert found == ["hidden 1"]
        await pilot.press("escape")
        assert reader.search is None
        assert app.main.pane == "transcript"
        await pilot.press("escape")
        assert app.main.pane == ""


async def test_a_search_without_a_place_says_so_and_esc_leaves_the_field(tmp_path: Path) -> None:
    async with reading(tmp_path, [reply("text")]) as (app, pilot, _, reader):
        await pilot.press("n", *"nowhere", "enter")
        await pilot.pause()
        assert reader.words == "not found: nowhere"
        await pilot.press("/", "escape")
        await pilot.pause()
        assert app.screen is app.main
        assert reader.words == "not found: nowhere"


async def test_an_entry_higher_than_the_view_is_read_to_its_end(tmp_path: Path) -> None:
    text = "\n".join(f"- row {number}" for number in range(100))
    async with reading(tmp_path, [ev.UserSaid("go"), reply(text), ran("x")], (80, 24)) as (_, pilot, view, _):
        await pilot.press("up")
        seen = set(visible(view))
        assert "  - row 99" in seen
        for _ in range(60):
            await pilot.press("up")
            seen |= set(visible(view))
        assert {f"  - row {number}" for number in range(100)} <= seen
        assert marked(view) == ["› go"]


async def test_other_letters_go_on_with_the_message(tmp_path: Path) -> None:
    async with reading(tmp_path, [reply("text")]) as (app, pilot, _, _):
        await pilot.press("x", "y")
        assert app.main.composer.text == "xy"
        assert app.main.composer.has_focus
        assert app.clipboard == ""


async def test_the_cursor_stays_in_view_and_the_end_is_followed(tmp_path: Path) -> None:
    async with reading(tmp_path, long_story(20), (80, 24)) as (app, pilot, view, _):
        app.main.conversation._show(TextDelta("- more\n" * 60))
        await pilot.pause(0.15)
        assert view.below == 0
        await pilot.press(*["pageup"] * 4)
        assert marked(view)
        above = visible(view)
        app.main.conversation._show(TextDelta("- more\n" * 60))
        await pilot.pause(0.15)
        assert visible(view) == above


async def test_copying_by_command(tmp_path: Path) -> None:
    events = [reply("old\n\n```\nx = 1\n```"), reply("new")]
    async with reading(tmp_path, events) as (app, pilot, _, reader):
        for argument, expected in [("", "new"), ("2", "old\n\n```\nx = 1\n```"), ("code", "x = 1")]:
            reader.copy_answer(argument)
            await pilot.pause()
            assert app.clipboard == expected
        for argument in ("3", "0", "²", "last"):
            reader.copy_answer(argument)
            assert app.clipboard == "x = 1"


async def test_an_entry_opens_in_the_editor_and_nothing_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    async def look(_app: object, _talk: object, path: str, _line: int) -> None:
        seen.append(await asyncio.to_thread(Path(path).read_text))

    monkeypatch.setattr("tui_agent.ui.reviewing.open_editor", look)
    async with reading(tmp_path, [ran("line\n" * 3_000)]) as (_, pilot, _, _):
        await pilot.press("e")
        await until(lambda: seen == ["line\n" * 3_000])


# ------------------------------------------------------------------ another manner


async def test_an_answer_as_it_was_written_and_back(tmp_path: Path) -> None:
    async with reading(tmp_path, [ev.UserSaid("go"), reply(ANSWER), ran("x")]) as (app, pilot, view, _):
        await pilot.press("up", "up", "up", "up")
        drawn = marked(view)
        assert drawn == ["def f():", "return 1"]
        await pilot.press("r")
        assert marked(view) == ["```python", "def f():", "return 1", "```"]
        await pilot.press("r", "up")
        assert drawn[0] in [row.strip() for row in visible(view)]
        assert marked(view) == ["Here is the plan:", "", "- one", "- two"]
        await pilot.press("r")
        assert marked(view) == ["Here is **the** plan:", "", "- one", "- two"]
        await pilot.press("end", "r")
        assert told_by(app) == ["This is shown as it came."]


async def test_the_same_key_on_an_own_message_goes_back_to_before_it(tmp_path: Path) -> None:
    model = scripted([{"text": "one"}, {"text": "two"}, {"text": "three"}])
    async with running(tmp_path, model) as (app, pilot):
        for task in ("first", "second", "third"):
            await send(app, pilot, task)
            await idle(app)
        app.main.transcript.focus()
        await pilot.press("{", "{", "r")
        await until(lambda: isinstance(app.screen, RewindScreen))
        await until(lambda: app.screen.query_one(OptionList).highlighted == 1)
        await pilot.press("c")
        await until(lambda: app.main.composer.text == "second")
        await send(app, pilot, "/rewind 9")
        await until(lambda: "There is no message 9 to go back to." in told_by(app))


@pytest.mark.parametrize("width", [40, 80])
async def test_long_lines_are_cut_and_wrapped_again(tmp_path: Path, width: int) -> None:
    code = "x = " + " + ".join(f"number_{n}" for n in range(30))
    text = f"```python\n{code}\ny = 1\n```"
    output = "z" * 300 + "\nlast"
    async with reading(tmp_path, [reply(text), ran(output)], (width, 30)) as (app, pilot, view, reader):
        await pilot.press("enter", "w")
        rows = marked(view)
        assert len(rows) == 3
        assert rows[1].startswith("zzz")
        assert rows[1].endswith("z…")
        await pilot.press("w", "up")
        assert len(marked(view)) > 4
        assert any(row.startswith("↳ ") for row in marked(view))
        await pilot.press("w")
        assert [row[:3] for row in marked(view)] == ["x =", "y ="]
        assert marked(view)[0].endswith("…")
        assert all(len(row) <= width for row in visible(view))
        await pilot.press("right")
        assert marked(view)[0].startswith("…")
        assert marked(view)[1] == ""
        seen = ""
        for _ in range(40):
            await pilot.press("right")
            seen += marked(view)[0]
        assert marked(view)[0].endswith("number_29"), "and no further"
        assert all(f"number_{n}" in seen for n in range(4, 30))
        assert all(len(row) <= width for row in visible(view))
        await pilot.press("y", "c")
        assert app.clipboard == f"{code}\ny = 1"
        await pilot.press(*["left"] * 45)
        assert [row[:3] for row in marked(view)] == ["x =", "y ="]
        reader.look_for("number_29")
        await pilot.pause()
        assert "number_29" in "\n".join(visible(view)), "what is searched is shown"


MARKED = "# A **head**\n\n- one `item`\n\n> a quote\n\n**bold** and _more_ words\n\n| name | size |\n|---|--:|\n| a **b** | 1 |"


@pytest.mark.parametrize("width", [60, 80, 120])
async def test_whole_lines_are_selected_as_they_were_written_and_parts_as_they_are_shown(
    tmp_path: Path, width: int
) -> None:
    async with reading(tmp_path, [reply(MARKED), ran("")], (width, 40)) as (app, pilot, view, _):
        rows = [row.rstrip() for row in visible(view)]
        first, last = rows.index("  A head"), next(n for n, row in enumerate(rows) if row.startswith("  a b"))
        assert await drag(pilot, view, (0, first), (width - 3, last)) == MARKED
        assert told_by(app)[0].startswith("Ctrl+C copies it.")
        await pilot.press("ctrl+c")
        assert app.clipboard == MARKED
        await pilot.mouse_down(view, offset=(0, first))
        await pilot.hover(offset=(width - 1, view.region.y + first + 2))
        await pilot.mouse_up(offset=(width - 1, view.region.y + first + 2))
        assert app.screen.get_selected_text() == "# A **head**\n\n- one `item`", "beside the text is not all below it"
        at = rows.index("  bold and more words")
        assert await drag(pilot, view, (2, at), (10, at)) == "bold and"
        action = next(n for n, row in enumerate(rows) if row.startswith("  run"))
        assert "  " * 5 not in (await drag(pilot, view, (0, action), (width - 3, action)) or "")


async def test_a_cut_line_is_selected_whole(tmp_path: Path) -> None:
    words = "a paragraph of **many** words " * 12 + "its end"
    async with reading(tmp_path, [reply(words)], (60, 24)) as (_, pilot, view, _):
        await pilot.press("w")
        (at,) = (n for n, row in enumerate(visible(view)) if row.strip())
        assert await drag(pilot, view, (0, at), (len(visible(view)[at]) - 1, at)) == words
