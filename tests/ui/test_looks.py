"""Looks: contrast of our themes, colours for the colour-blind, ASCII, no colour, and choosing a theme."""

from __future__ import annotations

import contextlib
import os
import random
import re
import unicodedata
from itertools import product
from pathlib import Path

import pytest
from rich.segment import Segment
from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

from screenshots.scenes import SCENES, Scene, play, prepared
from tests.ui.looking import text_of
from tests.waiting import until
from tui_agent.config import Settings, Ui, load
from tui_agent.core.fold import Change
from tui_agent.paths import Paths, own_file
from tui_agent.providers.scripted import scripted
from tui_agent.session import Terms
from tui_agent.ui.actions import ACTIONS, SCOPES
from tui_agent.ui.app import STYLES, AgentApp, Ready, Start
from tui_agent.ui.glyphs import ASCII, Ascii, ascii_only
from tui_agent.ui.main import MainScreen
from tui_agent.ui.palette import Palette
from tui_agent.ui.terminal import mouse_modes
from tui_agent.ui.themes import DARK, LIGHT, THEMES, named, own, read

OURS = {**{theme.name: theme for theme in THEMES}, DARK: BUILTIN_THEMES[DARK]}
STYLE = "\n".join(own_file(f"styles/{name}").read_text(encoding="utf-8") for name in STYLES)
TOKENS = sorted(set(re.findall(r"(?<![-\w])color: \$([\w-]+);", STYLE)))
"""Every colour that a text of ours has."""
GROUNDS = {"background": None, "surface": None, "boost": None, "added": "success", "removed": "error"}


def luminance(color: Color) -> float:
    parts = (value / 255 for value in color.rgb)
    red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: Color, other: Color) -> float:
    """The ratio of WCAG 2, from 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def ground(theme: Theme, name: str) -> Color:
    """What a text lies on: a plain background, or the tint of a line of a diff."""
    colours = theme.to_color_system().generate()
    background = Color.parse(colours["background"])
    if (tint := GROUNDS[name]) is None:
        return background + Color.parse(colours[name])
    return background.blend(Color.parse(colours[tint]), 0.12)


def text(theme: Theme, token: str, on: Color) -> Color:
    value = theme.to_color_system().generate()[token]
    if value.startswith("auto"):
        return on + on.get_contrast_text(float(value.removeprefix("auto ").rstrip("%")) / 100)
    return on + Color.parse(value)


def test_the_colours_of_texts_were_found() -> None:
    assert {"foreground", "text-success", "text-error", "text-muted", "accent"} <= {*TOKENS, "foreground"}


@pytest.mark.parametrize(("theme", "where", "token"), list(product(OURS, GROUNDS, TOKENS)))
def test_every_text_can_be_read(theme: str, where: str, token: str) -> None:
    on = ground(OURS[theme], where)
    assert contrast(text(OURS[theme], token, on), on) >= 4.5


@pytest.mark.parametrize(("theme", "where"), list(product(OURS, GROUNDS)))
def test_dim_text_can_be_read(theme: str, where: str) -> None:
    on = ground(OURS[theme], where)
    dim = text(OURS[theme], "foreground", on).blend(on, 0.5)  # what Textual makes of `dim`
    assert contrast(dim, on) >= 3


# ------------------------------------------------------------------ which theme


@pytest.mark.parametrize(
    ("wanted", "light", "env", "expected"),
    [
        (None, None, {}, DARK),
        ("auto", True, {}, LIGHT),
        ("auto", False, {}, DARK),
        ("dark", True, {}, DARK),
        ("light", False, {}, LIGHT),
        ("ansi", True, {}, "ansi-light"),
        ("nord", True, {}, "nord"),
        ("nord", None, {"NO_COLOR": "1"}, "ansi-dark"),
        (None, True, {"TERM": "linux"}, "ansi-light"),
    ],
)
def test_which_theme(wanted: str | None, light: bool | None, env: dict[str, str], expected: str) -> None:
    assert named(wanted, light=light, env=env) == expected


def test_themes_of_the_person(tmp_path: Path) -> None:
    (tmp_path / "sea.toml").write_text('primary = "#005f87"\ndark = false\n[variables]\nborder = "#005f87"\n')
    for name, content in {
        "a": "x = 1",
        "b": 'primary = "nonsense"',
        "c": 'primary = "red"\ndrak = true',
        "d": 'primary = "red"\ndark = 1',
        "e": "primary =",
        "f": 'primary = "red"\nvariables = 3',
    }.items():
        (tmp_path / f"{name}.toml").write_text(content)
    themes, faults = own(tmp_path)
    assert [theme.name for theme in themes] == ["sea"]
    assert not themes[0].dark
    assert [re.sub(r".*/", "", fault).partition(" ")[0] for fault in faults] == [f"{n}.toml:" for n in "abcdef"]
    assert "drak: unknown" in faults[2]
    with pytest.raises(ValueError, match="primary"):
        read(tmp_path / "a.toml")
    assert own(tmp_path / "nothing") == ([], [])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('background = "transparent"', "background: must be a solid colour such as '#1c1c1a', not 'transparent'"),
        ('surface = "ansi_default"', "surface: must be a solid colour such as '#1c1c1a', not 'ansi_default'"),
        ('panel = "#fff8"', "panel: must be a solid colour such as '#1c1c1a', not '#fff8'"),
        ("accent = true", "accent: must be a solid colour such as '#1c1c1a', not true"),
        ("text_alpha = true", "text_alpha: must be a number between 0 and 1, not true"),
        ('[variables]\nbackground = "transparent"', "variables.background: must be a solid colour"),
        ('[variables]\nlink-style = "#fff"', "variables.link-style: no colour has this name"),
        ('[variables]\nbackgruond = "#fff"', "variables.backgruond: no colour has this name; did you mean background?"),
    ],
)
def test_a_theme_that_could_not_be_drawn_is_none(tmp_path: Path, content: str, said: str) -> None:
    """Each of them ended the program, and was in the configuration by then."""
    (tmp_path / "odd.toml").write_text(f'primary = "#005f87"\n{content}\n')
    themes, (fault,) = own(tmp_path)
    assert not themes
    assert fault.startswith(f"{tmp_path / 'odd.toml'}: {said}")


def test_what_is_no_file_with_a_theme_is_told_in_words(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.toml")  # nobody writes into it: to read it would wait for ever
    (tmp_path / "b.toml").mkdir()
    (tmp_path / "c.toml").symlink_to(tmp_path / "gone")
    (tmp_path / "d.toml").write_bytes(b"\xff\xfe")
    assert own(tmp_path) == (
        [],
        [
            f"{tmp_path / 'a.toml'}: it is no ordinary file",
            f"{tmp_path / 'b.toml'}: Is a directory",
            f"{tmp_path / 'c.toml'}: No such file or directory",
            f"{tmp_path / 'd.toml'}: it is no text in UTF-8",
        ],
    )


# ------------------------------------------------------------------ signs


def test_every_sign_of_the_screen_has_its_ascii() -> None:
    """What the modules of the screen and their styles can draw is in the table, and one cell wide as its ASCII is."""
    sources = "".join(
        path.read_text("utf-8") for path in sorted(Path(own_file("ui")).glob("*.py")) if path.stem != "glyphs"
    )
    prose = {"“", "”", "é"}  # quotes stay as they are: a quote of ASCII could read as one of a command
    drawn = {c for c in sources if not c.isascii()} - prose
    assert sorted(drawn - set(ASCII)) == []
    assert all(len(a) == 1 and a.isascii() and a not in "\"'\\#`$;&" for a in ASCII.values())
    assert all(unicodedata.east_asian_width(c) in {"N", "Na", "A"} for c in ASCII)


def test_ascii_keeps_every_cell() -> None:
    line = "› ±3 ─── … grüße │"
    (segment,) = Ascii().apply([Segment(line)], Color.parse("black"))
    assert segment.text == "> +3 --- ~ grüße |"


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({}, False),
        ({"LANG": "de_DE.UTF-8"}, False),
        ({"LANG": "C"}, True),
        ({"LANG": "C.UTF-8", "LC_ALL": "POSIX"}, True),
        ({"LANG": "C.utf8", "TERM": "linux"}, True),
    ],
)
def test_where_only_ascii_is_drawn(env: dict[str, str], expected: bool) -> None:
    assert ascii_only(env) is expected


# ------------------------------------------------------------------ on the screen


def app_with(tmp_path: Path, ui: Ui, **more: object) -> AgentApp:
    root = tmp_path / "work"
    root.mkdir()
    paths = Paths(*(tmp_path / name for name in ("config", "data", "state")))
    terms = Terms(root, Settings(ui=ui), paths, trusted=True, environment={})
    return AgentApp(
        Start(root, paths, paths.config_file, ready=Ready(terms, scripted([])), **{"environment": {}, **more})
    )  # type: ignore[arg-type]


async def test_ascii_on_the_screen(tmp_path: Path) -> None:
    app = app_with(tmp_path, Ui(glyphs="ascii"))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: app.main.conversation is not None)
        await pilot.press("f2")
        await pilot.pause()
        drawn = text_of(app)
        assert "> " in drawn
        assert drawn.isascii()


async def test_no_colour_at_all(tmp_path: Path) -> None:
    app = app_with(tmp_path, Ui(theme="nord"), environment={"NO_COLOR": "1"})
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: app.main.conversation is not None)
        await pilot.pause()
        styles = [s.style for strip in app.screen._compositor.render_strips() for s in strip if s.style]
        assert {str(c) for s in styles for c in (s.color, s.bgcolor) if c and not c.is_default} == set()
        app.appearance.theme("dark")
        assert app.theme == "ansi-dark"


async def test_whatever_theme_is_taken_can_be_drawn(tmp_path: Path) -> None:
    chance = random.Random(7)
    names = sorted(BUILTIN_THEMES["nord"].to_color_system().generate())
    colours = ("#fff", "red", "hsl(10,50%,50%)", "rgb(999,0,0)", "#1c1c1a", "transparent", "ansi_red", "bold")
    taken = 0
    app = app_with(tmp_path, Ui())
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: app.main.conversation is not None)
        for number in range(60):
            file = tmp_path / f"{chance.choice(('a b', 'ü', '-', '1.'))}{number}.toml"
            lines = [f'{key} = "{chance.choice(colours[:5])}"' for key in ("primary", "background", "surface", "boost")]
            some = (f'{name} = "{chance.choice(colours)}"' for name in chance.sample(names, chance.randint(0, 3)))
            file.write_text("\n".join([*lines, "[variables]", *some]), encoding="utf-8")
            with contextlib.suppress(ValueError):
                app.register_theme(theme := read(file))
                app.theme = theme.name
                await pilot.pause()
                taken += 1
    assert taken > 10


async def test_a_light_terminal_gets_the_light_theme(tmp_path: Path) -> None:
    app = app_with(tmp_path, Ui(), light=True, typed="early")
    async with app.run_test(size=(80, 24)):
        await until(lambda: app.main.conversation is not None)
        assert app.theme == LIGHT
        assert app.main.composer.text == "early", "what was typed before the screen was there"


async def test_a_theme_is_looked_at_before_it_is_taken(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    paths = Paths(*(tmp_path / name for name in ("config", "data", "state")))
    (paths.config_file.parent / "themes").mkdir(parents=True)
    (paths.config_file.parent / "themes" / "sea.toml").write_text('primary = "#005f87"\n')
    script = tmp_path / "script.json"
    script.write_text('{"replies": []}')
    paths.config_file.write_text(
        f'# mine\n[ui]\nside_pane = false  # no pane\ntheme = "drak"\n[profiles.s]\ntype = "scripted"\nendpoint = "{script}"\n'
    )
    app = AgentApp(Start(root, paths, paths.config_file, environment={}))
    async with app.run_test(size=(100, 30)) as pilot:
        await until(lambda: type(app.screen).__name__ == "TrustCard" and app.screen.armed)  # type: ignore[attr-defined]
        await pilot.press("r")
        await until(lambda: app.main.conversation is not None and type(app.screen) is MainScreen)
        await pilot.pause()
        assert app.theme == DARK
        assert (
            text_of(app).count("there is no theme 'drak'; did you mean dark?") == 1
        )  # also read behind the trust card

        await pilot.press(*"/theme", "enter")
        await until(lambda: isinstance(app.screen, Palette))
        await pilot.press("down", "down")
        await pilot.pause()
        assert app.theme == LIGHT
        await pilot.press("escape")
        await until(lambda: type(app.screen) is MainScreen)
        assert app.theme == DARK
        assert "drak" in paths.config_file.read_text()

        await pilot.press(*"/theme", "enter")
        await until(lambda: isinstance(app.screen, Palette))
        await pilot.press(*"sea", "enter")
        await until(lambda: type(app.screen) is MainScreen)
        assert app.theme == "sea"
    written = paths.config_file.read_text()
    assert "# mine" in written
    assert "side_pane = false  # no pane" in written
    assert load(paths.config_file).settings.ui.theme == "sea"


def unreadable(app: AgentApp) -> list[tuple[str, float]]:
    """What is drawn with less contrast than dim text may have, as the terminal gets it; lines between panes are no text."""
    found = []
    for strip in app.screen._compositor.render_strips():
        for segment in strip:
            style = segment.style
            words = re.sub(r"[^\w]", "", segment.text)
            if not words or style is None or style.color is None or style.bgcolor is None:
                continue
            ratio = contrast(Color.from_rich_color(style.color), Color.from_rich_color(style.bgcolor))
            if ratio < 3:
                found.append((segment.text, round(ratio, 2)))
    return found


@pytest.mark.parametrize("theme", OURS)
async def test_what_is_drawn_can_be_read(tmp_path: Path, theme: str) -> None:
    app = app_with(tmp_path, Ui(theme=theme))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: app.main.conversation is not None)
        await pilot.press(*"/nonsense", "enter")
        await pilot.pause()
        assert unreadable(app) == []
        await pilot.press("f2", *"ke")
        await until(lambda: isinstance(app.screen, Palette))
        await pilot.pause()
        assert "F1, Ctrl+X ?" in text_of(app)
        assert unreadable(app) == []


LISTS = [scene for scene in SCENES if scene.name in {"first-run-found", "files", "context", "sessions", "undo"}]


@pytest.mark.parametrize(("theme", "scene"), list(product(OURS, LISTS)), ids=lambda it: getattr(it, "name", it))
async def test_lists_can_be_read(theme: str, scene: Scene) -> None:
    with prepared(scene) as app:
        async with app.run_test(size=(80, 24)) as pilot:
            await play(scene, pilot)
            app.theme = theme
            await pilot.pause()
            assert unreadable(app) == []


@pytest.mark.parametrize("theme", OURS)
async def test_counts_beside_the_transcript_have_the_colours_of_the_theme(tmp_path: Path, theme: str) -> None:
    app = app_with(tmp_path, Ui(theme=theme))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: app.main.conversation is not None)
        app.main._side.show({"a.py": Change("M", 12, 34)}, ())
        await pilot.pause()
        drawn = {s.text.strip(): s.style for strip in app.screen._compositor.render_strips() for s in strip}
        for count, token in (("+12", "text-success"), ("-34", "text-error")):
            style = drawn[count]
            assert style is not None
            assert style.color is not None
            ground, wanted = Color.from_rich_color(style.bgcolor), app.theme_variables[token]
            if wanted.startswith("auto"):
                colour = text(app.current_theme, token, ground)
            else:
                colour = ground + Color.parse(wanted)
            assert Color.from_rich_color(style.color).rgb == colour.rgb


async def test_the_mouse_can_be_left_to_the_terminal_and_taken_back(tmp_path: Path) -> None:
    app = app_with(tmp_path, Ui(), looks={"mouse": False})
    async with app.run_test(size=(100, 30)) as pilot:
        await until(lambda: app.main.conversation is not None)
        assert not app.appearance.mouse
        written: list[str] = []
        driver = app._driver
        assert driver is not None
        driver.write = written.append  # type: ignore[method-assign]
        await pilot.press("f8")
        assert written == [mouse_modes(True)]
        assert driver._mouse
        await pilot.press(*"/mouse", "enter")
        await pilot.pause()
        assert written[1:] == [mouse_modes(False)]
        assert not driver._mouse
        assert [notice.message.rpartition(". ")[2] for notice in app._notifications] == ["F8 changes that."] * 2
        await pilot.press("ctrl+l")
        assert "?1000l" in written[-1]
        assert "?1049h" in written[-1]


async def test_themes_and_actions_are_completed(tmp_path: Path) -> None:
    app = app_with(tmp_path, Ui())
    async with app.run_test(size=(100, 30)) as pilot:
        await until(lambda: app.main.conversation is not None)
        await pilot.press(*"/theme lig", "tab")
        assert app.main.composer.text == "/theme light"
        await pilot.press("enter")
        await until(lambda: app.theme == LIGHT)
        await pilot.press(*"/help transcript.c")
        await until(lambda: "Copy the code block" in text_of(app))
        await pilot.press("down", "tab")
        assert app.main.composer.text.startswith("/help transcript.co")


@pytest.mark.parametrize("size", [(120, 40), (40, 20)])
async def test_help_lists_the_keys_of_every_place_and_begins_with_what_was_asked(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    app = app_with(tmp_path, Ui())
    async with app.run_test(size=size) as pilot:
        await until(lambda: app.main.conversation is not None)
        await pilot.press("f1")
        await until(lambda: isinstance(app.screen, Palette))
        await pilot.pause()
        assert f"{len(ACTIONS)} of {len(ACTIONS)}" in text_of(app)
        await pilot.press(*"in a question", "enter")
        await pilot.pause()
        assert isinstance(app.screen, Palette), "an answer to a question is not given from here"
        assert "its key counts in a question" in text_of(app)
        await pilot.press("escape")
        await until(lambda: type(app.screen) is MainScreen)
        app.main.transcript.focus()
        await pilot.press("question_mark")
        await until(lambda: isinstance(app.screen, Palette))
        await pilot.press("escape")
        await until(lambda: type(app.screen) is MainScreen)
        app.main.composer.focus()
        await pilot.press(*"/help files.add", "escape", "enter")
        await until(lambda: isinstance(app.screen, Palette))
        await pilot.pause()
        assert "Add what is marked" in text_of(app)
        assert f"1 of {len(ACTIONS)}" in text_of(app)


def test_every_place_of_keys_has_its_words() -> None:
    assert {action.scope for action in ACTIONS} == set(SCOPES)
