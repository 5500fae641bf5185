"""A request in the dialog's words, and the view that shows all of what will be executed."""

from __future__ import annotations

from dataclasses import dataclass

from tui_agent.core.display import Shown, sanitise
from tui_agent.core.lookup import Lookup, ReadOutput
from tui_agent.core.servers import CallServer
from tui_agent.core.types import (
    Effect,
    ListFiles,
    ReadFile,
    RunArgv,
    RunScript,
    SearchText,
    SetPlan,
    WriteBytes,
)
from tui_agent.core.wrappers import shell_text
from tui_agent.ui.diff_view import DiffView
from tui_agent.ui.looks import Looks
from tui_agent.ui.wrap_view import TextView, WrapView
from tui_agent.workspace import git

NOTHING = Shown(())
_LOOKUPS = {
    "skill": ("Read this skill?", "skill"),
    "search": ("Search the web for this?", "web"),
    "page": ("Fetch this page?", "fetch"),
}


@dataclass(frozen=True, slots=True)
class Subject:
    """A request in the dialog's words. `what` is sanitised, the rest is our own text."""

    title: str
    verb: str
    yes: str
    what: Shown = NOTHING
    facts: str = ""
    expected: frozenset[str] = frozenset()
    """Marks of the sanitiser that say nothing here."""


def subject(effect: Effect) -> Subject:
    """Describe what an effect will do."""
    match effect:
        case WriteBytes(path=path, base=base, new=new):
            what = sanitise(path, "path")
            if base is None:
                return Subject("Create this file?", "create", "apply", what)
            if new is None:
                return Subject("Delete this file?", "delete", "delete", what)
            return Subject("Apply this edit?", "edit", "apply", what)
        case RunArgv(argv=argv, timeout=timeout) if shell_text(argv) is not None:
            return _script(" ".join(argv[:2]), timeout)
        case RunArgv(argv=argv, timeout=timeout):
            how = " · ".join(filter(None, ("no shell", git.fact(argv))))
            return Subject(
                "Run this command?",
                "run",
                "run",
                facts=f"{how} · at most {timeout:g} s",
                expected=frozenset({"long"}),
            )
        case RunScript(timeout=timeout):
            return _script("/bin/sh", timeout)
        case ReadFile():
            return Subject("Read this file?", "read", "allow")
        case ListFiles():
            return Subject("List this folder?", "list", "allow")
        case SearchText(path=path):
            return Subject("Search here?", "search", "allow", sanitise(path, "path"))
        case Lookup(source=source):
            title, verb = _LOOKUPS[source]
            return Subject(title, verb, "allow")
        case CallServer(name=name):
            what = sanitise(name, "tool_name")
            expected = frozenset[str]({"multi-line", "long"})
            return Subject("Call this tool of an MCP server?", "mcp", "call", what, expected=expected)
        case ReadOutput():
            return Subject("Read more of this output?", "output", "allow")
        case SetPlan():
            return Subject("Accept this plan?", "plan", "accept")
    raise TypeError(f"no dialog for {effect!r}")


def _script(program: str, timeout: float) -> Subject:
    facts = f"by {sanitise(program, 'text').plain} · at most {timeout:g} s"
    return Subject("Run this shell script?", "shell", "run", facts=facts, expected=frozenset({"multi-line", "long"}))


def body(effect: Effect, looks: Looks | None = None) -> WrapView:
    """The view that shows all of an effect."""
    match effect:
        case WriteBytes(path=path, base=base, new=new):
            return DiffView(base, new, path=path, looks=looks)
        case RunArgv(argv=argv) if (script := shell_text(argv)) is not None:
            return TextView(sanitise(script, "command"), "one")
        case RunArgv(argv=argv):
            return TextView(sanitise(argv, "argv"))
        case RunScript(script=script):
            return TextView(sanitise(script, "command"), "one")
        case SearchText(text=text):
            return TextView(sanitise(text, "text"))
        case Lookup(text=text, part=part):
            return TextView(sanitise(f"{text}\n{part}".strip(), "text"))
        case ReadOutput(name=name, start=start, limit=limit):
            return TextView(sanitise(f"{name}\nbytes {start:,} to {start + limit:,}", "text"))
        case CallServer(text=text):
            return TextView(sanitise(text, "text"))
        case SetPlan(items=items):
            return TextView(sanitise("\n".join(f"{status}: {text}" for status, text in items), "text"))
        case ReadFile(path=path) | ListFiles(path=path):
            return TextView(sanitise(path, "path"))
    raise TypeError(f"no dialog for {effect!r}")


def may_approve(view: WrapView) -> bool:
    """Whether enough was on screen, and enough is taken, for `y` to mean anything."""
    if isinstance(view, DiffView) and (view.chosen == frozenset() or view.base == view.new):
        return False
    return view.complete and (view.end_seen or not must_see_end(view))


def must_see_end(view: WrapView) -> bool:
    """Whether `y` waits until the end was on screen: for all but plain diffs."""
    return view.full_view or not isinstance(view, DiffView)
