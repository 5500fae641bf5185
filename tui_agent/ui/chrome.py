"""The lines around the panes: header, footer, rules and the queue. Each is a pure function of what it is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from rich.cells import cell_len
from rich.text import Text
from textual.geometry import Size
from textual.reactive import reactive
from textual.widget import Widget

from tui_agent.core import events as ev
from tui_agent.core.display import label
from tui_agent.ui.actions import ACTIONS, BACK, COMMANDS, LINE, QUEUE, SEND
from tui_agent.ui.conversation import THINKING, Conversation
from tui_agent.ui.failures import CardKeys
from tui_agent.ui.keymap import USUAL, Keymap
from tui_agent.ui.numbers import forecast, gauge, money

Pane: TypeAlias = Literal["", "transcript", "files", "offer"]
"""Which pane beside the composer has the focus."""

Effect: TypeAlias = Literal["copy", "stop", "put away", "quit"]
"""What the next Ctrl+C does."""
INTERRUPT: Mapping[Effect, str] = {
    "copy": "{ui.interrupt} copy",
    "stop": "{ui.interrupt} stop",
    "put away": "{ui.interrupt} puts it away",
    "quit": "{ui.interrupt} twice quits",
}

SILENT_SECONDS = 20.0
"""How long a stream may be silent before the footer says so."""


@dataclass(frozen=True, slots=True)
class HeaderState:
    """What the header tells: where, who, how careful, how full, how dear. `cost` None is unknown.

    `tokens` are in the context now, `window` is how many fit, None unknown; `estimated`: not all of them were counted.
    """

    folder: str = ""
    branch: str = ""
    changed: int = 0
    model: str = ""
    provider: str = ""
    mode: str = "ask"
    tokens: int | None = None
    window: int | None = None
    estimated: bool = False
    cost: float | None = 0.0
    question: bool = False
    unsaved: bool = False
    """The disk refuses the log of the session."""


def header_of(shown: HeaderState, talk: Conversation, changed: int) -> HeaderState:
    """What of the header follows from the conversation, the rest as it is `shown`; `changed` files differ."""
    session, profile = talk.session, talk.session.profile
    return replace(
        shown,
        changed=changed,
        mode=session.mode.name,
        model=(profile.model or "") if profile else "no model",
        provider=profile.name if profile else "",
        tokens=talk.meter.tokens,
        window=session.window,
        estimated=talk.meter.estimated,
        cost=talk.totals.cost,
        unsaved=bool(session.log.fault),
    )


def header_line(state: HeaderState, width: int) -> Text:
    """The header at this width: items leave from the left of the right group, never mode, percent and cost."""
    marks = f"{'NOT SAVED  ' if state.unsaved else ''}{'[!] ' if state.question else ''}"
    cost = money(state.cost)
    tokens = gauge(state.tokens, state.window, estimated=state.estimated)
    percent = f"{100 * state.tokens / state.window:.0f}%" if state.tokens is not None and state.window else ""
    changed = f"±{state.changed}" if state.changed else ""
    where = [label(state.folder, max(8, width // 4)), label(state.branch, 24), changed]
    who = " · ".join(filter(None, (state.model, state.provider)))
    candidates = [
        (where, [label(who, 48), state.mode, tokens, cost]),
        (where, [label(state.model, 32), state.mode, tokens, cost]),
        ([where[0], changed], [label(state.model, 20), state.mode, percent, cost]),
        ([where[0], changed], [state.mode, percent, cost]),
        ([label(state.folder, 10), changed], [state.mode, percent, cost]),
        ([label(state.folder, 10)], [state.mode, percent, cost]),
        ([], [state.mode, percent, cost]),
    ]
    for left_items, right_items in candidates:
        left, right = "  ".join(filter(None, left_items)), "   ".join(filter(None, right_items))
        gap = width - 2 - cell_len(left) - cell_len(right) - len(marks)
        if gap >= 2:
            break
    text = Text(" ", no_wrap=True, end="")
    text.append(marks + left, "bold")
    text.append(" " * max(1, gap))
    text.append(right)
    text.append(" ")
    text.truncate(width)
    return text


def title_of(state: HeaderState, *, working: bool) -> str:
    """The title of the window: the folder, behind a sign while a question waits or a turn runs."""
    sign = "[!] " if state.question else "… " if working else ""
    return f"{sign}{state.folder}" if state.folder else ""


@dataclass(frozen=True, slots=True)
class FooterState:
    """What the footer tells: the phase first, then the keys that work now, the badge at the right end."""

    phase: str = ""
    hints: tuple[str, ...] = ()
    below: int = 0
    news: int = 0
    """Of the rows below, those that came since the person left the end."""
    end: str = ""
    """The key that goes there."""
    brief: str = ""
    """The phase where there is little room."""


def pane_hints(pane: Pane) -> tuple[str, ...]:
    """The keys of a pane that has the focus, by their actions."""
    return (*(f"{{{a.id}}} {a.hint}" for a in ACTIONS if a.scope == pane and a.hint), BACK)


def _of_card(card: CardKeys, pane: Pane) -> tuple[str, ...]:
    """What the footer tells of a card: its keys where they count, the way to it from the message."""
    return card.held if pane == "transcript" else () if pane else card.beside


def footer_state(
    talk: Conversation | None,
    now: float,
    *,
    armed: str = "",
    dialog: tuple[str, ...] = (),
    asking: bool = False,
    interrupt: Effect = "quit",
    draft: str = "",
    pane: Pane = "",
    below: int = 0,
    news: int = 0,
    keys: Keymap = USUAL,
) -> FooterState:
    """What to tell at `now` (monotonic, seconds): what the next press does, else the dialog's words, else what goes on.

    `asking`: a screen lies over the main one; `interrupt` is what Ctrl+C does; `draft`: what is in the composer; `pane` has the
    focus, in the transcript with it the card of a failure; `keys` are the person's.
    """
    hints: tuple[str, ...] = ()
    brief = ""
    if dialog:
        phase, *rest = dialog
        hints = tuple(rest)
    elif talk is None:
        phase = "a question first" if asking else ""
    elif talk.working and not talk.retrying:
        phase = phase_words(talk.phase, now - talk.since, now - talk.heard, talk.flow.rate)
        brief = phase.removeprefix("streaming ")
        away = ("{jobs.send} background",) if talk.session.workspace.live else ()
        hints = (INTERRUPT[interrupt], *(pane_hints(pane) if pane else (*away, QUEUE, LINE, COMMANDS)))
    elif talk.card is not None and (hints := _of_card(talk.card, pane)):
        phase = talk.phase.detail if talk.retrying else talk.card.phase
        brief = f"try in {phase.partition(' in ')[2]}" if talk.retrying else ""
    elif pane == "offer":
        phase, hints = "ready", ("Enter use", "{first.model} other", COMMANDS, "{ui.interrupt} twice quits")
    elif pane:
        phase, hints = talk.phase.detail if talk.retrying else "", pane_hints(pane)
    else:
        profile = talk.session.profile
        told = forecast(talk.meter.tokens, len(draft), profile.pricing if profile else None)
        phase = told if draft and draft[0] not in "/!" else "" if draft else "ready"
        hints = (SEND, COMMANDS, INTERRUPT[interrupt], LINE, "{ui.leader} more")
    if interrupt == "copy" and not dialog:
        hints = (INTERRUPT["copy"], *(hint for hint in hints if "{ui.interrupt}" not in hint))
    hints = tuple(filter(None, hints if dialog else map(keys.say, hints)))
    if armed:  # what it says now would stand there twice
        hints = tuple(hint for hint in hints if not hint.startswith(armed.partition(" ")[0]))
    return FooterState(armed or phase, hints, below, news, keys.say("{scroll.end}"), "" if armed else brief)


def phase_words(phase: ev.Phase, seconds: float, silent: float = 0.0, rate: int | None = None) -> str:
    """What goes on, in words, with its seconds from the third on; `silent` is how long no bytes came, `rate` tokens a second."""
    if phase.name == "streaming" and silent >= SILENT_SECONDS:
        return f"no data for {silent:.0f}s"
    words = {
        "waiting": "waiting for the model",
        "streaming": "streaming",
        "asking": "waiting for you",
        "running": phase.detail or "running",
        "checking": f"check {phase.detail}",
        "idle": "ready",
    }[phase.name]
    if phase.name in {"waiting", "streaming"} and phase.detail:
        words = phase.detail
    if phase.name == "streaming" and rate is not None and phase.detail in {"", THINKING}:
        words += f" ~{rate} tok/s"
    return f"{words} {seconds:.0f}s" if seconds >= 3 else words


def footer_line(state: FooterState, width: int) -> Text:
    """The footer at this width: hints leave from the right, never the phase."""
    badge = f"{state.news} new below" if state.news else "more below" if state.below else ""
    if badge and width >= 60:
        badge += f" - {state.end}" if state.end else ""
    phase = label((width < 60 and state.brief) or state.phase, max(10, width // 2))
    hints = list(state.hints)
    while hints and cell_len("   ".join([phase, *hints])) + cell_len(badge) + 4 > width:
        hints.pop()
    text = Text(" ", no_wrap=True, end="")
    text.append(phase, "bold")
    if hints:
        text.append(("   " if phase else "") + "   ".join(hints), "dim")
    text.append(" " * max(1, width - text.cell_len - cell_len(badge) - 1))
    text.append(badge, "bold")
    text.truncate(width)
    return text


class Header(Widget):
    """One line at the top."""

    ALLOW_SELECT = False
    state: reactive[HeaderState] = reactive(HeaderState())

    def render(self) -> Text:
        """The line at today's width."""
        return header_line(self.state, self.size.width)


class Where(Widget):
    """The first row: the product, the folder, and that nobody answers yet."""

    ALLOW_SELECT = False

    def __init__(self, folder: str) -> None:
        super().__init__()
        self._folder = folder

    def render(self) -> Text:
        """The row at today's width; the folder gives way."""
        state = "no provider yet" if self.size.width >= 64 else "no provider"
        room = self.size.width - cell_len(f" tui-agent  {state} ") - 3
        folder = label(self._folder, room) if room >= 8 else ""
        left = f" tui-agent   {folder}"
        gap = " " * max(1, self.size.width - cell_len(left) - cell_len(state) - 1)
        return Text.assemble((left, "bold"), gap, (state, "dim"), no_wrap=True, end="")


class Footer(Widget):
    """One line at the bottom."""

    ALLOW_SELECT = False
    state: reactive[FooterState] = reactive(FooterState())

    def render(self) -> Text:
        """The line at today's width."""
        return footer_line(self.state, self.size.width)


class Rule(Widget):
    """A thin line across the screen, or down beside the side pane."""

    ALLOW_SELECT = False

    def __init__(self, direction: Literal["across", "down"] = "across") -> None:
        super().__init__(classes=direction)
        self._down = direction == "down"

    def render(self) -> Text:
        """The line at today's size."""
        if self._down:
            return Text("\n".join("│" * self.size.height))
        return Text("─" * self.size.width, no_wrap=True, end="")


class Queue(Widget):
    """The messages that wait for the running turn; hidden when there are none."""

    ALLOW_SELECT = False
    keys = USUAL
    items: reactive[tuple[str, ...]] = reactive((), layout=True)
    soon: reactive[int] = reactive(0)
    writing: reactive[bool] = reactive(False)
    """Whether there is a draft, in which Up moves."""

    def watch_items(self, items: tuple[str, ...]) -> None:
        """Show the lines only when something waits."""
        self.display = bool(items)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """One row, or a few where there is room."""
        return min(len(self.items), 3 if viewport.height >= 30 else 1)

    def render(self) -> Text:
        """The messages that come next, and how many wait."""
        width, rows = self.size
        lines = queue_lines(self.items, width, rows, self.soon, writing=self.writing, own=self.keys)
        return Text("\n").join(lines)


def queue_lines(
    items: Sequence[str], width: int, rows: int, soon: int = 0, *, writing: bool = False, own: Keymap = USUAL
) -> list[Text]:
    """One line a message, the next one first; the first line says how many wait and which keys are for them.

    `soon`: so many of the first are for the turn that runs; `writing`: there is a draft, in which Up moves; `own` are the
    keys of the person.
    """
    edit = "" if writing else "Up edit"
    more = own.say("{queue.list} send now, edit, delete" if writing else "{queue.list} send now, delete")
    keys = "   ".join(filter(None, (edit, more if width >= 100 or writing else ""))) if width >= 60 else ""
    first = f" queued {len(items)}  {'in this turn' if soon else 'next'}  "
    lines = []
    for number, item in enumerate(items[:rows], 1):
        when = "in this turn" if number <= soon else "next" if number == soon + 1 and soon else str(number)
        head, tail = (first, keys) if number == 1 else (f"{when}  ".rjust(len(first)), "")
        text = Text(no_wrap=True, end="")
        text.append(head, "bold")
        text.append(label(item, max(8, width - len(head) - len(tail) - 4)))
        text.append(" " * max(1, width - text.cell_len - len(tail) - 1) + tail, "dim")
        lines.append(text)
    return lines
