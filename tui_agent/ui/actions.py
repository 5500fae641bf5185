"""The one table of actions: palette, slash commands, keys, leader keys, footer hints and help come from it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

Scope: TypeAlias = Literal["app", "composer", "dialog"]


@dataclass(frozen=True, slots=True)
class Action:
    """One thing a person can do.

    `keys` are Textual key names, tried before the focused widget when `priority` is set; `leader` is the
    key behind Ctrl+X; `slash` the command in the composer, `also` its other names; `hint` the word in the footer.
    Actions of another scope than "app" are carried out by the widget they belong to and stand here for the help.
    """

    id: str
    title: str
    keys: tuple[str, ...] = ()
    leader: str | None = None
    slash: str | None = None
    also: tuple[str, ...] = ()
    hint: str = ""
    scope: Scope = "app"
    priority: bool = False
    listed: bool = True


ACTIONS: tuple[Action, ...] = (
    Action("composer.send", "Send the message", ("enter",), hint="send", scope="composer"),
    Action("composer.newline", "New line", ("ctrl+j", "shift+enter", "alt+enter"), hint="new line", scope="composer"),
    Action("composer.yank", "Bring back what was put away", ("ctrl+y",), scope="composer"),
    Action("ui.interrupt", "Stop, put the draft away, or quit", ("ctrl+c",), hint="stop", priority=True, listed=False),
    Action("agent.stop", "Stop the turn", slash="/stop", leader="."),
    Action("agent.retry", "Send again", leader="r", slash="/retry"),
    Action("ui.back", "Close or go back", ("escape",), listed=False),
    Action("ui.palette", "Commands", ("f2", "ctrl+p"), slash="/commands", hint="commands", priority=True),
    Action("ui.help", "Keys and commands", ("f1",), "?", "/help", priority=True),
    Action("ui.leader", "More keys", ("ctrl+x",), hint="more", priority=True, listed=False),
    Action("provider.switch", "Switch provider", leader="p", slash="/provider"),
    Action("model.switch", "Switch model", leader="m", slash="/model"),
    Action("model.effort", "How much the model thinks", slash="/effort"),
    Action("session.tokens", "Tokens and cost", slash="/tokens", also=("/cost", "/usage")),
    Action("session.privacy", "Hosts contacted", slash="/privacy"),
    Action("session.debug", "Write requests to a file, or stop it", slash="/debug"),
    Action("config.show", "Configuration in use", slash="/config"),
    Action("config.reload", "Read the configuration again", slash="/reload"),
    Action("mode.cycle", "Next mode: read, ask, edits", ("shift+tab",), "a", "/mode"),
    Action("mode.auto", "Mode AUTO: ask nothing, in a sandbox", slash="/auto"),
    Action("rules.list", "Permissions: every rule, and taking back", slash="/permissions"),
    Action("rules.allow", "Allow a command in this session", slash="/allow-cmd"),
    Action("rules.explain", "Which rule decides: /policy test CALL", slash="/policy"),
    Action("jobs.start", "Run a command in the background", slash="/bg"),
    Action("jobs.list", "Background jobs: output, end", slash="/jobs"),
    Action("plan.approve", "Approve the plan and carry it out", slash="/approve"),
    Action("check.revert", "Take back the edits that failed the check", leader="R", slash="/revert"),
    Action("pane.files", "Files, changes and plan", ("ctrl+t",), "f", "/files", priority=True),
    Action("pane.next", "Next pane", ("tab",), "tab", listed=False),
    Action("pane.diff", "Review what was changed", ("f4",), "d", "/diff", priority=True),
    Action("view.details", "Fold or unfold details", ("ctrl+o",), "o", "/details", priority=True),
    Action("scroll.up", "Scroll up", ("pageup",), priority=True, listed=False),
    Action("scroll.down", "Scroll down", ("pagedown",), priority=True, listed=False),
    Action("scroll.half_up", "Scroll half a page up", ("ctrl+up",), priority=True, listed=False),
    Action("scroll.half_down", "Scroll half a page down", ("ctrl+down",), priority=True, listed=False),
    Action("scroll.home", "To the first line", ("ctrl+home",), slash="/top", priority=True),
    Action("scroll.end", "To the newest line", ("ctrl+end",), slash="/bottom", priority=True),
    Action("copy.answer", "Copy the last answer", leader="y", slash="/copy"),
    Action("session.undo", "Undo changes of files", leader="u", slash="/undo"),
    Action("session.redo", "Redo what was undone", slash="/redo"),
    Action("session.receipts", "Receipts of everything done", slash="/receipts"),
    Action("ui.redraw", "Draw the screen anew", ("ctrl+l",), slash="/redraw", priority=True),
    Action("app.suspend", "Suspend to the shell", ("ctrl+z",), slash="/suspend", priority=True),
    Action("app.quit", "Quit", ("ctrl+q", "ctrl+d"), "q", "/quit"),
    Action("dialog.yes", "Yes: apply or run exactly this", ("y",), scope="dialog"),
    Action("dialog.note", "Yes, with a note for the model", ("Y",), scope="dialog"),
    Action("dialog.no", "No, with a reason if you like", ("n",), scope="dialog"),
    Action("dialog.skip", "Skip for now", ("s",), scope="dialog"),
    Action("dialog.stop", "No, and stop the turn", ("escape", "ctrl+c"), scope="dialog"),
    Action("dialog.hunk", "Next or previous hunk", ("]", "["), scope="dialog"),
    Action("dialog.take", "Leave out or take the hunk at the cursor", ("space",), scope="dialog"),
    Action("dialog.other", "Next or previous request that waits", (">", "<", "}", "{"), scope="dialog"),
    Action("dialog.edit", "Edit the text first, in your editor", ("e",), scope="dialog"),
    Action("dialog.layout", "One column, two, or by the width", ("v",), scope="dialog"),
    Action("dialog.wrap", "Wrap or cut long lines", ("w",), scope="dialog"),
    Action("dialog.full", "Full screen", ("z",), scope="dialog"),
)

BY_ID = {action.id: action for action in ACTIONS}
BY_SLASH = {word: action for action in ACTIONS for word in (action.slash, *action.also) if word}

_WORDS = {
    "escape": "Esc",
    "space": "Space",
    "enter": "Enter",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "tab": "Tab",
    "home": "Home",
    "end": "End",
    "up": "Up",
    "down": "Down",
    "ctrl": "Ctrl",
    "alt": "Alt",
    "shift": "Shift",
}


def key_name(key: str) -> str:
    """A Textual key name as people write it: "ctrl+x" is Ctrl+X, "f2" is F2."""
    parts = key.split("+") if key != "+" else [key]
    if len(parts) == 1:
        return _WORDS.get(key, key.upper() if len(key) > 1 else key)
    return "+".join(_WORDS.get(p, p.upper()) for p in parts)


def keys_of(action: Action) -> str:
    """The keys of an action in one short text; a leader key when it has no other."""
    names = [key_name(key) for key in action.keys]
    if action.leader:
        names.append(f"Ctrl+X {key_name(action.leader)}")
    return ", ".join(names)


def clashes(actions: Iterable[Action] = ACTIONS) -> list[str]:
    """Keys, leader keys and commands that two actions of one scope claim, as sentences."""
    taken: dict[tuple[str, str], str] = {}
    out = []
    for action in actions:
        claims: list[tuple[str, str]] = [(action.scope, key) for key in action.keys]
        claims += [("leader", action.leader)] if action.leader else []
        claims += [("slash", word) for word in (action.slash, *action.also) if word]
        for claim in claims:
            if claim in taken:
                out.append(f"{claim[1]} is claimed by {taken[claim]} and {action.id}")
            taken[claim] = action.id
    return out
