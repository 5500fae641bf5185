"""The system prompt: a plain text file with the rules of the enabled tools put in, and nothing else.

It names no path but the workspace (small models take any path in a prompt for a target), and it is
byte-stable for a session so that the server's cache works.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tui_agent.core.types import ToolSpec
from tui_agent.paths import PACKAGE

_RULES: tuple[tuple[frozenset[str], str], ...] = (
    (
        frozenset({"edit_file"}),
        "Read a file before you edit it. `old` must be copied exactly and occur once; keep edits small.",
    ),
    (frozenset({"write_file"}), "write_file is for new files or whole rewrites; give the complete content."),
    (frozenset({"propose_edit"}), 'propose_edit takes the exact full current content as `old` ("" for a new file).'),
    (frozenset({"run_command"}), "run_command takes a list of words and no shell: no pipes, no redirection, no `cd`."),
    (frozenset({"run_shell"}), "run_shell is for what really needs a shell; it is always asked."),
    (frozenset({"update_plan"}), "For work of several steps keep the to-do list true with update_plan."),
)
"""A rule is in the prompt only when one of its tools is offered."""


def system_prompt(tools: Iterable[ToolSpec], root: Path, check: tuple[str, ...] | None) -> str:
    """The prompt for these tools in this workspace; `check` is the command that runs by itself after edits."""
    names = {tool.name for tool in tools}
    rules = [text for needs, text in _RULES if needs & names]
    if check and names & {"edit_file", "multi_edit", "write_file", "propose_edit", "delete_file"}:
        rules.append(f"After your edits `{' '.join(check)}` runs by itself and you see its result; make it pass.")
    template = (PACKAGE / "prompts" / "coding.txt").read_text(encoding="utf-8")
    text = template.replace("{root}", str(root)).replace("{rules}\n", "".join(f"- {rule}\n" for rule in rules))
    return text.strip()
