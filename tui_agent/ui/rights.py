"""What the person may change of the rules while the app runs: the mode, the list of rules, one more, and why."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tui_agent.core.patterns import AlwaysRule
from tui_agent.core.types import AgentError, ConfigError
from tui_agent.modes import following, mode
from tui_agent.permissions import Rule, Scope, offered
from tui_agent.ui.palette import Palette, PaletteItem

if TYPE_CHECKING:
    from tui_agent.ui.app import AgentApp
    from tui_agent.ui.main import Handler

_GROUPS = {
    "session": "THIS SESSION",
    "folder": "THIS FOLDER",
    "mode": "THIS MODE",
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
            "mode.cycle": self.change_mode,
            "mode.auto": self.auto,
            "plan.approve": self.approve_plan,
            "rules.list": self.list_rules,
            "rules.allow": self.allow,
            "rules.explain": self.explain,
        }

    def _tell(self, text: str) -> None:
        self._app.notify(text, markup=False)

    # -------------------------------------------------------------- modes

    def change_mode(self, name: str) -> None:
        """To the mode of this name, else to the next of the cycle."""
        if self._app.main.conversation is None:
            return
        session = self._app.session
        try:
            session.enter(mode(name) if name else following(session.mode))
        except ConfigError as error:
            self._tell(str(error))
        self._show()

    def approve_plan(self, _: str) -> None:
        """The plan on the screen is what the person wants: leave mode plan and let it be carried out."""
        if self._app.main.conversation is None or self._app.talk.working:
            return
        try:
            words = self._app.session.approve_plan()
        except AgentError as error:
            self._tell(str(error))
            return
        self._app.talk.send(words)
        self._show()

    def _show(self) -> None:
        self._app.talk.catch_up()
        self._app.main.refresh_state()

    def auto(self, argument: str) -> None:
        """Say what mode AUTO means, and enter it if the word "yes" is sent next; "anyway": also outside of git."""
        if self._app.main.conversation is None:
            return
        self._app.talk.note(
            "Mode AUTO asks nothing: edits in the folder and every command that no rule denies happen at once, commands "
            "in a sandbox and without network. What is risky by itself still asks. Send the word yes to enter it; "
            + self._app.keys.say("{mode.cycle} leaves it.")
        )
        anyway = argument == "anyway"
        self._app.main.sending.confirmed = lambda: self._app.run_worker(self._enter_auto(anyway=anyway), name="auto")

    async def _enter_auto(self, *, anyway: bool) -> None:
        try:
            await self._app.session.enter_auto(anyway=anyway)
        except AgentError as error:
            self._app.talk.note(f"Not entered: {error}")
        self._show()

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
            self._tell(f"{rule.text} is {rule.source}: {rule.fixed}.")
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
        """Allow a command or a path for this session, with `--folder` before it for this folder.

        Where there is an exact rule and a wider one, the person chooses. With `--unsandboxed` a command is not allowed,
        but runs outside of the sandbox in this folder from now on.
        """
        if self._app.main.conversation is None:
            return
        flag, _, rest = command.partition(" ")
        if flag == "--unsandboxed":
            self._free(rest.strip())
            return
        scope: Scope = "folder" if flag == "--folder" else "session"
        try:
            rules = offered(rest.strip() if flag == "--folder" else command.strip())
        except AgentError as error:
            self._tell(str(error))
            return
        self._app.run_worker(self._allow(rules, scope), name="allow", exclusive=True, group="rules")

    async def _allow(self, rules: tuple[AlwaysRule, ...], scope: Scope) -> None:
        choice: str | None = "0"
        if len(rules) > 1:
            items = [_offer(number, rule) for number, rule in enumerate(rules)]
            choice = await self._app.push_screen_wait(Palette(items, title="Allow without asking"))
        if choice is None:
            return
        rule = rules[int(choice)]
        try:
            self._app.session.rules.add(rule.pattern, scope)
        except AgentError as error:
            self._tell(str(error))
            return
        verdict = await self._app.session.workspace.explain(rule.matches)
        against = {"ask": "it is asked all the same", "deny": "it is refused all the same"}.get(verdict.permission)
        self._app.talk.note(words(rule, scope) + (f"\n{against}: {verdict.rule}" if against else ""))

    def _free(self, command: str) -> None:
        try:
            argv = self._app.session.rules.set_free(command)
        except AgentError as error:
            self._tell(str(error))
            return
        self._app.talk.note(
            f"runs outside of the sandbox in this folder, exactly this and nothing else: {shlex.join(argv)}"
        )

    # -------------------------------------------------------------- why

    def explain(self, argument: str) -> None:
        """`test CALL`: what would be said to that call now, and by which rule."""
        word, _, call = argument.partition(" ")
        if word != "test" or not call.strip():
            self._tell(
                "/policy test CALL: a command (git push), or a tool with its path, address or script (write_file src/a.py)"
            )
        elif self._app.main.conversation is not None:
            self._app.run_worker(self._explain(call.strip()), name="explain")

    async def _explain(self, call: str) -> None:
        verdict = await self._app.session.workspace.explain(call)
        near = f"\n{verdict.missed}" if verdict.missed else ""
        self._app.talk.note(f"{verdict.permission}  {call}\n{verdict.rule}  (class {verdict.permission_class}){near}")


def words(rule: AlwaysRule, scope: Scope) -> str:
    """What a rule allows, with one command that it matches and one that it does not."""
    where = "in this session" if scope == "session" else "in this folder, also later"
    return f"allowed {where}: {rule.pattern}\nit matches: {rule.matches}\nit does not match: {rule.refuses}"


def _offer(number: int, rule: AlwaysRule) -> PaletteItem:
    return PaletteItem(str(number), rule.pattern, f"matches: {rule.matches}   not: {rule.refuses}")


def _item(number: int, rule: Rule) -> PaletteItem:
    what = "not sandboxed" if rule.unsandboxed else rule.permission
    title = f"{rule.text} = {rule.permission}" if rule.row else f"{what}  {rule.text}"
    used = f"used {rule.count}x, last: {' '.join(rule.last.split())[:60]}" if rule.count else "not used yet"
    note = "Enter asks whether to take it back" if rule.removable else rule.fixed
    return PaletteItem(str(number), title, used, _GROUPS[rule.source], note=note)
