from __future__ import annotations

import pytest
from textual import screen as screens
from textual._compositor import Compositor
from textual.app import App, ComposeResult
from textual.geometry import Region
from textual.screen import ModalScreen, Screen
from textual.widgets import Static

from tui_agent.ui.painting import Painting, patch_painting


@pytest.fixture(autouse=True)
def patched(monkeypatch: pytest.MonkeyPatch) -> None:
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
