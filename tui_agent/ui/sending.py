"""What becomes of a text that was sent: an answer, a command, a skill, a message; what nobody takes comes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tui_agent.ui.actions import BY_SLASH
from tui_agent.ui.calling import call

if TYPE_CHECKING:
    from tui_agent.ui.composer import Composer
    from tui_agent.ui.main import MainScreen


class Sending:
    """Takes what leaves the composer of `screen`."""

    def __init__(self, screen: MainScreen) -> None:
        self._screen = screen
        self.confirmed: Callable[[], object] | None = None
        """What the word "yes", if it is sent next, confirms."""

    def take(self, sent: Composer.Submitted) -> None:
        """A text was sent; the composer is empty already."""
        confirmed, self.confirmed = self.confirmed, None
        text = sent.text.strip()
        if confirmed is not None and text.lower() == "yes":
            confirmed()
        elif word := command(text):
            self._command(sent, word, text[len(word) :].strip())
        else:
            self._message(sent)

    def _command(self, sent: Composer.Submitted, word: str, argument: str) -> None:
        """An action of the table, else a skill or a command of the person's own."""
        screen, action = self._screen, BY_SLASH.get(word.lower())
        if action is not None:
            screen.desk.sent(sent.draft)
            screen.act(action.id, argument)
        elif screen.conversation is not None and call(screen.conversation, word, argument):
            screen.desk.sent(sent.draft)
            screen.refresh_state()
        else:
            self.put_back(sent.text)
            screen.notify(f"There is no command {word}. {screen.keys.say('{ui.palette} lists them.')}", markup=False)

    def _message(self, sent: Composer.Submitted) -> None:
        screen = self._screen
        if screen.conversation is None:
            self.put_back(sent.text)
            return
        screen.transcript.to_end()
        (screen.conversation.steer if sent.soon else screen.conversation.send)(sent.text)
        screen.desk.sent(sent.draft)
        screen.refresh_state()

    def put_back(self, text: str) -> None:
        """Back into the composer with what cannot be taken, before what was typed since."""
        composer = self._screen.composer
        composer.load("\n".join(filter(None, (text, composer.text))))


def command(text: str) -> str:
    """The word of a slash command that a text begins with, "" when it is a message: a path is none, nor is what has lines."""
    word = text.partition(" ")[0]
    return word if word.startswith("/") and "/" not in word[1:] and "\n" not in word else ""
