"""Completion while the person types: Tab fills in, Enter takes what is chosen, Esc closes the list and nothing else."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

from textual import events
from textual.worker import Worker

from tui_agent.ui.completion import Choice, Place, commands, common, filled, place, ranked
from tui_agent.ui.composer import Composer
from tui_agent.ui.suggestions import Suggestions


@dataclass(frozen=True, slots=True)
class Sources:
    """Where choices come from: `arguments` by the kind of what a command takes.

    `ask` gets those of a kind that cost a request, and only Tab calls it.
    """

    arguments: Mapping[str, Callable[[], Sequence[Choice]]] = field(default_factory=dict)
    ask: Mapping[str, Callable[[], Awaitable[None]]] = field(default_factory=dict)


Files: TypeAlias = Callable[[Place], AsyncGenerator[list[Choice]]]
"""A search for files; yields its best so far."""


class Completing:
    """Joins a composer with a list of completions."""

    def __init__(self, composer: Composer, popup: Suggestions, sources: Sources, files: Files) -> None:
        self._composer, self._popup, self._sources, self._files = composer, popup, sources, files
        self._place: Place | None = None
        self._choices: Sequence[Choice] = ()
        self._index: int | None = None
        self._search: Worker[None] | None = None
        composer.intercept = self.take
        composer.followed = self.follow

    @property
    def open(self) -> bool:
        """Whether a list is shown."""
        return bool(self._choices)

    def close(self) -> None:
        """Close the list; the text stays as it is."""
        self._stop()
        self._place = None
        self._show(())

    def follow(self, typed: bool) -> None:
        """The text changed: open, filter or close the list. Only typing opens one."""
        at = place(*self._composer.before) if typed and not self._composer.pasting else None
        if at is None:
            if self._place is not None or self._search is not None:  # a search that runs would open the list later
                self.close()
        else:
            self._look(at)

    def take(self, event: events.Key) -> bool:
        """Do what a key means to the list; False leaves it to the composer."""
        if self._composer.pasting:
            return False
        key = self._composer.meant(event)
        if not self.open:
            return key == "tab" and self._open()
        match key:
            case "up" | "down":
                step = -1 if event.key == "up" else 1
                start = (-1 if step > 0 else 0) if self._index is None else self._index
                self._index = (start + step) % len(self._choices)
                self._draw()
            case "tab":
                return self._fill()
            case "escape":
                self.close()
            case "enter":
                return self._accept()
            case _:
                return False
        return True

    # ------------------------------------------------------------------ taking one

    def _fill(self) -> bool:
        """Write as much as all choices share, else the chosen one. Nothing is run."""
        if (at := self._fresh()) is None:
            return False
        choices = self._choices
        shared = common(choices, at.word) if len(choices) > 1 and at.kind != "file" else ""
        choice = choices[self._index or 0]
        if shared and shared != choice.value:
            self._write(at, shared, goes_on=True)
        else:
            text = filled(at, choice)
            self._write(at, text, goes_on=_goes_on(at, choice, text))
        return True

    def _accept(self) -> bool:
        """Take the chosen one. Enter is the composer's, too, where the message is then complete."""
        at, index = self._fresh(), self._index
        if at is None or index is None:
            self.close()
            return False
        choice = self._choices[index]
        text = filled(at, choice, sent=True)
        line, _ = self._composer.before
        if line[at.start :] == text:
            self.close()
            return False
        goes_on = _goes_on(at, choice, text)
        self._write(at, text, goes_on=goes_on)
        return at.kind == "file" or goes_on

    def _fresh(self) -> Place | None:
        """Where the cursor stands now, if that is still where the list belongs to."""
        at = place(*self._composer.before)
        shown = self._place
        return at if at and shown and (at.kind, at.start) == (shown.kind, shown.start) else None

    def _write(self, at: Place, text: str, *, goes_on: bool) -> None:
        self.close()
        self._composer.complete(at.start, text)
        if goes_on:
            self._open()

    # ------------------------------------------------------------------ finding

    def _open(self) -> bool:
        """Look what fits where the cursor stands; False when nothing can be completed there."""
        at = place(*self._composer.before)
        if at is None:
            return False
        self._look(at)
        if at.action is not None and not self.open and (ask := self._sources.ask.get(at.action.takes)):
            self._begin(partial(self._ask, ask))
        return True

    async def _ask(self, ask: Callable[[], Awaitable[None]]) -> None:
        await ask()
        if (at := place(*self._composer.before)) is not None and at.kind == "argument":
            self._take(at, self._fitting(at))

    def _look(self, at: Place) -> None:
        self._stop()
        if at.kind == "file":
            self._begin(partial(self._find, at))
        else:
            self._take(at, self._fitting(at))

    def _fitting(self, at: Place) -> list[Choice]:
        if at.action is None:
            more = self._sources.arguments.get("command")
            return commands(at.word, more() if more else (), self._composer.keys)
        source = self._sources.arguments.get(at.action.takes)
        return ranked(source(), at.word) if source else []

    async def _find(self, at: Place) -> None:
        async with aclosing(self._files(at)) as results:
            async for found in results:
                self._take(at, found)

    def _take(self, at: Place, choices: Sequence[Choice]) -> None:
        """Show what fits at `at`; what does not begin as it was typed is chosen only when the person goes to it."""
        self._place = at
        if choices != self._choices:
            fits = at.kind == "file" or (at.word and choices and choices[0].value.startswith(at.word.lower()))
            self._index = 0 if fits else None
        self._show(choices)

    def _show(self, choices: Sequence[Choice]) -> None:
        if choices or self._choices:
            self._choices = choices
            self._draw()

    def _draw(self) -> None:
        at, index = self._place, self._index
        chosen = self._choices[index] if index is not None and self._choices else None
        more = at is not None and chosen is not None and _goes_on(at, chosen, filled(at, chosen, sent=True))
        enter = "takes" if more or (at is not None and at.kind == "file") else "runs"
        room = self._composer.region.y - 2
        words = ("{composer.complete} fills", f"{{composer.send}} {enter}")
        hints = "  ".join(filter(None, map(self._composer.keys.say, words)))
        self._popup.show(self._choices, self._index, hints, room)

    def _begin(self, work: Callable[[], Coroutine[None, None, None]]) -> None:
        self._search = self._composer.run_worker(work, name="completion", group="completion", exclusive=True)

    def _stop(self) -> None:
        if self._search is not None:
            self._search.cancel()
            self._search = None


def _goes_on(at: Place, choice: Choice, text: str) -> bool:
    """Whether more is to be written behind a choice, filled in as this text: an argument, or what lies in a folder."""
    return choice.value.endswith("/") if at.kind == "file" else text.endswith(" ")
