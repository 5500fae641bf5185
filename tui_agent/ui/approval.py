"""The approval dialog: one request at a time, shown completely, answered by y, n or s.

What is shown is derived from the effect that will be executed. The dialog listens late
(`arming`), never takes Enter, a paste or the mouse for an answer, and leaves the
composer below it visible: keys that are not for the dialog go there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from textual import on
from textual.app import App, ComposeResult
from textual.content import Content
from textual.widgets import Input, Static

from tui_agent.core.display import plain
from tui_agent.core.types import Answer, ApprovalRequest, WriteBytes
from tui_agent.ui.approval_frame import Frame, Room
from tui_agent.ui.approval_text import (
    Offer,
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
from tui_agent.ui.batch import Batch, Decisions
from tui_agent.ui.diff_view import DiffView
from tui_agent.ui.editor import EditorError
from tui_agent.ui.late_modal import LateModal, Outside
from tui_agent.ui.looks import Looks
from tui_agent.ui.totals import Totals
from tui_agent.ui.wrap_view import WrapView

MIN_COLUMNS, MIN_ROWS = 36, 10
"""Below this size nothing can be approved: too little of it would be visible."""

Edit: TypeAlias = Callable[[str, bytes], Awaitable[bytes]]
"""Lets the person edit the text of a path in an editor; raises `EditorError` when nothing comes of it."""

_ANSWERS: dict[str, Answer] = {"y": "yes", "Y": "yes", "n": "no", "s": "skip"}
_ASKS: dict[Answer, str] = {
    "yes": "what should the model know?   Esc: back",
    "no": "why not? Enter: without a reason   Esc: back",
    "skip": "why later? Enter: without a reason   Esc: back",
}
_SCROLLS = {
    "up": WrapView.scroll_up,
    "down": WrapView.scroll_down,
    "pageup": WrapView.scroll_page_up,
    "pagedown": WrapView.scroll_page_down,
    "home": WrapView.scroll_home,
    "end": WrapView.scroll_end,
}
_HUNKS = {"right_square_bracket": 1, "left_square_bracket": -1}
_OTHERS = {"greater_than_sign": 1, "less_than_sign": -1, "right_curly_bracket": 1, "left_curly_bracket": -1}


class ApprovalScreen(LateModal[Decisions]):
    """Asks for a batch, one request at a time, and is dismissed with one decision per request, in order.

    The rows at the bottom that `outside` names stay free for the composer below. `after` names what runs after
    applying, `where` how commands are confined whose request does not say it. `edit` opens an editor. `on_result` is
    called once, however the dialog ends.
    """

    ANSWER_KEYS = frozenset(_ANSWERS)
    OTHER_KEYS = frozenset({*_SCROLLS, "z", "escape"})

    def __init__(
        self,
        requests: tuple[ApprovalRequest, ...],
        outside: Outside | None = None,
        *,
        after: str = "",
        where: str = "",
        looks: Looks | None = None,
        edit: Edit | None = None,
        on_result: Callable[[Decisions], None] = lambda _: None,
    ) -> None:
        """Ask for `requests`, which must not be empty."""
        super().__init__(outside or Outside())
        if not requests:
            raise ValueError("nothing to ask")
        self.asked = Batch(requests)
        self._on_result = on_result
        self._after, self._where, self._edit = after, where, edit
        self._looks = looks or Looks()
        self._totals = Totals(requests)
        self._again = False
        self._said = ""
        self._asking: Answer | None = None
        self._full = False
        self._footer = ""
        self._cramped = False
        self._view: WrapView = body(requests[0].effect, self._looks)
        self._views = {requests[0].id: self._view}
        self._subject = subject(requests[0].effect)

    def compose(self) -> ComposeResult:
        """The frame with the first request, and what stands there when it is too small."""
        yield Frame(self._view)
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
        if len(self.asked.requests) > 1:
            self.run_worker(self._totals.count(self.show_state), group="totals")

    async def _show_present(self) -> None:
        """Show the present request; it has to be answered by a key of its own."""
        self.arming.hide()
        self._again = False
        request = self.asked.request
        self._subject = subject(request.effect)
        self._view = self._views.setdefault(request.id, body(request.effect, self._looks))
        await self.query_one(Frame).show(self._view)
        if isinstance(self._view, DiffView):
            self._view.lay_out()
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
        room = Room(*self.app.size, self._full)
        frame, field = self.query_one(Frame), self._asking is not None
        fits = frame.fit(room, self._texts(room), self._view, free=self.outside.free_rows(room.tight), field=field)
        self._cramped = not fits
        self.set_class(self.too_small, "-small")
        self.set_class(room.columns < 80, "-open")
        self.set_class(room.tight, "-tight")
        frame.entitle(self._subject.title, f" {self.asked.at + 1}/{len(self.asked.requests)}", room)
        if self.footer != self._footer:
            self._footer = self.footer
            self.outside.footer(self._footer)

    def _texts(self, room: Room) -> dict[str, list[Content]]:
        """The lines of every text part of the dialog."""
        asked, view, width = self._subject, self._view, room.width
        request = self.asked.request
        reasons = (request.caution, *request.policy.floors)
        checked = self._after if isinstance(request.effect, WriteBytes) else ""
        offer = Offer(others=len(self.asked.open) > 1, edits=self._editable is not None)
        return {
            "reason": reason_lines(request.reason, width, room=2 if room.rows >= 24 else 1),
            "summary": summary_lines(asked, view, request.where or self._where, width, self._totals.words),
            "warnings": warning_lines(reasons, (view.warns - asked.expected) | asked.what.warns, width),
            "info": info_lines(view, checked, width, again=self._again, said=self._said),
            "keys": key_lines(view, asked.yes, width, armed=self.armed, offer=offer, room=room.key_rows)
            if self._asking is None
            else field_lines(self._asking, width),
        }

    @property
    def _editable(self) -> tuple[str, bytes] | None:
        """Path and text of what can be edited first."""
        effect = self.asked.request.effect
        if self._edit is None or not isinstance(effect, WriteBytes) or effect.new is None or b"\0" in effect.new:
            return None
        return effect.path, effect.new

    # -------------------------------------------------------------- keys

    def takes(self, key: str) -> bool:
        """The keys of this request; Space only after a hunk key put a cursor on a hunk that is in sight."""
        diff = self._view if isinstance(self._view, DiffView) else None
        if key == "space":
            return diff is not None and diff.cursor_hunk > 0
        if key == "e":
            return self._editable is not None
        if key in _HUNKS or key in {"v", "w"}:
            return diff is not None
        return key in self.OTHER_KEYS or (key in _OTHERS and len(self.asked.requests) > 1)

    def command(self, key: str) -> None:
        """Scroll, jump, choose, enlarge or stop."""
        if key == "escape":
            self._stop("key")
        elif key == "z":
            self._full = not self._full
        elif key == "e":
            self.run_worker(self._edit_first(), group="edit")
        elif key in _OTHERS:
            if self.asked.move(_OTHERS[key]):
                self.arming.hide()
                self.run_worker(self._show_present(), group="show")
        elif isinstance(self._view, DiffView) and key not in _SCROLLS:
            self._diff_command(self._view, key)
        else:
            _SCROLLS[key](self._view, animate=False)

    def _diff_command(self, view: DiffView, key: str) -> None:
        if key in _HUNKS:
            view.jump(_HUNKS[key])
        elif key == "space":
            view.toggle()
            self._again = False
        else:
            if key == "v":
                self._looks.next_sides()
            else:
                self._looks.wraps = not self._looks.wraps
            view.lay_out()

    async def _edit_first(self) -> None:
        """Let the person edit the text; what comes back is a new request that has to be approved."""
        if self._edit is None or self._editable is None:
            return
        path, text = self._editable
        self.arming.hide()
        try:
            new = await self._edit(path, text)
            self._said = "the text was not changed" if new == text else ""
        except EditorError as error:
            new, self._said = text, plain(str(error))
        if self.over:
            return
        if new != text:
            old = self._views.pop(self.asked.request.id)
            self.asked.edit(new)
            await self._show_present()
            await old.remove()
        else:
            self.listen_when_painted()

    # -------------------------------------------------------------- answers

    async def answer(self, key: str) -> None:
        """Yes if all was seen, or asked twice, with Y after a note; no and skip after their reason."""
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
        if key == "Y":
            self._open_field("yes")
        else:
            await self._decide("yes")

    def _open_field(self, answer: Answer) -> None:
        self._asking = answer
        field = self.query_one("#why", Input)
        field.placeholder = _ASKS[answer]
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
        self.asked.decide(answer, reason, self._view.chosen if isinstance(self._view, DiffView) else None)
        if self.asked.done:
            self._close()
        else:
            await self._show_present()

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
