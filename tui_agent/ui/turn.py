"""The turn that runs, and the keys that end or change it, each in its fixed order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tui_agent.ui.chrome import Effect

if TYPE_CHECKING:
    from tui_agent.ui.main import Handler, MainScreen


class Turn:
    """The handlers of these actions."""

    def __init__(self, screen: MainScreen) -> None:
        self._screen = screen

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """By the id of their action."""
        return {
            "ui.interrupt": self.interrupt,
            "ui.back": self.back,
            "agent.stop": lambda _: self.stop(),
            "agent.retry": self.retry,
            "queue.steer": self.steer,
        }

    @property
    def effect(self) -> Effect:
        """What the next Ctrl+C does, in its fixed order."""
        screen = self._screen
        if screen.selections or not screen.composer.selection.is_empty:
            return "copy"
        if screen.working:
            return "stop"
        return "put away" if screen.composer.document.text else "quit"

    def interrupt(self, _: str) -> None:
        """Ctrl+C: what the footer says it does."""
        screen = self._screen
        match self.effect:
            case "copy":
                selected = screen.get_selected_text() or screen.composer.selected
                screen.clear_selection()
                screen.composer.unselect()
                if selected:
                    screen.app.copy_to_clipboard(selected)
                else:  # of what nobody can see nothing is copied
                    self.interrupt("")
            case "stop":
                self.stop()
            case "put away":
                screen.desk.put_away()
                screen.notify(f"Put away. {screen.keys.say('{composer.yank} brings it back.')}", markup=False)
            case "quit":
                if screen.again(screen.keys.say("{ui.interrupt} again to quit")):
                    screen.act("app.quit", "now")

    def back(self, _: str) -> None:
        """Esc, one layer a press: search, selection, pane, working, nothing."""
        if self._screen.reading.leave_search() or (self._screen.pane == "files" and self._screen.files.leave_filter()):
            self._screen.refresh_footer()
        elif self._screen.get_selected_text():
            self._screen.clear_selection()
        elif self._screen.has_class("-side-open") and not self._screen.has_class("-wide"):
            self._screen.toggle_side("")
        elif self._screen.retrying:
            self.stop()
        elif not self._screen.composer.has_focus:
            self._screen.composer.focus()
        elif self._screen.working and self.esc_stops():
            self.stop()

    def esc_stops(self) -> bool:
        """Whether this Esc stops the turn, as the person has set it."""
        setting = (
            self._screen.conversation.session.terms.settings.ui.esc_stops if self._screen.conversation else "never"
        )
        words = self._screen.keys.say("{ui.back} again stops")
        return setting == "single" or (setting == "double" and self._screen.again(words))

    def stop(self) -> None:
        """Interrupt the turn."""
        if self._screen.conversation is not None and self._screen.conversation.working:
            self._screen.run_worker(self._screen.conversation.stop(), name="stop")

    def retry(self, _: str) -> None:
        """Send what is in the composer, or else the newest message again; while a try is waited for, make it now."""
        if self._screen.conversation is None:
            return
        if self._screen.working:
            if self._screen.retrying:
                self._screen.conversation.hurry()
            return
        said = self._screen.conversation.said
        if self._screen.composer.submit():
            return
        if said:
            self._screen.conversation.send(said[-1])
        elif (
            failure := self._screen.conversation.failure
        ) is not None:  # of a choice; variables change with the process
            self._screen.conversation.fail(failure)

    def steer(self, text: str) -> None:
        """Hand a text, the draft, or else the first message that waits to the running turn."""
        if self._screen.conversation is None:
            return
        if text:
            self._screen.conversation.steer(text)
        elif not self._screen.composer.submit(soon=True) and not self._screen.conversation.hasten():
            self._screen.notify("Nothing waits that the running turn could hear.", markup=False)
