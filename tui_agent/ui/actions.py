"""The one table of actions: palette, slash commands, keys, leader keys, footer hints and help come from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Scope: TypeAlias = Literal[
    "app",
    "composer",
    "dialog",
    "card",
    "transcript",
    "files",
    "review",
    "sessions",
    "undo",
    "rewind",
    "context",
    "first",
    "trust",
    "viewer",
    "list",
]

SCOPES: Mapping[Scope, str] = {
    "composer": "in the message",
    "app": "everywhere",
    "transcript": "in the transcript",
    "files": "among the files",
    "card": "on the card of a failure",
    "dialog": "in a question",
    "review": "in the review of changes",
    "sessions": "in the list of sessions",
    "undo": "in the list of undo",
    "rewind": "in the list of a rewind",
    "context": "in the list of the context",
    "first": "at the first start",
    "trust": "in the question of trust",
    "viewer": "in a view of one thing",
    "list": "in a list to choose from",
}
"""Where the keys of each scope count, in words."""

SEND, QUEUE, LINE = "{composer.send} send", "{composer.send} queue", "{composer.newline} new line"
COMMANDS, BACK = "{ui.palette} commands", "{ui.back} back"
"""What several footers tell, by the actions whose keys they name."""


@dataclass(frozen=True, slots=True)
class Action:
    """One thing a person can do.

    `keys` are Textual key names, tried before the focused widget when `priority` is set; `leader` is the
    key behind Ctrl+X; `slash` the command in the composer, `also` its other names, `takes` the kind of its argument
    ("text": anything, without which it means nothing); `hint` the word in the footer, and behind a narrow Ctrl+X; `over`: its keys count over
    questions, lists and fields, too.
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
    takes: str = ""
    over: bool = False


ACTIONS: tuple[Action, ...] = (
    Action("composer.send", "Send the message", ("enter",), hint="send", scope="composer"),
    Action("composer.newline", "New line", ("ctrl+j", "shift+enter", "alt+enter"), hint="new line", scope="composer"),
    Action("composer.complete", "Complete, or unfold the paste at the cursor", ("tab",), scope="composer"),
    Action(
        "composer.paste", "Paste the picture of the clipboard, or what was copied here", ("ctrl+v",), scope="composer"
    ),
    Action("composer.yank", "Bring back what was put away", ("ctrl+y",), scope="composer"),
    Action(
        "composer.editor", "Write the message in your editor", ("ctrl+g",), "e", "/edit", priority=True, hint="editor"
    ),
    Action("history.search", "Search what was sent before", ("ctrl+r",), slash="/recall", priority=True),
    Action("queue.list", "Messages that wait: send now, edit, delete", leader="l", slash="/queue", hint="what waits"),
    Action("queue.steer", "Hand the message to the running turn", ("ctrl+s",), slash="/steer", priority=True),
    Action("ui.interrupt", "Stop, put the draft away, or quit", ("ctrl+c",), hint="stop", priority=True, listed=False),
    Action("agent.stop", "Stop the turn", slash="/stop", leader=".", hint="stop"),
    Action("agent.retry", "Send again", leader="r", slash="/retry", hint="send again"),
    Action("ui.back", "Close or go back", ("escape",), listed=False),
    Action("ui.palette", "Commands", ("f2", "ctrl+p"), slash="/commands", hint="commands", priority=True),
    Action("ui.help", "Keys and commands", ("f1",), "?", "/help", priority=True, takes="action", hint="keys"),
    Action("ui.leader", "More keys", ("ctrl+x",), hint="more", priority=True, listed=False),
    Action("provider.switch", "Switch provider", leader="p", slash="/provider", takes="profile", hint="provider"),
    Action("model.switch", "Switch model", leader="m", slash="/model", takes="model", hint="model"),
    Action("model.effort", "How much the model thinks", slash="/effort", takes="effort"),
    Action("model.window", "How much an Ollama model works with: /window 32k", slash="/window", takes="text"),
    Action("session.status", "How this session stands", slash="/status"),
    Action("session.tokens", "Tokens and cost", slash="/tokens", also=("/cost", "/usage")),
    Action("session.context", "What fills the context", leader="c", slash="/context", hint="context"),
    Action("session.compact", "Put a summary in the place of what is old", slash="/compact"),
    Action("session.history", "Everything that was said", slash="/history"),
    Action("session.budget", "Give so many tokens: /budget N", slash="/budget"),
    Action("session.privacy", "Hosts contacted", slash="/privacy"),
    Action("session.debug", "Write requests to a file, or stop it", slash="/debug"),
    Action("config.show", "Configuration in use", slash="/config"),
    Action("config.edit", "Edit the configuration, then read it again", slash="/configure"),
    Action("config.reload", "Read the configuration again", slash="/reload"),
    Action("mode.cycle", "Next mode: read, ask, edits", ("shift+tab",), "a", "/mode", takes="mode", hint="mode"),
    Action("mode.auto", "Mode AUTO: ask nothing, in a sandbox", slash="/auto"),
    Action("rules.list", "Permissions: every rule, and taking back", slash="/permissions"),
    Action("rules.allow", "Allow a command in this session", slash="/allow-cmd", takes="text"),
    Action("rules.explain", "Which rule decides: /policy test CALL", slash="/policy", takes="text"),
    Action("jobs.start", "Run a command in the background", slash="/bg", takes="text"),
    Action(
        "jobs.send", "Send the running command to the background", leader="b", slash="/background", hint="background"
    ),
    Action("jobs.list", "Background jobs: output, end", slash="/jobs"),
    Action("plan.approve", "Approve the plan and carry it out", slash="/approve"),
    Action("check.revert", "Take back the edits that failed the check", leader="R", slash="/revert", hint="revert"),
    Action("pane.files", "Files, changes and plan", ("ctrl+t",), "f", "/files", priority=True, hint="files"),
    Action("pane.next", "Next pane", ("tab",), "tab", listed=False, hint="next pane"),
    Action("pane.message", "To the message", leader="1", hint="message", listed=False),
    Action("pane.transcript", "To the transcript", leader="2", hint="transcript", listed=False),
    Action("pane.tree", "To the files", leader="3", hint="to files", listed=False),
    Action("pane.diff", "Review what was changed", ("f4",), "d", "/diff", priority=True, hint="review"),
    Action("view.details", "Fold or unfold details", ("ctrl+o",), "o", "/details", priority=True, hint="details"),
    Action("scroll.up", "Scroll up", ("pageup",), priority=True, listed=False),
    Action("scroll.down", "Scroll down", ("pagedown",), priority=True, listed=False),
    Action("scroll.half_up", "Scroll half a page up", ("ctrl+up",), priority=True, listed=False),
    Action("scroll.half_down", "Scroll half a page down", ("ctrl+down",), priority=True, listed=False),
    Action("scroll.home", "To the first line", ("ctrl+home",), slash="/top", priority=True),
    Action("scroll.end", "To the newest line", ("ctrl+end",), slash="/bottom", priority=True),
    Action("copy.answer", "Copy the last answer: /copy 2, /copy code", leader="y", slash="/copy", hint="copy answer"),
    Action("transcript.find", "Search the conversation", leader="/", slash="/find", hint="search"),
    Action("transcript.messages", "Your messages and the files they touched: go to one", slash="/outline"),
    Action("session.undo", "Undo changes of files", leader="u", slash="/undo", hint="undo"),
    Action("session.redo", "Redo what was undone", slash="/redo"),
    Action(
        "session.list",
        "Sessions: resume, search, rename, fork",
        leader="s",
        slash="/sessions",
        also=("/resume",),
        hint="sessions",
    ),
    Action(
        "session.new", "New session; this one is kept", leader="n", slash="/new", also=("/clear", "/reset"), hint="new"
    ),
    Action("session.rename", "Name this session", slash="/rename", also=("/title", "/name")),
    Action(
        "session.rewind", "Back to before a message", leader="w", slash="/rewind", also=("/restore",), hint="rewind"
    ),
    Action("session.export", "Write this session as a document", slash="/export"),
    Action("session.save", "Save the messages to a file", slash="/save"),
    Action("session.load", "Load messages from a file", slash="/load"),
    Action("session.fork", "Go on in a copy of this session", slash="/fork"),
    Action("session.receipts", "Receipts of everything done", slash="/receipts"),
    Action(
        "ui.theme",
        "Theme: look before you take one",
        leader="t",
        slash="/theme",
        also=("/themes",),
        takes="theme",
        hint="theme",
    ),
    Action("web.search", "Search the web: on, off, or by which engine", slash="/search", takes="engine"),
    Action("web.intents", "What decides what a message is about", slash="/intents", takes="intents"),
    Action("skills.list", "Skills: put one in force", slash="/skills"),
    Action("servers.list", "MCP servers: tools, faults, off and on", slash="/mcp"),
    Action("project.init", "Write AGENTS.md for this folder", slash="/init"),
    Action("ui.mouse", "The mouse: for the screen, or for the terminal", ("f8",), slash="/mouse", priority=True),
    Action("ui.redraw", "Draw the screen anew", ("ctrl+l",), slash="/redraw", priority=True, over=True),
    Action("app.doctor", "What may stand in the way here", slash="/doctor"),
    Action("app.suspend", "Suspend to the shell", ("ctrl+z",), slash="/suspend", priority=True, over=True),
    Action("app.quit", "Quit", ("ctrl+q", "ctrl+d"), "q", "/quit", hint="quit"),
    Action(
        "failure.details", "All that is known of the newest failure", slash="/failure", listed=False, hint="failure"
    ),
    Action("trap.fix", "Ask for the window that is missing", listed=False, hint="fix it"),
    Action("trap.ignore", "Say no more of the window in this session", listed=False, hint="ignore"),
    Action("transcript.up", "The entry above", ("up", "k"), scope="transcript"),
    Action("transcript.down", "The entry below", ("down", "j"), scope="transcript"),
    Action("transcript.fold", "Fold or unfold this entry", ("enter", "space"), hint="fold", scope="transcript"),
    Action("transcript.copy", "Copy what this entry was made from", ("y",), hint="copy", scope="transcript"),
    Action("transcript.code", "Copy the code block, or the command", ("c",), hint="code", scope="transcript"),
    Action("transcript.message", "Copy the whole answer", ("Y",), scope="transcript"),
    Action("transcript.search", "Search the conversation", ("/",), hint="search", scope="transcript"),
    Action("transcript.next", "Next place of what was searched", ("n",), scope="transcript"),
    Action("transcript.previous", "Place before it", ("N",), scope="transcript"),
    Action("transcript.older", "Your message before this", ("{",), hint="your messages", scope="transcript"),
    Action("transcript.newer", "Your message after this", ("}",), scope="transcript"),
    Action("transcript.outline", "All your messages, with the files they touched", ("o",), scope="transcript"),
    Action("transcript.wrap", "Wrap or cut its long lines", ("w",), scope="transcript"),
    Action("transcript.right", "Further right in its cut lines", ("right",), scope="transcript"),
    Action("transcript.left", "Further left in its cut lines", ("left",), scope="transcript"),
    Action(
        "transcript.raw", "An answer as it was written; your message: back to before it", ("r",), scope="transcript"
    ),
    Action("transcript.view", "Look at it in your editor", ("e",), scope="transcript"),
    Action("transcript.home", "To the first line", ("home", "g"), scope="transcript"),
    Action("transcript.end", "To the newest line", ("end", "G"), scope="transcript"),
    Action("transcript.help", "Keys and commands", ("?",), scope="transcript"),
    Action("files.up", "The line above", ("up", "k"), scope="files"),
    Action("files.down", "The line below", ("down", "j"), scope="files"),
    Action("files.leave", "Close the folder, or to the one it is in", ("left", "h"), scope="files"),
    Action("files.enter", "Open the folder", ("right", "l"), scope="files"),
    Action("files.open", "Look at the file, or open the folder", ("enter",), hint="look", scope="files"),
    Action(
        "files.add", "Add what is marked, or this, to the message", ("@",), hint="add to the message", scope="files"
    ),
    Action("files.mark", "Mark it, for @", ("space",), hint="mark", scope="files"),
    Action("files.filter", "Show only paths with some words", ("/",), hint="filter", scope="files"),
    Action("files.changed", "Show only what was changed", ("c",), hint="changed", scope="files"),
    Action("files.all", "Show what ignore files leave out", (".",), scope="files"),
    Action("files.copy", "Copy the path", ("y",), scope="files"),
    Action("files.edit", "Open it in your editor", ("e",), scope="files"),
    Action("files.diff", "Review what was changed", ("d",), scope="files"),
    Action("files.reload", "Read the folders again", ("R",), scope="files"),
    Action("files.help", "Keys and commands", ("?",), scope="files"),
    Action("card.retry", "Send again", ("r",), hint="retry", scope="card"),
    Action("card.provider", "Switch provider", ("p",), hint="provider", scope="card"),
    Action("card.config", "Configuration in use", ("c",), hint="config", scope="card"),
    Action("card.details", "All that is known of the failure", ("d",), hint="details", scope="card"),
    Action("card.fix", "Ask for the window that is missing", ("f",), hint="fix it", scope="card"),
    Action("card.ignore", "Say no more of the window in this session", ("i",), hint="ignore", scope="card"),
    Action("dialog.yes", "Yes: apply or run exactly this", ("y",), scope="dialog"),
    Action("dialog.note", "Yes, with a note for the model", ("Y",), scope="dialog"),
    Action("dialog.no", "No, with a reason if you like", ("n",), scope="dialog"),
    Action("dialog.skip", "Skip for now", ("s",), scope="dialog"),
    Action("dialog.stop", "No, and stop the turn", ("escape", "ctrl+c"), scope="dialog"),
    Action("dialog.folder", "Keep the rule that is shown, for this folder", ("f",), scope="dialog"),
    Action("dialog.next_hunk", "The next hunk", ("]",), scope="dialog"),
    Action("dialog.previous_hunk", "The hunk before", ("[",), scope="dialog"),
    Action("dialog.take", "Leave out or take the hunk at the cursor", ("space",), scope="dialog"),
    Action("dialog.next", "The next request that waits", (">", "}"), scope="dialog"),
    Action("dialog.previous", "The request before", ("<", "{"), scope="dialog"),
    Action("dialog.rule", "Allow this from now on: shows the rule first", ("a",), scope="dialog"),
    Action("dialog.line", "Note on the line at the cursor", ("m",), scope="dialog"),
    Action("dialog.fresh", "Show the change on a file that changed meanwhile", ("r",), scope="dialog"),
    Action("dialog.edit", "Edit the text first, in your editor", ("e",), scope="dialog"),
    Action("dialog.layout", "One column, two, or by the width", ("v",), scope="dialog"),
    Action("dialog.fold", "Show or hide the unchanged lines around the hunk", ("x",), scope="dialog"),
    Action("dialog.pager", "Read all of it in your pager", ("o",), scope="dialog"),
    Action("dialog.wrap", "Wrap or cut long lines", ("w",), scope="dialog"),
    Action("dialog.blanks", "Draw blanks and tabs as marks", (".",), scope="dialog"),
    Action("dialog.full", "Full screen", ("z",), scope="dialog"),
    Action("dialog.help", "All keys of a question", ("f1",), scope="dialog", listed=False),
    Action("review.next", "The hunk after this, or the next file", ("]", "n"), hint="hunk", scope="review"),
    Action("review.previous", "The hunk before this, or the file before", ("[", "p"), hint="hunk", scope="review"),
    Action("review.next_file", "The next file", ("}", "N"), hint="file", scope="review"),
    Action("review.previous_file", "The file before", ("{", "P"), hint="file", scope="review"),
    Action("review.revert", "Take back the marked hunks, or this one", ("u",), hint="take back", scope="review"),
    Action("review.apply", "Apply what was refused or left out, after all", ("A",), hint="apply", scope="review"),
    Action("review.note", "Write a note on the line", ("m",), hint="note", scope="review"),
    Action("review.mark", "Mark the hunk; of what was refused: leave it out", ("space",), hint="mark", scope="review"),
    Action("review.up", "The line above", ("up", "k"), hint="line", scope="review"),
    Action("review.down", "The line below", ("down", "j"), hint="line", scope="review"),
    Action("review.revert_file", "Take back the whole file", ("U",), hint="whole file", scope="review"),
    Action("review.mark_all", "Mark every hunk, or none", ("a",), hint="all", scope="review"),
    Action("review.fold", "Unchanged lines around the hunk, or not", ("x", "enter"), hint="unchanged", scope="review"),
    Action("review.editor", "Open the file at the line in your editor", ("e",), hint="editor", scope="review"),
    Action("review.pager", "Read the whole difference in your pager", ("o",), hint="pager", scope="review"),
    Action("review.layout", "One column, two, or as fits", ("v",), hint="layout", scope="review"),
    Action("review.wrap", "Wrap long lines or cut them", ("w",), hint="wrap", scope="review"),
    Action("review.blanks", "Blanks and tabs as marks", (".",), hint="blanks", scope="review"),
    Action("review.base", "Compare with the next base: session, turn, HEAD", ("b",), hint="base", scope="review"),
    Action("review.copy", "Copy the hunk as a diff", ("y",), hint="copy", scope="review"),
    Action("review.zoom", "The difference over the whole width", ("z",), hint="list", scope="review"),
    Action("review.help", "All keys of the review", ("?", "f1"), hint="all keys", scope="review", listed=False),
    Action(
        "review.back", "Close the review; notes go into your message", ("escape", "ctrl+c"), hint="back", scope="review"
    ),
    Action("sessions.up", "The session above", ("up", "k"), scope="sessions"),
    Action("sessions.down", "The session below", ("down", "j"), scope="sessions"),
    Action("sessions.resume", "Go on with it", ("enter",), hint="resume", scope="sessions"),
    Action("sessions.search", "Search names, prompts, files and text", ("/",), hint="search", scope="sessions"),
    Action("sessions.rename", "Give it a name", ("r", "R"), hint="rename", scope="sessions"),
    Action("sessions.fork", "Go on in a copy of it", ("f", "F"), hint="fork", scope="sessions"),
    Action("sessions.all", "Those of all projects, or of this one", ("a", "A"), hint="all projects", scope="sessions"),
    Action("sessions.view", "Read it, without going to it", ("v", "V"), hint="view", scope="sessions"),
    Action("sessions.export", "Write it as a document", ("e", "E"), hint="export", scope="sessions"),
    Action("sessions.delete", "Delete it: asks once more", ("delete",), hint="delete", scope="sessions"),
    Action("sessions.sort", "Newest, largest, or by name", ("t", "T"), hint="sort", scope="sessions"),
    Action("sessions.help", "All keys of the list", ("?", "f1"), hint="all keys", scope="sessions", listed=False),
    Action("undo.carry_out", "Do it: nothing is written before", ("u",), scope="undo"),
    Action("undo.overwrite", "Overwrite this file too, or leave it", ("y",), hint="overwrite", scope="undo"),
    Action("undo.view", "The difference that it would make", ("v",), hint="difference", scope="undo"),
    Action("rewind.both", "Conversation and files", ("b",), hint="both", scope="rewind"),
    Action("rewind.conversation", "Conversation only, files stay", ("c",), hint="conversation", scope="rewind"),
    Action("rewind.files", "Files only, what was said stays", ("f",), hint="files", scope="rewind"),
    Action("rewind.fork", "A copy; this session stays as it is", ("k",), hint="copy", scope="rewind"),
    Action("context.pinned", "Pin it: it is always sent", ("p",), hint="pin", scope="context"),
    Action("context.dropped", "Leave it out", ("x",), hint="leave out", scope="context"),
    Action("context.short", "Send it shortened", ("s",), hint="shorten", scope="context"),
    Action("context.compact", "A summary in the place of what is old", ("c",), hint="compact", scope="context"),
    Action("context.undo", "Take the summary back", ("u",), hint="take the summary back", scope="context"),
    Action("first.model", "Another model of what was found", ("m", "M"), hint="other model", scope="first"),
    Action("first.pull", "Use what is asked for; load down the model that is suggested", ("y", "Y"), scope="first"),
    Action("first.decline", "Not this one: everything that there is", ("n", "N"), scope="first"),
    Action("first.look", "Look again", ("r", "R"), hint="look again", scope="first"),
    Action("first.config", "Write the configuration in your editor", ("o", "O"), hint="open config", scope="first"),
    Action("trust.take", "Trust the folder, with what is marked", ("t",), scope="trust"),
    Action("trust.words", "Take its instructions only", ("i",), scope="trust"),
    Action("trust.later", "Leave what is new off", ("n",), scope="trust"),
    Action("trust.restrict", "Restrict the folder: every program is asked", ("r",), scope="trust"),
    Action("trust.quit", "Quit", ("q",), scope="trust"),
    Action("trust.mark", "Take or leave the entry", ("space",), scope="trust"),
    Action("trust.view", "Look at the entry", ("v",), scope="trust"),
    Action("viewer.close", "Close it", ("escape", "q", "enter", "ctrl+c"), hint="close", scope="viewer"),
    Action("list.up", "The line above, from the first to the last", ("up", "ctrl+p"), scope="list"),
    Action("list.down", "The line below, from the last to the first", ("down", "ctrl+n"), scope="list"),
    Action("list.page_up", "A page up", ("pageup",), scope="list"),
    Action("list.page_down", "A page down", ("pagedown",), scope="list"),
    Action("list.choose", "Choose it", ("enter",), scope="list"),
    Action("list.leave", "Choose nothing", ("escape", "f2", "ctrl+c"), scope="list"),
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
    "delete": "Del",
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


def keys_of(action: Action, leader: str = "Ctrl+X") -> str:
    """The keys of an action in one short text, that behind the leader last."""
    names = [key_name(key) for key in action.keys]
    if action.leader:
        names.append(f"{leader} {key_name(action.leader)}")
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
