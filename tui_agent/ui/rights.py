"""What the person may change of the rules while the app runs: mode AUTO, the list of rules, one more, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tui_agent.core.policy import AlwaysRule
from tui_agent.core.types import AgentError
from tui_agent.permissions import Rule, Scope, offered
from tui_agent.ui.palette import Palette, PaletteItem

if TYPE_CHECKING:
    from tui_agent.ui.app import AgentApp
    from tui_agent.ui.main import Handler

_GROUPS = {
    "session": "THIS SESSION",
    "folder": "THIS FOLDER",
    "config": "CONFIGURATION",
    "flag": "COMMAND LINE",
    "built in": "BUILT IN",
}


class Rights:
    """The handlers of these actions."""

    def __init__(self, app: AgentApp) -> None:
        self._app = app

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """By the id of their action."""
        return {
            "mode.auto": self.auto,
            "rules.list": self.list_rules,
            "rules.allow": self.allow,
            "rules.explain": self.explain,
        }

    def _tell(self, text: str) -> None:
        self._app.notify(text, markup=False)

    # -------------------------------------------------------------- AUTO

    def auto(self, _: str) -> None:
        """Say what mode AUTO means, and enter it if the word "yes" is sent next."""
        if self._app.main.conversation is None:
            return
        self._app.talk.note(
            "Mode AUTO asks nothing: edits in the folder and every command that no rule denies happen at once, commands "
            "in a sandbox and without network. What is risky by itself still asks. Send the word yes to enter it; "
            "Shift+Tab leaves it."
        )
        self._app.main.confirmed = lambda: self._app.run_worker(self._enter_auto(), name="auto")

    async def _enter_auto(self) -> None:
        try:
            await self._app.session.enter_auto()
        except AgentError as error:
            self._app.talk.note(f"Not entered: {error}")
        self._app.talk.catch_up()
        self._app.main.refresh_state()

    # -------------------------------------------------------------- rules

    def list_rules(self, _: str) -> None:
        """Every rule with its source and what it decided last; those added here can be taken back."""
        if self._app.main.conversation is not None:
            self._app.run_worker(self._list_rules(), name="rules", exclusive=True, group="rules")

    async def _list_rules(self) -> None:
        rules = self._app.session.in_force
        items = [_item(number, rule) for number, rule in enumerate(rules)]
        choice = await self._app.push_screen_wait(Palette(items, title="Permissions"))
        if choice is None:
            return
        rule = rules[int(choice)]
        if not rule.removable:
            self._tell(f"{rule.text} is {rule.source}: it is changed in your configuration, not here.")
            return
        answers = [PaletteItem("keep", "Keep it"), PaletteItem("remove", f"Take it back: {rule.text}")]
        if await self._app.push_screen_wait(Palette(answers, title=f"Allowed: {rule.text}")) == "remove":
            try:
                self._app.session.rules.remove(rule)
            except AgentError as error:
                self._tell(str(error))
                return
            self._app.talk.note(f"asked again from now on: {rule.text}")

    def allow(self, command: str) -> None:
        """Allow a command for this session, or with `--folder` before it for this folder."""
        if self._app.main.conversation is None:
            return
        scope: Scope = "folder" if command.startswith("--folder ") else "session"
        try:
            rule = offered(command.removeprefix("--folder ").strip())
            self._app.session.rules.add(rule.pattern, scope)
        except AgentError as error:
            self._tell(str(error))
            return
        self._app.talk.note(words(rule, scope))

    # -------------------------------------------------------------- why

    def explain(self, argument: str) -> None:
        """`test CALL`: what would be said to that call now, and by which rule."""
        word, _, call = argument.partition(" ")
        if word != "test" or not call.strip():
            self._tell("/policy test CALL: a command (git push), or a tool and its path (write_file src/a.py)")
        elif self._app.main.conversation is not None:
            self._app.run_worker(self._explain(call.strip()), name="explain")

    async def _explain(self, call: str) -> None:
        verdict = await self._app.session.workspace.explain(call)
        self._app.talk.note(f"{verdict.permission}  {call}\n{verdict.rule}  (class {verdict.permission_class})")


def words(rule: AlwaysRule, scope: Scope) -> str:
    """What a rule allows, with one command that it matches and one that it does not."""
    where = "in this session" if scope == "session" else "in this folder, also later"
    return f"allowed {where}: {rule.pattern}\nit matches: {rule.matches}\nit does not match: {rule.refuses}"


def _item(number: int, rule: Rule) -> PaletteItem:
    title = f"{rule.text} = {rule.permission}" if rule.row else f"{rule.permission}  {rule.text}"
    used = f"used {rule.count}x, last: {' '.join(rule.last.split())[:60]}" if rule.count else "not used yet"
    note = "Enter takes it back" if rule.removable else "changed in the configuration only"
    return PaletteItem(str(number), title, used, _GROUPS[rule.source], note=note)
