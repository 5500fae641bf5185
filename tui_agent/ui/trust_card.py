"""The question whether this folder is trusted, asked before anything of it is read as configuration or run.

It lists what the folder wants to add; each entry can be looked at and taken or left. In a folder that is trusted
already only what changed is asked for, with its difference.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rich.text import Text
from textual import events
from textual.app import App, ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Static

from tui_agent.config import read_layer
from tui_agent.core.display import label, plain
from tui_agent.core.types import AgentError
from tui_agent.paths import home_of, tilde
from tui_agent.trust import Trust, TrustStore, may_be_trusted
from tui_agent.ui.diff_view import DiffView
from tui_agent.ui.late_modal import LateModal, Outside
from tui_agent.ui.viewer import Viewer
from tui_agent.wants import Want, unusable, wants
from tui_agent.workspace import git

_TRUSTED = (
    "Trusted: its config counts, its instructions are sent to the model, your check runs after edits, and test commands "
    "you allowed run without a question."
)
_EARLY = "What was typed too early stands in your message, below this card."
_RESTRICTED = "Restricted: reading and editing work, every program is asked."

_STEPS = {"up": -1, "k": -1, "down": 1, "j": 1}
_PAGES = {"pageup": -1, "pagedown": 1}


@dataclass(frozen=True, slots=True)
class TrustAnswer:
    """What the person said, and which entries may count. "later": what changed stays off, and is asked again."""

    kind: Literal["trust", "instructions", "restricted", "later", "quit"]
    accept: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Subject:
    """What the card is about. `root` as it is shown; `again`: it is trusted, and only `wants` has changed.

    `programs` is what git would start here by itself. `allowed` False: this folder can never be trusted. `unusable` is
    what looks like an entry and is none, with why.
    """

    root: str
    wants: tuple[Want, ...] = ()
    programs: tuple[str, ...] = ()
    allowed: bool = True
    again: bool = False
    unusable: tuple[str, ...] = ()


class TrustCard(LateModal[TrustAnswer]):
    """Asks once; Enter and Esc mean restricted (or: leave it off), never trust.

    It listens late, because the person may be typing already; Ctrl+C and Ctrl+Q leave at any time.
    `accepted` gives the bytes of an entry as they were accepted before, None when they never were.
    """

    ANSWER_KEYS = frozenset("tirnq")
    OTHER_KEYS = frozenset({*_STEPS, *_PAGES, "space", "v", "enter", "escape"})

    def __init__(
        self,
        subject: Subject,
        outside: Outside | None = None,
        *,
        accepted: Callable[[str], bytes | None] = lambda _: None,
    ) -> None:
        super().__init__(outside or Outside())
        self._subject, self._accepted = subject, accepted
        self._marked = {want.name for want in subject.wants}
        self._at = 0
        self._early = False
        """Whether a key went to the message, which this card covers."""

    def compose(self) -> ComposeResult:
        """The card."""
        with Vertical(classes="card"):
            with VerticalScroll(id="trust-scroll"):
                yield Static(id="trust-text", markup=False)
            yield Static(id="trust-keys", markup=False)

    def on_mount(self) -> None:
        """Write it."""
        self.show_state()

    def on_screen_resume(self) -> None:
        """It is on top, at first or after a view was closed: listen some time after it was painted."""
        self.listen_when_painted()
        self.show_state()

    def on_resize(self) -> None:
        """Fit it."""
        self.show_state()

    def meant(self, key: str) -> str:
        """What the person's keys mean here."""
        return self.outside.keys.meant("trust", key)

    # -------------------------------------------------------------- what is shown

    def show_state(self) -> None:
        """Write the card and its keys."""
        if self.is_mounted:
            width = max(10, min(self.app.size.width, 70) - 7)
            keys = list(self._keys(width))
            if not self.armed:
                keys = [Text("wait…", "dim"), *[Text()] * (len(keys) - 1)]
            if self._early:
                keys += map(Text, textwrap.wrap(_EARLY, width))
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
        for line in about.unusable:
            yield from (Text(part, "dim") for part in textwrap.wrap(label(f"Not used: {line}.", 10 * width), width))
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
        path = plain(want.path, "path")
        title = f"{want.name}: {path}" if want.name not in want.path else path
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
        if about.allowed and self._instructions():
            keys.append(("i", "instructions only"))
        keys.append(("n", "leave it off (default)") if about.again else ("r", "restricted (default)"))
        if about.again:
            keys.append(("r", "restrict the folder"))
        keys.append(("q", "quit"))
        if about.wants:
            keys += [("↑↓", "choose"), ("space", "on or off"), ("v", "view")]
        row, own = Text(), self.outside.keys
        named = [(own.shown("trust", key), word) for key, word in keys]
        for key, word in ((key, word) for key, word in named if key):
            if row and row.cell_len + len(key) + len(word) + 1 > width:
                yield row
                row = Text()
            row.append(key, "bold")
            row.append(f" {word}    ")
        yield row

    # -------------------------------------------------------------- keys

    async def on_key(self, event: events.Key) -> None:
        """Ctrl+Q leaves like Ctrl+C; all other keys are routed by `LateModal`."""
        if event.key == "ctrl+q":
            event.stop()
            event.prevent_default()
            self.interrupt()

    def interrupt(self) -> None:
        """Leave without an answer."""
        self._end(TrustAnswer("quit"))

    async def _draft(self, event: events.Key) -> None:
        await super()._draft(event)
        self._early = self._early or event.is_printable

    async def answer(self, key: str) -> None:
        """One of the letters; one that is not offered here means nothing."""
        if (said := self._answers().get(key)) is not None:
            self._end(said)

    def _answers(self) -> dict[str, TrustAnswer]:
        about = self._subject
        out = {"n": self._leave(), "r": TrustAnswer("restricted"), "q": TrustAnswer("quit")}
        if about.allowed:
            out["t"] = TrustAnswer("trust", frozenset(self._marked))
            if words := self._instructions():
                out["i"] = TrustAnswer("instructions", words)
        return out

    def _leave(self) -> TrustAnswer:
        return TrustAnswer("later" if self._subject.again else "restricted")

    def _instructions(self) -> frozenset[str]:
        """The entries that start nothing; in a trusted folder they are not asked for apart."""
        about = self._subject
        return frozenset() if about.again else frozenset(want.name for want in about.wants if want.words)

    def _end(self, said: TrustAnswer) -> None:
        if not self.over:
            self.over = True
            self.dismiss(said)

    def command(self, key: str) -> None:
        """Leave it, choose, mark, look or scroll."""
        if key in {"enter", "escape"}:
            self._end(self._leave())
        elif key in _PAGES:
            card = self.query_one(VerticalScroll)
            (card.scroll_page_down if _PAGES[key] > 0 else card.scroll_page_up)(animate=False)
        elif wanted := self._subject.wants:
            want = wanted[self._at]
            if key in _STEPS:
                self._at = (self._at + _STEPS[key]) % len(wanted)
            elif key == "space":
                self._marked ^= {want.name}
            else:  # all of it; of a changed one, what changed
                view = DiffView(self._accepted(want.name), want.data)
                title = f"{want.name}: {plain(want.path, 'path')}"
                self.app.push_screen(Viewer(title, view, self.outside.keys))


async def ask_trust(
    app: App[Any], root: Path, file: Path, user_file: Path, *, environment: Mapping[str, str], outside: Outside
) -> Trust | None:
    """How the person stands to a folder, asked on the screen of `app` when that is due; None when they leave.

    `outside` takes what is typed too early. `file` keeps the answers. An answer that cannot be kept counts as restricted. Call it from a worker.
    """
    store = TrustStore(file)
    known = store.look(root)
    if known.asked and not known.changed:
        return known
    about = subject_of(known, user_file, environment)
    card = TrustCard(about, outside, accepted=lambda name: store.accepted(known.root, name))
    answer = await app.push_screen_wait(card)
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
        git.programs(known.root),
        allowed=may_be_trusted(known.root, home_of(environment)),
        again=known.trusted,
        unusable=unusable(known.root, offered),
    )
