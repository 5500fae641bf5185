"""How the screen looks: the theme in force, others before one is taken, its signs; and whether it has the mouse."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from textual.filter import LineFilter, NoColor

from tui_agent.config import save_setting
from tui_agent.core.types import ConfigError
from tui_agent.schema import did_you_mean
from tui_agent.ui.completion import Choice
from tui_agent.ui.glyphs import Ascii, ascii_only, in_ascii
from tui_agent.ui.palette import Palette, PaletteItem
from tui_agent.ui.terminal import mouse_modes
from tui_agent.ui.themes import DARK, OF_A_KIND, THEMES, named, names, own
from tui_agent.ui.transcript import Detail

if TYPE_CHECKING:
    from tui_agent.ui.app import AgentApp


class Appearance:
    """The looks of one app; `begin` when it runs, `follow` when the configuration was read again."""

    def __init__(self, app: AgentApp) -> None:
        self._app = app
        self._own: set[str] = set()
        self._of_files: list[str] = []
        """What is wrong with the themes of the person."""
        self.unknown = ""
        """What is wrong with the name of the theme that is wanted, "" when there is one of this name."""
        self.handlers: dict[str, Callable[[str], None]] = {"ui.theme": self.theme, "ui.mouse": self.switch_mouse}
        self.mouse = app.loaded.settings.ui.mouse
        """Whether the terminal reports the mouse; otherwise it selects and scrolls by itself."""
        self._detail: Detail = "normal"
        self._ascii, self._none = Ascii(), NoColor()

    @property
    def faults(self) -> list[str]:
        """What is wrong with the themes of the person, and with the name of the one that is wanted."""
        return [*self._of_files, *filter(None, [self.unknown])]

    def begin(self) -> None:
        """Know all themes, and show the one that is wanted."""
        app = self._app
        themes, self._of_files = own(app.begin.paths.config_file.parent / "themes")
        for theme in THEMES:
            app.register_theme(theme)
        for theme in themes:
            if theme.name in app.available_themes or theme.name in OF_A_KIND:
                self._of_files.append(
                    f"the theme {theme.name} of yours has the name of another: give its file another one"
                )
            else:
                app.register_theme(theme)
                self._own.add(theme.name)
        self.follow()

    def follow(self) -> None:
        """Show what the configuration says now."""
        app = self._app
        wanted = app.loaded.settings.ui.theme
        name, self.unknown = self._named(wanted), ""
        if name not in app.available_themes:
            near = did_you_mean(str(wanted), {*app.available_themes, *OF_A_KIND})
            self.unknown = f"ui.theme: there is no theme {wanted!r}{near or '.'} /theme lists them."
            name = DARK
        app.theme = name
        self.take_mouse(app.loaded.settings.ui.mouse)
        if (detail := app.loaded.settings.ui.tool_detail) != self._detail:
            self._detail = detail
            app.main.transcript.show_detail(detail)

    def take_mouse(self, on: bool) -> None:
        """Let the terminal report the mouse, or keep it for itself."""
        driver = self._app._driver  # noqa: SLF001 - Textual has no other way to change it later
        if driver is not None and on != self.mouse:
            self.mouse = driver._mouse = on  # noqa: SLF001 - what it does after a suspend and at the end follows from it
            driver.write(mouse_modes(on))

    def switch_mouse(self, _: str) -> None:
        """The other way round, for this session."""
        self.take_mouse(not self.mouse)
        here = (
            "The mouse scrolls and selects here"
            if self.mouse
            else "The mouse is the terminal's: it selects and scrolls"
        )
        self._app.notify(f"{here}. {self._app.keys.say('{ui.mouse} changes that.')}", markup=False)

    def filters(self, usual: Sequence[LineFilter]) -> list[LineFilter]:
        """What the lines of the screen go through: those of Textual, and ours.

        Without colour the attribute `dim` stays with the terminal; Textual's own would leave shades of grey.
        """
        colours = [self._none] if self._environment.get("NO_COLOR") else usual
        return [*colours, self._ascii] if self.plain_signs else [*colours]

    @property
    def plain_signs(self) -> bool:
        """Whether the signs of the screen are drawn in ASCII."""
        glyphs = self._app.loaded.settings.ui.glyphs
        return glyphs == "ascii" or (glyphs == "auto" and (ascii_only(self._environment) or self._app.begin.wide))

    def signs(self, text: str) -> str:
        """A text that goes past the screen, with the signs that this terminal draws."""
        return in_ascii(text) if self.plain_signs else text

    def theme(self, name: str) -> None:
        """By name, or from a list in which each is shown while it is under the cursor."""
        app, before = self._app, self._app.theme
        if self._environment.get("NO_COLOR"):
            app.notify("NO_COLOR is set: there are no colours to choose.", markup=False)
        elif name and self._named(name) in app.available_themes:
            self._take(name)
        elif name:
            app.notify(f"There is no theme {name}. /theme lists them.", markup=False)
        else:
            items = [PaletteItem(one.value, one.value, one.hint) for one in self.choices()]

            def chosen(choice: str | None) -> None:
                app.theme = before
                if choice is not None:
                    self._take(choice)

            app.push_screen(Palette(items, title="Theme", verb="take", moved=self._preview), chosen)

    def choices(self) -> list[Choice]:
        """Every theme, those of the person among the first."""
        wanted = self._app.loaded.settings.ui.theme or "auto"
        return [
            Choice(one, "now" if one == wanted else "yours" if one in self._own else "") for one in names(self._own)
        ]

    def _preview(self, name: str) -> None:
        self._app.theme = self._named(name)

    def _take(self, name: str) -> None:
        """Show it from now on, in later sessions, too."""
        app = self._app
        app.theme = self._named(name)
        if app.begin.ready is not None:
            return
        try:
            save_setting(app.begin.user_file, "ui", "theme", name)
        except ConfigError as error:
            app.notify(f"For this session only: {error}", severity="warning", markup=False)
        else:
            app.notify(f"Theme {name}, written to {app.begin.user_file}.", markup=False)

    def _named(self, wanted: str | None) -> str:
        return named(wanted, light=self._app.begin.light, env=self._environment)

    @property
    def _environment(self) -> Mapping[str, str]:
        return self._app.begin.environment
