"""The question whether this folder is trusted, asked before anything of it is read as configuration or run.

It lists what the folder wants to add; each entry can be looked at and taken or left. In a folder that is trusted
already only what changed is asked for, with its difference.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from tui_agent.config import read_layer
from tui_agent.core.display import label, plain
from tui_agent.core.types import AgentError
from tui_agent.paths import tilde
from tui_agent.trust import Trust, TrustStore, may_be_trusted
from tui_agent.ui.diff_view import DiffView
from tui_agent.ui.viewer import Viewer
from tui_agent.wants import INSTRUCTIONS, Want, git_programs, wants

_TRUSTED = "Trusted: its config counts, your check for it runs after edits, and test commands you allowed run without a question."
_RESTRICTED = "Restricted: reading and editing work, every program is asked."


@dataclass(frozen=True, slots=True)
class TrustAnswer:
    """What the person said, and which entries may count. "later": what changed stays off, and is asked again."""

    kind: Literal["trust", "instructions", "restricted", "later", "quit"]
    accept: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Subject:
    """What the card is about. `root` as it is shown; `again`: it is trusted, and only `wants` has changed.

    `programs` is what git would start here by itself. `allowed` False: this folder can never be trusted.
    """

    root: str
    wants: tuple[Want, ...] = ()
    programs: tuple[str, ...] = ()
    allowed: bool = True
    again: bool = False


class TrustCard(ModalScreen[TrustAnswer]):
    """Asks once; Enter and Esc mean restricted (or: leave it off), never trust.

    `accepted` gives the bytes of an entry as they were accepted before, None when they never were.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t", "trust"),
        Binding("i", "instructions"),
        Binding("n,enter,escape", "leave"),
        Binding("r", "restrict"),
        Binding("q,ctrl+c,ctrl+q", "quit"),
        Binding("up,k", "move(-1)"),
        Binding("down,j", "move(1)"),
        Binding("space", "mark"),
        Binding("v", "view"),
        Binding("pageup", "scroll(-1)"),
        Binding("pagedown", "scroll(1)"),
    ]

    def __init__(self, subject: Subject, accepted: Callable[[str], bytes | None] = lambda _: None) -> None:
        super().__init__()
        self._subject, self._accepted = subject, accepted
        self._marked = {want.name for want in subject.wants}
        self._at = 0

    def compose(self) -> ComposeResult:
        """The card."""
        with Vertical(classes="card"):
            with VerticalScroll(id="trust-scroll"):
                yield Static(id="trust-text", markup=False)
            yield Static(id="trust-keys", markup=False)

    def on_mount(self) -> None:
        """Write it."""
        self._draw()

    def on_resize(self) -> None:
        """Fit it."""
        self._draw()

    # -------------------------------------------------------------- what is shown

    def _draw(self) -> None:
        if self.is_mounted:
            width = max(10, min(self.app.size.width, 70) - 7)
            keys = list(self._keys(width))
            self.query_one("#trust-text", Static).update(Text("\n").join(self._lines(width)))
            self.query_one("#trust-keys", Static).update(Text("\n").join(keys))
            self.query_one("#trust-scroll").styles.max_height = max(1, self.app.size.height - len(keys) - 2)

    def _lines(self, width: int) -> Iterator[Text]:
        about = self._subject
        yield Text(
            "This folder has changed since you trusted it." if about.again else "Do you trust this folder?", "bold"
        )
        yield Text(plain(about.root, "path"))
        yield Text()
        if about.wants:
            yield Text("New or changed; off until you take it:" if about.again else "It wants to add:")
            for number, want in enumerate(about.wants):
                yield from self._entry(want, width, here=number == self._at)
        else:
            yield Text("It adds no configuration of its own.", "dim")
        if about.programs:
            yield Text()
            yield Text(f"git would start: {label(', '.join(about.programs), 4 * width)}", "dim")
            yield Text("tui-agent keeps those off.", "dim")
        if not about.again:
            yield Text()
            yield from map(Text, textwrap.wrap(_TRUSTED, width))
            yield from map(Text, textwrap.wrap(_RESTRICTED, width))
        if not about.allowed:
            yield Text()
            yield Text("A home folder cannot be trusted; open the project's own folder.", "bold")
        yield Text()

    def _entry(self, want: Want, width: int, *, here: bool) -> Iterator[Text]:
        mark = "[x]" if want.name in self._marked else "[ ]"
        changed = "   changed" if self._accepted(want.name) is not None else ""
        title = f"{want.name}: {want.path}" if want.name not in want.path else want.path
        text = Text(f"{'›' if here else ' '} {mark} ")
        text.append(label(title, width), "bold")
        text.append(changed, "dim")
        yield text
        for line in want.lines:
            shown = textwrap.wrap(label(line, 10 * width), max(4, width - 6), break_on_hyphens=False)
            yield from (Text(f"      {part}", "dim") for part in shown)

    def _keys(self, width: int) -> Iterator[Text]:
        about = self._subject
        keys = [("t", "take what is marked" if about.again else "trust")] if about.allowed else []
        if about.allowed and not about.again and any(want.name in INSTRUCTIONS for want in about.wants):
            keys.append(("i", "instructions only"))
        keys.append(("n", "leave it off (default)") if about.again else ("r", "restricted (default)"))
        if about.again:
            keys.append(("r", "restrict the folder"))
        keys.append(("q", "quit"))
        if about.wants:
            keys += [("↑↓", "choose"), ("space", "on or off"), ("v", "view")]
        row = Text()
        for key, word in keys:
            if row and row.cell_len + len(key) + len(word) + 1 > width:
                yield row
                row = Text()
            row.append(key, "bold")
            row.append(f" {word}    ")
        yield row

    # -------------------------------------------------------------- keys

    def action_move(self, step: int) -> None:
        """The entry above or below."""
        if self._subject.wants:
            self._at = (self._at + step) % len(self._subject.wants)
            self._draw()

    def action_scroll(self, step: int) -> None:
        """A page of a card that is longer than the terminal."""
        card = self.query_one(VerticalScroll)
        (card.scroll_page_down if step > 0 else card.scroll_page_up)(animate=False)

    def action_mark(self) -> None:
        """Take or leave the entry under the cursor."""
        if self._subject.wants:
            self._marked ^= {self._subject.wants[self._at].name}
            self._draw()

    def action_view(self) -> None:
        """All of the entry under the cursor; of a changed one, what changed."""
        if self._subject.wants:
            want = self._subject.wants[self._at]
            self.app.push_screen(Viewer(f"{want.name}: {want.path}", DiffView(self._accepted(want.name), want.data)))

    def action_trust(self) -> None:
        """Yes, with what is marked."""
        if self._subject.allowed:
            self.dismiss(TrustAnswer("trust", frozenset(self._marked)))

    def action_instructions(self) -> None:
        """Only words for the model; nothing that starts anything."""
        offered = {want.name for want in self._subject.wants} & INSTRUCTIONS
        if self._subject.allowed and not self._subject.again and offered:
            self.dismiss(TrustAnswer("instructions", frozenset(offered)))

    def action_leave(self) -> None:
        """No."""
        self.dismiss(TrustAnswer("later" if self._subject.again else "restricted"))

    def action_restrict(self) -> None:
        """No, and no more trust either."""
        self.dismiss(TrustAnswer("restricted"))

    def action_quit(self) -> None:
        """Leave without an answer."""
        self.dismiss(TrustAnswer("quit"))


async def ask_trust(
    app: App[Any], root: Path, file: Path, user_file: Path, environment: Mapping[str, str]
) -> Trust | None:
    """How the person stands to a folder, asked on the screen of `app` when that is due; None when they leave.

    `file` keeps the answers. An answer that cannot be kept counts as restricted. Call it from a worker.
    """
    store = TrustStore(file)
    known = store.look(root)
    if known.asked and not known.changed:
        return known
    about = subject_of(known, user_file, environment)
    answer = await app.push_screen_wait(TrustCard(about, lambda name: store.accepted(known.root, name)))
    if answer.kind == "quit":
        return None
    if answer.kind == "later":
        return known
    try:
        return store.answer(known.root, trusted=answer.kind == "trust", shown=about.wants, accept=answer.accept)
    except AgentError as error:
        app.notify(f"{plain(str(error))}. This session is restricted.", severity="error", markup=False)
        return Trust(known.root)


def subject_of(known: Trust, user_file: Path, environment: Mapping[str, str]) -> Subject:
    """What the card asks: all that the folder wants, or what changed since it was trusted."""
    offered = wants(known.root, read_layer(user_file)[0])
    return Subject(
        tilde(known.root, environment),
        tuple(want for want in offered if not known.trusted or want.name in known.changed),
        git_programs(known.root),
        allowed=may_be_trusted(known.root, Path(environment.get("HOME") or Path.home())),
        again=known.trusted,
    )
