"""The memory line: what changes from request to request stands at its very end, so that everything before it is cached."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from tui_agent.core import events as ev
from tui_agent.core.sent import Step
from tui_agent.core.standing import AnyEvent
from tui_agent.core.types import UserMessage

FILES = 8
"""How many files are named, the newest first."""
TASK = 200
"""Characters of the task."""


def touched(events: Sequence[AnyEvent]) -> list[str]:
    """The files that were read or changed last, newest first."""
    paths: dict[str, None] = {}
    for event in reversed(events):
        if len(paths) >= FILES:
            break
        if isinstance(event, ev.ToolDone) and event.status == "applied":
            path = _path(event)
            named = [path] if path is not None and event.call.name not in {"list_files", "search"} else []
            changed = event.receipt.touched if event.receipt is not None else ()
            paths.update(dict.fromkeys([*named, *changed]))
    return list(paths)[:FILES]


def _path(done: ev.ToolDone) -> str | None:
    """The path that a call was about; what a server's tool calls so is its own."""
    path = (done.call.arguments or {}).get("path")
    return path if isinstance(path, str) and "/" not in done.call.name else None


def paths_of(events: Sequence[AnyEvent], root: Path) -> list[str]:
    """The places below `root` that the calls of the newest reply were about, and those that they changed."""
    found: list[str] = []
    for event in reversed(events):
        if isinstance(event, ev.AssistantSaid):
            break
        if isinstance(event, ev.ToolDone) and event.status == "applied":
            path = _path(event)
            found += [path] if path is not None else []
            found += event.receipt.touched if event.receipt is not None else ()
    return [os.path.relpath(os.path.join(root, path), root) for path in found if "\0" not in path]  # noqa: PTH118 - no look


def tail(events: Sequence[AnyEvent], steps: Sequence[Step]) -> tuple[UserMessage, ...]:
    """The line as a message: today's task once it is not the last thing said, the files, and what was left out."""
    files = touched(events)
    if not files:
        return ()
    task = next((step.head.stored.text for step in reversed(steps) if step.head.kind == "request"), "")
    parts = []
    if task and steps[-1].head.kind != "request":
        one_line = " ".join(task.split())
        parts.append(f"task: {one_line[:TASK]}{'…' * (len(one_line) > TASK)}")
    parts.append(f"files touched last: {', '.join(files)}")
    if left_out := sum(step.dropped for step in steps):
        parts.append(f"{left_out} earlier messages were left out")
    return (UserMessage(f"(memory, not a new request: {'; '.join(parts)})"),)
