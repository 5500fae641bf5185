"""The system prompts: plain text files with the rules of the enabled tools put in, and nothing else.

They name no path but the workspace (small models take any path in a prompt for a target), and are
byte-stable for a session so that the server's cache works.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tui_agent.core.disk import ordinary, there
from tui_agent.core.types import ConfigError, ToolSpec
from tui_agent.protocols.prompts import Role, json_prompt, template, verbs_prompt

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
    A file of the same name in `own`, the person's folder, takes the place of the product's. `end` stands behind all
    of it, as it is, `end_verbs` where the model cannot read skills. `withheld` are tools that the text protocols leave out.
    """

    tools: tuple[ToolSpec, ...]
    root: Path
    check: tuple[str, ...] | None = None
    mode: str = "coding"
    own: Path | None = None
    end: str = ""
    end_verbs: str = ""
    withheld: frozenset[str] = frozenset()

    def native(self) -> str:
        """For models that are offered tools by their server."""
        names = {tool.name for tool in self.tools}
        rules = [text for needs, text in _RULES if needs & names]
        if self.check and names & _WRITERS:
            rules.append(
                f"After your edits `{' '.join(self.check)}` runs by itself and you see its result; make it pass."
            )
        text = f"{self._text(self.mode)}\n".replace("{rules}\n", "".join(f"- {rule}\n" for rule in rules))
        return _ended(text.replace("{root}", str(self.root)).strip(), self.end)

    def json(self) -> str:
        """For the protocol of one JSON object."""
        text = json_prompt(self._written(), self.root, self.check, self._text("json_system"), self._role())
        return _ended(text, self.end)

    def verbs(self) -> str:
        """For the protocol of six verbs."""
        text = verbs_prompt(self._written(), self.root, self.check, self._text("verbs_system"), self._role())
        return _ended(text, self.end_verbs)

    def _written(self) -> tuple[ToolSpec, ...]:
        return tuple(tool for tool in self.tools if tool.name not in self.withheld)

    def _role(self) -> Role | None:
        """What the mode's file says in place of the text protocols' own words, which are written for coding."""
        return None if self.mode == "coding" else Role.of(self._text(self.mode))

    def _text(self, name: str) -> str:
        """A prompt file: the person's own, else the product's.

        Raises:
            ConfigError: the person's file cannot be read.
        """
        if self.own is not None and there(file := self.own / f"{name}.txt"):
            try:
                return ordinary(file).decode().replace("\r\n", "\n")
            except (OSError, UnicodeDecodeError) as error:
                raise ConfigError(f"the prompt {file} cannot be used: {error}") from error
        return template(name)


def _ended(text: str, end: str) -> str:
    return f"{text}\n\n{end}" if end else text
