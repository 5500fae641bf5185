"""The screen for a person who has nothing configured: choose a model to work with, once.

Nothing leaves the machine before a choice. A choice writes the user's config.toml: the endpoint, the
model and the name of the key's variable, never the key.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from tui_agent.config import presets, save_profile
from tui_agent.core.display import label, plain
from tui_agent.core.types import AgentError, ConfigError
from tui_agent.paths import tilde
from tui_agent.ui.field import Field

ListModels = Callable[[Mapping[str, Any]], Awaitable[Sequence[str]]]
"""Ask a server for its models; raises AgentError with one sentence."""

DEMO = "demo"
SERVER = "server"


@dataclass(frozen=True, slots=True)
class Row:
    """One choice: `needs` is what it takes, `ready` whether that is there."""

    id: str
    title: str
    needs: str
    ready: bool


def rows(environment: Mapping[str, str]) -> list[Row]:
    """The choices, those whose key is set first."""
    vendors = [
        Row(name, str(preset["title"]), str(preset["api_key_env"]), bool(environment.get(str(preset["api_key_env"]))))
        for name, preset in presets().items()
        if "api_key_env" in preset
    ]
    vendors.sort(key=lambda row: not row.ready)
    server = Row(SERVER, "A server by its address", "Ollama, llama.cpp, vLLM, LM Studio, …", ready=True)
    return [*vendors, server, Row(DEMO, "Look around with the demo model", "nothing", ready=True)]


def row_text(row: Row, number: int, width: int) -> Text:
    """One line of the list at this width."""
    title = f"{number}  {row.title}"
    text = Text(no_wrap=True, overflow="ellipsis")
    if width < 60:
        text.append(label(title, width - 3))
        return text
    state = "found" if row.ready and row.needs.isupper() else ""
    text.append(f"{title:<36}")
    text.append(f"{row.needs:<24}", "" if row.ready else "dim")
    text.append(state, "bold")
    return text


class FirstRun(ModalScreen[str | None]):
    """Returns the name of the profile that was written, "demo", or None when the person leaves."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back"),
        Binding("ctrl+c,ctrl+q", "leave"),
        *(Binding(str(n), f"number({n})", show=False) for n in range(1, 10)),
    ]

    def __init__(self, config_file: Path, environment: Mapping[str, str], list_models: ListModels) -> None:
        super().__init__()
        self._file = config_file
        self._environment = environment
        self._list_models = list_models
        self._step: Literal["choose", "address", "model"] = "choose"
        self._profile = ""
        self._table: dict[str, Any] = {}

    def compose(self) -> ComposeResult:
        """Head, list, one field, a word below, the keys."""
        with Vertical(id="first-run"):
            yield Static(id="head", markup=False)
            yield OptionList(id="choices", markup=False)
            yield Field(id="field")
            yield Static(id="note", markup=False)
        yield Static(id="keys", markup=False)

    def on_mount(self) -> None:
        """Start with the choices."""
        self.query_one(Input).cursor_blink = False
        self.show_choices()

    def on_resize(self) -> None:
        """Draw the rows for the new width."""
        if self._step == "choose" and self.is_mounted:
            self.show_choices()

    # -------------------------------------------------------------- steps

    def show_choices(self, note: str = "") -> None:
        """Step one: what to work with."""
        self._step = "choose"
        found = rows(self._environment)
        width = min(100, self.size.width) - 6
        self.fill(
            "Welcome. Choose a model to work with.\nNothing has left this machine.",
            [Option(row_text(row, n, width), id=row.id) for n, row in enumerate(found, 1)],
            field=None,
            note=note
            or "Keys are read from the variable each time. They are never written to disk.\n"
            f"Config will be {plain(tilde(self._file, self._environment), 'path')}",
            keys="↑↓ choose   Enter continue   Esc quit",
        )

    def show_address(self, note: str = "") -> None:
        """Step two for a server: where it is."""
        self._step = "address"
        self.fill(
            "Where is the server?",
            [],
            field=("http://127.0.0.1:8080/v1", "an address that ends in /v1, as a rule"),
            note=note or "Over ssh, 127.0.0.1 is the remote machine.",
            keys="Enter continue   Esc back",
        )

    def show_models(self, models: Sequence[str], note: str = "") -> None:
        """The last step: which model."""
        self._step = "model"
        self.fill(
            f"Which model of {self._profile}?",
            [Option(Text(label(model, 70)), id=f"model-{n}") for n, model in enumerate(models)],
            field=("", "or type its name"),
            note=note,
            keys="↑↓ choose   Enter take it   Tab list or field   Esc back",
        )
        self._models = list(models)

    def fill(self, head: str, options: list[Option], *, field: tuple[str, str] | None, note: str, keys: str) -> None:
        """Put one step on the screen."""
        self.query_one("#head", Static).update(Text(head, "bold"))
        self.query_one("#note", Static).update(Text(note, "dim"))
        self.query_one("#keys", Static).update(Text(" " + keys, "dim", no_wrap=True, overflow="ellipsis"))
        choices, entry = self.query_one(OptionList), self.query_one(Input)
        choices.clear_options().add_options(options)
        choices.display = bool(options)
        entry.display = field is not None
        if field is not None:
            entry.value, entry.placeholder = field
        if options:
            choices.highlighted = 0
            choices.focus()
        else:
            entry.focus()

    # -------------------------------------------------------------- keys

    def action_number(self, number: int) -> None:
        """A digit takes the row with that number."""
        choices = self.query_one(OptionList)
        if self._step == "choose" and number <= choices.option_count:
            choices.highlighted = number - 1
            choices.action_select()

    def action_back(self) -> None:
        """One step back, or leave."""
        if self._step == "choose":
            self.dismiss(None)
        else:
            self.show_choices()

    def action_leave(self) -> None:
        """Leave without a choice."""
        self.dismiss(None)

    @on(OptionList.OptionSelected)
    def chosen(self, event: OptionList.OptionSelected) -> None:
        """A row was taken."""
        event.stop()
        if self._step == "model":
            self.finish(self._models[event.option_index])
            return
        choice = event.option_id or ""
        if choice == DEMO:
            self.dismiss(DEMO)
        elif choice == SERVER:
            self._profile, self._table = "local", {"type": "openai"}
            self.show_address()
        else:
            variable = str(presets()[choice]["api_key_env"])
            if not self._environment.get(variable):
                self.show_choices(
                    f"{variable} is not set in this shell. Leave with Esc, then:\n  export {variable}=…\nand start again."
                )
                return
            self._profile, self._table = choice, {"type": choice, "api_key_env": variable}
            self.look_up()

    @on(Input.Submitted)
    def entered(self, event: Input.Submitted) -> None:
        """The field was sent."""
        event.stop()
        value = event.value.strip()
        if self._step == "model" and value:
            self.finish(value)
        elif self._step == "address":
            if not value.startswith(("http://", "https://")):
                self.show_address("An address starts with http:// or https://")
                return
            self._table["endpoint"] = value.rstrip("/")
            self.look_up()

    @work(exclusive=True)
    async def look_up(self) -> None:
        """Ask the server for its models."""
        self.query_one("#note", Static).update(Text("asking the server for its models …", "dim"))
        try:
            models = await self._list_models(self._table)
        except AgentError as error:
            self.show_models([], f"{plain(str(error))}\nType the model's name, or go back with Esc.")
            return
        self.show_models(models, "" if models else "The server lists no models. Type a name.")

    def finish(self, model: str) -> None:
        """Write the profile and leave."""
        try:
            save_profile(self._file, self._profile, {**self._table, "model": model})
        except ConfigError as error:
            self.query_one("#note", Static).update(Text(plain(str(error)), "bold"))
            return
        self.dismiss(self._profile)
