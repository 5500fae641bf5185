"""The dialog answers only what the person meant: every key, bursts, pastes, sizes and endings."""

from __future__ import annotations

import ast
import asyncio
import inspect
import math
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual.app import App
from textual.screen import ModalScreen
from textual.scroll_view import ScrollView
from textual.widgets import Static, TextArea

from tui_agent.core.types import (
    ApprovalRequest,
    Decision,
    ListFiles,
    PolicyRequest,
    ReadFile,
    RunArgv,
    RunScript,
    SearchText,
    SetPlan,
    ToolCall,
    WriteBytes,
)
from tui_agent.ui import approval, diff_view, late_modal, wrap_view
from tui_agent.ui.approval import ApprovalScreen, ask_on_screen
from tui_agent.ui.approval_text import body, subject
from tui_agent.ui.arming import Arming
from tui_agent.ui.late_modal import Outside

STYLES = Path(__file__).parents[2] / "styles" / "approval.tcss"


class Clock:
    """Time that passes only when told to."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


class Host(App):
    """A transcript and a composer, as below the real dialog."""

    CSS_PATH = STYLES
    CSS = "TextArea { dock: bottom; height: 1; border: none; padding: 0; margin-bottom: 2; }"
    ENABLE_COMMAND_PALETTE = False

    def compose(self):
        yield Static("header")
        yield Static("said before\n" * 10)
        yield TextArea("my draft")

    def on_mount(self):
        self.query_one(TextArea).move_cursor((0, 8))


class Dialog:
    """One open dialog with its clock, what reached the composer, and the answer."""

    def __init__(self, app, pilot, clock):
        self.app, self.pilot, self.clock = app, pilot, clock
        self.fed, self.footers = [], []
        self.task = None

    def ask(self, *requests, **options):
        outside = Outside(
            lambda event: self.fed.append(event.key),
            lambda event: self.fed.append(event.text),
            self.footers.append,
            self.clock,
        )
        self.task = asyncio.create_task(ask_on_screen(self.app, requests, outside=outside, **options))

    @property
    def screen(self):
        assert isinstance(self.app.screen, ApprovalScreen)
        return self.app.screen

    async def later(self, seconds=0.6):
        """Let time pass, and the dialog notice it."""
        while isinstance(self.app.screen, ApprovalScreen) and self.app.screen.arming._since == math.inf:
            await self.pilot.pause()  # not painted yet
        self.clock.now += seconds
        await self.pilot.pause()
        if isinstance(self.app.screen, ApprovalScreen):
            await self.app.screen.tick()
        await self.pilot.pause()

    async def key(self, *keys):
        """Press keys, each alone and listened to."""
        for key in keys:
            await self.pilot.press(key)
            await self.later(0.05)

    async def answer(self):
        return await asyncio.wait_for(self.task, 5)

    @property
    def open(self):
        return isinstance(self.app.screen, ApprovalScreen)

    @property
    def lines(self):
        return [strip.text.rstrip() for strip in self.app.screen._compositor.render_strips()]

    @property
    def text(self):
        return "\n".join(self.lines)


@asynccontextmanager
async def dialog(*requests, size=(80, 24), armed=True, **options):
    app = Host()
    async with app.run_test(size=size) as pilot:
        found = Dialog(app, pilot, Clock())
        found.ask(*requests, **options)
        await pilot.pause()
        await pilot.pause()
        if armed:
            await found.later()
        try:
            yield found
        finally:
            found.task.cancel()
            await asyncio.wait({found.task}, timeout=5)


def request(effect, name="1", reason="", floors=(), depends_on=()):
    policy = PolicyRequest("edit_file", "write", floors=floors)
    return ApprovalRequest(name, ToolCall("c", "edit_file", {}), effect, policy, "summary", reason, depends_on)


def edit(name="1", **more):
    return request(WriteBytes("src/a.py", b"one\ntwo\nthree\n", b"one\n2\nthree\n"), name, **more)


def numbered(count):
    return b"".join(b"line %d\n" % n for n in range(count))


def long_edit():
    return request(WriteBytes("long.txt", None, numbered(100)))


RUN = request(RunArgv(("git", "commit", "-m", "a b; rm -rf x"), 120.0))
SCRIPT = request(RunScript("for i in *; do\n  echo $i\ndone\n", 60.0))
LONG_SCRIPT = request(RunScript("\n".join(f"echo {n}" for n in range(100)), 60.0))


# ------------------------------------------------------------------ what each key does


async def test_y_is_yes_once():
    async with dialog(edit()) as d:
        await d.key("y")
        assert await d.answer() == (Decision("1", "yes"),)
        assert not d.open


@pytest.mark.parametrize(("key", "answer"), [("n", "no"), ("s", "skip")])
@pytest.mark.parametrize(("typed", "reason"), [("", ""), ("use pathlib", "use pathlib"), ("y", "y")])
async def test_n_and_s_take_a_reason(key, answer, typed, reason):
    async with dialog(edit()) as d:
        await d.key(key)
        await d.pilot.press(*("space" if c == " " else c for c in typed), "enter")
        assert await d.answer() == (Decision("1", answer, reason),)
        assert d.fed == []


async def test_the_reason_field_names_its_keys():
    async with dialog(edit()) as d:
        await d.key("s")
        await d.pilot.press("a", "b")
        await d.pilot.pause()
        assert "│ Enter skip, with this reason or none   Esc back" in d.text
        assert "│ ab" in d.text
        assert d.footers[-1] == "Enter sends   empty: without a reason   Esc back"
        await d.pilot.press("escape")
        await d.later()
        assert "│ y apply" in d.text


async def test_escape_leaves_the_reason_and_the_dialog_is_deaf_again():
    async with dialog(edit()) as d:
        await d.key("n")
        await d.pilot.press("x", "escape")
        await d.pilot.press("y")
        await d.later(0.1)
        assert d.open
        assert d.fed == ["y"]
        await d.later()
        await d.key("y")
        assert await d.answer() == (Decision("1", "yes"),)


@pytest.mark.parametrize("key", ["escape", "ctrl+c"])
async def test_stop_answers_this_and_all_later_requests(key):
    async with dialog(edit("1"), edit("2"), edit("3")) as d:
        await d.key("y")
        await d.later()
        await d.pilot.press(key)
        assert await d.answer() == (Decision("1", "yes"), Decision("2", "stop"), Decision("3", "stop"))


async def test_ctrl_c_stops_from_the_reason_field():
    async with dialog(edit()) as d:
        await d.key("n")
        await d.pilot.press("x", "ctrl+c")
        assert await d.answer() == (Decision("1", "stop"),)


@pytest.mark.parametrize("key", ["enter", "space", "tab", "Y", "a", "f2", "shift+tab", "ctrl+m"])
async def test_no_other_key_answers(key):
    async with dialog(edit()) as d:
        await d.key(key)
        await d.later()
        assert d.open
        assert not d.task.done()


async def test_a_printable_key_goes_to_the_composer_and_disarms():
    async with dialog(edit()) as d:
        await d.key("space", "y")
        assert d.fed == ["space", "y"]
        assert d.open


async def test_a_key_that_is_no_text_is_dropped_and_does_not_disarm():
    async with dialog(edit()) as d:
        await d.key("enter", "y")
        assert await d.answer() == (Decision("1", "yes"),)
        assert d.fed == []


@pytest.mark.parametrize(
    ("keys", "row"), [(["pagedown"], 8), (["down", "down", "up"], 1), (["end", "home"], 0), (["end", "pageup"], 84)]
)
async def test_scroll_keys(keys, row):
    async with dialog(long_edit()) as d:
        height = d.screen.view.size.height
        await d.key(*keys)
        expected = {8: height, 84: 100 - 2 * height}.get(row, row)
        assert d.screen.view.scroll_offset.y == expected
        await d.key("y")
        assert d.open  # scrolling does not disarm, but not everything was seen


async def test_hunk_keys_and_position():
    base = numbered(200)
    new = base.replace(b"line 20\n", b"x\n").replace(b"line 90\n", b"y\n").replace(b"line 150\n", b"z\n")
    async with dialog(request(WriteBytes("a", base, new)), size=(80, 18)) as d:
        assert "hunk 1/3" in d.text
        await d.key("right_square_bracket")
        assert "hunk 2/3" in d.text
        await d.key("right_square_bracket", "right_square_bracket")
        assert "hunk 3/3" in d.text
        assert "+ z" in " ".join(d.text.split())
        await d.key("left_square_bracket", "left_square_bracket")
        assert "hunk 1/3" in d.text


async def test_z_uses_the_whole_width():
    async with dialog(long_edit(), size=(120, 40)) as d:
        assert d.lines[3].startswith("said┌")
        await d.key("z")
        assert d.lines[0].startswith("┌")
        assert len(d.lines[0]) == 120
        await d.key("z")
        assert d.lines[3].startswith("said┌")


# ------------------------------------------------------------------ late arming


async def test_keys_typed_ahead_go_to_the_composer_until_half_a_second_of_silence():
    async with dialog(edit(), armed=False) as d:
        for _ in range(25):
            await d.pilot.press("y")
            await d.later(0.04)
        assert d.fed == ["y"] * 25
        assert d.open
        await d.later(0.47)
        assert "y apply" in d.text
        await d.key("y")
        assert await d.answer() == (Decision("1", "yes"),)


async def test_it_says_wait_while_it_is_deaf():
    async with dialog(edit(), armed=False) as d:
        assert "wait…" in d.text
        assert "y apply" not in d.text
        await d.later(0.49)
        assert "wait…" in d.text
        await d.later(0.02)
        assert "wait…" not in d.text
        assert "y apply" in d.text
        assert d.footers == [
            "wait…   keys go to your text",
            "y n s work now   Enter does nothing here   PgUp PgDn scroll",
        ]


async def test_escape_is_deaf_too_but_ctrl_c_acts_at_once():
    async with dialog(edit(), armed=False) as d:
        await d.pilot.press("escape")
        assert d.open
        assert d.fed == ["escape"]
        await d.pilot.press("ctrl+c")
        assert await d.answer() == (Decision("1", "stop"),)


async def test_a_double_y_answers_only_the_first_of_two():
    async with dialog(edit("1"), edit("2")) as d:
        await d.pilot.press("y", "y")
        await d.later(0.1)
        assert d.fed == ["y"]
        assert "2/2" in d.text
        assert not d.task.done()
        await d.later()
        await d.key("y")
        assert await d.answer() == (Decision("1", "yes"), Decision("2", "yes"))


@pytest.mark.parametrize("keys", ["y\ny\ny\n", "yes please", "no\n", "s "])
async def test_letters_that_come_together_are_text_not_an_answer(keys):
    names = {"\n": "enter", " ": "space"}
    pressed = [names.get(key, key) for key in keys]
    async with dialog(edit()) as d:
        await d.pilot.press(*pressed)
        await d.later(0.1)
        assert d.open
        assert d.fed == pressed


async def test_a_key_after_the_last_answer_is_text():
    async with dialog(edit()) as d:
        await d.pilot.press("y")
        d.clock.now += 0.05
        screen = d.screen
        await screen.tick()
        screen.post_message(events.Key("x", "x"))
        await d.pilot.pause()
        assert d.fed in (["x"], [])  # gone with the screen, or text; never an answer
        assert await d.answer() == (Decision("1", "yes"),)


@pytest.mark.parametrize("armed", [True, False])
async def test_a_paste_never_answers(armed):
    async with dialog(edit(), armed=armed) as d:
        d.app.post_message(events.Paste("y\ny\ny\n"))
        await d.pilot.pause()
        await d.pilot.press("y")
        await d.later(0.1)
        assert d.fed == ["y\ny\ny\n", "y"]
        assert d.open


async def test_a_paste_behind_a_letter_makes_both_text():
    async with dialog(edit()) as d:
        await d.pilot.press("y")
        d.app.post_message(events.Paste("ellow"))
        await d.pilot.pause()
        await d.later(0.1)
        assert d.fed == ["y", "ellow"]
        assert d.open


async def test_the_mouse_never_answers():
    async with dialog(edit()) as d:
        for row in (1, 4, 8, 9, 15):
            await d.pilot.click(offset=(4, row))
        await d.later()
        assert d.open
        assert d.app.focused is None


async def test_the_real_composer_can_be_fed_and_is_seen_changing():
    async with dialog(edit(), armed=False) as d:
        composer = d.app.screen_stack[0].query_one(TextArea)

        async def feed(event):
            composer.insert(event.character)
            await asyncio.sleep(0)

        d.screen.outside.feed_key = feed
        await d.pilot.press("!")
        await d.pilot.pause()
        assert "my draft!" in d.lines[21]


async def test_the_arming_of_a_real_clock():
    app = Host()
    async with app.run_test() as pilot:
        arming = Arming(quiet=0.01, hold=0.01)
        task = asyncio.create_task(ask_on_screen(app, (edit(),), outside=Outside(arming=arming)))
        while not (isinstance(app.screen, ApprovalScreen) and app.screen.armed):
            await pilot.pause(0.01)
        await pilot.press("y")
        assert await asyncio.wait_for(task, 5) == (Decision("1", "yes"),)


# ------------------------------------------------------------------ seeing everything


async def test_the_first_y_with_unseen_lines_only_asks_again():
    async with dialog(long_edit()) as d:
        seen = d.screen.view.seen
        assert 0 < seen < 100
        assert f"{seen} of 100 changed lines seen" in d.text
        await d.key("y")
        assert f"y again: {100 - seen} of 100 not seen" in d.text
        await d.key("y")
        assert d.open  # deaf again
        assert d.fed == ["y"]
        await d.later()
        await d.key("y")
        assert await d.answer() == (Decision("1", "yes"),)


async def test_everything_seen_needs_one_y():
    async with dialog(long_edit()) as d:
        for _ in range(12):
            await d.key("pagedown")
        assert "all 100 changed lines shown" in d.text
        await d.key("y")
        assert await d.answer() == (Decision("1", "yes"),)


def key_style(d, text):
    """How a part of the key row is painted, apart from being dim."""
    content = d.screen.query_one("#keys", Static).content
    at = content.plain.index(text)
    return {span.style for span in content.spans if span.start <= at < span.end} - {"dim"}


@pytest.mark.parametrize(
    "asked",
    [
        LONG_SCRIPT,
        request(RunArgv(("echo", "x" * 5000), 60.0)),
        request(WriteBytes("a", None, numbered(60) + b"\x1b[2J\n" + numbered(60))),
        request(WriteBytes("a", b"\x1b\n" + numbered(60), b"")),
    ],
    ids=["script", "argv", "escapes", "escapes-removed"],
)
async def test_y_waits_until_the_end_was_on_screen(asked):
    async with dialog(asked) as d:
        assert "PgDn to see the end" in d.text
        assert key_style(d, "y") == key_style(d, " scroll")
        for _ in range(3):
            await d.key("y")
            await d.later()
            assert d.open
        await d.key("end")
        assert "PgDn to see the end" not in d.text
        assert key_style(d, "y") != key_style(d, " scroll")
        await d.key("y")
        if isinstance(asked.effect, WriteBytes):  # the lines in between are still unseen
            assert "y again:" in d.text
            await d.later()
            await d.key("y")
        assert await d.answer() == (Decision("1", "yes"),)


async def test_no_and_skip_work_with_unseen_lines():
    async with dialog(LONG_SCRIPT) as d:
        await d.key("n")
        await d.pilot.press("enter")
        assert await d.answer() == (Decision("1", "no"),)


async def test_unseen_lines_of_one_request_say_nothing_about_the_next():
    async with dialog(long_edit(), request(WriteBytes("b", None, numbered(90)), "2")) as d:
        await d.key("y")
        await d.later()
        await d.key("y")
        await d.later()
        assert "2/2" in d.text
        await d.key("y")
        assert "y again:" in d.text


# ------------------------------------------------------------------ what is shown


@pytest.mark.parametrize(
    ("effect", "title", "shown"),
    [
        (WriteBytes("src/a.py", b"a\n", b"b\n"), "Apply this edit?", "src/a.py"),
        (WriteBytes("src/a.py", None, b"b\n"), "Create this file?", "+ b"),
        (WriteBytes("src/a.py", b"a\n", None), "Delete this file?", "- a"),
        (WriteBytes("x", b"\0a", b"\0bc"), "Apply this edit?", "binary file, 2 bytes → 3 bytes"),
        (WriteBytes("x", None, b""), "Create this file?", "the file is empty"),
        (
            RunArgv(("git", "commit", "-m", "a b; rm -rf x"), 120.0),
            "Run this command?",
            "git commit -m 'a b; rm -rf x'",
        ),
        (RunScript("cd x && make\necho [/foo]", 60.0), "Run this shell script?", "2 echo [/foo]"),
        (ReadFile(".env"), "Read this file?", ".env"),
        (ListFiles("secret"), "List this folder?", "secret"),
        (SearchText("password", "src"), "Search here?", "password"),
        (SetPlan((("now", "read"),)), "Accept this plan?", "now: read"),
    ],
)
async def test_every_effect_has_a_title_and_is_shown(effect, title, shown):
    async with dialog(request(effect)) as d:
        assert title in d.text
        assert shown in " ".join(d.text.split())
        await d.key("y")
        assert await d.answer() == (Decision("1", "yes"),)


def test_an_unknown_effect_is_an_error():
    with pytest.raises(TypeError):
        subject(object())
    with pytest.raises(TypeError):
        body(object())
    with pytest.raises(ValueError, match="nothing"):
        ApprovalScreen(())


HOSTILE = "[/foo] [@click=app.quit]x[/] \x1b[31m\u202e"


async def test_hostile_text_is_shown_as_text_everywhere():
    effect = WriteBytes(f"src/{HOSTILE}.py", b"[/foo]\n", HOSTILE.encode() + b"\n")
    async with dialog(request(effect, reason=HOSTILE, floors=(HOSTILE,)), size=(100, 40), after=HOSTILE) as d:
        assert d.text.count("[/foo] [@click=app.quit]x[/] <ESC>[31m<U+202E>") == 5
        assert "\x1b" not in d.text
        assert "look closely:" in d.text
        assert "control characters" in d.text


async def test_the_reason_the_check_and_the_place_are_shown():
    async with dialog(
        edit("0", reason="The fix\nbelongs here."), RUN, after="make check", where="in ~/x · no sandbox"
    ) as d:
        assert "model: The fix belongs here." in d.text
        assert "after applying: make check" in d.text
        await d.key("y")
        await d.later()
        assert "in ~/x · no sandbox" in d.text
        assert "no shell · the repository's programs off" in d.text
        assert "at most 120 s" in " ".join(d.text.split())


async def test_a_long_reason_is_cut_with_a_mark():
    async with dialog(edit(reason="because " * 60)) as d:
        assert sum("because" in line for line in d.lines) == 2
        assert "…" in d.text


EDIT_80 = """\
header
┌─ Apply this edit? ───────────────────────────────────────────────────── 1/2 ─┐
│ edit   src/a.py   +1 -1   hunk 1/1   unified (auto)                          │
│ all 2 edits: 1 file +2 -2                                                    │
│    1   1    one                                                              │
│    2      - two                                                              │
│        2  + 2                                                                │
│    3   3    three                                                            │
│ all 2 changed lines shown   after applying: make check                       │
│ y apply   n no, say why   s skip   Esc no and stop   < > other               │
│ Y apply + note   v layout   z full   w no wrap                               │
└──────────────────────────────────────────────────────────────────────────────┘"""
EDIT_40 = """\
─Apply this edit? ───────────── 1/2─────
 edit   src/a.py   +1 -1   hunk 1/1
 all 2 edits: 1 file +2 -2
   one
 - two
 + 2
   three
 all 2 changed lines shown
 after applying: make check
 y apply   n no…   s skip
 Esc no and stop   < > other
 Y apply + note   v layout   w no wrap
────────────────────────────────────────"""
EDIT_60 = """\
─Apply this edit? ───────────────────────────────── 1/2─────
 edit   src/a.py   +1 -1   hunk 1/1   unified (auto)
 all 2 edits: 1 file +2 -2
    1   one
    2 - two
    2 + 2
    3   three
 all 2 changed lines shown   after applying: make check
 y apply   n no, say why   s skip   Esc no and stop
 < > other   Y apply + note   v layout   z full   w no wrap
────────────────────────────────────────────────────────────"""


@pytest.mark.parametrize(
    ("size", "first", "expected"), [((80, 24), 0, EDIT_80), ((60, 24), 1, EDIT_60), ((40, 20), 0, EDIT_40)]
)
async def test_the_picture_at_three_sizes(size, first, expected):
    async with dialog(edit("1"), edit("2"), size=size, after="make check") as d:
        assert d.lines[first : first + expected.count("\n") + 1] == expected.split("\n")
        assert d.lines[size[1] - 3].strip() == "my draft"


async def test_the_picture_at_120_columns():
    async with dialog(edit("1"), edit("2"), size=(120, 40), after="make check") as d:
        assert d.lines[3][:28] == "said┌─ Apply this edit? ────"
        assert d.lines[3].endswith("─── 1/2 ─┐")
        assert " ".join(d.lines[6].split()) == "said│ 2 - two │ 2 + 2 │"
        assert "said before" in d.lines[1]
        assert d.lines[37].strip() == "my draft"


@pytest.mark.parametrize("size", [(40, 12), (120, 12), (36, 10)])
async def test_keys_stay_visible_on_a_small_screen(size):
    async with dialog(LONG_SCRIPT, size=size) as d:
        assert "y run" in d.text
        assert "my draft" in d.lines[size[1] - 3]
        await d.key("end")
        assert d.screen.view.end_seen


async def test_free_rows_can_grow_while_it_is_open():
    async with dialog(long_edit()) as d:
        assert d.lines[20].startswith("└")
        d.screen.outside.free_rows = lambda _: 6
        d.screen.show_state()
        await d.pilot.pause()
        assert d.lines[17].startswith("└")


# ------------------------------------------------------------------ sizes


async def test_what_does_not_fit_around_the_view_cannot_be_approved():
    async with dialog(request(WriteBytes("long/" * 400, b"a\n", b"b\n"))) as d:
        assert "too small to approve" in d.text
        await d.key("y")
        await d.later()
        assert d.open
        await d.pilot.resize_terminal(120, 50)
        await d.later()
        await d.key("y")
        assert await d.answer() == (Decision("1", "yes"),)


@pytest.mark.parametrize("size", [(35, 24), (80, 9)])
async def test_too_small_cannot_approve(size):
    async with dialog(edit()) as d:
        await d.pilot.resize_terminal(*size)
        await d.later()
        assert "too small to approve" in d.text
        for key in "yns":
            await d.key(key)
            await d.later()
        assert d.open
        assert d.fed == ["y", "n", "s"]
        await d.pilot.resize_terminal(80, 24)
        await d.later()
        await d.key("y")
        assert await d.answer() == (Decision("1", "yes"),)


async def test_too_small_can_stop():
    async with dialog(edit(), size=(30, 8)) as d:
        assert "too small" in d.screen.footer
        await d.pilot.press("escape")
        assert await d.answer() == (Decision("1", "stop"),)


async def test_resizing_changes_nothing_else():
    async with dialog(long_edit()) as d:
        screen = d.screen
        for size in [(120, 40), (1, 1), (200, 60), (40, 12), (80, 24)]:
            await d.pilot.resize_terminal(*size)
            await d.pilot.pause()
        assert d.screen is screen
        assert not d.task.done()


# ------------------------------------------------------------------ batches and endings


async def test_a_batch_is_answered_in_order_with_different_answers():
    async with dialog(edit("1"), edit("2"), edit("3")) as d:
        await d.key("y")
        await d.later()
        await d.key("n")
        await d.pilot.press("n", "o", "enter")
        await d.pilot.pause()
        await d.later()
        assert "3/3" in d.text
        await d.key("s")
        await d.pilot.press("enter")
        assert await d.answer() == (Decision("1", "yes"), Decision("2", "no", "no"), Decision("3", "skip"))


async def test_what_depends_on_a_refused_request_is_not_asked():
    chain = (edit("2", depends_on=("1",)), edit("2b", depends_on=("2",)))
    async with dialog(edit("1"), *chain, edit("3")) as d:
        await d.key("n")
        await d.pilot.press("enter")
        await d.pilot.pause()
        await d.later()
        assert "4/4" in d.text
        await d.key("y")
        found = [(decision.request_id, decision.answer, decision.by) for decision in await d.answer()]
        assert found == [("1", "no", "key"), ("2", "skip", "rule"), ("2b", "skip", "rule"), ("3", "yes", "key")]


async def test_a_cancelled_question_is_withdrawn():
    async with dialog(edit()) as d:
        d.task.cancel()
        await d.pilot.pause()
        assert not d.open
        with pytest.raises(asyncio.CancelledError):
            await d.task


async def test_withdrawing_closes_what_lies_above():
    from textual.screen import Screen

    async with dialog(edit()) as d:
        await d.app.push_screen(Screen())
        d.task.cancel()
        await d.pilot.pause()
        assert len(d.app.screen_stack) == 1


async def test_the_end_of_the_application_is_stop():
    app = Host()
    async with app.run_test() as pilot:
        task = asyncio.create_task(ask_on_screen(app, (edit("1"), edit("2"))))
        await pilot.pause()
        await pilot.pause()
        app.exit()
    assert await asyncio.wait_for(task, 5) == (Decision("1", "stop", by="nobody"), Decision("2", "stop", by="nobody"))


async def test_questions_wait_for_each_other():
    async with dialog(edit("1")) as d:
        second = asyncio.create_task(ask_on_screen(d.app, (edit("2"),), outside=Outside(clock=d.clock)))
        await d.pilot.pause()
        assert len(d.app.screen_stack) == 2
        first = d.app.screen
        await d.key("y")
        assert await d.answer() == (Decision("1", "yes"),)
        async with asyncio.timeout(10):
            while d.app.screen is first or not getattr(d.app.screen, "armed", False):
                await d.later()
        await d.key("y")
        assert await asyncio.wait_for(second, 5) == (Decision("2", "yes"),)


async def test_nothing_to_ask():
    assert await ask_on_screen(Host(), ()) == ()


@pytest.mark.parametrize(
    ("module", "base"),
    [(approval, ModalScreen), (late_modal, ModalScreen), (wrap_view, ScrollView), (diff_view, ScrollView)],
)
async def test_no_name_of_ours_hides_one_of_textual(module, base):
    """Textual keeps its own state in attributes such as `_closed`; a clash loses messages."""
    ours = set()
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                ours.add(name)
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                ours.add(name)
            case ast.ClassDef(body=body):
                targets = [
                    target for part in body for target in getattr(part, "targets", [getattr(part, "target", None)])
                ]
                ours.update(target.id for target in targets if isinstance(target, ast.Name))
    async with App().run_test():
        theirs = set(dir(base()))
    meant = {"AUTO_FOCUS", "DEFAULT_CSS", "COMPONENT_CLASSES", "ALLOW_SELECT"}
    meant |= {"__init__", "compose", "render_line", "notify_style_update", "virtual_size"}
    meant |= {"on_mount"}  # Textual calls the one of every class
    assert ours & theirs <= meant


# ------------------------------------------------------------------ arming, pure


def test_nothing_is_armed_before_it_was_painted():
    arming = Arming()
    assert not arming.armed(1e9)
    assert arming.wakes(5.0) is None
    assert arming.press("y", 5.0, answer=True) == "draft"
    assert not arming.armed(1e9)
    arming.painted(6.0)
    assert arming.wakes(6.1) == pytest.approx(0.4)
    assert not arming.armed(6.49)
    assert arming.armed(6.5)
    assert arming.wakes(6.5) is None


def test_an_answer_is_held_and_given_once():
    arming = Arming()
    arming.painted(0.0)
    assert arming.press("y", 1.0, answer=True) == "hold"
    assert arming.wakes(1.01) == pytest.approx(0.03)
    assert arming.due(1.03) is None
    assert arming.due(1.04) == "y"
    assert arming.due(1.05) is None


def test_new_content_forgets_a_held_answer():
    arming = Arming()
    arming.painted(0.0)
    arming.press("y", 1.0, answer=True)
    arming.hide()
    assert arming.due(9.0) is None


@given(st.lists(st.tuples(st.sampled_from("yns z?"), st.floats(0, 0.49)), max_size=40))
def test_no_answer_comes_from_keys_less_than_half_a_second_apart(keys):
    arming, now = Arming(), 0.0
    arming.painted(now)
    for key, pause in keys:
        now += pause
        assert arming.press(key, now, answer=key in "yns", command=key == "z", text=True) == "draft"
