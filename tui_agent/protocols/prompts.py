"""System prompts and result messages of the two text protocols, made from the tool table.

Short, because a small model reads slowly, and byte-stable for a session, so that the server's cache works.
They name no path but the workspace; the names in examples are those of the tool table, which the
workspace refuses as targets.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tui_agent.core.types import JsonObject, ToolCall, ToolSpec
from tui_agent.protocols import verbs
from tui_agent.protocols.action import Action, Final
from tui_agent.protocols.json_object import RESERVED

_FOLDER = Path(__file__).resolve().parents[1] / "prompts"
_DESCRIPTION = 27
"""Characters of a tool's description that go into a prompt: its first sentence, or less."""
_DONE = "The colour is 2 now. Not tested."
_SAID = "There are two points."
_END = "what changed, what was checked and what is left, or why it cannot be done"
_WRITERS = frozenset({"edit_file", "multi_edit", "write_file", "propose_edit", "delete_file"})

_JSON_RULES: tuple[tuple[str, str], ...] = (
    ("edit_file", 'Read a file before you change it. "old" is copied from it exactly and occurs once.'),
    ("write_file", "For a short file write_file is safer than edit_file."),
    ("run_command", "run_command has no shell: no pipes, no redirection, no cd."),
)
_VERB_RULES: tuple[tuple[str, str], ...] = (
    ("read_file", "Where a long file goes on with start=N, send READ <path> and below it a line FROM N."),
    ("read_output", "Where a result was cut and names read_output with a name, send READ <name>."),
    ("edit_file", "READ a file before you change it. OLD is copied from it exactly, whole lines, and occurs once."),
    ("write_file", "For a short file WRITE with the complete text is safer than PATCH."),
    ("run_command", "RUN has no shell: no pipes, no redirection, no cd."),
)
"""A rule is in a prompt only when its tool is offered."""

_FORMS: tuple[tuple[str, str], ...] = (
    ("read_file", "READ <path>"),
    ("search", "SEARCH <regular expression>"),
    ("write_file", "WRITE <path>\n<all lines of the file>\nEND"),
    ("edit_file", "PATCH <path>\nOLD\n<lines to replace>\nNEW\n<lines in their place>\nEND"),
    ("run_command", "RUN <program and arguments>"),
)


@dataclass(frozen=True, slots=True)
class Role:
    """What the model is in a session in which it does not code: `who` it is, and the lines of its `part`."""

    who: str
    part: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Role:
        """The role that a mode's prompt file gives: its first paragraph, and what is not about tools and workspace."""
        first, *rest = (paragraph for paragraph in text.split("\n\n") if paragraph.strip())
        own = [paragraph for paragraph in rest if "{root}" not in paragraph]
        lines = (line for paragraph in own for line in paragraph.splitlines())
        return cls(
            " ".join(first.split("\n")).strip(), tuple(line for line in lines if line.strip() and "{" not in line)
        )


def template(name: str) -> str:
    """The text of one of the product's own prompt files."""
    return (_FOLDER / f"{name}.txt").read_text(encoding="utf-8")


def json_prompt(
    specs: Iterable[ToolSpec],
    root: Path,
    check: tuple[str, ...] | None,
    text: str | None = None,
    role: Role | None = None,
) -> str:
    """The system prompt of the JSON protocol.

    Args:
        specs: the offered tools.
        root: the workspace.
        check: the command that runs by itself after edits.
        text: the template, the product's own when None.
        role: what the model is in this session, when it is not to code.
    """
    table = _expressible(specs)
    return _fill(
        template("json_system") if text is None else text,
        role,
        root,
        tools=[f"{_compact({'tool': spec.name, **_fields(spec)})} {_about(spec)}" for spec in table],
        final=[_compact({"final": _SAID if role else _DONE})],
        rules=_rules(table, _JSON_RULES, check),
    )


def verbs_prompt(
    specs: Iterable[ToolSpec],
    root: Path,
    check: tuple[str, ...] | None,
    text: str | None = None,
    role: Role | None = None,
) -> str:
    """The system prompt of the verb protocol: the verbs whose tools are among `specs`, and DONE; see `json_prompt`."""
    table = {spec.name: spec for spec in specs}
    shown: list[Action] = [
        _example(table[name]) for name in ("edit_file", "run_command") if name in table and table[name].example
    ]
    examples = [f"{verbs.render(action)}\n" for action in [*shown, Final(_SAID if role else _DONE)]]
    return _fill(
        template("verbs_system") if text is None else text,
        role,
        root,
        tools=[form for name, form in _FORMS if name in table],
        examples=examples,
        rules=_rules(table.values(), _VERB_RULES, check),
    )


def json_observation(text: str) -> str:
    """The message that tells a model in the JSON protocol a result, unaltered."""
    return f"Tool result:\n{text}"


def verbs_observation(text: str) -> str:
    """The message that tells a model in the verb protocol a result, unaltered."""
    return f"OBSERVATION:\n{text}"


def json_schema(specs: Iterable[ToolSpec]) -> dict[str, Any]:
    """The schema of one reply in the JSON protocol, for servers that constrain their output."""
    return {
        "anyOf": [_closed({"final": {"type": "string", "minLength": 1}}, ["final"]), *map(_call, _expressible(specs))]
    }


def _call(spec: ToolSpec) -> dict[str, Any]:
    tool = {"tool": {"type": "string", "enum": [spec.name]}}
    properties = dict(spec.parameters.get("properties") or {})
    required = ["tool", *(spec.parameters.get("required") or ())]
    if '"$ref"' in _compact(properties):  # points into a document of which only a part would be sent
        return {"type": "object", "properties": tool, "required": required}
    return _closed({**tool, **properties}, required)


def _closed(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _expressible(specs: Iterable[ToolSpec]) -> list[ToolSpec]:
    """Without the tools that have a field of a name which this protocol needs for itself."""
    return [spec for spec in specs if RESERVED.isdisjoint(spec.parameters.get("properties") or ())]


def _compact(value: JsonObject) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _about(spec: ToolSpec) -> str:
    """What a tool does and which optional fields its example does not show."""
    sentence = " ".join(spec.description.split()).split(". ", maxsplit=1)[0].split("; ", maxsplit=1)[0].rstrip(".")
    short = sentence if len(sentence) <= _DESCRIPTION else f"{sentence[:_DESCRIPTION].rsplit(' ', 1)[0]}…"
    more = [name for name in spec.parameters.get("properties") or () if name not in _fields(spec)]
    return f"{short}; optional: {', '.join(more)}" if more else short


def _fields(spec: ToolSpec) -> JsonObject:
    """The fields of an example call: the tool's own example, and whatever it must have besides."""
    return {**dict.fromkeys(spec.parameters.get("required") or (), "..."), **spec.example}


def _example(spec: ToolSpec) -> ToolCall:
    """The example of a tool as the verbs can carry it: whole lines."""
    lines = {
        key: f"{value}\n" if key in {"old", "new", "content"} and not value.endswith("\n") else value
        for key, value in spec.example.items()
    }
    return ToolCall("", spec.name, lines)


def _rules(specs: Iterable[ToolSpec], table: tuple[tuple[str, str], ...], check: tuple[str, ...] | None) -> list[str]:
    names = {spec.name for spec in specs}
    rules = [f"- {rule}" for name, rule in table if name in names]
    if check and names & _WRITERS:
        rules.append(f"- After your edits `{' '.join(check)}` runs by itself; make it pass.")
    return rules


def _fill(text: str, role: Role | None, root: Path, **blocks: list[str]) -> str:
    """A template with its blocks of lines put in; the workspace last, so that its name is never taken for a block.

    One that has no place for who the model is, since a person wrote it, has its role at the end.
    """
    placed = "{who}" in text
    if role and not placed:
        text = "\n".join([text.rstrip(), "", role.who, *role.part])
    text += "\n"
    part = ["Your part in this session:", *role.part, ""] if role and role.part and placed else []
    blocks = {**blocks, "part": part}
    for name, lines in blocks.items():
        text = text.replace(f"{{{name}}}\n", "".join(f"{line}\n" for line in lines))
    who = role.who if role else template("coding").partition("\n")[0]
    text = text.replace("{who}", who).replace("{end}", "your answer" if role else _END)
    return text.replace("{root}", str(root)).strip()
