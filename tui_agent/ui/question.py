"""One question of the approval dialog: its requests, a sheet for each one that was shown, and how much all of it is."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Literal, TypeAlias

from tui_agent.core.diff import same_hunks
from tui_agent.core.types import Answer, ApprovalRequest, WriteBytes
from tui_agent.permissions import Scope
from tui_agent.ui.batch import Batch
from tui_agent.ui.means import Means
from tui_agent.ui.sheet import Sheet
from tui_agent.ui.subject import may_approve
from tui_agent.ui.totals import Totals
from tui_agent.ui.wrap_view import WrapView

ANSWERS: Mapping[str, Answer] = {"y": "yes", "Y": "yes", "n": "no", "s": "skip"}
"""The letters that decide."""
SCOPES: Mapping[str, Scope] = {"y": "session", "f": "folder"}
"""The letters that keep the rule that is shown."""

Heard: TypeAlias = Literal["nothing", "again", "back", "words", "decided"]
"""What became of a letter: nothing; it has to be pressed again; the question is shown anew; it wants words; it counted."""


class Question:
    """`asked` are the requests and their answers, `totals` the sums of the changes as they stand now."""

    def __init__(self, requests: tuple[ApprovalRequest, ...], means: Means) -> None:
        self.asked = Batch(requests)
        self.totals = Totals(requests)
        self._means = means
        self._sheets: dict[str, Sheet] = {}

    @property
    def sheet(self) -> Sheet:
        """The sheet of the request that is being asked."""
        request = self.asked.request
        if request.id not in self._sheets:
            self._sheets[request.id] = Sheet(request, self._means)
        return self._sheets[request.id]

    @property
    def unsent(self) -> str:
        """What was written that no answer of the person took along: words with an answer, notes on lines, what was begun.

        A text that they made in their editor and did not apply is their work, too.
        A yes behind a stop is not carried out, nor is one to what was built on a change that was not taken then, so that
        what was written with it is told to nobody.
        """
        given = {decision.request_id: decision for decision in self.asked.decisions if decision.by == "key"}
        words: list[str] = []
        stopped = False
        for first, now in zip(self.asked.requests, self.asked.present, strict=True):
            decision, sheet = given.get(first.id), self._sheets.get(now.id)
            answer = "" if decision is None else decision.answer
            stopped = stopped or answer == "stop"
            if decision is not None and answer == "yes" and stopped:
                words.append(decision.reason)
            elif first.id in self.asked.void:
                words.append(self.asked.void[first.id])
            elif sheet is not None and answer in {"", "stop"}:
                words.append(sheet.words(""))
            words += sheet.begun.values() if sheet is not None else ()
            own = now.effect if first.id in self.asked.own else None
            if isinstance(own, WriteBytes) and own.new != own.base and (answer != "yes" or stopped):
                words.append(f"{own.path} as I edited it:\n{(own.new or b'').decode(errors='replace')}")
        return "\n\n".join(filter(None, words))

    @property
    def written(self) -> str:
        """The words of all answers so far, and the notes that no answer took along."""
        return "\n\n".join(
            filter(None, (*(given.reason for given in self.asked.decisions if given.by == "key"), self.unsent))
        )

    async def instead(self, effect: WriteBytes, *, edited: bool) -> WrapView:
        """Another change of the file takes the place of the present one; gives the view that nobody sees any more.

        `edited`: the person made it. Notes stay, and so does what was left out, where the same hunk is in the new change.
        """
        old = self.sheet
        out = old.diff.left_out if old.diff is not None else frozenset()
        same: dict[int, int] = {}
        if old.diff is not None and out:
            before = old.diff.base, old.diff.new
            same = await asyncio.to_thread(same_hunks, before, (effect.base, effect.new))
        del self._sheets[old.request.id]
        self.asked.instead(effect, edited=edited)
        sheet, self.totals = self.sheet, Totals(self.asked.present)
        sheet.take_notes(old.notes)
        sheet.begun = old.begun
        if sheet.diff is not None:
            sheet.diff.left_out = frozenset(same[number] for number in out if number in same)
            if lost := len(out) - len(sheet.diff.left_out):
                sheet.said = f"of what you left out, {lost} hunk{'s' * (lost != 1)} cannot be found again: choose anew"
        return old.view

    async def answer(self, key: str) -> Heard:
        """Take a letter for the present request: yes when all was seen, or asked twice, of a file that is as it was shown.

        While a rule is shown, the letter says where it is kept, and yes to this request.
        """
        sheet = self.sheet
        if sheet.choosing is not None:
            if not await sheet.is_current() or not sheet.keep_rule(SCOPES[key]):
                sheet.choosing = None
                return "back"
        elif ANSWERS[key] != "yes":
            return "words"
        elif not may_approve(sheet.view):
            return "nothing"
        elif not await sheet.is_current():
            return "again" if sheet.fresh is None else "nothing"  # as it was shown again: a yes to nothing yet
        elif sheet.view.seen < sheet.view.total and not sheet.again:
            sheet.again = True
            return "again"
        elif key == "Y":
            return "words"
        self.decide("yes")
        return "decided"

    async def stands(self) -> bool:
        """Whether yes may be said now: when its words are written the file may be another one than when they were begun."""
        return may_approve(self.sheet.view) and await self.sheet.is_current()

    def decide(self, answer: Answer, reason: str = "") -> None:
        """Answer the present request with what was written and chosen on its sheet.

        What a rule allows by now is not asked any more, unless the person did something about it already.
        """
        sheet, asked = self.sheet, self.asked
        others = [(asked.requests[n], asked.present[n]) for n in asked.open if n != asked.at]
        allowed = {
            request.id: rule
            for request, now in others
            if request is now and not self._touched(now) and (rule := self._means.allowed(now))
        }
        chosen = sheet.diff.chosen if sheet.diff is not None else None
        asked.decide(answer, sheet.words(reason), chosen, allowed)

    def _touched(self, request: ApprovalRequest) -> bool:
        sheet = self._sheets.get(request.id)
        if sheet is None:
            return False
        return bool(sheet.notes.items or sheet.begun or (sheet.diff is not None and sheet.diff.left_out))
