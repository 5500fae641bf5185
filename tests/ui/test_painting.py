from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.segment import Segment
from textual import screen as screens
from textual._compositor import Compositor
from textual.app import App, ComposeResult
from textual.geometry import Region
from textual.screen import ModalScreen, Screen
from textual.strip import Strip
from textual.widgets import Static

from tui_agent.ui.painting import Painting, patch_painting

RICH = Segment._split_cells


@pytest.fixture(autouse=True)
def patched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Segment, "_split_cells", RICH)
    monkeypatch.setattr(screens, "Compositor", Compositor)
    monkeypatch.setattr(Screen, "_compositor_refresh", Screen._compositor_refresh)
    patch_painting()


class Rows(App[None]):
    CSS = "#top { height: 1fr } #middle, #bottom { height: 1 } #never { display: none }"

    def compose(self) -> ComposeResult:
        yield Static(id="top")
        yield Static("middle", id="middle")
        yield Static("bottom", id="bottom")
        yield Static(id="never")


async def test_what_moves_is_painted_though_its_place_was_asked_for_before_the_layout() -> None:
    app = Rows()
    async with app.run_test(size=(20, 10)):
        assert isinstance(app.screen._compositor, Painting)
        screen, middle, top = app.screen, app.query_one("#middle"), app.query_one("#top")
        before = middle.region
        screen._compositor.reflow_visible(screen, screen.size)  # a scroll
        screen._compositor._dirty_regions.clear()  # all of it is painted
        app.query_one("#bottom").display = False
        assert not app.query_one("#never").region, "asked for what is not shown, the map is made anew"
        assert middle.region.y == before.y + 1
        dirty = screen._compositor._dirty_regions
        assert {before, middle.region, top.region} <= dirty


async def test_textual_itself_forgets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screens, "Compositor", Compositor)
    app = Rows()
    async with app.run_test(size=(20, 10)):
        screen, middle = app.screen, app.query_one("#middle")
        screen._compositor.reflow_visible(screen, screen.size)
        screen._compositor._dirty_regions.clear()
        app.query_one("#bottom").display = False
        assert not app.query_one("#never").region
        assert middle.region.y == 9
        assert middle.region not in screen._compositor._dirty_regions, "when Textual mends it, `Painting` can go"


async def test_asking_again_paints_nothing_more() -> None:
    app = Rows()
    async with app.run_test(size=(20, 10)) as pilot:
        await pilot.pause()
        screen = app.screen
        screen._compositor.reflow_visible(screen, screen.size)
        screen._compositor._dirty_regions.clear()
        assert len(screen._compositor.full_map) == 4
        assert screen._compositor._dirty_regions == set()


async def test_below_another_screen_what_changed_is_painted_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    painted: list[set[Region]] = []
    theirs = Painting.render_update

    def render_update(self: Painting, *args: object, **more: object) -> object:
        painted.append(set(self._dirty_regions))
        return theirs(self, *args, **more)

    monkeypatch.setattr(Painting, "render_update", render_update)
    app = Rows()
    async with app.run_test(size=(20, 10)) as pilot:
        rows = [app.query_one(name) for name in ("#middle", "#bottom", "#middle", "#top")]
        await app.push_screen(ModalScreen())
        await pilot.pause()
        rows[0].refresh()  # the first time the new screen is painted with it
        await pilot.pause()
        for row in rows:
            painted.clear()
            row.refresh()
            await pilot.pause()
            assert painted == [{row.region}]


JOINED = ["👩\u200d👩\u200d👧", "👍🏽", "❤\ufe0f", "e\u0301", "क्\u200dष", "🏳\ufe0f\u200d🌈", "日"]


@pytest.mark.parametrize("sign", JOINED)
def test_a_line_is_cut_between_whole_signs(sign: str) -> None:
    strip = Strip([Segment(f"ab{sign}cd")])
    for at in range(strip.cell_length + 1):
        before, after = strip.crop(0, at), strip.crop(at)
        assert (cell_len(before.text), cell_len(after.text)) == (at, strip.cell_length - at)
        whole = [part.text for part in (before, after) if sign in part.text]
        rest = "".join(part.text.replace(sign, "") for part in (before, after))
        assert rest == ("abcd" if whole else "ab  cd"), "cut through it is two blanks, and nothing of it is left"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(alphabet="ab\u0301\u200d\ufe0f🇩🇪👍🏽👩漢❤", max_size=12), st.integers(0, 30))
def test_whatever_is_cut_the_other_side_of_the_cut_is_not_touched(text: str, at: int) -> None:
    before, after = Segment(text).split_cells(at)
    if at < cell_len(text):
        assert cell_len(before.text) == at
    assert text.startswith(before.text.removesuffix(" "))
    assert text.endswith(after.text.removeprefix(" "))
    if before.text and after.text.removeprefix(" "):
        assert after.text[0] not in "\u0301\u200d\ufe0f"


def test_rich_itself_cuts_a_picture_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Segment, "_split_cells", RICH)
    after = Strip([Segment("ab👩\u200d👧c")]).crop(3)
    assert "\u200d" in after.text, "when Rich mends it, the cut can go"
