"""The screen for a person who has nothing configured: choose a model to work with, once.

It looks for servers on this machine and for key variables by name; nothing else is asked before a choice. A choice
writes the user's config.toml: the endpoint, the model and the name of the key's variable, never the key.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from rich.text import Text
from textual import events, on, work
from textual.binding import Binding, BindingType
from textual.timer import Timer
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from tui_agent.config import presets
from tui_agent.core.display import label, plain
from tui_agent.core.profile import ModelInfo
from tui_agent.core.types import AgentError
from tui_agent.paths import tilde
from tui_agent.ui.choices import (
    DEMO,
    KEY_ASKED,
    REMOTE,
    SERVER,
    WHERE,
    Chosen,
    Row,
    Step,
    address_of,
    hints,
    named_first,
    no_model,
    only_key,
    options,
    question,
    rows,
    so_far,
    suggested,
    unset,
    welcome,
    written,
)
from tui_agent.ui.found import AGAIN_SECONDS, LOOK_SECONDS, Found, Look, Servers, memory, to_pull, usable
from tui_agent.ui.keymap import USUAL, Keymap
from tui_agent.ui.modal import bindings
from tui_agent.ui.numbers import works
from tui_agent.ui.steps import Steps

POLL_SECONDS = 2.0
"""How often the screen looks for a server that the person was told how to start."""


DEEDS = {
    "first.look": "look",
    "first.model": "other_model",
    "first.config": "edit",
    "first.pull": "agree",
    "first.decline": "decline",
}
"""What the screen does for each action of the table."""


@dataclass(frozen=True, slots=True)
class World:
    """What the first run needs of the app.

    `edited` lets the person write the configuration themselves: what they chose by it, None for nothing yet. `found` is what
    was found before. Where one of it is `offered`, the screen begins with the other models of that, and a letter that means
    nothing there is the person's: it begins a message, and `feed` takes it and all keys that follow.
    """

    root: Path
    config_file: Path
    environment: Mapping[str, str]
    servers: Servers
    look: Look
    edited: Callable[[], Awaitable[Chosen | None]]
    found: Sequence[Found] | None = None
    offered: Found | None = None
    feed: Callable[[events.Key], None] | None = None


class FirstRun(Steps[Chosen | None]):
    """Returns the profile that was written, the demo, or None when the person leaves."""

    VERTICAL_BREAKPOINTS = [(0, "-low"), (24, "-tall")]  # noqa: RUF012 - Textual declares it without ClassVar
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back"),
        Binding("ctrl+c,ctrl+q", "dismiss(None)"),
        *bindings("first", DEEDS.__getitem__),
        *(Binding(str(n), f"number({n})", show=False) for n in range(1, 10)),
    ]

    def __init__(self, world: World, keys: Keymap = USUAL) -> None:
        where = plain(tilde(world.root, world.environment), "path")
        super().__init__(where, self._say_keys, world.feed)
        self._world, self._keys = world, keys
        self._step: Step = "choose" if world.offered is None else "model"
        self._profile, self._table = "", dict[str, Any]()
        self._found = world.found
        self._looking = world.offered is None
        self._rows, self._models = list[Row](), list[str]()
        self._source: Found | None = None
        self._poll: Timer | None = None
        self._pulls: list[tuple[str, float]] = []
        self._waits = self._declined = False

    def on_mount(self) -> None:
        """Start with the choices, and look around; or with the other models of what was offered."""
        self._poll = self.set_interval(POLL_SECONDS, lambda: self.look(POLL_SECONDS / 2), pause=True)
        if (offered := self._world.offered) is not None:
            self._take(offered)
            self.show_models(offered.models)
        else:
            self.begin_choice()
            self.look(*([LOOK_SECONDS] if self._found is None else []), AGAIN_SECONDS)

    def _say_keys(self, width: int) -> str:
        """The keys of the step."""
        return hints(self._step, self._keys, width, "quit" if self._world.offered is None else "back")

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
            if self._step not in {"ask", "choose"} or not self.stands:
                continue
            if (there := usable(found)) is not None and self._turns:
                self.dismiss(Chosen(offered=there, found=tuple(found)))
                return
            if found != known and not self._asking:
                self.begin_choice()
            elif self._step == "choose":  # a word below the list stays
                self.query_one("#head", Static).update(Text(self._welcome(), "bold"))

    @property
    def _turns(self) -> bool:
        """Whether a server that answers ends the choice: who waits for it, or has gone nowhere yet, need not choose."""
        unmoved = self._waits or self._row() in (None, *self._rows[:1])
        return self._world.offered is None and unmoved and not self._asking

    @property
    def _asking(self) -> bool:
        """Whether a server is being asked for something: what the person chose goes on."""
        return any(worker.group == "server" and not worker.is_finished for worker in self.workers)

    # -------------------------------------------------------------- steps

    def begin_choice(self) -> None:
        """Ask for the one key that there is, in a line; else show all choices, with the cursor where it was."""
        one = only_key(self._found or ())
        if one is None or self._declined or self._moved_to() is not None:
            self.show_choices(keep=True)
            return
        self._step, self._rows = "ask", []
        answers = self._say_keys(min(63, self.size.width)).rpartition("  Esc")[0]
        note = f"{so_far(self._world.servers.outside())}\n{self._keys.say(KEY_ASKED)}"
        self.fill(f"Welcome. {question(one)}\n{answers}", [], field=None, note=note)

    def show_choices(self, note: str = "", *, keep: bool = False) -> None:
        """Step one: what to work with."""
        self._step = "choose"
        if self._poll is not None and not note:
            self._poll.pause()
            self._waits = False
        choices = self.query_one(OptionList)
        today, self._rows = self._moved_to() if keep else None, rows(self._found or ())
        self.fill(
            self._welcome(),
            options(self._rows, min(100, self.size.width) - 6),
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
        self.fill(
            "Where is the server?",
            [],
            field=(typed, "an address that ends in /v1, as a rule"),
            note=note or (REMOTE if "SSH_CONNECTION" in self._world.environment else WHERE),
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

    # -------------------------------------------------------------- keys

    def spare(self, event: events.Key) -> bool:
        """The list of models has no use for letters."""
        return self._step == "model" and event.is_printable and not self.query_one(Input).has_focus

    def action_number(self, number: int) -> None:
        """A digit takes the row with that number."""
        if self._step == "choose" and number <= len(self._rows):
            choices = self.query_one(OptionList)
            choices.highlighted = choices.get_option_index(self._rows[number - 1].id)
            choices.action_select()

    def action_back(self) -> None:
        """One step back, or leave."""
        if self._step in {"ask", "choose"}:
            self.dismiss(None)
        else:
            self.workers.cancel_group(self, "server")
            self.show_choices()

    @work(group="editor")
    async def action_edit(self) -> None:
        """O: write the configuration."""
        if self._step == "choose" and (chosen := await self._world.edited()) is not None:
            self.dismiss(chosen)

    def action_other_model(self) -> None:
        """M on something that was found: choose among its models."""
        row = self._row()
        found = only_key(self._found or ()) if self._step == "ask" else row.found if row is not None else None
        if self._step not in {"ask", "choose"} or found is None:
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
            preset = presets()[row.id]
            if "get" in preset:
                self._wait(f"Install it, then in another terminal:\n  {preset['start']}\n  {preset['get']}")
            else:
                self.say(unset(row), "bold")

    def _use(self, found: Found) -> None:
        """Something that was found was taken: a server's best model at once, a key after it was tried."""
        self._take(found)
        if found.fault:
            self.say(f"{plain(found.fault)}\n{self._keys.say('Mend it and press {first.look}.')}", "bold")
        elif found.variable:
            self.look_up(offer=True)
        elif found.best is not None:
            self.finish(found.best.id)
        else:
            self._pulls = to_pull(found.preset, memory())
            self._wait(no_model(self._pulls, self._keys))

    def action_agree(self) -> None:
        """Y: use the key that is asked for, or let the server load down what is suggested."""
        if self._step == "ask" and not self._asking and (one := only_key(self._found or ())) is not None:
            self._use(one)
        elif self._step == "choose" and self._waits and self._pulls:
            self.pull(self._pulls[0][0])

    def action_decline(self) -> None:
        """N: not the key that is asked for."""
        if self._step == "ask":
            self.workers.cancel_group(self, "server")
            self._declined = True
            self.show_choices()

    @work(exclusive=True, group="server")
    async def pull(self, model: str) -> None:
        """Say how far it is; the look around finds the model when it is there."""
        try:
            async with aclosing(self._world.servers.pull(self._table, model)) as progress:
                async for word in progress:
                    self.say(plain(word), "bold")
        except AgentError as error:
            self.say(plain(str(error)), "bold")

    def _take(self, found: Found) -> None:
        self._profile, self._table, self._source = found.preset, dict(found.table), found

    def _wait(self, words: str) -> None:
        """Say what to start, and look for it until it is there."""
        self.say(f"{words}\nThis screen looks for it every {POLL_SECONDS:g} seconds.", "bold")
        if self._poll is not None:
            self._waits = True
            self._poll.resume()

    @on(Input.Submitted)
    def entered(self, event: Input.Submitted) -> None:
        """The field was sent."""
        event.stop()
        value = event.value.strip()
        if self._step == "model" and value:
            self.finish(value)
        elif self._step == "address":
            try:
                self._table["endpoint"] = address_of(value)
            except ValueError as error:
                self.show_address(value, str(error))
                return
            self.look_up(offer=False)

    # -------------------------------------------------------------- asking the server

    @work(exclusive=True, group="server")
    async def look_up(self, *, offer: bool) -> None:
        """Ask the server for its models; with `offer` take the one that is suggested, once it has answered."""
        variable = self._table.get("api_key_env", "")
        self.say(f"asking the server for its models{f' with {variable}' if variable else ''} …")
        try:
            models = await self._world.servers.models(self._table)
            best, named = suggested(self._profile, models) if offer else None, named_first(self._profile)
            if best is not None and (self._step != "ask" or best.startswith(named)):
                tried = await self._world.servers.verify({**self._table, "model": best})
                if self.stands:
                    self.finish(best, works(f"{self._profile}/{best}", tried))
                return
        except AgentError as error:
            if not self.stands:
                return
            if variable:
                again = self._keys.say(" {first.look} looks again.")
                self.show_choices(f"{plain(str(error))}\nNothing was written.{again}")
            else:
                self.show_models([], f"{plain(str(error))}\nType the model's name, or go back with Esc.")
            return
        if self.stands:
            missing = f"It has no {named}." if offer and named else ""
            self.show_models(models, missing if models else "The server lists no models. Type a name.")

    def finish(self, model: str, word: str = "") -> None:
        """Write the profile and leave."""
        table = self._source.ready_table(model) if self._source else {**self._table, "model": model}
        self.dismiss(written(self._world.config_file, self._profile, table, word))
