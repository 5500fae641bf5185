"""The system prompts: plain text files with the rules of the enabled tools put in, and nothing else.

They name no path but the workspace (small models take any path in a prompt for a target), and are
byte-stable for a session so that the server's cache works.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tui_agent.core.types import ConfigError, ToolSpec
from tui_agent.protocols.prompts import json_prompt, template, verbs_prompt

_WRITERS = frozenset({"edit_file", "multi_edit", "write_file", "propose_edit", "delete_file"})

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


@dataclass(frozen=True, slots=True)
class Prompts:
    """The prompts of one mode for these tools in this workspace.

    `mode` names its prompt file (coding, reviewer, planner), `check` the command that runs by itself after edits.
    A file of the same name in `own`, the person's folder, takes the place of the product's.
    """

    tools: tuple[ToolSpec, ...]
    root: Path
    check: tuple[str, ...] | None = None
    mode: str = "coding"
    own: Path | None = None

    def native(self) -> str:
        """For models that are offered tools by their server."""
        names = {tool.name for tool in self.tools}
        rules = [text for needs, text in _RULES if needs & names]
        if self.check and names & _WRITERS:
            rules.append(
                f"After your edits `{' '.join(self.check)}` runs by itself and you see its result; make it pass."
            )
        text = self._text(self.mode).replace("{rules}\n", "".join(f"- {rule}\n" for rule in rules))
        return text.replace("{root}", str(self.root)).strip()

    def json(self) -> str:
        """For the protocol of one JSON object."""
        return json_prompt(self.tools, self.root, self.check, self._text("json_system"), self._role())

    def verbs(self) -> str:
        """For the protocol of six verbs."""
        return verbs_prompt(self.tools, self.root, self.check, self._text("verbs_system"), self._role())

    def _role(self) -> str:
        """What the mode's file says beyond the text protocols' own, which are written for coding."""
        if self.mode == "coding":
            return ""
        lines = self._text(self.mode).splitlines()
        return "\n".join(line for line in lines if line.strip() and not re.search(r"\{\w+\}", line))

    def _text(self, name: str) -> str:
        """A prompt file: the person's own, else the product's.

        Raises:
            ConfigError: the person's file cannot be read.
        """
        if self.own is not None and (file := self.own / f"{name}.txt").exists():
            try:
                return file.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise ConfigError(f"the prompt {file} cannot be used: {error}") from error
        return template(name)
