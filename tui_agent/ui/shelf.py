"""The sessions of the person on the screen: the one that is open, another one, a new one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.disk import is_file, is_folder
from tui_agent.core.display import label, plain
from tui_agent.core.lock import holder
from tui_agent.core.profile import Profile
from tui_agent.core.types import AgentError
from tui_agent.demo import PROFILE
from tui_agent.export import when
from tui_agent.session import Session
from tui_agent.sessions import LOCK, STATE, Place, delete, fork, new_id, rename
from tui_agent.summaries import Summary, find, in_folder, listed
from tui_agent.told import answers_elsewhere, answers_instead
from tui_agent.ui.calling import keep_choices, search_words
from tui_agent.ui.choices import DEMO
from tui_agent.ui.documents import Documents
from tui_agent.ui.session_list import SessionList, World

if TYPE_CHECKING:
    from tui_agent.ui.app import AgentApp
    from tui_agent.ui.main import Handler


class Shelf:
    """The handlers of these actions. Everything that reads many logs or a long one runs beside the event loop."""

    def __init__(self, app: AgentApp) -> None:
        self._app, self.documents = app, Documents(app)
        self.now: Callable[[], float] = time.time

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """By the id of their action."""
        return {
            "session.list": lambda word: self.work(self.resume(word) if word else self.choose()),
            "session.new": lambda _: self.work(self.new()),
            "session.rename": self.rename,
            "session.fork": lambda word: self.work(self.fork(word)),
            "session.load": lambda name: self.work(self.load(name)),
            **self.documents.handlers,
        }

    @property
    def folder(self) -> Path:
        """Where the sessions are."""
        return self._app.begin.paths.sessions

    @property
    def _current(self) -> str:
        return self._app.session.id if self._app.main.conversation is not None else ""

    def _tell(self, text: str) -> None:
        self._app.notify(plain(text), markup=False)

    def work(self, work: Coroutine[Any, Any, None]) -> None:
        """One of these at a time, and not over a question or in a turn.

        A second one is refused: ending the first would leave a thread that opens a session for nobody, and locks it.
        """
        if any(worker.group == "sessions" and not worker.is_finished for worker in self._app.workers):
            work.close()
            self._tell("A session is still being opened. Try again in a moment.")
            return
        self._app.run_worker(self._guarded(work), name="sessions", group="sessions")

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except AgentError as error:
            self._tell(str(error))

    def _idle(self) -> None:
        if self._app.main.working:
            how = self._app.keys.say("({ui.interrupt})")
            raise AgentError(f"A turn is running. Stop it first {how}, then go to another session.")
        if any(worker.name in {"undo", "revert"} and not worker.is_finished for worker in self._app.workers):
            raise AgentError("Files are being restored. Try again in a moment.")
        if not is_folder(root := self._app.session.root):
            raise AgentError(f"The folder {root} is gone. Put it back first; this session is kept all the same.")
        if self._app.session.jobs.bound:
            raise AgentError(
                "A command of this session runs in the background. End it first (/jobs), or wait for its end."
            )

    # -------------------------------------------------------------- one of them on the screen

    def begin(self, place: Place | None, profile: Profile | None, model: str | None) -> None:
        """Begin with this session or a new one; `profile` and `model` where the person chose them for now."""
        if place is not None:
            self.show(place, profile, model)
            return
        self._app.converse(Session(self._app.terms(), self._app.main.asking.ask))
        if profile is not None:
            self._app.switching.answer_with(profile, model)
        self._app.run_worker(self._remind(), name="remind")

    async def _remind(self) -> None:
        """Say of the session before this one that something in it was not sent; not while it is open in another window."""
        here = in_folder(await self.summaries(), self._app.session.root)
        others = [one for one in here if one.id != self._current]
        earlier = next((one for one in others if not self._state(one)), None)
        if earlier is not None and is_file(self.folder / earlier.id / STATE):
            name, way = earlier.title or "the session before", "-1" if earlier is others[0] else earlier.id
            self._app.talk.note(f"What you typed in “{name}” and did not send is kept: /resume {way} goes back to it.")

    async def summaries(self) -> list[Summary]:
        """All of them, the newest first."""
        return await asyncio.to_thread(listed, self.folder)

    def show(self, place: Place, profile: Profile | None = None, model: str | None = None) -> None:
        """Put a session on the screen: what was said, who answered, and what was typed and not sent."""
        app, happened = self._app, place.log.events
        asked, cut, chosen, unsent = (
            fold.waiting(happened),
            fold.unanswered(happened),
            fold.model(happened),
            place.unsent(),
        )
        again = self._as_before(chosen)
        before = app.session if app.main.conversation is not None else None
        session = Session(app.terms(), app.main.asking.ask, place)
        if before is not None:  # it goes only now that there is another one
            app.main.composer.load("")
            app.main.transcript.restart()
        app.converse(session)
        if before is not None and chosen is None:  # a new one
            keep_choices(before, app.session)
            if app.session.beyond.searching:
                app.talk.note(search_words(app.session))
        for remark in place.remarks:
            app.talk.note(remark)
        if asked:
            what = ", ".join(question.summary for question in asked)
            app.talk.note(
                f"{what}\nNothing of it was done. Say “go on”, and the model asks again.", "A question was open"
            )
        if profile is None:
            profile, model = again
            if profile is not None and chosen is not None and profile.name != chosen.profile:
                app.talk.note(answers_instead(chosen.profile, profile.name))
            elif profile is not None and (elsewhere := answers_elsewhere(happened, profile)):
                app.talk.note(elsewhere)
        if profile is not None:
            app.switching.answer_with(profile, model)
        app.talk.queue[:] = unsent.queue
        app.main.desk.history.restore(unsent.edits)
        before_it = f"{cut}\n" if cut and unsent.draft else cut or ""
        folds = [(len(before_it) + start, len(before_it) + end) for start, end in unsent.folds]
        app.main.composer.load(before_it + unsent.draft, folds)
        app.main.refresh_state()
        app.main.composer.focus()

    def _as_before(self, chosen: ev.ModelChosen | None) -> tuple[Profile | None, str | None]:
        """The profile that answered last, with its model, where there still is one; else that of today."""
        settings = self._app.loaded.settings
        today = self._app.session.profile if self._app.main.conversation is not None else settings.active()
        profile = (
            PROFILE if chosen and chosen.profile == DEMO else settings.profiles.get(chosen.profile if chosen else "")
        )
        if profile is None or chosen is None:
            return today, None
        return profile, None if chosen.model == profile.model else chosen.model

    # -------------------------------------------------------------- another one

    async def resume(self, word: str) -> None:
        """Go to the session that a word names."""
        others = [one for one in await self.summaries() if one.id != self._current]
        await self.go_to(find(others, word, self._app.begin.root))

    async def go_to(self, one: Summary) -> None:
        """Go to a session of this folder; the one on the screen is kept as it is."""
        self._idle()
        root = self._app.session.root
        if one.cwd and one.cwd != str(root):
            raise AgentError(
                f"It belongs to {one.cwd}. Fork it (F in the list), or quit and: tui-agent --resume {one.id}"
            )
        await self._switch(await asyncio.to_thread(Place, self.folder / one.id))
        self._tell(f"This is “{label(one.title or one.id, 50)}” again, last changed {when(one.changed)}.")

    async def new(self) -> None:
        """Begin anew; the session on the screen is kept, and named in how to come back."""
        self._idle()
        if not await self._app.opening.trust():  # only of what changed in the folder, if anything did
            self._app.exit(0)
            return
        old = self._app.session
        went = any(isinstance(event, ev.UserSaid) for event in old.events)
        await self._switch(Place(self.folder / new_id(time.time())))
        if went:
            self._app.talk.note("A new session. Undo: /resume -1 goes back to the one before.")

    async def fork(self, word: str) -> None:
        """Go on in a copy: of all that was said, or of what was said before message number `word`."""
        self._idle()
        count = len(self._app.talk.said)
        if word and not (word.isdecimal() and 0 < int(word) <= count):
            raise AgentError(f"/fork takes the number of a message, 1 to {count}, or nothing for all of them")
        await self.fork_of(self._app.session.place, int(word or 0))

    async def fork_of(self, source: Place | Path, turn: int = 0) -> None:
        """Go to a copy of a session, in this folder."""
        self._idle()
        root, hidden = self._app.session.root, self._app.terms().hidden
        await self._switch(await asyncio.to_thread(fork, source, self.folder, root, turn, hidden))
        self._tell("This is a copy now; the session it was made of stays as it was.")

    async def load(self, name: str) -> None:
        """`/load FILE`: go on from saved messages, in a session of its own."""
        self._idle()
        await self._switch(await self.documents.loaded(name))

    async def _switch(self, place: Place) -> None:
        app = self._app
        app.main.drafts.save()
        old = app.session
        await app.talk.stop()
        try:
            self.show(place)
        except AgentError:
            place.close()
            raise
        app.session.jobs.bring(old.jobs)
        old.place.close()

    def rename(self, name: str) -> None:
        """Name the session on the screen."""
        if not (name := " ".join(name.split())[:200]):
            self._tell("Give it a name: /rename NAME")
        elif self._app.main.conversation is not None:
            self._app.session.begin()
            self._app.session.log.append(ev.Named(name))
            self._app.talk.catch_up()
            self._app.main.refresh_state()

    # -------------------------------------------------------------- the list

    async def choose(self) -> None:
        """Show all of them, and go where the person wants."""
        app = self._app
        if app.screen is not app.main or app.main.conversation is None:
            return
        app.main.drafts.save()
        world = World(
            self.folder,
            app.session.root,
            self.summaries,
            self._state,
            self._rename,
            self.documents.view,
            lambda one: self.documents.write(one.id),
            self._delete,
            self.now,
            app.keys,
        )
        pick = await app.push_screen_wait(SessionList(world))
        if pick is None or (pick.act == "resume" and pick.one.id == self._current):
            return
        if pick.act == "resume":
            await self.go_to(pick.one)
        else:
            await self.fork_of(app.session.place if pick.one.id == self._current else self.folder / pick.one.id)

    def _state(self, one: Summary) -> str:
        """How a session stands now, in words."""
        if one.id == self._current:
            return "open here"
        return "open elsewhere" if holder(self.folder / one.id / LOCK) is not None else ""

    def _rename(self, one: Summary, name: str) -> None:
        if one.id == self._current:
            self.rename(name)
        else:
            rename(self.folder / one.id, name)

    def _delete(self, one: Summary) -> None:
        if one.id == self._current:
            raise AgentError("This session is on the screen: go to another one first (/new).")
        delete(self.folder / one.id)
