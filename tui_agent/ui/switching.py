"""What answers: switching provider, model and effort, and what is known of the model that does.

The checks before a switch are pure functions; `Switching` asks servers and the person. A running turn always ends on
the model it began with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from tui_agent.core.profile import Effort, ModelInfo, Profile
from tui_agent.core.types import AgentError, AssistantMessage, ConfigError, History, UserMessage
from tui_agent.demo import PROFILE
from tui_agent.demo import model as demo_model
from tui_agent.providers import inspect, list_models
from tui_agent.session import asked_window
from tui_agent.ui.first_run import DEMO
from tui_agent.ui.found import GOOD_WINDOW
from tui_agent.ui.numbers import size, thousands
from tui_agent.ui.palette import Palette, PaletteItem

if TYPE_CHECKING:
    from tui_agent.ui.app import AgentApp

EFFORTS = ("off", "low", "medium", "high")
COLUMNS = f"{'window':>7} {'tools':>6} {'price in/out':>14} {'session':>10}"
_OLLAMA_PORT = 11434


@dataclass(frozen=True, slots=True)
class Today:
    """What a switch is judged against: what would be sent next, and whether a turn runs."""

    history: History = ()
    tokens: int | None = None
    profile: Profile | None = None
    working: bool = False


# ------------------------------------------------------------------ before a switch


def fits(info: ModelInfo, tokens: int | None) -> str:
    """Whether the conversation fits the model's window; nothing where one of them is unknown."""
    if info.window is None or tokens is None:
        return ""
    return f"fits, {thousands(tokens)}" if tokens < info.window else "too small"


def hint(info: ModelInfo, profile: Profile, today: Today) -> str:
    """Window, tools, price and room of a model, in columns; what nobody said stays open."""
    tools = {True: "yes", False: "no", None: "?"}[info.tools]
    pricing = info.pricing or profile.pricing
    price = f"{pricing.input:.2f}/{pricing.output:.2f}" if pricing else "local" if profile.local else "?"
    return f"{size(info.window):>7} {tools:>6} {price:>14} {fits(info, today.tokens):>10}"


def note(info: ModelInfo, profile: Profile, today: Today) -> str:
    """What choosing this model means for the conversation so far."""
    words = []
    if fits(info, today.tokens) == "too small":
        words.append(
            f"The conversation, about {thousands(today.tokens or 0)} tokens, does not fit {size(info.window)}."
        )
    if info.tools is False:
        words.append("It takes no tools: chat and review only.")
    takes = profile.images if info.images is None else info.images
    pictures = sum(len(m.images) for m in today.history if isinstance(m, UserMessage))
    if pictures and takes is False:
        words.append(f"{pictures} picture{'s' if pictures != 1 else ''} left out: it takes none.")
    if today.working and today.profile is not None:
        words.append(f"The running turn ends on {today.profile.model or today.profile.name}.")
    words.append(f"Next message goes to {profile.name}.")
    if lost := _foreign(today.history, profile):
        whose = today.profile.model if today.profile and today.profile.model else "the others"
        words.append(f"{lost} reasoning block{'s' if lost != 1 else ''} of {whose} left out, tool results stay.")
    pricing = info.pricing or profile.pricing
    if pricing is not None and pricing.input and today.tokens:
        words.append(f"Next request about ${today.tokens * pricing.input / 1e6:.2f}.")
    return " ".join(words)


def _foreign(history: History, profile: Profile) -> int:
    """How many replies hold reasoning or extras that only their own maker understands."""
    return sum(
        bool(m.reasoning or m.extras)
        and (m.author is None or (m.author.wire, m.author.endpoint) != (profile.wire, profile.endpoint or ""))
        for m in history
        if isinstance(m, AssistantMessage)
    )


def profile_info(profile: Profile) -> ModelInfo:
    """What the profile itself says of its model."""
    return ModelInfo(profile.model or "", asked_window(profile), images=profile.images, pricing=profile.pricing)


# ------------------------------------------------------------------ after one


def compatible_trap(profile: Profile) -> str:
    """A word about Ollama's other interface: the size of the window cannot be set there."""
    try:
        port = urlsplit(profile.endpoint or "").port
    except ValueError:
        return ""
    if profile.wire != "openai-chat" or port != _OLLAMA_PORT:
        return ""
    return (
        f"This is Ollama's compatible interface: it cannot set the window, and long text is cut silently.\n"
        f'Use type = "ollama" and an endpoint without /v1 in [profiles.{profile.name}].'
    )


def window_trap(info: ModelInfo, profile: Profile) -> str:
    """A word about a model that runs in a smaller window than was asked for, or than it could; else nothing."""
    loaded, asked, where = info.window, asked_window(profile), f"[profiles.{profile.name}.generation]"
    if profile.wire != "ollama-native" or loaded is None:
        return ""
    if asked is not None and loaded < asked:
        return (
            f"{profile.model} is loaded with {loaded:,} tokens; the profile asks for {asked:,}. Older text would be cut "
            f"silently.\nFree memory and load it anew: ollama stop {profile.model}, then /retry. Or set num_ctx = {loaded} "
            f"in {where}."
        )
    good = min(info.most or GOOD_WINDOW, GOOD_WINDOW)
    if asked is None and loaded < good:
        return (
            f"{profile.model} is loaded with {loaded:,} tokens; it could take {info.most or good:,}. Older text would be cut "
            f"silently.\nSet num_ctx = {good} in {where}, then start again."
        )
    return ""


class Switching:
    """The actions of the app that are about who answers; `session` exists once the start is over."""

    def __init__(self, app: AgentApp) -> None:
        self._app = app
        self._known: tuple[Profile, bool] | None = None
        """The profile that was last asked about, and whether it had answered by then."""
        self._replies = 0

    # -------------------------------------------------------------- choosing

    def answer_with(self, chosen: Profile, model: str | None = None) -> None:
        """Let a profile answer from the next message on; what is missing is said in the transcript."""
        app = self._app
        try:
            if chosen.name == DEMO and chosen.wire == "scripted":
                app.session.use(demo_model(0.03), chosen)
            else:
                app.session.choose(chosen, model)
        except ConfigError as error:
            app.talk.note(str(error), f"{chosen.name} cannot answer")
        else:
            self._replies = app.talk.totals.replies
            if word := compatible_trap(chosen):
                app.talk.note(word, "Context smaller than it looks")
            elif app.talk.working:
                app.notify(f"The running turn goes on. {chosen.name} answers the next message.", markup=False)
        app.talk.catch_up()
        app.main.refresh_state()

    def provider(self, name: str) -> None:
        """By name, or from the palette."""
        app = self._app
        profiles = {**app.loaded.settings.profiles, DEMO: PROFILE}
        if name in profiles:
            self.answer_with(profiles[name])
            return
        if name:
            app.notify(f"There is no profile {name}. Known: {', '.join(sorted(profiles))}", markup=False)
            return
        today = self.today()
        items = []
        for profile in profiles.values():
            info = profile_info(profile)
            if today.profile == profile and app.session.info is not None:
                info = app.session.info
            now = today.profile is not None and today.profile.name == profile.name
            title = "  ".join(filter(None, (profile.name, profile.model, "(now)" if now else "")))
            items.append(
                PaletteItem(
                    profile.name, title, hint(info, profile, today), "PROVIDER", note=note(info, profile, today)
                )
            )
        self.choose(items, "Switch provider", self.provider)

    def model(self, name: str) -> None:
        """By id, or from the server's own list."""
        app = self._app
        if app.main.conversation is None or (today := app.session.profile) is None:
            app.notify("Choose a provider first.", markup=False)
        elif name:
            self.answer_with(today, name)
        else:
            app.run_worker(self._choose_model(today), name="models", exclusive=True, group="models")

    async def _choose_model(self, profile: Profile) -> None:
        """Ask the server for its models and the person for one of them."""
        app = self._app
        try:
            models = await list_models(profile, env=app.begin.environment, network=app.begin.network)
        except AgentError as error:
            app.notify(f"{error} Type /model and its name.", severity="warning", markup=False)
            return
        today = self.today()
        models.sort(key=lambda info: info.id != profile.model)  # the one in use first, the others as they came
        items = [
            PaletteItem(m.id, m.id, hint(m, profile, today), "MODEL", note=note(m, profile, today)) for m in models
        ]
        self.choose(items, f"Switch model of {profile.name}", self.model)

    def effort(self, word: str) -> None:
        """off, low, medium, high, or default for what the server likes."""
        app = self._app
        if app.main.conversation is None or (today := app.session.profile) is None:
            app.notify("Choose a provider first.", markup=False)
        elif word in EFFORTS or word == "default":
            wanted = None if word == "default" else cast("Effort", word)
            self.answer_with(replace(today, effort=wanted))
            app.notify(f"Effort of thinking: {word}, from the next message on.", markup=False)
        elif word:
            app.notify(f"Effort is one of {', '.join(EFFORTS)} or default, not {word}.", markup=False)
        else:
            now = today.effort or "default"
            items = [PaletteItem(e, e, "now" if e == now else "") for e in (*EFFORTS, "default")]
            self.choose(items, "How much the model thinks", self.effort)

    def choose(self, items: Sequence[PaletteItem], title: str, then: Callable[[str], None]) -> None:
        """Let the person choose one, and carry on with its id."""
        columns: Any = dict.fromkeys(("PROVIDER", "MODEL"), COLUMNS)
        screen = Palette(items, title=title, verb="switch", columns=columns)
        self._app.push_screen(screen, self._app.on_choice(then))

    def today(self) -> Today:
        """Where the conversation stands."""
        app = self._app
        if app.main.conversation is None:
            return Today()
        session = app.session
        return Today(session.history, app.talk.meter.tokens, session.profile, app.talk.working)

    # -------------------------------------------------------------- knowing

    def look(self) -> None:
        """Ask the server about the model when something new may be known: after a reply, and once for each choice.

        Not before the first reply of the session: until then nothing is sent but what the person asked for.
        """
        app = self._app
        if app.main.conversation is None or app.session.profile is None or not app.talk.totals.replies:
            return
        profile = app.session.profile
        # what Ollama has loaded is known only once this model has answered
        key = (profile, profile.wire == "ollama-native" and app.talk.totals.replies > self._replies)
        if key != self._known and profile.wire != "scripted" and not app.talk.working:
            self._known = key
            app.run_worker(self._learn(profile), name="inspect", exclusive=True, group="inspect")

    async def _learn(self, profile: Profile) -> None:
        app = self._app
        try:
            info = await inspect(profile, env=app.begin.environment, network=app.begin.network)
        except AgentError:
            return  # the window stays unknown, and is shown as such
        if app.session.profile != profile:
            return
        app.session.info = info
        if word := window_trap(info, profile):
            app.talk.note(word, "Context smaller than it looks")
        elif fits(info, app.talk.meter.tokens) == "too small":
            app.talk.note(note(info, profile, self.today()), "Too long for the model's window")
        app.main.refresh_state()
