"""The lines around the panes: header, footer, rules and the queue. Each is a pure function of what it is shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rich.cells import cell_len
from rich.text import Text
from textual.reactive import reactive
from textual.widget import Widget

from tui_agent.core.display import label
from tui_agent.ui.numbers import gauge


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


def header_line(state: HeaderState, width: int) -> Text:
    """The header at this width: items leave from the left of the right group, never mode and cost."""
    cost = "$ n/a" if state.cost is None else f"${state.cost:.2f}"
    tokens = gauge(state.tokens, state.window, estimated=state.estimated)
    percent = f"{100 * state.tokens / state.window:.0f}%" if state.tokens is not None and state.window else ""
    changed = f"±{state.changed}" if state.changed else ""
    where = [label(state.folder, max(8, width // 4)), label(state.branch, 24), changed]
    who = f"{state.model} · {state.provider}" if state.provider else state.model
    candidates = [
        (where, [label(who, 48), state.mode, tokens, cost]),
        (where, [label(state.model, 32), state.mode, tokens, cost]),
        ([where[0], changed], [label(state.model, 20), state.mode, percent, cost]),
        ([where[0], changed], [state.mode, percent, cost]),
        ([where[0], changed], [state.mode, cost]),
        ([label(state.folder, 10)], [state.mode, cost]),
    ]
    for left_items, right_items in candidates:
        left, right = "  ".join(filter(None, left_items)), "   ".join(filter(None, right_items))
        gap = width - 2 - cell_len(left) - cell_len(right) - (4 if state.question else 0)
        if gap >= 2:
            break
    text = Text(" ", no_wrap=True, end="")
    if state.question:
        text.append("[!] ", "bold")
    text.append(left, "bold")
    text.append(" " * max(1, gap))
    text.append(right)
    text.append(" ")
    text.truncate(width)
    return text


@dataclass(frozen=True, slots=True)
class FooterState:
    """What the footer tells: the phase first, then the keys that work now, the badge at the right end."""

    phase: str = ""
    hints: tuple[str, ...] = ()
    below: int = 0


def footer_line(state: FooterState, width: int) -> Text:
    """The footer at this width: hints leave from the right, never the phase."""
    badge = f"{state.below} below - Ctrl+End" if state.below else ""
    if badge and width < 60:
        badge = f"{state.below} below"
    phase = label(state.phase, max(10, width // 2))
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

    state: reactive[HeaderState] = reactive(HeaderState())

    def render(self) -> Text:
        """The line at today's width."""
        return header_line(self.state, self.size.width)


class Footer(Widget):
    """One line at the bottom."""

    state: reactive[FooterState] = reactive(FooterState())

    def render(self) -> Text:
        """The line at today's width."""
        return footer_line(self.state, self.size.width)


class Rule(Widget):
    """A thin line across the screen, or down beside the side pane."""

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

    items: reactive[tuple[str, ...]] = reactive((), layout=True)

    def watch_items(self, items: tuple[str, ...]) -> None:
        """Show the line only when something waits."""
        self.display = bool(items)

    def render(self) -> Text:
        """The next message and how many wait."""
        if not self.items:
            return Text("")
        width = self.size.width
        head = f" queued {len(self.items)}  next  "
        tail = "Up edit" if width >= 60 else ""
        room = max(8, width - len(head) - len(tail) - 4)
        text = Text(no_wrap=True, end="")
        text.append(head, "bold")
        text.append(label(self.items[0], room))
        text.append(" " * max(1, width - text.cell_len - len(tail) - 1) + tail, "dim")
        return text
