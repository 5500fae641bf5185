"""The widget in a headless app: sizes, following, anchoring, selection, hostile text, cost when idle."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from textual.app import App, ComposeResult
from textual.events import MouseScrollDown, MouseScrollUp

from tui_agent.core.endings import StopReason
from tui_agent.core.events import (
    AssistantSaid,
    CheckDone,
    CommandOutput,
    ProviderFailed,
    RunEnded,
    ToolDone,
    ToolStarted,
    UserSaid,
)
from tui_agent.core.types import AssistantMessage, ProviderError, TextDelta, ToolCall
from tui_agent.ui.blocks import Said
from tui_agent.ui.lines import STYLES
from tui_agent.ui.transcript import Transcript

ROOT = Path(__file__).resolve().parents[2]
SIZES = [(120, 40), (80, 24), (40, 20)]
PROSE = "A paragraph with **bold** words and `code`, long enough to wrap on any terminal of a usual width, I hope.\n\n"


class Host(App[None]):
    CSS_PATH = ROOT / "styles" / "transcript.tcss"

    def __init__(self, events=()) -> None:
        super().__init__()
        self.events = events
        self.badges: list[int] = []

    def compose(self) -> ComposeResult:
        yield Transcript()

    def on_mount(self) -> None:
        self.query_one(Transcript).load(self.events)

    def on_transcript_below_changed(self, event: Transcript.BelowChanged) -> None:
        self.badges.append(event.below)


def visible(view: Transcript) -> list[str]:
    return [view.render_line(y).text.rstrip() for y in range(view.size.height)]


def everything(view: Transcript) -> list[str]:
    return [line.text.rstrip() for line in view._layout.between(0, view.virtual_size.height - 1)]


def session(turns: int) -> list:
    events = []
    for turn in range(turns):
        events += [
            UserSaid(f"question {turn}"),
            AssistantSaid(AssistantMessage(f"## Answer {turn}\n\n" + PROSE * 3 + "- a\n- b\n")),
            ToolDone(ToolCall(f"c{turn}", "read_file", {}), "applied", "…", "", f"read f{turn}.py"),
            RunEnded(StopReason.COMPLETED),
        ]
    return events


async def settled(pilot) -> None:
    await pilot.pause(0.08)
    await pilot.pause()


@pytest.mark.parametrize("size", SIZES)
async def test_every_kind_of_entry_is_readable(size: tuple[int, int]) -> None:
    events = [
        UserSaid("please keep the old error text"),
        AssistantSaid(
            AssistantMessage("Let me **see** `it`.\n\n| a | b |\n|---|---|\n| 中文 | " + "word " * 12 + "|\n")
        ),
        ToolDone(
            ToolCall("1", "run_command", {"argv": ["pytest"]}),
            "error",
            "it broke",
            "exit 1",
            "run pytest -q tests",
            None,
            1.8,
        ),
        CheckDone(("make", "check"), 1, "1 failed", 4.1),
        ProviderFailed(ProviderError("network", "Nothing listens on http://127.0.0.1:11434.")),
        RunEnded(StopReason.VERIFIED, "checked"),
    ]
    async with Host(events).run_test(size=size) as pilot:
        await settled(pilot)
        view = pilot.app.query_one(Transcript)
        lines = everything(view)
        gutter = "  " if size[0] >= 50 else ""
        assert lines[0] == "› please keep the old error text"
        assert gutter + "Let me see it." in lines
        joined = " ".join(" ".join(lines).split())
        for part in (
            "中文",
            "run pytest -q tests",
            "exit 1",
            "it broke",
            "FAIL exit 1",
            "1 failed",
            "▌ No answer",
            "verified checked",
        ):
            assert part in joined, part
        assert all(
            view.render_line(y).cell_length == view.scrollable_content_region.width for y in range(view.size.height)
        )


async def test_it_follows_while_the_reader_is_at_the_end() -> None:
    async with Host(session(4)).run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        view = pilot.app.query_one(Transcript)
        for number in range(30):
            view.feed(TextDelta(f"line {number}\n"))
            await pilot.pause(0.01)
        await settled(pilot)
        assert view.below == 0
        assert "  line 29▌" in visible(view)


async def test_it_keeps_still_when_the_reader_is_elsewhere() -> None:
    app = Host(session(6))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        view = pilot.app.query_one(Transcript)
        view.scroll_pages(-1)
        await settled(pilot)
        before, below = visible(view), view.below
        assert below == view.size.height - 1
        for number in range(50):
            view.feed(TextDelta(f"- line {number}\n"))
        view.feed(AssistantSaid(AssistantMessage("".join(f"- line {number}\n" for number in range(50)))))
        view.feed(RunEnded(StopReason.COMPLETED))
        await settled(pilot)
        assert visible(view) == before
        assert view.below > below + 40
        assert 50 <= view.news < view.below
        assert app.badges[-1] == view.below
        news = view.news
        view.toggle_details()
        view.scroll_rows(-2)
        await settled(pilot)
        assert view.news == news, "only what came is new"
        view.to_end()
        await settled(pilot)
        assert view.below == view.news == 0
        assert app.badges[-1] == 0
        view.feed(TextDelta("more"))
        await settled(pilot)
        assert "  more▌" in visible(view)


async def test_scrolling_back_through_guessed_heights_shows_every_row_once() -> None:
    async with Host(session(30)).run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        view = pilot.app.query_one(Transcript)
        seen = visible(view)
        while view.scroll_offset.y:
            above = view.scroll_offset.y
            step = min(5, above)
            old = visible(view)
            view._go(above - step)
            await pilot.pause()
            new = visible(view)
            moved = next(n for n in range(24) if new[n:] == old[: 24 - n])
            seen = new[:moved] + seen
            assert moved <= step + 1 or view.scroll_offset.y == 0
        assert seen == everything(view)


async def test_resizing_keeps_the_block_at_the_top() -> None:
    async with Host(session(12)).run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        view = pilot.app.query_one(Transcript)
        index = view._story.blocks.index(Said("question 6", turn=7))
        for _ in range(2):  # the first time heights above are guesses
            view._go(view._layout.start(index) + 1)
            await settled(pilot)
        assert visible(view)[0] == "› question 6"
        for size in [(40, 20), (80, 24), (120, 40)]:
            await pilot.resize_terminal(*size)
            view.feed(TextDelta("streams on\n"))
            await settled(pilot)
            assert "question 6" in "\n".join(visible(view)[:2])
            assert everything(view).count("› question 6") == 1


async def test_resizing_at_the_end_stays_at_the_end() -> None:
    async with Host(session(5)).run_test(size=(120, 40)) as pilot:
        for size in [(40, 20), (120, 40), (60, 12)]:
            await pilot.resize_terminal(*size)
            await settled(pilot)
            view = pilot.app.query_one(Transcript)
            assert view.below == 0
            assert visible(view)[-1].strip() == "completed"


@pytest.mark.parametrize("size", SIZES)
async def test_live_equals_loaded(size: tuple[int, int]) -> None:
    durable, live = session(3), []
    for event in durable:
        if isinstance(event, AssistantSaid):
            text = event.message.text
            live += [TextDelta(text[at : at + 9]) for at in range(0, len(text), 9)]
        live.append(event)
    screens = []
    for events in (durable, live):
        async with Host().run_test(size=size) as pilot:
            view = pilot.app.query_one(Transcript)
            for number, event in enumerate(events):
                view.feed(event)
                if number % 20 == 0:
                    await pilot.pause(0.01)
            await settled(pilot)
            screens.append(everything(view))
    assert screens[0] == screens[1]


HOSTILE = "[/foo] [red]y[/red] [@click=app.quit]x[/] \x1b[31mred\x1b]52;c;aGk=\x07 a\u202eb <https://x.example>"


async def test_outside_text_is_shown_and_never_obeyed() -> None:
    events = [
        UserSaid(HOSTILE),
        AssistantSaid(
            AssistantMessage(
                HOSTILE + "\n```python\n" + HOSTILE + "\n```\n| " + HOSTILE + " |\n|---|\n| " + HOSTILE + " |"
            )
        ),
        ToolDone(ToolCall("1", HOSTILE, {}), "error", HOSTILE, HOSTILE, "run " + HOSTILE),
        CheckDone((HOSTILE,), 1, HOSTILE, 1.0),
        ProviderFailed(ProviderError("server", HOSTILE)),
        RunEnded(StopReason.FAILED, HOSTILE),
    ]
    async with Host(events).run_test(size=(200, 60)) as pilot:
        await settled(pilot)
        view = pilot.app.query_one(Transcript)
        text = "\n".join(everything(view))
        assert not {c for c in text if c in "\x1b\x07\u202e" or "\ue000" <= c <= "\uf8ff"}
        assert text.count("[@click=app.quit]x[/] <ESC>[31mred<ESC>]52;c;aGk=<BEL> a<U+202E>b") >= 8
        reverse = [s.text for y in range(view.size.height) for s in view.render_line(y) if s.style and s.style.reverse]
        assert reverse.count("<ESC>") >= 16
        for y in range(view.size.height):
            for segment in view.render_line(y):
                assert not (segment.style and (segment.style.link or "@click" in segment.style.meta))


async def drag(pilot, view: Transcript, start: tuple[int, int], end: tuple[int, int]) -> str | None:
    await pilot.mouse_down(view, offset=start)
    await pilot.hover(view, offset=end)
    await pilot.mouse_up(view, offset=end)
    await pilot.pause()
    return pilot.app.screen.get_selected_text()


@pytest.mark.parametrize("width", [40, 80, 120])
async def test_a_selection_is_the_text_and_not_its_layout(width: int) -> None:
    text = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    code = "def function(argument):\n    return argument"
    events = [AssistantSaid(AssistantMessage(f"{text}\n\n```python\n{code}\n```"))]
    async with Host(events).run_test(size=(width, 24)) as pilot:
        await settled(pilot)
        view = pilot.app.query_one(Transcript)
        last = len(everything(view)) - 1
        assert await drag(pilot, view, (0, 0), (width - 2, last)) == f"{text}\n\n{code}"
        row = 0
        assert any(
            segment.style and segment.style.bgcolor != view.rich_style.bgcolor for segment in view.render_line(row)
        )
        await pilot.press("ctrl+c")
        assert pilot.app.clipboard == f"{text}\n\n{code}"


@pytest.mark.parametrize("begin", [(2, 10), (0, 0), (70, 15)])
async def test_where_no_text_is_none_is_selected(begin: tuple[int, int]) -> None:
    async with Host([AssistantSaid(AssistantMessage("abc"))]).run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        view = pilot.app.query_one(Transcript)
        assert (await drag(pilot, view, begin, (40, 20)) or "").strip() == ("abc" if begin == (0, 0) else "")
        view.restart()
        await settled(pilot)
        assert not pilot.app.screen.get_selected_text(), "what was selected is gone"


async def test_a_selection_with_wide_characters() -> None:
    async with Host([AssistantSaid(AssistantMessage("中文字符 abc"))]).run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        view = pilot.app.query_one(Transcript)
        assert await drag(pilot, view, (2 + 2, 0), (2 + 4, 0)) == "文字"


async def test_nothing_is_drawn_while_nothing_happens() -> None:
    async with Host(session(2)).run_test(size=(80, 24)) as pilot:
        await pilot.pause(0.2)
        view = pilot.app.query_one(Transcript)
        painted = []
        view.render_lines = lambda crop, original=view.render_lines: painted.append(crop) or original(crop)
        await pilot.pause(0.2)
        assert painted == []
        assert view._timer is not None
        assert not view._timer._active.is_set()
        view.feed(TextDelta("x"))
        await settled(pilot)
        assert painted


async def test_only_the_rows_that_changed_are_drawn() -> None:
    async with Host(session(1)).run_test(size=(80, 40)) as pilot:
        await settled(pilot)
        view = pilot.app.query_one(Transcript)
        view.feed(TextDelta("first line\nsecond"))
        await settled(pilot)
        drawn = []
        view.render_line = lambda y, original=view.render_line: drawn.append(y) or original(y)
        view.feed(TextDelta(" word"))
        await settled(pilot)
        first = min(drawn)
        assert visible(view)[first] == "  second word▌"


async def test_only_what_is_looked_at_is_drawn() -> None:
    async with Host(session(300)).run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        view = pilot.app.query_one(Transcript)
        assert view._layout.drawn < 30
        view.to_start()
        await settled(pilot)
        assert visible(view)[0] == "› question 0"
        assert view._layout.drawn < 60


@pytest.mark.parametrize("theme", ["textual-dark", "textual-light", "nord", "ansi-dark"])
async def test_colours_come_from_the_theme(theme: str) -> None:
    async with Host([AssistantSaid(AssistantMessage("a `code`"))]).run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        pilot.app.theme = theme
        await settled(pilot)
        view = pilot.app.query_one(Transcript)
        assert visible(view)[0] == "  a code"
        code = next(segment for segment in view.render_line(0) if segment.text == "code")
        assert code.style is not None
        assert code.style.color == view.get_component_rich_style("transcript--code").color


async def test_details_unfold() -> None:
    events = [ToolDone(ToolCall("1", "read_file", {}), "applied", "a\nb\nc", "", "read f")]
    async with Host(events).run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        view = pilot.app.query_one(Transcript)
        assert everything(view) == ["  read   f"]
        view.toggle_details()
        await settled(pilot)
        assert everything(view) == ["  read   f", "         a", "         b", "         c"]


async def test_the_answers_are_their_source() -> None:
    async with Host(session(9)).run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        answers = pilot.app.query_one(Transcript).story.answers
        assert len(answers) == 9
        assert answers[-1].startswith("## Answer 8\n\nA paragraph with **bold**")


async def test_the_wheel_starts_from_where_the_reader_is() -> None:
    async with Host(session(8)).run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        view = pilot.app.query_one(Transcript)
        for number in range(20):
            view.feed(TextDelta(f"- row {number}\n"))
            await pilot.pause(0.01)
        await settled(pilot)
        end = view.scroll_offset.y
        view.post_message(MouseScrollUp(view, 5, 5, 0, -1, 0, False, False, False))
        await settled(pilot)
        assert 0 < end - view.scroll_offset.y <= 4
        view.feed(TextDelta("- more\n" * 9))
        await settled(pilot)
        view.post_message(MouseScrollDown(view, 5, 5, 0, 1, 0, False, False, False))
        await settled(pilot)
        assert abs(end - view.scroll_offset.y) <= 4


def test_nothing_heavy_is_imported_with_the_widget() -> None:
    code = "import sys, tui_agent.ui.transcript; print([m for m in ('pygments', 'markdown_it', 'rich.markdown', 'httpx') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


async def test_without_colour_the_words_remain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with Host([CheckDone(("make",), 1, "boom", 1.0), RunEnded(StopReason.VERIFIED)]).run_test(
        size=(80, 24)
    ) as pilot:
        await settled(pilot)
        strips = pilot.app.screen._compositor.render_strips()
        fail = next(segment for strip in strips for segment in strip if "FAIL" in segment.text)
        assert fail.style is not None
        assert fail.style.bold
        assert fail.style.color is not None
        red, green, blue = fail.style.color.get_truecolor()
        assert red == green == blue


async def test_when_rows_go_away_the_end_stays_at_the_end() -> None:
    async with Host(session(4)).run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        view = pilot.app.query_one(Transcript)
        call = ToolCall("c", "run_command", {})
        view.feed(ToolStarted(call, "run x"))
        view.feed(CommandOutput("c", "a\nb\nc\nd\n"))
        await settled(pilot)
        view.action_scroll_up()
        await settled(pilot)
        assert view.below == 1
        view.feed(ToolDone(call, "applied", "", "", "run x"))
        await settled(pilot)
        assert view.below == 0
        assert visible(view)[-1] == "  run    x"


def test_every_style_name_has_a_rule() -> None:
    rules = (ROOT / "styles" / "transcript.tcss").read_text(encoding="utf-8")
    assert set(re.findall(r"\.transcript--([a-z-]+) \{", rules)) == set(STYLES)


@pytest.mark.parametrize(("detail", "rows"), [("compact", 1), ("normal", 8), ("full", 21)])
async def test_how_much_of_an_output_stands_below_is_a_setting(detail: str, rows: int) -> None:
    output = "".join(f"line {number}\n" for number in range(20))
    failed = ToolDone(ToolCall("c", "run_command", {"argv": ["make"]}), "error", output, "exit 1", "run make")
    async with Host([failed]).run_test(size=(80, 40)) as pilot:
        view = pilot.app.query_one(Transcript)
        view.show_detail(detail)  # type: ignore[arg-type]
        await settled(pilot)
        assert len([line for line in visible(view) if line.strip()]) == rows
        view.restart()
        view.load([failed])
        await settled(pilot)
        assert len([line for line in visible(view) if line.strip()]) == rows, "in another session, too"
