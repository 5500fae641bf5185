"""The palette: what fits, in which order, how it looks, what it answers."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual.app import App
from textual.widgets import Input, Static

from tui_agent.ui.fuzzy import match
from tui_agent.ui.palette import Found, Palette, PaletteItem, layout, search

STYLES = Path(__file__).parents[2] / "styles" / "palette.tcss"

MODELS = [
    PaletteItem(
        "sonnet",
        "anthropic  claude-sonnet",
        "200k     yes   3.00 / 15.00   fits, 18k",
        "Model",
        note="The next message goes to anthropic.",
    ),
    PaletteItem("haiku", "openrouter claude-haiku", "200k     yes   0.80 / 4.00    fits     ", "Model"),
    PaletteItem(
        "llama",
        "ollama     codellama:13b",
        "16k     no    local          too small",
        "Model",
        enabled=False,
        note="Its window is too small.",
    ),
]
COMMANDS = [
    PaletteItem("clear", "Clear finished plan items", "/plan clear", "Command"),
    PaletteItem("diff", "Review the diff", "F4", "Command"),
    PaletteItem("provider", "Switch provider", "Ctrl+X p", "Command"),
]


class Desk(App):
    """Something under the palette, and what it answered."""

    CSS_PATH = STYLES
    ENABLE_COMMAND_PALETTE = False

    def __init__(self) -> None:
        super().__init__()
        self.answers: list[str | None] = []

    def compose(self):
        yield Static("below")


@contextlib.asynccontextmanager
async def palette(items=(*MODELS, *COMMANDS), size=(80, 24), **options):
    app = Desk()
    async with app.run_test(size=size) as pilot:
        screen = Palette(items, **options)
        app.push_screen(screen, app.answers.append)
        await pilot.pause()
        yield app, pilot, screen


def picture(app: App) -> list[str]:
    return [strip.text.rstrip() for strip in app.screen._compositor.render_strips()]


# ------------------------------------------------------------------ matching


def test_better_fits_score_higher():
    texts = ["plan", "the plan", "explanation", "pull a line"]
    scores = [match("plan", text)[0] for text in texts]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == 4


@pytest.mark.parametrize(
    ("word", "text", "offsets"),
    [
        ("plan", "explain a plan", (10, 11, 12, 13)),
        ("swp", "Switch provider", None),
        ("codel", "codellama:13b", (0, 1, 2, 3, 4)),
        ("cdl", "codellama", (0, 2, 4)),
        ("x", "abc", None),
        ("ba", "ab", None),
        ("aab", "aaaab", (2, 3, 4)),
    ],
)
def test_which_letters_fit(word, text, offsets):
    found = match(word, text)
    assert (found and found[1]) == offsets


@given(st.text(alphabet="ab -é", min_size=1, max_size=6), st.text(alphabet="ab -Éİ", max_size=20))
def test_the_letters_named_spell_the_word(word, text):
    found = match(word, text)
    if found is not None:
        score, offsets = found
        assert score > 0
        assert list(offsets) == sorted(set(offsets))
        lower = text.lower() if len(text.lower()) == len(text) else text
        assert "".join(lower[offset] for offset in offsets) == word
    elif word in text:
        raise AssertionError("a part of the text did not fit")


def test_a_long_run_of_one_letter_costs_nothing():
    assert match("e" * 60, "e" * 120) is not None
    assert match("e" * 60 + "x", "e" * 120) is None


def test_words_may_fit_title_hint_or_group():
    ids = [found.item.id for found in search([*MODELS, *COMMANDS], "model cl")]
    assert ids == ["sonnet", "haiku", "llama"]
    assert [found.item.id for found in search(COMMANDS, "/plan")] == ["clear"]
    assert [found.item.id for found in search(COMMANDS, "PROV")] == ["provider"]
    assert search(COMMANDS, "zzz") == []


def test_other_names_find_it_and_are_not_shown():
    items = [*COMMANDS, PaletteItem("model", "Switch model", "Ctrl+X m", "Command", also="/model /m2")]
    assert search(items, "/model")[0].item.id == "model"
    assert [found.item.id for found in search(items, "/m2")] == ["model"]
    assert all("/m" not in line.left + line.right for line in layout(search(items, "/m2"), 76, {}))


def test_an_empty_query_keeps_the_given_order():
    items = [*MODELS, *COMMANDS]
    assert [found.item for found in search(items, "  ")] == items


def test_groups_stay_together_whatever_the_scores():
    items = [PaletteItem(str(n), title, group=group) for n, (title, group) in enumerate([
        ("xx ab", "one"), ("ab", "two"), ("ab xx", "one"), ("cab", "two"),
    ])]  # fmt: skip
    groups = [found.item.group for found in search(items, "ab")]
    assert groups == sorted(groups, reverse=True)


# ------------------------------------------------------------------ layout


def lines(items, width=76, columns=None):
    return [
        (line.index, line.left, line.right) for line in layout([Found(item) for item in items], width, columns or {})
    ]


def test_wide_rows_have_headings_and_gaps():
    assert lines([MODELS[0], *COMMANDS[:2]], columns={"Model": "price"}) == [
        (None, "MODEL", "price"),
        (0, MODELS[0].title, MODELS[0].hint),
        (None, "", ""),
        (None, "COMMAND", ""),
        (1, "Clear finished plan items", "/plan clear"),
        (2, "Review the diff", "F4"),
    ]


def test_narrow_rows_break_only_where_they_must():
    assert lines([MODELS[0], COMMANDS[1]], width=38) == [
        (0, "anthropic  claude-sonnet", ""),
        (0, "", "200k  yes  3.00 / 15.00  fits, 18k"),
        (1, "Review the diff", "F4"),
    ]


# ------------------------------------------------------------------ the screen


async def test_at_80_columns():
    async with palette(columns={"Model": "price"}, verb="switch") as (app, pilot, _):
        await pilot.press(*"model cl")
        await pilot.pause()
        rows = picture(app)
        assert rows[2] == "┌" + "─" * 78 + "┐"
        assert rows[3].strip().startswith("│ › model cl")
        assert rows[3].endswith("3 of 6 │")
        assert rows[5].split() == ["│", "MODEL", "price", "│"]
        assert rows[6].startswith("│ › anthropic  claude-sonnet")
        assert rows[6].endswith("fits, 18k │")
        assert any("The next message goes to anthropic." in row for row in rows)
        assert rows[23] == " ↑↓ choose   Enter switch   Esc back"


async def test_at_120_columns_it_is_a_frame_in_the_middle():
    async with palette(size=(120, 40)) as (_, _pilot, screen):
        region = screen.query_one("#palette").region
        assert (region.width, region.x) == (80, 20)
        assert abs(region.y - (40 - region.bottom)) <= 1


async def test_nothing_of_what_is_below_stands_beside_the_frame():
    for size in ((120, 40), (80, 24)):
        async with palette(size=size) as (app, pilot, _):
            app.screen_stack[0].query_one(Static).update("\n".join(["x" * 120] * 40))
            await pilot.pause()
            framed = [row for row in picture(app) if "│" in row or "┌" in row]
            assert framed
            assert "x" not in "".join(row.split("│")[0] + row.split("│")[-1] for row in framed if "│" in row)


async def test_at_40_columns_it_is_a_page():
    async with palette(size=(40, 20)) as (app, _pilot, _):
        rows = picture(app)
        assert rows[0].endswith("6 of 6")
        assert rows[2:5] == [
            " › anthropic  claude-sonnet",
            "     200k  yes  3.00 / 15.00  fits, 18k",
            "   openrouter claude-haiku",
        ]
        assert rows[19] == " ↑↓ choose   Enter choose   Esc back"


async def test_a_long_list_never_covers_the_composer():
    many = [PaletteItem(str(number), f"item {number}") for number in range(500)]
    for size in ((120, 40), (80, 24)):
        async with palette(many, size=size) as (_, _pilot, screen):
            assert screen.query_one("#palette").region.bottom <= size[1] - 3


async def test_the_frame_keeps_its_place_while_the_list_shrinks():
    async with palette(size=(120, 40)) as (_, pilot, screen):
        before = screen.query_one("#palette").region
        await pilot.press(*"diff")
        assert screen.query_one("#palette").region.y == before.y


async def test_enter_answers_the_id():
    async with palette() as (app, pilot, _):
        await pilot.press(*"diff", "enter")
        assert app.answers == ["diff"]


@pytest.mark.parametrize("key", ["escape", "ctrl+c", "f2"])
async def test_leaving_answers_none(key):
    async with palette() as (app, pilot, _):
        await pilot.press("x", key)
        assert app.answers == [None]


async def test_the_cursor_walks_and_goes_round():
    async with palette() as (app, pilot, _):
        await pilot.press("down", "down", "down", "up", "up", "up", "up")
        await pilot.press("enter")
        assert app.answers == ["provider"]


async def test_typing_puts_the_cursor_on_the_best():
    async with palette() as (app, pilot, _):
        await pilot.press("down", "down", *"clear", "enter")
        assert app.answers == ["clear"]


async def test_a_title_without_room_is_told_in_full_below():
    long = "What this does in more words than forty columns have room for"
    items = [PaletteItem("a", long, "Ctrl+X a"), PaletteItem("b", long, note="and why"), PaletteItem("c", "short")]
    async with palette(items, (40, 20)) as (_, pilot, screen):
        for note in (long, f"{long}\nand why", ""):
            assert str(screen.query_one("#palette-note").render()) == note
            await pilot.press("down")


async def test_a_disabled_item_says_why_and_is_not_chosen():
    async with palette() as (app, pilot, _):
        await pilot.press("down", "down", "enter")
        assert app.answers == []
        assert any("Its window is too small." in row for row in picture(app))


async def test_nothing_found_has_a_sentence():
    async with palette() as (app, pilot, _):
        await pilot.press(*"zzz", "enter", "down", "pagedown")
        rows = picture(app)
        assert any("0 of 6" in row for row in rows)
        assert any("Nothing fits “zzz”." in row for row in rows)
        assert app.answers == []


async def test_no_items_have_a_sentence():
    async with palette(items=()) as (app, pilot, _):
        await pilot.press("enter", "up")
        assert any("There is nothing to choose here." in row for row in picture(app))


async def test_pages_and_scrolling_show_the_cursor():
    many = [PaletteItem(str(number), f"item {number}", group="All") for number in range(100)]
    async with palette(many) as (app, pilot, _):
        for _unused in range(3):
            await pilot.press("pagedown")
        assert any("› item" in row and "› item 0" not in row for row in picture(app))
        await pilot.press("up", *["pageup"] * 9)
        assert any("ALL" in row for row in picture(app))
        await pilot.press("up", "enter")
        assert app.answers == ["99"]


async def test_a_click_chooses():
    async with palette() as (app, pilot, _):
        await pilot.click("PaletteRows", offset=(5, 2))
        assert app.answers == ["haiku"]


async def test_a_click_on_a_heading_or_below_chooses_nothing():
    async with palette() as (app, pilot, _):
        await pilot.click("PaletteRows", offset=(5, 0))
        assert app.answers == []


async def test_outside_text_cannot_act():
    item = PaletteItem("x", "evil\x1b[31m[bold]name[/]", "[@click=app.quit]q[/]", "G\u202e", note="\x1b]52;c;x\x07[/b]")
    async with palette([item]) as (app, pilot, screen):
        shown = "".join(picture(app))
        assert "[bold]name[/]" in shown
        assert "[@click=app.quit]q[/]" in shown
        assert "[/b]" in shown
        assert not {"\x1b", "\x07", "\u202e"} & set(shown)
        screen.query_one(Input).post_message(events.Paste("a\x1b[31mb"))
        await pilot.pause()
        assert "\x1b" not in screen.query_one(Input).value


async def test_nothing_blinks():
    async with palette() as (_, _pilot, screen):
        assert screen.query_one(Input).cursor_blink is False


async def test_resizing_keeps_the_choice():
    async with palette() as (app, pilot, _):
        await pilot.press("down")
        for size in ((40, 20), (20, 6), (120, 40)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
        await pilot.press("enter")
        assert app.answers == ["haiku"]


@pytest.mark.parametrize("name", ["enter", "escape"])
async def test_keys_in_one_read_answer_once_and_leave_the_screen_below(name):
    async with palette() as (app, pilot, _screen):
        for _ in range(3):
            app.post_message(events.Key(name, None))
        await pilot.pause()
        assert len(app.screen_stack) == 1
        assert len(app.answers) == 1
