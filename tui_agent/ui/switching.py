"""What answers: switching provider, model and effort, and what is known of the model that does.

The checks before a switch are pure functions; `Switching` asks servers and the person. A running turn always ends on
the model it began with.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from tui_agent.core.profile import Effort, ModelInfo, Pricing, Profile
from tui_agent.core.types import AgentError, AssistantMessage, ConfigError, History, ProviderError, UserMessage
from tui_agent.demo import PROFILE
from tui_agent.demo import model as demo_model
from tui_agent.providers import described, inspect, list_models, missing_key
from tui_agent.providers.history import made_here
from tui_agent.session import asked_window
from tui_agent.ui.choices import DEMO
from tui_agent.ui.completion import Choice
from tui_agent.ui.numbers import money, per_million, size, thousands
from tui_agent.ui.palette import Palette, PaletteItem
from tui_agent.ui.trap import Traps
from tui_agent.window import GOOD_WINDOW, with_window

if TYPE_CHECKING:
    from tui_agent.ui.app import AgentApp
    from tui_agent.ui.main import Handler

EFFORTS = ("off", "low", "medium", "high")
COLUMNS = f"{'window':>7} {'tools':>6} {'price in/out':>14} {'session':>10}"


@dataclass(frozen=True, slots=True)
class Today:
    """What a switch is judged against: what would be sent next, and whether a turn runs, or only waits for its next try."""

    history: History = ()
    tokens: int | None = None
    profile: Profile | None = None
    working: bool = False
    retrying: bool = False


# ------------------------------------------------------------------ before a switch


def fits(info: ModelInfo, tokens: int | None) -> str:
    """Whether the conversation fits the model's window; nothing where one of them is unknown."""
    if info.window is None or tokens is None:
        return ""
    return f"fits, {thousands(tokens)}" if tokens < info.window else "too small"


def hint(info: ModelInfo, profile: Profile, today: Today) -> str:
    """Window, tools, price and room of a model, in columns; what nobody said stays open."""
    tools = {True: "yes", False: "no", None: "?"}[info.tools]
    then = profile.answering(info.id, info.pricing)
    pricing, free = then.pricing, "local" if then.local else "?"
    price = f"{per_million(pricing.input)}/{per_million(pricing.output)}" if pricing else free
    return f"{size(info.window):>7} {tools:>6} {price:>14} {fits(info, today.tokens):>10}"


def note(info: ModelInfo, profile: Profile, today: Today) -> str:
    """What choosing this model means for the conversation so far."""
    words = []
    if fits(info, today.tokens) == "too small":
        words.append(
            f"The conversation, about {thousands(today.tokens or 0)} tokens, does not fit {size(info.window)}: /compact first."
        )
    if info.tools is False:
        words.append("It takes no tools: chat and review only.")
    takes = profile.images if info.images is None else info.images
    pictures = sum(len(m.images) for m in today.history if isinstance(m, UserMessage))
    if pictures and takes is False:
        words.append(f"{pictures} picture{'s' if pictures != 1 else ''} left out: it takes none.")
    elif takes:
        words.append("It takes pictures.")
    if today.retrying:
        words.append("It is sent what waits for its next try.")
    elif today.working and today.profile is not None:
        words.append(f"The running turn ends on {today.profile.model or today.profile.name}.")
    words.append(f"Next message goes to {profile.name}.")
    if lost := _foreign(today.history, profile):
        whose = today.profile.model if today.profile and today.profile.model else "the others"
        words.append(f"{lost} reasoning block{'s' if lost != 1 else ''} of {whose} left out, tool results stay.")
    pricing = profile.answering(info.id, info.pricing).pricing
    if pricing is not None and pricing.input and today.tokens:
        words.append(f"Next request about {money(today.tokens * pricing.input / 1e6)}.")
    return " ".join(words)


def _foreign(history: History, profile: Profile) -> int:
    """How many replies hold reasoning or extras that only their own maker understands."""
    return sum(
        bool(m.reasoning or m.extras) and not made_here(m, profile) for m in history if isinstance(m, AssistantMessage)
    )


def profile_info(profile: Profile) -> ModelInfo:
    """What the profile itself says of its model."""
    return ModelInfo(profile.model or "", asked_window(profile), images=profile.images, pricing=profile.pricing)


def loading(profile: Profile) -> tuple[object, ...]:
    """What decides which model Ollama loads, and how large its window is."""
    return profile.endpoint, profile.model, profile.generation.get("num_ctx")


def as_asked(info: ModelInfo, profile: Profile) -> ModelInfo:
    """A model that is not loaded yet, with the window that it would get from this profile."""
    asked = asked_window(profile)
    if info.window is not None or asked is None:
        return info
    return replace(info, window=min(asked, info.most or asked))


class Switching:
    """The actions of the app that are about who answers; `session` exists once the start is over."""

    def __init__(self, app: AgentApp) -> None:
        self._app = app
        self.traps = Traps(app)
        self._known: tuple[Profile, bool] | None = None
        """The profile that was last asked about, and whether it had answered by then."""
        self._since: tuple[str, Profile] | None = None
        self._replies = 0
        """How many replies there were when this profile began to answer in this session: those are not its own."""
        self._loaded: tuple[object, ...] | None = None
        """What was asked of Ollama when it last answered here: until then what it has loaded is somebody else's."""
        self._models: dict[str, dict[str, ModelInfo]] = {}
        """The models of each profile's server, where the person has asked for them."""

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """By the id of their action."""
        return {
            "provider.switch": self.provider,
            "model.switch": self.model,
            "model.effort": self.effort,
            "model.window": self.window,
            **self.traps.handlers,
        }

    # -------------------------------------------------------------- choosing

    def answer_with(self, chosen: Profile, model: str | None = None) -> None:
        """Let a profile answer from the next message on; what is missing is said in the transcript."""
        app = self._app
        try:
            if (ready := app.begin.ready) is not None and chosen == ready.profile and not model:
                app.session.use(ready.model, chosen)
            elif chosen.name == DEMO and chosen.wire == "scripted":
                app.session.use(demo_model(0.03), chosen)
            else:
                app.session.choose(chosen, model, key_later=True)
        except ConfigError as error:
            app.talk.note(str(error), f"{chosen.name} cannot answer")
        else:
            self._known = None
            fault = missing_key(chosen, app.session.terms.environment)
            if app.talk.retrying:
                app.run_worker(app.talk.send_on(), name="send on")
            elif app.talk.working:  # what is wrong with who comes next is no failure of who answers
                then = f"Before the next message: {fault}" if fault else f"{chosen.name} answers the next message."
                app.notify(f"The running turn goes on. {then}", markup=False)
            elif fault:
                app.talk.fail(ProviderError("auth", fault))
            else:
                app.talk.failure = None
        app.talk.catch_up()
        app.changed()

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
            self.provider("")
        elif name:
            self.answer_with(self._own(today).answering(name, self._listed_price(today, name)))
        else:
            app.run_worker(self._choose_model(today), name="models", exclusive=True, group="models")

    def _own(self, today: Profile) -> Profile:
        """The profile in use as the configuration says it of its own model, with what was chosen in the session."""
        written = self._app.loaded.settings.profiles.get(today.name)
        if written is None or written.model == today.model:
            return today
        own = {name: getattr(written, name) for name in ("model", "pricing", "window", "images", "local")}
        return replace(today, **own)

    def _listed_price(self, profile: Profile, model: str) -> Pricing | None:
        listed = self._models.get(profile.name, {}).get(model)
        return listed.pricing if listed else None

    async def _choose_model(self, profile: Profile) -> None:
        """Ask the server for its models and the person for one of them."""
        app = self._app
        try:
            models = await self._list(profile)
        except AgentError as error:
            app.notify(f"{error} Type /model and its name.", severity="warning", markup=False)
            return
        today, profile = self.today(), self._own(profile)
        now = today.profile.model if today.profile else None
        models.sort(key=lambda info: info.id != now)  # the one in use first, the others as they came
        if (known := app.session.info) is not None and models and models[0].id == now and known.window:
            models[0] = replace(models[0], window=known.window)  # as it works now, not as it would be asked for
        items = [
            PaletteItem(m.id, m.id, hint(m, profile, today), "MODEL", note=note(m, profile, today)) for m in models
        ]
        self.choose(items, f"Switch model of {profile.name}", self.model)

    async def _list(self, profile: Profile) -> list[ModelInfo]:
        env, network = self._app.begin.environment, self._app.begin.network
        listed = await list_models(profile, env=env, network=network)
        self._models[profile.name] = {model.id: model for model in listed}
        return [as_asked(m, profile) for m in await described(profile, listed, env=env, network=network)]

    # -------------------------------------------------------------- completion

    def profile_choices(self) -> list[Choice]:
        """The profiles, with their models."""
        known = {**self._app.loaded.settings.profiles, DEMO: PROFILE}
        return [Choice(name, profile.model or "") for name, profile in known.items()]

    def model_choices(self) -> list[Choice]:
        """The models of the profile in use, as far as its server was asked."""
        today = self.today().profile
        return [Choice(name) for name in self._models.get(today.name, ())] if today else []

    async def ask_models(self) -> None:
        """Ask the server of the profile in use for its models, because the person wants to complete one."""
        app = self._app
        if (profile := self.today().profile) is None:
            app.notify("Choose a provider first.", markup=False)
            return
        try:
            await self._list(profile)
        except AgentError as error:
            app.notify(str(error), severity="warning", markup=False)

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

    def window(self, word: str) -> None:
        """`/window TOKENS`: how much an Ollama model works with, in this session."""
        app = self._app
        number = re.fullmatch(r"(\d{1,7})(k?)", word.strip().lower())
        tokens = int(number[1]) * (1024 if number[2] else 1) if number else 0
        if app.main.conversation is None or (today := app.session.profile) is None:
            app.notify("Choose a provider first.", markup=False)
        elif not tokens:
            app.notify(f"Say how many tokens: /window {GOOD_WINDOW}, or /window {GOOD_WINDOW // 1024}k", markup=False)
        elif (changed := with_window(today, tokens)) is None:
            app.notify(f"The server of {today.name} cannot be asked for a window; only Ollama can.", markup=False)
        else:
            self.answer_with(changed)
            app.talk.note(f"{today.model} is asked for a window of {tokens:,} tokens, from the next message on")

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
        talk = app.talk
        return Today(session.history, talk.meter.tokens, session.profile, talk.working, talk.retrying)

    # -------------------------------------------------------------- knowing

    def look(self) -> None:
        """Ask the server about the model when something new may be known: after a reply, and once for each choice.

        Not before the first reply of the session: until then nothing is sent but what the person asked for.
        """
        app = self._app
        if app.main.conversation is None or (profile := app.session.profile) is None:
            return
        self.traps.look(profile)
        if self._since != (app.session.id, profile):
            self._since, self._replies = (app.session.id, profile), app.talk.totals.replies
        if not app.talk.totals.replies:
            return
        # what Ollama has loaded is known only once this model has answered
        answered = profile.wire == "ollama-native" and app.talk.totals.replies > self._replies
        if answered:
            self._loaded = loading(profile)
        key = (profile, answered)
        if key != self._known and profile.wire != "scripted" and not app.talk.working:
            self._known = key
            loaded = profile.wire != "ollama-native" or self._loaded == loading(profile)
            app.run_worker(self.learn(profile, loaded=loaded), name="inspect", exclusive=True, group="inspect")

    async def learn(self, profile: Profile, *, loaded: bool = True) -> None:
        """Ask the server about the model of this profile, and say what is wrong with its context.

        `loaded`: what the server has loaded is what this profile asks for; else the next message loads it anew.
        """
        app = self._app
        try:
            info = await inspect(profile, env=app.begin.environment, network=app.begin.network)
        except AgentError:
            return  # the window stays unknown, and is shown as such
        if app.session.profile != profile:
            return
        app.session.info = info = info if loaded else as_asked(replace(info, window=None), profile)
        if not self.traps.learned(info, profile) and fits(info, app.talk.meter.tokens) == "too small":
            app.talk.note(note(info, profile, self.today()), "Too long for the model's window")
        app.main.refresh_state()
