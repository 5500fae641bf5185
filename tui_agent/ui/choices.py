"""The choices of the first start: what was found, what can be set up, and how that is said. Pure but for what is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from rich.text import Text
from textual.widgets.option_list import Option

from tui_agent.config import presets, read_layer, save_profile
from tui_agent.core.address import is_server, root_of
from tui_agent.core.display import label, plain
from tui_agent.core.profile import ModelInfo
from tui_agent.core.types import ConfigError
from tui_agent.ui.found import Found
from tui_agent.ui.keymap import Keymap
from tui_agent.ui.numbers import size

Step: TypeAlias = Literal["ask", "choose", "address", "model"]
DEMO = "demo"
SERVER = "server"
SHORT = ("ollama", "openai", "anthropic", "openrouter", "mistral")
"""The presets that are offered where there is little room; the others follow below."""


SESSION_ONLY = "This choice counts for this session only."
REMOTE = "You are connected by ssh: 127.0.0.1 is the remote machine."
WHERE = "The address of its API, as the server prints it when it starts."
KEY_ASKED = (
    "{first.pull} asks the server for its models, and for one token, with this key.\n"
    "The key is read from the variable each time. It is never written to disk."
)
NO_ADDRESS = "This is no http:// or https:// address: {}"
WITH_A_PERSON = (
    "Leave the name and the password out of the address: it would be shown and kept. "
    "A key comes from a variable, whatever else in a header (config.example.toml)."
)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The name of the profile to use, a word about how it was tried, and the profile when it could not be written.

    `offered`: no choice yet, but a server that began to answer, among all that was `found`.
    """

    name: str = ""
    word: str = ""
    unwritten: Mapping[str, Any] | None = None
    offered: Found | None = None
    found: tuple[Found, ...] = ()


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


def only_key(found: Sequence[Found]) -> Found | None:
    """The one key that was found where nothing else was: it can be asked for in a line."""
    return found[0] if len(found) == 1 and found[0].variable else None


def named_first(preset: str) -> str:
    """The model that is suggested first for a vendor, "" where none is."""
    return next(iter(presets().get(preset, {}).get("suggest", ())), "")


def question(one: Found) -> str:
    """The line that asks for it."""
    model = named_first(one.preset)
    return f"{one.variable} found. Use {one.preset}{f'/{model}' if model else ''}?"


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


def so_far(outside: Sequence[str]) -> str:
    """Who beyond this machine was asked."""
    return f"Asked so far: {', '.join(outside)}" if outside else "Nothing has left this machine."


def welcome(found: Sequence[Found] | None, outside: Sequence[str], *, looking: bool, width: int) -> str:
    """The head of the choices: who was asked so far, and that nothing was found once it was looked for to the end."""
    asked = so_far(outside)
    if not outside and (found is None or (looking and not found)):
        asked += " Looking for servers on it …"
    elif not outside and not found and width < 64:
        asked = "Nothing was sent. Found: no key, no local server."
    elif not outside and not found:
        asked += " Found: no key variable, no server on 11434, 1234, 8080, 8000."
    return f"Welcome. Choose a model{' to work with' if width >= 46 else ''}.\n{asked}"


def hints(step: Step, keys: Keymap, width: int, leave: str) -> str:
    """The last row: the keys of this step, in the words that fit; `leave` is what Esc does on the first."""
    if step == "address":
        return "Enter continue   Esc back"
    if step == "ask":
        wide = width >= 64
        ways = ("yes", "other model", "not this one") if wide else ("yes", "other", "not this")
        said = [
            keys.say(f"{{first.{name}}} {way}") for name, way in zip(("pull", "model", "decline"), ways, strict=True)
        ]
        return ("   " if wide else "  ").join([*filter(None, said), f"Esc {leave}"])
    if step == "model":
        long = "↑↓ choose   Enter take it   Tab list or field   Esc back"
        return long if width >= 64 else "↑↓  Enter take it  Tab field  Esc back"
    if width < 64:
        return "  ".join(filter(None, ["↑↓", "Enter use", keys.say("{first.look} again"), f"Esc {leave}"]))
    return "   ".join(["↑↓ choose", "Enter use", *keys.hints("first"), f"Esc {leave}"])


def no_model(pulls: Sequence[tuple[str, float]], keys: Keymap) -> str:
    """What to do where a server runs without a model: `pulls` are those that fit this machine, the best first."""
    if not pulls:
        return "It has no model: load one in it."
    rows = [f"  ollama pull {model}   {gigabytes:g} GB" for model, gigabytes in pulls]
    return "\n".join(
        ["It has no model. In another terminal:", *rows, keys.say("{first.pull} does the first of it here.")]
    )


def unset(row: Row) -> str:
    """What to do where the variable of a choice is not set."""
    return f"{row.needs} is not set in this shell.\nEsc, export {row.needs}=…, start again.\nKeys: {presets()[row.id]['key_page']}"


def suggested(preset: str, models: Sequence[ModelInfo]) -> str | None:
    """The model to begin with: the first suggestion that the server has, by its name or with a date behind it."""
    names = [model.id for model in models]
    for wish in presets().get(preset, {}).get("suggest", ()):
        if wish in names:
            return str(wish)
        if dated := [name for name in names if name.startswith(f"{wish}-2")]:
            return max(dated)
    return None


def written(file: Path, name: str, table: Mapping[str, Any], word: str = "") -> Chosen:
    """Write a profile that was chosen; where that cannot be, it counts for this session.

    One of that name that is another stays, and this one gets a number: the person may have begun in two terminals.
    """
    there = read_layer(file)[0].get("profiles", {})
    numbered = (name, *(f"{name}-{number}" for number in range(2, len(there) + 3)))
    name = next(free for free in numbered if there.get(free, table) == table)
    try:
        save_profile(file, name, table)
    except ConfigError as error:
        return Chosen(name, f"{word}\n{error}\n{SESSION_ONLY}".strip(), table)
    return Chosen(name, word)


def options(choices: Sequence[Row], width: int) -> list[Option]:
    """The list, under its headings."""
    made = [Option(row_text(row, number, width), id=row.id) for number, row in enumerate(choices, 1)]
    if first := sum(row.found is not None for row in choices):
        made.insert(first, Option(Text("SET UP ONE OF THESE"), disabled=True))
        made.insert(0, Option(Text("FOUND ON THIS MACHINE"), disabled=True))
    return made


def address_of(typed: str) -> str:
    """The address that a person meant; raises `ValueError`, which says why, where none is or one with a password.

    A server alone, as it prints it itself, is the one whose API is at `/v1`; with a slash at its end it is just that.
    """
    address = (typed if "://" in typed else f"http://{typed}").rstrip("/")
    if "@" in address.partition("://")[2].split("/")[0]:
        raise ValueError(WITH_A_PERSON)
    if not is_server(address):
        raise ValueError(NO_ADDRESS.format(plain(address)))
    return f"{address}/v1" if address == root_of(address) and not typed.endswith("/") else address
