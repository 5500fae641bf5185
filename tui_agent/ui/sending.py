"""What becomes of a text that was sent: an answer, a command, a skill, a message; what nobody takes comes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tui_agent.ui.actions import BY_SLASH
from tui_agent.ui.calling import call

if TYPE_CHECKING:
    from tui_agent.ui.composer import Composer
    from tui_agent.ui.conversation import Conversation
    from tui_agent.ui.main import MainScreen


class Sending:
    """Takes what leaves the composer of `screen`."""

    def __init__(self, screen: MainScreen) -> None:
        self._screen = screen
        self.confirmed: Callable[[], object] | None = None
        """What the word "yes", if it is sent next, confirms."""

    def take(self, sent: Composer.Submitted) -> None:
        """A text was sent; the composer is empty already. Before there is a session all of it comes back."""
        if self._screen.conversation is None:
            self.put_back(sent.text)
            return
        confirmed, self.confirmed = self.confirmed, None
        text = sent.text.strip()
        if confirmed is not None and text.lower() == "yes":
            confirmed()
        elif word := command(text):
            self._command(self._screen.conversation, sent, word, text[len(word) :].strip())
        else:
            self._message(self._screen.conversation, sent)

    def _command(self, talk: Conversation, sent: Composer.Submitted, word: str, argument: str) -> None:
        """An action of the table, else a skill or a command of the person's own."""
        screen, action = self._screen, BY_SLASH.get(word.lower())
        if action is not None:
            screen.desk.sent(sent.draft)
            screen.act(action.id, argument)
        elif call(talk, word, argument):
            screen.desk.sent(sent.draft)
            screen.refresh_state()
        else:
            self.put_back(sent.text)
            screen.notify(f"There is no command {word}. {screen.keys.say('{ui.palette} lists them.')}", markup=False)

    def _message(self, talk: Conversation, sent: Composer.Submitted) -> None:
        screen = self._screen
        screen.files.uncover()
        screen.transcript.to_end()
        (talk.steer if sent.soon else talk.send)(sent.text)
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
