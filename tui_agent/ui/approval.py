"""The approval dialog: one request at a time, shown completely, answered by y, n or s.

What is shown is derived from the effect that will be executed. The dialog listens late
(`arming`), never takes Enter, Space, a paste or the mouse for an answer, and leaves the
composer below it visible: keys that are not for the dialog go there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from textual import on
from textual.app import App, ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from tui_agent.core.types import (
    Answer,
    ApprovalRequest,
    Decision,
    WriteBytes,
)
from tui_agent.ui.approval_text import (
    body,
    field_lines,
    info_lines,
    key_lines,
    may_approve,
    reason_lines,
    subject,
    summary_lines,
    warning_lines,
)
from tui_agent.ui.diff_view import DiffView
from tui_agent.ui.field import Field
from tui_agent.ui.late_modal import LateModal, Outside
from tui_agent.ui.wrap_view import WrapView

MIN_COLUMNS, MIN_ROWS = 36, 10
TIGHT_ROWS = 14
"""Below this size nothing can be approved: too little of it would be visible."""

Decisions: TypeAlias = tuple[Decision, ...]

_ANSWERS: dict[str, Answer] = {"y": "yes", "n": "no", "s": "skip"}
_SCROLLS = {
    "up": WrapView.scroll_up,
    "down": WrapView.scroll_down,
    "pageup": WrapView.scroll_page_up,
    "pagedown": WrapView.scroll_page_down,
    "home": WrapView.scroll_home,
    "end": WrapView.scroll_end,
}
_HUNKS = {"right_square_bracket": 1, "left_square_bracket": -1}


@dataclass(slots=True)
class Batch:
    """The requests of one question and the decisions so far, in the same order."""

    requests: tuple[ApprovalRequest, ...]
    decisions: Decisions = ()

    @property
    def request(self) -> ApprovalRequest:
        """The request that is being asked; the last one when all are decided."""
        return self.requests[min(len(self.decisions), len(self.requests) - 1)]

    @property
    def done(self) -> bool:
        """Whether every request is decided."""
        return len(self.decisions) == len(self.requests)

    def decide(self, answer: Answer, reason: str = "") -> None:
        """Record an answer. What was built on a refused request is not asked any more."""
        self.decisions += (Decision(self.request.id, answer, reason),)
        missing = {decision.request_id for decision in self.decisions if decision.answer != "yes"}
        while not self.done and missing & set(self.request.depends_on):
            missing.add(self.request.id)
            self.decisions += (Decision(self.request.id, "skip", "its base was not applied", by="rule"),)

    def stop(self, by: str) -> None:
        """Stop at the present request: it and all later ones get this answer."""
        left = self.requests[len(self.decisions) :]
        self.decisions += tuple(Decision(request.id, "stop", by=by) for request in left)


class ApprovalScreen(LateModal[Decisions]):
    """Asks for a batch, one request at a time, and is dismissed with one decision per request, in order.

    The rows at the bottom that `outside` names stay free for the composer below. `after` names what runs after
    applying, `where` the folder and sandbox of commands. `on_result` is called once, however the
    dialog ends.
    """

    ANSWER_KEYS = frozenset(_ANSWERS)
    OTHER_KEYS = frozenset({*_SCROLLS, *_HUNKS, "z", "escape"})

    def __init__(
        self,
        requests: tuple[ApprovalRequest, ...],
        outside: Outside | None = None,
        *,
        after: str = "",
        where: str = "",
        on_result: Callable[[Decisions], None] = lambda _: None,
    ) -> None:
        """Ask for `requests`, which must not be empty."""
        super().__init__(outside or Outside())
        if not requests:
            raise ValueError("nothing to ask")
        self.asked = Batch(requests)
        self._on_result = on_result
        self._after, self._where = after, where
        self._again = False
        self._asking: Answer | None = None
        self._full = False
        self._footer = ""
        self._cramped = False
        self._written: dict[str, object] = {}
        self._view: WrapView = body(requests[0].effect)
        self._subject = subject(requests[0].effect)

    def compose(self) -> ComposeResult:
        """The frame; the view of the request is put into `body`."""
        with Vertical(id="approval"):
            for name in ("reason", "summary", "warnings"):
                yield Static(id=name, markup=False)
            with Vertical(id="body"):
                yield self._view
            yield Static(id="info", markup=False)
            yield Static(id="keys", markup=False)
            yield Field(id="why", disabled=True)
        yield Static("too small to approve: enlarge the terminal   Esc no and stop", id="small", markup=False)

    # -------------------------------------------------------------- facts

    @property
    def view(self) -> WrapView:
        """The view of the request that is being asked."""
        return self._view

    @property
    def too_small(self) -> bool:
        """Whether the terminal is too small to decide this: not even the texts around the view fit."""
        columns, rows = self.app.size
        return self._cramped or columns < MIN_COLUMNS or rows < MIN_ROWS

    @property
    def can_answer(self) -> bool:
        """Whether y, n and s work at all."""
        return not self.too_small

    @property
    def in_field(self) -> bool:
        """Whether the reason field is open."""
        return self._asking is not None

    @property
    def footer(self) -> str:
        """What works now, for the status line."""
        if self._asking is not None:
            return "Enter sends   empty: without a reason   Esc back"
        if self.too_small:
            return "too small to approve   Esc no and stop"
        if not self.armed:
            return "wait…   keys go to your text"
        return "y n s work now   Enter does nothing here   PgUp PgDn scroll"

    # -------------------------------------------------------------- showing

    def on_mount(self) -> None:
        """The first request is composed already."""
        self.show_state()
        self.listen_when_painted()

    async def _show_next(self) -> None:
        """Show the next request; it has to be answered by a key of its own."""
        self.arming.hide()
        self._again = False
        effect = self.asked.request.effect
        self._subject, self._view = subject(effect), body(effect)
        frame = self.query_one("#body")
        await frame.remove_children()
        await frame.mount(self._view)
        self.show_state()
        self.listen_when_painted()

    @on(WrapView.Changed)
    def _view_changed(self, event: WrapView.Changed) -> None:
        event.stop()
        if event.view is self._view:
            self.show_state()

    def on_resize(self) -> None:
        """Lay out again; nothing is answered by that."""
        self.show_state()

    def show_state(self) -> None:
        """Write all texts and fit the view between them."""
        if self.over or not self.is_mounted:
            return
        columns, rows = self.app.size
        margin = 6 if columns >= 110 and not self._full else 0
        top = 0 if columns < 50 or self._full else 3 if rows >= 30 else 1
        texts = self._texts(max(1, columns - 2 * margin - (4 if columns >= 80 else 2)), rows)
        field = 1 if self._asking is not None else 0
        tight = rows < TIGHT_ROWS
        free = self.outside.free_rows(tight)
        room = rows - top - free - (1 if tight else 2) - field - sum(map(len, texts.values()))
        for name, kept in (("reason", 0), ("info", 1)):
            if room < 1:
                room += len(texts[name][kept:])
                texts[name] = texts[name][:kept]
        self._cramped = room < 1
        self.set_class(self.too_small, "-small")
        self.set_class(columns < 80, "-open")
        self.set_class(tight, "-tight")
        frame = self.query_one("#approval")
        frame.styles.margin = (top, margin, free, margin)
        count = f" {len(self.asked.decisions) + 1}/{len(self.asked.requests)}"
        rule = "─" * (columns - 2 * margin - len(self._subject.title) - len(count) - 7)
        frame.border_title = f"{self._subject.title} {rule}{count}"
        for name, lines in texts.items():
            self._write(name, lines)
        height = max(1, min(self._view.rows, room))
        frame = self.query_one("#body")
        if frame.styles.height is None or frame.styles.height.value != height:
            frame.styles.height = height
        if self.footer != self._footer:
            self._footer = self.footer
            self.outside.footer(self._footer)

    def _write(self, name: str, lines: list[Content]) -> None:
        """Put lines into the part `name`, if they are other ones."""
        text = Content("\n").join(lines)
        key = text.plain, tuple(text.spans)
        if self._written.get(name) != key:
            self._written[name] = key
            part = self.query_one(f"#{name}", Static)
            part.display = bool(lines)
            part.update(text)

    def _texts(self, width: int, rows: int) -> dict[str, list[Content]]:
        """The lines of every text part of the dialog."""
        asked, view, request = self._subject, self._view, self.asked.request
        reasons = (request.caution, *request.policy.floors)
        checked = self._after if isinstance(request.effect, WriteBytes) else ""
        return {
            "reason": reason_lines(request.reason, width, room=2 if rows >= 24 else 1),
            "summary": summary_lines(asked, view, self._where, width),
            "warnings": warning_lines(reasons, (view.warns - asked.expected) | asked.what.warns, width),
            "info": info_lines(view, checked, width, again=self._again),
            "keys": key_lines(view, asked.yes, width, armed=self.armed)
            if self._asking is None
            else field_lines(self._asking, width),
        }

    # -------------------------------------------------------------- keys

    def command(self, key: str) -> None:
        """Scroll, jump, enlarge or stop."""
        if key == "escape":
            self._stop("key")
        elif key == "z":
            self._full = not self._full
        elif key in _HUNKS:
            if isinstance(self._view, DiffView):
                self._view.jump(_HUNKS[key])
        else:
            _SCROLLS[key](self._view, animate=False)

    # -------------------------------------------------------------- answers

    async def answer(self, key: str) -> None:
        """Yes if all was seen, or asked twice; no and skip after their reason."""
        answer, view = _ANSWERS[key], self._view
        if answer != "yes":
            self._open_field(answer)
            return
        if not may_approve(view):
            return
        if view.seen < view.total and not self._again:
            self._again = True
            self.arming.disturb(self.now)
            return
        await self._decide("yes")

    def _open_field(self, answer: Answer) -> None:
        self._asking = answer
        field = self.query_one("#why", Input)
        field.placeholder = f"why {'not' if answer == 'no' else 'later'}? Enter: without a reason   Esc: back"
        field.value = ""
        field.disabled = False
        self.add_class("-asking")
        field.focus()

    def leave_field(self) -> None:
        """Back from the reason field to the dialog."""
        self._asking = None
        self.remove_class("-asking")
        self.query_one("#why", Input).disabled = True
        self.set_focus(None)

    @on(Input.Submitted, "#why")
    async def _reason_given(self, event: Input.Submitted) -> None:
        event.stop()
        if self._asking is not None:
            answer = self._asking
            self.leave_field()
            await self._decide(answer, event.value.strip())

    def interrupt(self) -> None:
        """No and stop."""
        self._stop("key")

    async def _decide(self, answer: Answer, reason: str = "") -> None:
        """Record one answer and go on to the next request."""
        self.asked.decide(answer, reason)
        if self.asked.done:
            self._close()
        else:
            await self._show_next()

    def _stop(self, by: str) -> None:
        self.asked.stop(by)
        self._close()

    def _close(self) -> None:
        if not self.over:
            self.over = True
            self.dismiss(self.asked.decisions)
            self._on_result(self.asked.decisions)

    def withdraw(self) -> None:
        """Nobody can answer any more: close with stop for everything that is not decided."""
        if self.over or not self.app.is_running or self not in self.app.screen_stack:
            return  # an app that shuts down takes its screens with it; popping one then never ends
        while self.app.screen is not self:  # a help page, say; dismiss always takes the top screen
            self.app.screen.dismiss(None)
        self._stop("nobody")

    def on_unmount(self) -> None:
        """The application ends while the dialog is open: that is no answer, so it is stop."""
        if not self.over:
            self.over = True
            self.asked.stop("nobody")
            self._on_result(self.asked.decisions)


_locks: WeakKeyDictionary[App[Any], asyncio.Lock] = WeakKeyDictionary()


async def ask_on_screen(app: App[Any], requests: tuple[ApprovalRequest, ...], **options: Any) -> Decisions:
    """Ask for a batch in a dialog of `app`; `options` go to `ApprovalScreen`. One batch at a time.

    When the caller is cancelled, the dialog is closed with stop.
    """
    if not requests:
        return ()
    async with _locks.setdefault(app, asyncio.Lock()):
        answer: asyncio.Future[Decisions] = asyncio.get_running_loop().create_future()

        def settle(decisions: Decisions) -> None:
            if not answer.done():
                answer.set_result(decisions)

        screen = ApprovalScreen(requests, on_result=settle, **options)
        try:
            await app.push_screen(screen)
            return await answer
        finally:
            screen.withdraw()
