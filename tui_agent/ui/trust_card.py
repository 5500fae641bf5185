"""The question whether this folder is trusted, asked once before anything of it is read as configuration or run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, TypeAlias

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from tui_agent.core.display import plain

TrustAnswer: TypeAlias = Literal["trust", "restricted", "quit"]


def trust_text(root: str, entries: Sequence[str], *, allowed: bool) -> Text:
    """What is asked, as text; `entries` are the project files that would count."""
    text = Text()
    text.append("Do you trust this folder?\n", "bold")
    text.append(plain(root, "path") + "\n\n")
    if entries:
        text.append("It wants to add:\n")
        for entry in entries:
            text.append(f"  {plain(entry, 'path')}\n", "bold")
    else:
        text.append("It adds no configuration of its own.\n", "dim")
    text.append("\nTrusted: its config counts, your check for it runs after edits,\n")
    text.append("and test commands you allowed run without a question.\n")
    text.append("Restricted: reading and editing work, every program is asked.\n\n")
    if allowed:
        text.append("t", "bold")
        text.append(" trust    ")
    else:
        text.append("A home folder cannot be trusted; open the project's own folder.\n\n", "bold")
    text.append("r", "bold")
    text.append(" restricted (default)    ")
    text.append("q", "bold")
    text.append(" quit")
    return text


class TrustCard(ModalScreen[TrustAnswer]):
    """Asks once; Enter and Esc mean restricted, never trust."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t", "answer('trust')"),
        Binding("r,enter,escape", "answer('restricted')"),
        Binding("q,ctrl+c,ctrl+q", "answer('quit')"),
    ]

    def __init__(self, root: str, entries: Sequence[str], *, allowed: bool) -> None:
        super().__init__()
        self._text = trust_text(root, entries, allowed=allowed)
        self._allowed = allowed

    def compose(self) -> ComposeResult:
        """The card."""
        with VerticalScroll(classes="card"):
            yield Static(self._text, markup=False)

    def action_answer(self, answer: TrustAnswer) -> None:
        """Give the answer, when it may be given."""
        if answer != "trust" or self._allowed:
            self.dismiss(answer)
