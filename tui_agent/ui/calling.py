"""Skills and commands of files on the screen: the list of skills, what `/name` calls, and the writing of instructions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.display import label, plain
from tui_agent.core.types import AgentError
from tui_agent.guidance import asks_for_more, filled
from tui_agent.providers.web import ENGINES
from tui_agent.ui.completion import Choice
from tui_agent.ui.palette import Palette, PaletteItem
from tui_agent.words import Words

if TYPE_CHECKING:
    from tui_agent.session import Session
    from tui_agent.ui.app import AgentApp
    from tui_agent.ui.conversation import Conversation
    from tui_agent.ui.main import Handler

WRITE_INSTRUCTIONS = (
    "Write AGENTS.md for this folder: what a programmer who is new here must know to work well. Look first: read what "
    "builds and tests it, its documents and the code that the rest hangs on. Then write, in at most 60 lines of Markdown: "
    "what it is, how to build it and run all tests and one test, where what is, the conventions that are not obvious, what "
    "must not be broken. Only what you saw here and what is not told by the code itself. If AGENTS.md exists, read it and "
    "improve it, and keep what the person wrote."
)


INTENTS = {
    "auto": "words tell what a message is about, and a word of the model while search is on",
    "words": "words tell it, the model is not asked",
    "model": "a word of the model tells it, for each message",
    "off": "every message is for the work, with all tools",
}


class Calling:
    """The handlers of these actions."""

    def __init__(self, app: AgentApp) -> None:
        self._app = app

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """By the id of their action."""
        return {
            "skills.list": self.skills,
            "project.init": self.init,
            "web.search": self.search,
            "web.intents": self.intents,
        }

    def intents(self, word: str) -> None:
        """`/intents`: what decides what a message is about from here on."""
        if self._app.main.conversation is None:
            return
        beyond = self._app.session.beyond
        for name in ("auto", "words", "model", "off"):
            if word == name:
                beyond.intents = name
        self._app.talk.note(f"intents {beyond.intents}: {INTENTS[beyond.intents]}")

    def search(self, word: str) -> None:
        """`/search`: on or off; with the name of an engine on, by that."""
        if self._app.main.conversation is None:
            return
        beyond = self._app.session.beyond
        on = not beyond.searching if not word else word != "off"
        try:
            search_with(self._app.session, (beyond.engine if word in {"", "on"} else word.lower()) if on else "")
        except AgentError as error:
            self._app.notify(plain(str(error)), severity="warning", markup=False)
            return
        self._app.talk.note(search_words(self._app.session))

    def init(self, more: str) -> None:
        """`/init`: the model writes the instructions of this folder, and its edit is asked for like any other."""
        if self._app.main.conversation is not None:
            self._app.talk.send("\n\n".join(filter(None, (WRITE_INSTRUCTIONS, more))))
            self._app.main.refresh_state()

    def skills(self, _: str) -> None:
        """`/skills`: all of them, also those in whose place another counts; the chosen one is put in force."""
        if self._app.main.conversation is None:
            return
        guidance = self._app.session.standing.guidance
        items = [_item(one, "") for one in guidance.skills]
        items += [_item(one, "another of this name counts: ") for one in guidance.shadowed]
        if not items:
            self._app.notify(
                "There are no skills. Put one into ~/.agents/skills/NAME/SKILL.md, or .agents/skills of this folder.",
                markup=False,
            )
            return
        self._app.push_screen(Palette(items, title="Skills"), self._app.on_choice(self._put_in_force))

    def _put_in_force(self, name: str) -> None:
        if not call(self._app.talk, f"/skill:{name}", ""):
            self._app.notify(f"{plain(name)} does not count: another skill of this name does.", markup=False)


def _item(skill: Words, note: str) -> PaletteItem:
    name = f"{skill.path}" if note else skill.name
    return PaletteItem(name, label(f"{note}{skill.name}: {skill.description}", 300), label(skill.path, 80))


def search_with(session: Session, engine: str) -> None:
    """Turn search on with this engine, or off with "", from here on.

    Raises:
        AgentError: it cannot be asked.
    """
    session.beyond.search_by(engine)
    session.begin()
    session.log.append(ev.SearchSet(engine))


def search_words(session: Session) -> str:
    """Whether search is on, by whom."""
    beyond = session.beyond
    if not beyond.searching:
        return "search is off"
    return f"search is on, by {ENGINES[beyond.engine].title}: what the model searches for is asked"


def keep_choices(before: Session, session: Session) -> None:
    """What the person chose for their sitting holds in the new session that follows one, as who answers does."""
    session.beyond.intents = before.beyond.intents
    if (engine := fold.search(before.events)) is not None:
        search_with(session, engine)


def call(conversation: Conversation, word: str, argument: str) -> bool:
    """Do what `/word argument` calls beyond the table of actions; False when there is no such skill or command.

    A command is sent as the message that it stands for. A skill is put in force, and the argument sent as the task.
    """
    session = conversation.session
    found = session.standing.guidance.find(word.removeprefix("/"))
    if found is None:
        return False
    try:
        if found.kind == "command":
            conversation.send(filled(found, argument))
            return True
        if not session.put_in_force(found) and not argument:
            conversation.note(f"The skill {found.name} is in force already.")
        conversation.catch_up()
        if argument:
            conversation.send(argument)
    except AgentError as error:
        conversation.note(str(error))
    return True


def choices(session: Session) -> list[Choice]:
    """The skills and commands for the completion of a slash, behind those of the table."""
    return [
        Choice(f"/{one.name}", label(f"{one.kind}: {one.description}", 80), bare=not asks_for_more(one))
        for one in session.standing.guidance.callable
    ]
