"""The tools as one table: what a model is told, what is checked, and what effect a call prepares.

A tool never touches the disk. `prepare` turns valid arguments and, for tools that change a file, the
bytes of that file into an effect; the workspace authorises it, shows it and carries it out.
"""

from __future__ import annotations

import difflib
import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from tui_agent.core.diff import diff
from tui_agent.core.display import plain
from tui_agent.core.lookup import Lookup, ReadOutput
from tui_agent.core.servers import CallServer
from tui_agent.core.types import (
    Effect,
    JsonObject,
    ListFiles,
    PermissionClass,
    ReadFile,
    RunArgv,
    RunScript,
    SearchText,
    SetPlan,
    ToolCall,
    ToolSpec,
    WriteBytes,
)
from tui_agent.tools import commands, files
from tui_agent.tools.arguments import InvalidCallError, ToolError, validate

EXAMPLE_PATH = "example_folder/example.ext"
"""The only path a description names; when a model sends it back as a path, it is told that it is none."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What a call is prepared in: the resolved path, its bytes if the tool changes it, seconds for a command."""

    path: str = ""
    base: bytes | None = None
    timeout: float = 120.0


Prepare = Callable[[Mapping[str, Any], Situation], Effect]


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. `changes_file`: `prepare` needs the bytes at `path`; `reads_first`: a model must have read them.

    `not_stale`: they need not be read, but what was read must not have changed since.
    `check` makes of the arguments of a call what `prepare` takes.
    """

    spec: ToolSpec
    permission: PermissionClass
    prepare: Prepare
    changes_file: bool = False
    reads_first: bool = False
    not_stale: bool = False
    check: Callable[[ToolSpec, object], dict[str, Any]] = validate

    @property
    def has_path(self) -> bool:
        """Whether it is about a path in the folder; what a server calls so is its own."""
        return self.permission != "mcp" and "path" in self.spec.parameters["properties"]

    def arguments(self, call: ToolCall) -> dict[str, Any]:
        """The checked arguments of a call to this tool, or `InvalidCallError`."""
        if call.arguments is None:
            raise InvalidCallError(call.error or f"the arguments of {self.spec.name} are not valid JSON")
        return self.check(self.spec, call.arguments)


def find(call: ToolCall, tools: Mapping[str, Tool]) -> Tool:
    """The tool a call names, among those enabled; `InvalidCallError` says what is wrong with the name."""
    if not call.name:
        received = call.raw or str(call.arguments or "")
        raise InvalidCallError(
            "the tool name is empty; the call was probably truncated mid-generation. "
            f"It received arguments {received[:200]!r}. Send the whole call again."
        )
    if tool := tools.get(call.name):
        return tool
    if call.name in TOOLS:
        raise InvalidCallError(f"tool is not enabled: {call.name} (enabled: {', '.join(tools)})")
    near = difflib.get_close_matches(call.name, tools, 1)
    raise InvalidCallError(
        f"unknown tool: {call.name} ({f'did you mean {near[0]}? ' if near else ''}known: {', '.join(tools)})"
    )


# ------------------------------------------------------------------ what a call will do, in one line


def summary(effect: Effect, named: str = "") -> str:
    """One line for the transcript and the question, not yet sanitised. `named` is the path as it was asked for."""
    match effect:
        case ReadFile(path, start, limit):
            window = "" if start == 1 and limit is None else f"  lines {start}-{start + limit - 1 if limit else ''}"
            return f"read  {_via(path, named)}{window}"
        case ListFiles(path):
            return f"list  {_via(path, named)}"
        case SearchText(text, path):
            return f"search  {text}  in {path or '.'}"
        case WriteBytes(path, base, new):
            verb = "create" if base is None else "delete" if new is None else "edit"
            return f"{verb}  {_via(path, named)}{_counts(effect)}"
        case RunArgv(argv):
            return f"run  {shlex.join(argv)}"
        case RunScript(script):
            return f"shell  {script}"
        case Lookup(source, text, part):
            verb = {"search": "web", "page": "fetch"}.get(source, source)
            return f"{verb}  {text}{f', {part}' if part else ''}"
        case CallServer():
            return f"mcp  {effect.name}  {json.dumps(effect.arguments, ensure_ascii=False)}"
        case ReadOutput(name, start, limit):
            return f"output  {name}  bytes {start}-{start + limit}"
        case SetPlan(items):
            return f"plan  {sum(status == 'done' for status, _ in items)} of {len(items)} done"


def partly(line: str, part: WriteBytes) -> str:
    """The `summary` of a change with the counts of a part of it in the place of its own."""
    return line.rpartition("  ")[0] + _counts(part)


def _counts(effect: WriteBytes) -> str:
    change = diff(effect.base, effect.new)
    return f"  +{change.added} -{change.removed}"


def _via(path: str, named: str) -> str:
    shown = plain(path or ".", "path")  # a name may hold line ends, and this is one line
    return f"{shown}  (by way of {plain(named, 'path')})" if named and named != (path or ".") else shown


# ------------------------------------------------------------------ the table


def _schema(properties: JsonObject, required: str) -> JsonObject:
    return {"type": "object", "properties": properties, "required": required.split(), "additionalProperties": False}


def _string(description: str) -> JsonObject:
    return {"type": "string", "description": description}


def _edits(a: Mapping[str, Any], s: Situation) -> Effect:
    return WriteBytes(s.path, s.base, files.edit(s.path, s.base, [files.Edit(e["old"], e["new"]) for e in a["edits"]]))


def _edit(a: Mapping[str, Any], s: Situation) -> Effect:
    one = files.Edit(a["old"], a["new"], a.get("replace_all", False))
    return WriteBytes(s.path, s.base, files.edit(s.path, s.base, [one]))


def _delete(a: Mapping[str, Any], s: Situation) -> Effect:
    if s.base is None:
        raise ToolError(f"{s.path} does not exist, so there is nothing to delete")
    return WriteBytes(s.path, s.base, None)


_PATH = _string("path relative to the workspace")
_OLD = _string("exact text of the file, with its indentation; must occur exactly once")
_NEW = _string("text to put in its place")

_TABLE = (
    Tool(
        ToolSpec(
            "read_file",
            "Read a text file. Long files come in parts; start is a line number.",
            _schema(
                {
                    "path": _PATH,
                    "start": {"type": "integer", "minimum": 1, "description": "first line, from 1"},
                    "limit": {"type": "integer", "minimum": 1, "description": "number of lines"},
                },
                "path",
            ),
            {"path": EXAMPLE_PATH},
        ),
        "read",
        lambda a, s: ReadFile(s.path, a.get("start", 1), a.get("limit")),
    ),
    Tool(
        ToolSpec(
            "list_files",
            "List one folder; folders end with a slash.",
            _schema({"path": _string("folder relative to the workspace, . by default")}, ""),
            {"path": "."},
        ),
        "read",
        lambda _, s: ListFiles(s.path),
    ),
    Tool(
        ToolSpec(
            "search",
            "Find a regular expression; gives path, line number and line of each place.",
            _schema({"text": _string("regular expression"), "path": _string("file or folder to search in")}, "text"),
            {"text": "def example_name"},
        ),
        "search",
        lambda a, s: SearchText(a["text"], s.path),
    ),
    Tool(
        ToolSpec(
            "edit_file",
            "Replace one exact piece; you must have read the file.",
            _schema(
                {
                    "path": _PATH,
                    "old": _OLD,
                    "new": _NEW,
                    "replace_all": {"type": "boolean", "description": "replace every occurrence"},
                },
                "path old new",
            ),
            {"path": EXAMPLE_PATH, "old": "colour = 1", "new": "colour = 2"},
        ),
        "write",
        _edit,
        changes_file=True,
        reads_first=True,
    ),
    Tool(
        ToolSpec(
            "multi_edit",
            "Several exact edits at once; in one file, and all are applied or none.",
            _schema(
                {
                    "path": _PATH,
                    "edits": {
                        "type": "array",
                        "minItems": 1,
                        "items": _schema({"old": _OLD, "new": _NEW}, "old new"),
                        "description": "each is matched against the file as it is now",
                    },
                },
                "path edits",
            ),
            {"path": EXAMPLE_PATH, "edits": [{"old": "colour = 1", "new": "colour = 2"}]},
        ),
        "write",
        _edits,
        changes_file=True,
        reads_first=True,
    ),
    Tool(
        ToolSpec(
            "write_file",
            "Write a whole file; an existing one only after you have read it.",
            _schema({"path": _PATH, "content": _string("the complete text of the file")}, "path content"),
            {"path": EXAMPLE_PATH, "content": "colour = 2\n"},
        ),
        "write",
        lambda a, s: WriteBytes(s.path, s.base, files.write(s.path, s.base, a["content"])),
        changes_file=True,
        reads_first=True,
    ),
    Tool(
        ToolSpec(
            "propose_edit",
            "Replace a whole file; give its complete current and its complete new text.",
            _schema(
                {
                    "path": _PATH,
                    "old": _string('complete current text, "" for a new file'),
                    "new": _string("complete new text"),
                },
                "path old new",
            ),
            {"path": EXAMPLE_PATH, "old": "colour = 1\n", "new": "colour = 2\n"},
        ),
        "write",
        lambda a, s: WriteBytes(s.path, s.base, files.propose(s.path, s.base, a["old"], a["new"])),
        changes_file=True,
    ),
    Tool(
        ToolSpec("delete_file", "Delete one file.", _schema({"path": _PATH}, "path"), {"path": EXAMPLE_PATH}),
        "write",
        _delete,
        changes_file=True,
        not_stale=True,
    ),
    Tool(
        ToolSpec(
            "run_command",
            "Run a program, no shell; so no pipes, no redirection, no variables.",
            _schema(
                {
                    "argv": {
                        "type": "array",
                        "items": {"type": "string"},
                        "minItems": 1,
                        "description": "program and its arguments",
                    }
                },
                "argv",
            ),
            {"argv": ["ls", "-l"]},
        ),
        "run",
        lambda a, s: commands.command(a["argv"], s.timeout),
    ),
    Tool(
        ToolSpec(
            "run_shell",
            "Run a script by /bin/sh; use run_command when no shell is needed.",
            _schema({"script": _string("shell script")}, "script"),
            {"script": "ls | wc -l"},
        ),
        "shell",
        lambda a, s: commands.script(a["script"], s.timeout),
    ),
    Tool(
        ToolSpec(
            "update_plan",
            "Set the list of steps; the person sees it.",
            _schema(
                {
                    "items": {
                        "type": "array",
                        "items": _schema(
                            {
                                "status": {"type": "string", "enum": ["done", "now", "next"], "description": "state"},
                                "text": _string("the step in a few words"),
                            },
                            "status text",
                        ),
                        "description": "all steps in order",
                    }
                },
                "items",
            ),
            {"items": [{"status": "now", "text": "read the code"}]},
        ),
        "none",
        lambda a, _: SetPlan(tuple((item["status"], item["text"]) for item in a["items"])),
    ),
)

TOOLS: Mapping[str, Tool] = MappingProxyType({tool.spec.name: tool for tool in _TABLE})
"""Every tool of the product by name, in the order in which models are told."""
