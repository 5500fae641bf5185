"""The pane beside the transcript: what its lists say in few rows, and that the files keep at least half of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.style import Style
from rich.text import Text

from tests.ui.test_app import running, text_of
from tests.waiting import until
from tui_agent.core.fold import Change
from tui_agent.providers.scripted import scripted
from tui_agent.ui.main import WIDTHS, MainScreen
from tui_agent.ui.side import BETWEEN, LOW, changes_text, plan_text, shares

STYLES = (Style(), Style())
CHANGES = {f"src/file{n}.py": Change("M", 10 + n, n) for n in range(9)}
PLAN = (("done", "one"), ("done", "two"), ("now", "three"), ("next", "four"), ("next", "five"), ("next", "six"))


def lines(text: Text) -> list[str]:
    return [line.rstrip() for line in text.plain.split("\n")]


@given(st.integers(0, 80), st.integers(2, 40), st.integers(0, 40))
def test_the_files_keep_at_least_half(height: int, changes: int, plan: int) -> None:
    mine, theirs = shares(height, changes, plan)
    assert 0 <= mine <= changes
    assert 0 <= theirs <= plan
    if height < LOW:
        assert (mine, theirs) == (1, min(plan, 1))
    else:
        room = (height - BETWEEN) // 2
        assert mine + theirs == min(changes + plan, room), "no row of their part is left empty"
        assert mine >= min(changes, room // 2)
        assert theirs >= min(plan, room // 2)


def test_what_has_no_room_is_counted() -> None:
    assert lines(changes_text(CHANGES, 30, 4, STYLES)) == [
        "CHANGED",
        "  M src/file0.py           +10",
        "  M src/file1.py        +11 -1",
        "  … 7 more",
    ]
    assert lines(changes_text({}, 30, 2, STYLES)) == ["CHANGED", "  nothing yet"]
    assert lines(plan_text(PLAN, 30, 4)) == ["PLAN  1 above", "  done  two", "  now   three", "  … 3 more"]
    assert len(lines(plan_text(PLAN, 30, 7))) == 7
    assert lines(plan_text((("done", "one"), ("done", "two")), 30, 2)) == ["PLAN  1 above", "  done  two"]


def test_counts_of_several_edits_are_named_as_their_sum() -> None:
    once, twice = Change("M", 5, 2), Change("M", 5, 2, edits=2)
    assert lines(changes_text({"a": once}, 30, 4, STYLES))[0] == "CHANGED"
    assert lines(changes_text({"a": once, "b": twice}, 30, 4, STYLES))[0] == "CHANGED  +- of all edits"


def test_in_one_row_it_is_a_sum() -> None:
    assert lines(changes_text(CHANGES, 38, 1, STYLES)) == ["CHANGED  9 files              +126 -36"]
    assert lines(changes_text({}, 38, 1, STYLES)) == ["CHANGED  nothing yet"]
    assert lines(plan_text(PLAN, 38, 1)) == ["PLAN  2 of 6 done  three"]
    assert lines(plan_text(PLAN[:2], 38, 1)) == ["PLAN  2 of 2 done"]
    assert cell_len(lines(plan_text((("now", "w" * 90),), 38, 1))[0]) <= 38


@pytest.mark.parametrize(("columns", "tier"), [(40, "-narrow"), (79, "-small"), (80, "-medium"), (120, "-wide")])
async def test_the_first_frame_is_that_of_the_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: int, tier: str
) -> None:
    """Without it a screen of 40 columns began with the files in 33 of them."""
    seen: list[frozenset[str]] = []
    mounted = MainScreen.on_mount

    def on_mount(screen: MainScreen) -> None:
        seen.append(screen.classes)
        mounted(screen)

    monkeypatch.setattr(MainScreen, "on_mount", on_mount)
    async with running(tmp_path, scripted([]), size=(columns, 20)):
        assert seen[0] & {name for _, name in WIDTHS} == {tier}


@pytest.mark.parametrize(("size", "least"), [((40, 20), 10), ((80, 24), 7), ((120, 40), 15)])
async def test_the_tree_has_room_beside_many_changes_and_a_plan(
    tmp_path: Path, size: tuple[int, int], least: int
) -> None:
    (tmp_path / "work").mkdir()
    for number in range(30):
        (tmp_path / "work" / f"{number:02}.txt").write_text("")
    async with running(tmp_path, scripted([]), size) as (app, pilot):
        side = app.main._side
        if size[0] < 110:
            await pilot.press("ctrl+t")
        side.show(CHANGES, PLAN)
        await until(lambda: "05.txt" in text_of(app))
        await pilot.pause()
        assert side.files.size.height >= least
        assert "CHANGED" in text_of(app)
        assert "three" in text_of(app), "what is done now is always there"
