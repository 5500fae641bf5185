"""The screen for a person who has nothing configured: choose a model to work with, once.

It looks for servers on this machine and for key variables by name; nothing else is asked before a choice. A choice
writes the user's config.toml: the endpoint, the model and the name of the key's variable, never the key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.reactive import reactive
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from tui_agent.config import presets, save_profile
from tui_agent.core.address import is_server, root_of
from tui_agent.core.display import label, plain
from tui_agent.core.profile import ModelInfo
from tui_agent.core.types import AgentError, ConfigError
from tui_agent.paths import tilde
from tui_agent.ui.chrome import Rule, Where
from tui_agent.ui.field import Field
from tui_agent.ui.found import AGAIN_SECONDS, LOOK_SECONDS, Found, Look, Servers
from tui_agent.ui.keymap import USUAL, Keymap
from tui_agent.ui.modal import Modal, bindings
from tui_agent.ui.numbers import size

Step: TypeAlias = Literal["choose", "address", "model"]
DEMO = "demo"
SERVER = "server"
POLL_SECONDS = 2.0
"""How often the screen looks for a server that the person was told how to start."""
SHORT = ("ollama", "openai", "anthropic", "openrouter", "mistral")
"""The presets that are offered where there is little room; the others follow below."""


REMOTE = "You are connected by ssh: 127.0.0.1 is the remote machine."
NO_ADDRESS = "This is no http:// or https:// address without a password: {}"


@dataclass(frozen=True, slots=True)
class Chosen:
    """The name of the profile to use, a word about how it was tried, and the profile when it could not be written."""

    name: str
    word: str = ""
    unwritten: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One choice: `needs` is what it takes or what it has, `found` what is there already."""

    id: str
    title: str
    needs: str
    found: Found | None = None

    @property
    def about(self) -> str:
        """The preset, or what else it leads to: the same before and after it was found."""
        return self.found.preset if self.found else self.id


def rows(found: Sequence[Found]) -> list[Row]:
    """The choices: what was found first, then what can be set up."""
    there = [Row(f"found-{n}", _title(one), _has(one), one) for n, one in enumerate(found)]
    names = {one.preset for one in found}
    rest = [name for name, preset in presets().items() if "api_key_env" in preset or "get" in preset]
    rest.sort(key=lambda name: name not in SHORT)
    setup = [
        Row(name, str(presets()[name]["title"]), str(presets()[name].get("api_key_env") or presets()[name]["get"]))
        for name in rest
        if name not in names
    ]
    other = [Row(SERVER, "Other server by its address", "LM Studio, llama.cpp, MLX, vLLM, …")]
    return [
        *there,
        *setup[: len(SHORT)],
        *other,
        Row(DEMO, "Look around with the demo model", "nothing"),
        *setup[len(SHORT) :],
    ]


def _title(one: Found) -> str:
    title = str(presets()[one.preset]["title"]).partition(",")[0]
    return f"{title}  {one.best.id}" if one.best else title


def _has(one: Found) -> str:
    """What was found, in words: a variable, or what the best model of a server can do."""
    if one.variable:
        return f"{one.variable} is set"
    if one.fault:
        return "answers, but not as it should"
    if one.best is None:
        return "running, no model installed"
    if one.best.tools is False:
        return "no tools: chat and review only"
    window = one.best.window or one.best.most
    parts = [f"{size(window)} context"] if window else []
    parts += ["tools"] if one.best.tools else []
    return ", ".join([*parts, "local and free"])


def row_text(row: Row, number: int, width: int) -> Text:
    """One line of the list at this width."""
    sign = f"{number}  " if number < 10 else "   "
    text = Text(no_wrap=True, overflow="ellipsis")
    if width < 60:
        text.append(label(sign + row.title, width - 3))
        return text
    column = 44 if width >= 80 else 36
    text.append(f"{label(sign + row.title, column - 2):<{column}}", "bold" if row.found else "")
    text.append(label(row.needs, width - column - 2), "" if row.found else "dim")
    return text


def welcome(found: Sequence[Found] | None, outside: Sequence[str], *, looking: bool, width: int) -> str:
    """The head of the choices: who was asked so far, and that nothing was found once it was looked for to the end."""
    asked = "Nothing has left this machine."
    if outside:
        asked = f"Asked so far: {', '.join(outside)}"
    elif found is None or (looking and not found):
        asked += " Looking for servers on it …"
    elif not found and width < 64:
        asked = "Nothing was sent. Found: no key, no local server."
    elif not found:
        asked += " Found: no key variable, no server on 11434, 1234, 8080, 8000."
    return f"Welcome. Choose a model{' to work with' if width >= 46 else ''}.\n{asked}"


def hints(step: Step, keys: Keymap, width: int) -> str:
    """The last row: the keys of this step, in the words that fit."""
    if step == "address":
        return "Enter continue   Esc back"
    if step == "model":
        long = "↑↓ choose   Enter take it   Tab list or field   Esc back"
        return long if width >= 64 else "↑↓  Enter take it  Tab field  Esc back"
    if width < 64:
        return "  ".join(filter(None, ["↑↓", "Enter use", keys.say("{first.look} again"), "Esc quit"]))
    return "   ".join(["↑↓ choose", "Enter use", *keys.hints("first"), "Esc quit"])


class KeyRow(Widget):
    """The last row at today's width."""

    ALLOW_SELECT = False
    step: reactive[Step] = reactive("choose")

    def __init__(self, keys: Keymap) -> None:
        super().__init__(id="keys")
        self._keys = keys

    def render(self) -> Text:
        """The keys of the step."""
        return Text(f" {hints(self.step, self._keys, self.size.width)}", "dim", no_wrap=True, end="")


@dataclass(frozen=True, slots=True)
class World:
    """What the first run needs of the app.

    `edited` lets the person write the configuration themselves: what they chose by it, None for nothing yet.
    """

    root: Path
    config_file: Path
    environment: Mapping[str, str]
    servers: Servers
    look: Look
    edited: Callable[[], Chosen | None]


def unset(row: Row) -> str:
    """What to do where the variable of a choice is not set."""
    return f"{row.needs} is not set in this shell.\nEsc, export {row.needs}=…, start again.\nKeys: {presets()[row.id]['key_page']}"


class FirstRun(Modal[Chosen | None]):
    """Returns the profile that was written, the demo, or None when the person leaves."""

    VERTICAL_BREAKPOINTS = [(0, "-low"), (24, "-tall")]  # noqa: RUF012 - Textual declares it without ClassVar
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back"),
        Binding("ctrl+c,ctrl+q", "leave"),
        *bindings("first", {"first.look": "look", "first.model": "other_model", "first.config": "edit"}.__getitem__),
        *(Binding(str(n), f"number({n})", show=False) for n in range(1, 10)),
    ]

    def __init__(self, world: World, keys: Keymap = USUAL) -> None:
        super().__init__()
        self._world, self._keys = world, keys
        self._step: Step = "choose"
        self._profile = ""
        self._table: dict[str, Any] = {}
        self._found: Sequence[Found] | None = None
        self._looking = True
        self._rows: list[Row] = []
        self._models: list[str] = []
        self._source: Found | None = None
        self._poll: Timer | None = None

    def compose(self) -> ComposeResult:
        """Where this is, head, list, one field, a word below, the keys."""
        with Vertical(id="where"):
            yield Where(plain(tilde(self._world.root, self._world.environment), "path"))
            yield Rule()
        with Vertical(id="first-run"):
            yield Static(id="head", markup=False)
            yield OptionList(id="choices", markup=False)
            yield Field(id="field")
            yield Static(id="note", markup=False)
        yield KeyRow(self._keys)

    def on_mount(self) -> None:
        """Start with the choices, and look around."""
        self._poll = self.set_interval(POLL_SECONDS, lambda: self.look(POLL_SECONDS / 2), pause=True)
        self.show_choices()
        self.look(LOOK_SECONDS, AGAIN_SECONDS)

    def on_resize(self) -> None:
        """Draw the rows for the new width."""
        if self._step == "choose" and self.is_mounted:
            self.show_choices(keep=True)

    # -------------------------------------------------------------- looking

    def action_look(self) -> None:
        """R: look again, with more patience."""
        if self._step == "choose":
            self._found, self._looking = None, True
            self.show_choices()
            self.look(AGAIN_SECONDS)

    @work(exclusive=True, group="look")
    async def look(self, *patience: float) -> None:
        """Find what is on this machine, each time with so many seconds for a server; the choices change only when that did."""
        for seconds in patience:
            found = list(await self._world.look(self._world.environment, self._world.servers.network, seconds))
            known, self._found, self._looking = self._found, found, seconds != patience[-1]
            if self._step != "choose" or not self._stands:
                continue
            if found != known:
                self.show_choices(keep=True)
            else:  # a word below the list stays
                self.query_one("#head", Static).update(Text(self._welcome(), "bold"))

    @property
    def _stands(self) -> bool:
        """Whether all widgets are there: not while the screen is taken down, when an answer may still come."""
        return len(self.query("#head, #choices, #field, #note, #keys")) == 5

    # -------------------------------------------------------------- steps

    def show_choices(self, note: str = "", *, keep: bool = False) -> None:
        """Step one: what to work with."""
        self._step = "choose"
        if self._poll is not None and not note:
            self._poll.pause()
        choices = self.query_one(OptionList)
        today, self._rows = self._moved_to() if keep else None, rows(self._found or ())
        width = min(100, self.size.width) - 6
        options: list[Option] = []
        first = next((n for n, row in enumerate(self._rows) if row.found is None), 0)
        for number, row in enumerate(self._rows):
            if number == first and first:
                options.append(Option(Text("SET UP ONE OF THESE"), disabled=True))
            options.append(Option(row_text(row, number + 1, width), id=row.id))
        if first:
            options.insert(0, Option(Text("FOUND ON THIS MACHINE"), disabled=True))
        self.fill(
            self._welcome(),
            options,
            field=None,
            note=note
            or "Keys are read from the variable each time. They are never written to disk.\n"
            f"Config will be {plain(tilde(self._world.config_file, self._world.environment), 'path')}",
        )
        if place := next((row.id for row in self._rows if row.about == today), None):
            choices.highlighted = choices.get_option_index(place)

    def _moved_to(self) -> str | None:
        """What the row is about that the person went to; None on the first one, where nobody has gone anywhere."""
        row = self._row()
        return row.about if row is not None and row is not self._rows[0] else None

    def _row(self) -> Row | None:
        option = self.query_one(OptionList).highlighted_option
        return next((row for row in self._rows if option is not None and row.id == option.id), None)

    def _welcome(self) -> str:
        return welcome(self._found, self._world.servers.outside(), looking=self._looking, width=self.size.width)

    def show_address(self, typed: str = "http://127.0.0.1:8080/v1", note: str = "") -> None:
        """Step two for a server: where it is."""
        self._step = "address"
        remote = REMOTE if "SSH_CONNECTION" in self._world.environment else ""
        self.fill(
            "Where is the server?",
            [],
            field=(typed, "an address that ends in /v1, as a rule"),
            note=note or remote or "The address of its API, as the server prints it when it starts.",
        )

    def show_models(self, models: Sequence[ModelInfo], note: str = "") -> None:
        """The last step: which model."""
        self._step = "model"
        self._models = [model.id for model in models]
        self.fill(
            f"Which model of {self._profile}?",
            [Option(Text(label(model.id, 70)), id=f"model-{n}") for n, model in enumerate(models)],
            field=("", "or type its name"),
            note=note,
        )

    def fill(self, head: str, options: list[Option], *, field: tuple[str, str] | None, note: str) -> None:
        """Put one step on the screen."""
        self.query_one("#head", Static).update(Text(head, "bold"))
        self.say(note)
        self.query_one(KeyRow).step = self._step
        choices, entry = self.query_one(OptionList), self.query_one(Input)
        choices.clear_options().add_options(options)
        choices.styles.max_height = len(options)  # of the rows that what stands around it leaves
        choices.display = bool(options)
        entry.display = field is not None
        if field is not None:
            entry.value, entry.placeholder = field
            entry.action_end()
        if options:
            choices.highlighted = next(n for n, option in enumerate(options) if not option.disabled)
            choices.focus()
        else:
            entry.focus()

    def say(self, note: str, style: str = "dim") -> None:
        """The word below the list."""
        self.query_one("#note", Static).update(Text(note, style))

    # -------------------------------------------------------------- keys

    def action_number(self, number: int) -> None:
        """A digit takes the row with that number."""
        if self._step == "choose" and number <= len(self._rows):
            choices = self.query_one(OptionList)
            choices.highlighted = choices.get_option_index(self._rows[number - 1].id)
            choices.action_select()

    def action_back(self) -> None:
        """One step back, or leave."""
        if self._step == "choose":
            self.dismiss(None)
        else:
            self.workers.cancel_group(self, "server")
            self.show_choices()

    def action_leave(self) -> None:
        """Leave without a choice."""
        self.dismiss(None)

    def action_edit(self) -> None:
        """O: write the configuration."""
        if self._step == "choose" and (chosen := self._world.edited()) is not None:
            self.dismiss(chosen)

    def action_other_model(self) -> None:
        """M on something that was found: choose among its models."""
        row = self._row()
        if self._step != "choose" or row is None or (found := row.found) is None:
            return
        self._take(found)
        if found.models:
            self.show_models(found.models)
        else:
            self.look_up(offer=False)

    @on(OptionList.OptionSelected)
    def chosen(self, event: OptionList.OptionSelected) -> None:
        """A row was taken."""
        event.stop()
        if self._step == "model":
            self.finish(self._models[event.option_index])
            return
        row = next(row for row in self._rows if row.id == event.option_id)
        if row.found is not None:
            self._use(row.found)
        elif row.id == DEMO:
            self.dismiss(Chosen(DEMO))
        elif row.id == SERVER:
            self._profile, self._table, self._source = "local", {"type": "openai"}, None
            self.show_address()
        else:
            self._explain(row)

    def _use(self, found: Found) -> None:
        """Something that was found was taken: a server's best model at once, a key after it was tried."""
        preset = presets()[found.preset]
        self._take(found)
        if found.fault:
            self.say(f"{plain(found.fault)}\n{self._keys.say('Mend it and press {first.look}.')}", "bold")
        elif found.variable:
            self.look_up(offer=True)
        elif found.best is not None:
            self.finish(found.best.id)
        else:
            self._wait(f"It has no model. In another terminal:\n  {preset.get('get', 'load a model')}")

    def _take(self, found: Found) -> None:
        self._profile, self._table, self._source = found.preset, dict(found.table), found

    def _explain(self, row: Row) -> None:
        """What to do for a choice that is not there yet."""
        preset = presets()[row.id]
        if "get" in preset:
            self._wait(f"Install it, then in another terminal:\n  {preset['start']}\n  {preset['get']}")
            return
        self.say(unset(row), "bold")

    def _wait(self, words: str) -> None:
        """Say what to start, and look for it until it is there."""
        self.say(f"{words}\nThis screen looks for it every {POLL_SECONDS:g} seconds.", "bold")
        if self._poll is not None:
            self._poll.resume()

    @on(Input.Submitted)
    def entered(self, event: Input.Submitted) -> None:
        """The field was sent."""
        event.stop()
        value = event.value.strip()
        if self._step == "model" and value:
            self.finish(value)
        elif self._step == "address":
            endpoint = (value if "://" in value else f"http://{value}").rstrip("/")
            if not is_server(endpoint) or "@" in root_of(endpoint):
                self.show_address(value, NO_ADDRESS.format(plain(endpoint)))
                return
            self._table["endpoint"] = endpoint
            self.look_up(offer=False)

    # -------------------------------------------------------------- asking the server

    @work(exclusive=True, group="server")
    async def look_up(self, *, offer: bool) -> None:
        """Ask the server for its models; with `offer` take the one that is suggested, once it has answered."""
        variable = self._table.get("api_key_env", "")
        self.say(f"asking the server for its models{f' with {variable}' if variable else ''} …")
        try:
            models = await self._world.servers.models(self._table)
            best = suggested(self._profile, models) if offer else None
            if best is not None:
                seconds = await self._world.servers.verify({**self._table, "model": best})
                if self._stands:
                    self.finish(best, f"{self._profile}/{best} works, {seconds * 1000:.0f} ms.")
                return
        except AgentError as error:
            if not self._stands:
                return
            if variable:
                again = self._keys.say(" {first.look} looks again.")
                self.show_choices(f"{plain(str(error))}\nNothing was written.{again}")
            else:
                self.show_models([], f"{plain(str(error))}\nType the model's name, or go back with Esc.")
            return
        if self._stands:
            self.show_models(models, "" if models else "The server lists no models. Type a name.")

    def finish(self, model: str, word: str = "") -> None:
        """Write the profile and leave."""
        table = self._source.ready_table(model) if self._source else {**self._table, "model": model}
        try:
            save_profile(self._world.config_file, self._profile, table)
        except ConfigError as error:
            word = f"{word}\n{error}\nThis choice counts for this session only.".strip()
            self.dismiss(Chosen(self._profile, word, table))
            return
        self.dismiss(Chosen(self._profile, word))


def suggested(preset: str, models: Sequence[ModelInfo]) -> str | None:
    """The model to begin with: the first suggestion that the server has, by its name or with a date behind it."""
    names = [model.id for model in models]
    for wish in presets().get(preset, {}).get("suggest", ()):
        if wish in names:
            return str(wish)
        if dated := [name for name in names if name.startswith(f"{wish}-2")]:
            return max(dated)
    return None
