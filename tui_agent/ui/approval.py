"""The approval dialog: one request at a time, shown completely, answered by y, n or s.

What is shown is derived from the effect that will be executed. The dialog listens late
(`arming`), never takes Enter, Space, a paste or the mouse for an answer, and leaves the
composer below it visible: keys that are not for the dialog go there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from inspect import isawaitable
from time import monotonic
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from textual import events, on
from textual.app import App, ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widgets import Input, Static

from tui_agent.core.display import plain, sanitise
from tui_agent.core.types import (
    Answer,
    ApprovalRequest,
    Decision,
    Effect,
    ListFiles,
    ReadFile,
    RunArgv,
    RunScript,
    SearchText,
    SetPlan,
    WriteBytes,
)
from tui_agent.ui.arming import Arming
from tui_agent.ui.diff_view import DiffView
from tui_agent.ui.field import Field
from tui_agent.ui.wrap_view import TextView, WrapView
from tui_agent.workspace import git

MIN_COLUMNS, MIN_ROWS = 36, 10
"""Below this size nothing can be approved: too little of it would be visible."""

Decisions: TypeAlias = tuple[Decision, ...]
FeedKey: TypeAlias = Callable[[events.Key], Awaitable[None] | None]
FeedPaste: TypeAlias = Callable[[events.Paste], Awaitable[None] | None]

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
_COMMANDS = {*_SCROLLS, *_HUNKS, "z", "escape"}


@dataclass(frozen=True, slots=True)
class Subject:
    """A request in the dialog's words. Every text is safe to show."""

    title: str
    verb: str
    what: str
    yes: str
    facts: str = ""
    warns: frozenset[str] = frozenset()


def subject(effect: Effect, tool: str = "") -> Subject:
    """Describe what an effect will do."""
    match effect:
        case WriteBytes(path=path, base=base, new=new):
            shown = sanitise(path, "path")
            title, verb = (
                ("Create this file?", "create")
                if base is None
                else ("Delete this file?", "delete")
                if new is None
                else ("Apply this edit?", "edit")
            )
            return Subject(title, verb, shown.plain, "delete" if new is None else "apply", warns=shown.warns)
        case RunArgv(argv=argv, timeout=timeout):
            how = f"no shell · {git.FACT}" if git.is_git(argv) else "no shell"
            return Subject("Run this command?", "run", "", "run", f"{how} · at most {timeout:g} s")
        case RunScript(timeout=timeout):
            return Subject("Run this shell script?", "shell", "", "run", f"by /bin/sh · at most {timeout:g} s")
        case ReadFile(path=path):
            return Subject("Read this file?", "read", plain(path, "path"), "allow")
        case ListFiles(path=path):
            return Subject("List this folder?", "list", plain(path, "path"), "allow")
        case SearchText(path=path):
            return Subject("Search here?", "search", plain(path, "path"), "allow")
        case SetPlan():
            return Subject("Accept this plan?", "plan", "", "accept")
    raise TypeError(f"no dialog for {effect!r}")


def body(effect: Effect) -> WrapView:
    """The view that shows all of an effect."""
    match effect:
        case WriteBytes(base=base, new=new):
            return DiffView(base, new)
        case RunArgv(argv=argv):
            return TextView(sanitise(argv, "argv"))
        case RunScript(script=script):
            return TextView(sanitise(script, "command"), "one")
        case SearchText(text=text):
            return TextView(sanitise(text, "text"))
        case SetPlan(items=items):
            return TextView(sanitise("\n".join(f"{status}: {text}" for status, text in items), "text"))
        case ReadFile(path=path) | ListFiles(path=path):
            return TextView(sanitise(path, "path"))
    raise TypeError(f"no dialog for {effect!r}")


def flow(parts: list[Content], width: int, gap: str = "   ") -> list[Content]:
    """Set parts in lines of at most `width` cells; a part that is longer continues on the next line."""
    lines: list[Content] = []
    for part in filter(None, parts):
        if lines and lines[-1].cell_length + len(gap) + part.cell_length <= width:
            lines[-1] = Content.assemble(lines[-1], gap, part)
            continue
        lines += part.fold(width) if part.cell_length > width else [part]
    return lines


def seen_line(view: WrapView, *, again: bool) -> str:
    """What of a request has been on screen, in words."""
    unseen = view.total - view.seen
    if not view.complete:
        return "comparing…"
    if again and unseen:
        return f"y again: {unseen:,} of {view.total:,} not seen"
    if must_see_end(view) and not view.end_seen:
        return "PgDn to see the end"
    if not view.total:
        return ""
    lines = "line" if view.total == 1 else "lines"
    if not unseen:
        return f"all {view.total:,} changed {lines} shown" if view.total > 1 else "the changed line is shown"
    return f"{view.seen:,} of {view.total:,} changed {lines} seen"


def must_see_end(view: WrapView) -> bool:
    """Whether `y` waits until the end was on screen: for all but plain diffs."""
    return view.full_view or not isinstance(view, DiffView)


class ApprovalScreen(ModalScreen[Decisions]):
    """Asks for a batch, one request at a time, and is dismissed with one decision per request, in order.

    `free_rows` rows at the bottom stay free for the composer below. `feed_key` and `feed_paste`
    give input to the composer; `on_footer` is told the footer of this layer when it changes.
    `after` names what runs after applying, `where` the folder and sandbox of commands; both are
    shown as they are. `clock` is monotonic, in seconds.
    """

    AUTO_FOCUS = ""

    def __init__(
        self,
        requests: tuple[ApprovalRequest, ...],
        *,
        feed_key: FeedKey | None = None,
        feed_paste: FeedPaste | None = None,
        on_footer: Callable[[str], None] | None = None,
        after: str = "",
        where: str = "",
        free_rows: int = 3,
        clock: Callable[[], float] = monotonic,
        arming: Arming | None = None,
        on_result: Callable[[Decisions], None] = lambda _: None,
    ) -> None:
        """Ask for `requests`, which must not be empty. `on_result` is called once, however the dialog ends."""
        super().__init__()
        if not requests:
            raise ValueError("nothing to ask")
        self.requests = requests
        self.arming = arming or Arming()
        self._on_result = on_result
        self._feed_key, self._feed_paste, self._on_footer = feed_key, feed_paste, on_footer
        self._after, self._where, self._free_rows, self._clock = after, where, free_rows, clock
        self._decisions: list[Decision] = []
        self._again = False
        self._asking: Answer | None = None
        self._held: events.Key | None = None
        self._over = False
        self._full = False
        self._timer: Timer | None = None
        self._footer = ""
        self._view: WrapView = body(requests[0].effect)
        self._subject = subject(requests[0].effect)

    def compose(self) -> ComposeResult:
        """The frame; the view of the request is put into `body`."""
        with Vertical(id="approval"):
            for name in ("reason", "summary", "warnings"):
                yield Static(id=name, markup=False)
            yield Vertical(id="body")
            yield Static(id="info", markup=False)
            yield Static(id="keys", markup=False)
            yield Field(id="why", disabled=True)
        yield Static(
            f"too small to approve: needs {MIN_COLUMNS}x{MIN_ROWS}   Esc no and stop", id="small", markup=False
        )

    # -------------------------------------------------------------- facts

    @property
    def request(self) -> ApprovalRequest:
        """The request that is being asked."""
        return self.requests[min(len(self._decisions), len(self.requests) - 1)]

    @property
    def view(self) -> WrapView:
        """The view of the request that is being asked."""
        return self._view

    @property
    def too_small(self) -> bool:
        """Whether the terminal is too small to decide anything."""
        return self.app.size.width < MIN_COLUMNS or self.app.size.height < MIN_ROWS

    @property
    def armed(self) -> bool:
        """Whether keys are commands now."""
        return self.arming.armed(self._clock())

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

    @property
    def free_rows(self) -> int:
        """Rows at the bottom that belong to the composer; may be set while the dialog is open."""
        return self._free_rows

    @free_rows.setter
    def free_rows(self, rows: int) -> None:
        self._free_rows = rows
        self._update()

    # -------------------------------------------------------------- showing

    async def on_mount(self) -> None:
        """Show the first request."""
        await self._show()

    async def _show(self) -> None:
        """Show the present request; the dialog is deaf until it was painted and a while longer."""
        self.arming.hide()
        self._again = False
        effect = self.request.effect
        self._subject, self._view = subject(effect), body(effect)
        frame = self.query_one("#body")
        await frame.remove_children()
        await frame.mount(self._view)
        self._update()
        self.call_after_refresh(self._painted)

    def _painted(self) -> None:
        self.arming.painted(self._clock())
        self._update()

    @on(WrapView.Changed)
    def _view_changed(self, event: WrapView.Changed) -> None:
        event.stop()
        if event.view is self._view:
            self._update()

    def on_resize(self) -> None:
        """Lay out again; nothing is answered by that."""
        self._update()

    def _update(self) -> None:
        """Write all texts, fit the view between them, and wait for the next change of state."""
        if self._over or not self.is_mounted:
            return
        columns, rows = self.app.size
        self.set_class(self.too_small, "-small")
        self.set_class(columns >= 110, "-wide")
        self.set_class(columns < 80, "-open")
        frame = self.query_one("#approval")
        margin = 6 if columns >= 110 and not self._full else 0
        width = max(1, columns - 2 * margin - (4 if columns >= 80 else 2))
        top = 0 if columns < 50 or self._full else 3 if rows >= 30 else 1
        frame.styles.margin = (top, margin, self._free_rows, margin)
        count = f" {len(self._decisions) + 1}/{len(self.requests)}"
        rule = "─" * (columns - 2 * margin - len(self._subject.title) - len(count) - 7)
        frame.border_title = f"{self._subject.title} {rule}{count}"
        used = sum(self._write(name, lines) for name, lines in self._texts(width).items())
        used += 2 + (1 if self._asking is not None else 0)
        height = max(1, min(self._view.rows, rows - top - self._free_rows - used))
        body = self.query_one("#body")
        if body.styles.height is None or body.styles.height.value != height:
            body.styles.height = height
        if self.footer != self._footer:
            self._footer = self.footer
            if self._on_footer is not None:
                self._on_footer(self._footer)
        self._schedule()

    def _write(self, name: str, lines: list[Content]) -> int:
        """Put lines into the part `name`; returns how many."""
        part = self.query_one(f"#{name}", Static)
        text = Content("\n").join(lines)
        part.display = bool(lines)
        if part.content != text:
            part.update(text)
        return len(lines)

    def _texts(self, width: int) -> dict[str, list[Content]]:
        view, what = self._view, self._subject
        dim, bold = "$text-muted", "bold"
        summary = [Content.styled(what.verb, dim), Content.styled(what.what, bold)]
        if isinstance(view, DiffView):
            more = "" if view.complete else "…"
            counts = (f"+{view.added:,}{more}", "$text-success"), " ", (f"-{view.removed:,}{more}", "$text-error")
            summary.append(Content.assemble(*counts))
            if view.hunks:
                summary.append(Content.styled(f"hunk {view.hunk}/{len(view.hunks)}{more}", dim))
        else:
            summary += [Content.styled(what.facts, dim), Content.styled(self._where, dim)]
        reason = sanitise(" ".join(self.request.reason.split()), "text").plain
        said = Content.styled(f"model: {reason}", dim).wrap(width) if reason else []
        room = 2 if self.app.size.height >= 24 else 1
        if len(said) > room:
            said = [*said[: room - 1], Content.assemble(said[room - 1][: width - 1], "…")]
        floors = [plain(floor, "text") for floor in self.request.policy.floors]
        careful = [self.request.caution] if self.request.caution else []
        warnings = ", ".join([*careful, *floors, *sorted(view.warns | what.warns)])
        info = [Content.styled(seen_line(view, again=self._again), "$text-warning" if self._again else dim)]
        if self._after and isinstance(self.request.effect, WriteBytes):
            info.append(Content.styled(f"after applying: {self._after}", dim))
        return {
            "reason": said,
            "summary": flow(summary, width),
            "warnings": flow([Content.styled(f"look closely: {warnings}", "$text-warning")], width) if warnings else [],
            "info": flow(info, width),
            "keys": self._keys(width) if self._asking is None else [],
        }

    def _keys(self, width: int) -> list[Content]:
        narrow = width < 48
        no = "no…" if narrow else "no, say why"
        keys = [("y", self._subject.yes), ("n", no), ("s", "skip"), ("Esc", "no and stop")]
        if isinstance(self._view, DiffView) and len(self._view.hunks) > 1:
            keys.append(("] [", "hunk"))
        if self._view.max_scroll_y:
            keys.append(("PgDn", "more") if narrow else ("PgUp PgDn", "scroll"))
        if not narrow:
            keys.append(("z", "full"))
        lines = flow([Content.assemble((key, "bold $text-accent"), f" {label}") for key, label in keys], width)
        return lines if self.armed else [Content.styled("wait…", "$text-muted"), *[Content("")] * (len(lines) - 1)]

    # -------------------------------------------------------------- time

    def _schedule(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        wait = self.arming.wakes(self._clock())
        if wait is not None and not self._over:
            self._timer = self.set_timer(wait + 0.001, self.tick)

    async def tick(self) -> None:
        """Something may be due: a held answer counts, or the dialog listens from now on."""
        if self.arming.due(self._clock()) is not None and self._held is not None:
            held, self._held = self._held, None
            await self._answer(held.key)
        self._update()

    # -------------------------------------------------------------- keys

    async def on_key(self, event: events.Key) -> None:
        """Answer, scroll, or give the key to the composer."""
        if self._over:  # it was on its way when the last answer was given
            event.stop()
            await self._draft(event)
        elif event.key == "ctrl+c":
            event.stop()
            event.prevent_default()
            self._close(self._stopped("key"))
        elif self._asking is not None:
            if event.key == "escape":
                event.stop()
                self._close_field()
        else:
            event.stop()
            event.prevent_default()
            await self._press(event)
            self._update()

    async def _press(self, event: events.Key) -> None:
        held = self._held
        route = self.arming.press(
            event.key,
            self._clock(),
            answer=event.key in _ANSWERS and not self.too_small,
            command=event.key in _COMMANDS,
            text=event.is_printable,
        )
        self._held = event if route == "hold" else None
        if route == "settle" and held is not None:
            await self._answer(held.key)
        if route == "burst" and held is not None:
            await self._draft(held)
        if route in {"settle", "burst", "draft"}:
            await self._draft(event)
        if route == "act":
            self._command(event.key)

    def _command(self, key: str) -> None:
        if key == "escape":
            self._close(self._stopped("key"))
        elif key == "z":
            self._full = not self._full
        elif key in _HUNKS:
            if isinstance(self._view, DiffView):
                self._view.jump(_HUNKS[key])
        else:
            _SCROLLS[key](self._view, animate=False)

    async def on_paste(self, event: events.Paste) -> None:
        """A paste is text, whatever it holds."""
        event.stop()
        self.arming.disturb(self._clock())
        held, self._held = self._held, None
        if held is not None:
            await self._draft(held)
        if self._feed_paste is not None and isawaitable(fed := self._feed_paste(event)):
            await fed
        self._update()

    async def _draft(self, event: events.Key) -> None:
        if self._feed_key is not None and isawaitable(fed := self._feed_key(event)):
            await fed

    # -------------------------------------------------------------- answers

    async def _answer(self, key: str) -> None:
        answer, view = _ANSWERS[key], self._view
        if answer != "yes":
            self._open_field(answer)
            return
        if not view.complete or (must_see_end(view) and not view.end_seen):
            return
        if view.seen < view.total and not self._again:
            self._again = True
            self.arming.disturb(self._clock())
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
        self._update()

    def _close_field(self) -> None:
        self._asking = None
        self.remove_class("-asking")
        self.query_one("#why", Input).disabled = True
        self.set_focus(None)
        self.arming.disturb(self._clock())
        self._update()

    @on(Input.Submitted, "#why")
    async def _reason_given(self, event: Input.Submitted) -> None:
        event.stop()
        if self._asking is not None:
            answer = self._asking
            self._close_field()
            await self._decide(answer, event.value.strip())

    async def _decide(self, answer: Answer, reason: str = "") -> None:
        """Record one answer and go on to the next request that can still be carried out."""
        self._decisions.append(Decision(self.request.id, answer, reason))
        while len(self._decisions) < len(self.requests):
            missing = [d.request_id for d in self._decisions if d.answer != "yes"]
            lost = [name for name in self.request.depends_on if name in missing]
            if not lost:
                await self._show()
                return
            self._decisions.append(Decision(self.request.id, "skip", "its base was not applied", by="rule"))
        self._close(tuple(self._decisions))

    def _stopped(self, by: str) -> Decisions:
        """The answers so far, and stop for this request and all later ones."""
        left = self.requests[len(self._decisions) :]
        return (*self._decisions, *(Decision(request.id, "stop", by=by) for request in left))

    def _close(self, decisions: Decisions) -> None:
        if not self._over:
            self._over = True
            self.dismiss(decisions)
            self._on_result(decisions)

    def withdraw(self) -> None:
        """Nobody can answer any more: close with stop for everything that is not decided."""
        if self._over or not self.app.is_running or self not in self.app.screen_stack:
            return  # an app that shuts down takes its screens with it; popping one then never ends
        while self.app.screen is not self:  # a help page, say; dismiss always takes the top screen
            self.app.screen.dismiss(None)
        self._close(self._stopped("nobody"))

    def on_unmount(self) -> None:
        """The application ends while the dialog is open: that is no answer, so it is stop."""
        if not self._over:
            self._over = True
            self._on_result(self._stopped("nobody"))


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
