"""Themes: ours beside those of Textual, those of the person, and which one a terminal gets."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path

from textual.color import Color, ColorParseError
from textual.theme import BUILTIN_THEMES, Theme

from tui_agent.core.disk import ordinary
from tui_agent.schema import did_you_mean, in_toml

DARK, LIGHT, ANSI_DARK, ANSI_LIGHT = "textual-dark", "light", "ansi-dark", "ansi-light"

THEMES = (
    Theme(
        LIGHT,
        primary="#005a9e",
        secondary="#3d5a73",
        accent="#8a4500",
        warning="#7a5200",
        success="#1b6b35",
        error="#a3212f",
        foreground="#1c1c1a",
        background="#fbfbfa",
        surface="#f0f0ee",
        panel="#e4e4e1",
        dark=False,
        variables={
            "text-success": "#1b6b35",
            "text-error": "#a3212f",
            "text-warning": "#7a5200",
            "text-accent": "#8a4500",
            "text-primary": "#005a9e",
            "text-disabled": "#6c6c69",
        },
    ),
    Theme(
        "colour-blind",
        primary="#0178d4",
        secondary="#004578",
        accent="#ffa62b",
        warning="#ffd75f",
        success="#4aa8ff",
        error="#ff8c1a",
        foreground="#e0e0e0",
        dark=True,
    ),
)
"""`light`: every text reaches 4.5:1. `colour-blind`: what is added is blue and what is removed is orange, which no kind
of red-green blindness confuses."""

OF_A_KIND = ("auto", "dark", "light", "ansi")
"""Words that a configuration may use for a theme: by the terminal, or one of a kind."""

_COLOURS = {f.name for f in fields(Theme)} - {"name", "dark", "luminosity_spread", "text_alpha", "variables", "ansi"}
_COUNTS = ("luminosity_spread", "text_alpha")
_LARGEST = 100_000


def names(own: Iterable[str] = ()) -> tuple[str, ...]:
    """Every theme that can be asked for: of a kind, ours, `own` ones of the person, then those of Textual."""
    return ("auto", "dark", "light", "colour-blind", "ansi", *sorted(own), *sorted(set(BUILTIN_THEMES) - {DARK}))


def named(wanted: str | None, *, light: bool | None, env: Mapping[str, str]) -> str:
    """The theme that a word of the configuration means in this terminal.

    `light` is what the terminal said of its background, None when nobody knows. A console with 16 colours, and one
    that wants none, get a theme that leaves all colours to the terminal.
    """
    plain = bool(env.get("NO_COLOR")) or env.get("TERM") == "linux"
    if plain or wanted == "ansi":
        return ANSI_LIGHT if light else ANSI_DARK
    if wanted in {None, "auto"}:
        return LIGHT if light else DARK
    return DARK if wanted == "dark" else str(wanted)


def scrollbars(theme: Theme, colours: Mapping[str, str]) -> dict[str, str]:
    """Scrollbars between the text and the ground of a theme, but for what it names itself; Textual's are in its first colour."""
    if theme.ansi:  # those of Textual name blue
        bars, ground, said = ["ansi_bright_black"] * 3, "ansi_default", {}
    else:
        ground, said = colours["background"], theme.variables
        text = Color.parse(colours["foreground"])
        bars = [Color.parse(ground).blend(text, share, alpha=1).hex for share in (0.3, 0.4, 0.5)]
    mine = dict(zip(("scrollbar", "scrollbar-hover", "scrollbar-active"), bars, strict=True))
    behind = (
        "scrollbar-background",
        "scrollbar-background-hover",
        "scrollbar-background-active",
        "scrollbar-corner-color",
    )
    return {**mine, **dict.fromkeys(behind, ground), **{key: said[key] for key in said if key.startswith("scrollbar")}}


def own(folder: Path) -> tuple[list[Theme], list[str]]:
    """The themes of the person, one a file `NAME.toml`, and a sentence for each file that is none."""
    themes, faults = [], []
    try:
        files = sorted(file for file in folder.iterdir() if file.suffix == ".toml")
    except FileNotFoundError:
        return [], []
    except OSError as error:
        return [], [f"{folder}: {error.strerror}"]
    for file in files:
        try:
            themes.append(read(file))
        except OSError as error:
            faults.append(f"{file}: {error.strerror}")
        except UnicodeDecodeError:
            faults.append(f"{file}: it is no text in UTF-8")
        except ValueError as error:
            faults.append(f"{file}: {error}")
    return themes, faults


def read(file: Path) -> Theme:
    """One theme: colours by their names, `dark`, and a table of `variables`.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no theme; the text says which key is wrong.
    """
    data = tomllib.loads(ordinary(file, _LARGEST).decode("utf-8-sig"))
    if "primary" not in data:
        raise ValueError("primary: a theme needs this colour")
    variables = data.pop("variables", {})
    if not isinstance(variables, dict):
        raise ValueError("variables: must be a table of colours")
    for key, value in data.items():
        if key in _COLOURS:
            _colour(key, value)
        elif key == "dark":
            if not isinstance(value, bool):
                raise ValueError(f"dark: must be true or false, not {in_toml(value)}")
        elif key not in _COUNTS:
            raise ValueError(f"{key}: unknown; known are dark, variables, {', '.join(sorted(_COLOURS))}")
        elif not isinstance(value, float) or not 0 < value <= 1:
            raise ValueError(f"{key}: must be a number between 0 and 1, not {in_toml(value)}")
    known = {key for key in Theme("", primary=data["primary"]).to_color_system().generate() if "style" not in key}
    for key, value in variables.items():
        if key not in known:
            near = did_you_mean(key, known)
            raise ValueError(f"variables.{key}: no colour has this name{near}")
        _colour(f"variables.{key}", value)
    return Theme(file.stem, variables=variables, **data)


def _colour(key: str, value: object) -> None:
    """A colour is solid: where one lets through what lies below, or is the terminal's, Textual cannot draw a text on it."""
    try:
        colour = Color.parse(value if isinstance(value, str) else "")
    except ColorParseError:
        colour = None
    if colour is None or colour.a < 1 or colour.ansi is not None:
        raise ValueError(f"{key}: must be a solid colour such as '#1c1c1a', not {in_toml(value)}")
