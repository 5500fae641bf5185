"""Added and removed lines stay apart for every eye and with every number of colours."""

from __future__ import annotations

from itertools import combinations

import pytest
from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

from tests.ui.diffs import Host
from tui_agent.ui.diff_view import DiffView
from tui_agent.ui.themes import THEMES, scrollbars

SEEN = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
}
"""How linear red, green and blue are seen, after Machado, Oliveira and Fernandes (2009)."""


def lab(colour, matrix):
    """A colour as it is seen, in CIE L*a*b*."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in Color.parse(colour).normalized]
    r, g, b = (min(1.0, max(0.0, sum(w * c for w, c in zip(row, linear, strict=True)))) for row in matrix)
    xyz = (
        (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047,
        0.2126 * r + 0.7152 * g + 0.0722 * b,
        (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883,
    )
    x, y, z = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def apart(one, other, matrix):
    """The distance of two colours as they are seen: from about 20 on nobody takes one for the other."""
    return sum((p - q) ** 2 for p, q in zip(lab(one, matrix), lab(other, matrix), strict=True)) ** 0.5


@pytest.mark.parametrize("eye", SEEN)
@pytest.mark.parametrize("theme", [t for t in THEMES if t.name == "colour-blind"], ids=lambda theme: theme.name)
def test_added_removed_and_warned_of_are_seen_apart(theme, eye):
    for one, other in combinations((theme.success, theme.error), 2):
        assert apart(one, other, SEEN[eye]) >= 20
    assert apart(theme.success, theme.warning, SEEN[eye]) >= 20


def test_the_measure_knows_what_is_confused():
    assert apart("#00a000", "#b06000", SEEN["deuteranopia"]) < 20 < apart("#00a000", "#b06000", SEEN["normal"])


@pytest.mark.parametrize("theme", ["textual-dark", "textual-light", "ansi-dark", "ansi-light", "colour-blind"])
async def test_text_never_has_the_colour_of_its_background(theme):
    app = Host(DiffView(b"if x: 1\n", b"if y: 2\n", path="a.py"))
    for own in THEMES:
        app.register_theme(own)
    app.theme = theme
    async with app.run_test(size=(80, 10)) as pilot:
        await pilot.pause()
        while not (app.view.complete and app.view.coloured):
            await pilot.pause()
        await pilot.pause()
        rows = [strip for strip in app.screen._compositor.render_strips() if strip.text.strip()]
        assert sum(sign in row.text for row in rows for sign in ("- if", "+ if")) == 2
        for row in rows:
            for segment in row:
                if segment.text.strip() and segment.style is not None:
                    assert segment.style.color != segment.style.bgcolor, segment


@pytest.mark.parametrize("name", sorted({*BUILTIN_THEMES, *(theme.name for theme in THEMES)}))
def test_scrollbars_are_greys_of_the_theme(name):
    theme = next((own for own in THEMES if own.name == name), BUILTIN_THEMES.get(name))
    colours = theme.to_color_system().generate()
    bars = scrollbars(theme, colours)
    if theme.ansi:
        assert not {value for value in bars.values() if "blue" in value}
        return
    ground, text, bar = (Color.parse(c) for c in (colours["background"], colours["foreground"], bars["scrollbar"]))
    for channel in ("r", "g", "b"):
        between = sorted((getattr(ground, channel), getattr(text, channel)))
        assert between[0] <= getattr(bar, channel) <= between[1]
    assert Color.parse(bars["scrollbar-background"]) == ground


def test_a_theme_may_name_its_own_scrollbars():
    theme = Theme("mine", primary="#ff0000", variables={"scrollbar": "#123456"})
    bars = scrollbars(theme, theme.to_color_system().generate())
    assert bars["scrollbar"] == "#123456"
    assert bars["scrollbar-hover"] != "#123456"
