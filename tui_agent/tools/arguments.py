"""What a model wrote as the arguments of a call, checked against the tool's own JSON schema.

The schema the model is told is the schema that is enforced; there is no second description.
Every complaint names the field and what was expected, because the model repairs its call from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tui_agent.core.types import AgentError, JsonObject, OutcomeStatus, ToolSpec


class ToolError(AgentError):
    """An action that cannot be carried out; the text is what the model is told, `note` the cause in a few words for the eye.

    `status` is "refused" when a rule said no and "error" when the world or the call is at fault. `invalid`: the call
    itself is, so that nothing could be tried.
    """

    def __init__(self, text: str, status: OutcomeStatus = "error", note: str = "") -> None:
        super().__init__(text)
        self.status = status
        self.note = note
        self.invalid = False


class InvalidCallError(ToolError):
    """A call that names no tool there is, or has other fields than its tool."""

    def __init__(self, text: str) -> None:
        super().__init__(text, note="malformed")
        self.invalid = True


_TYPES: dict[str, tuple[type | tuple[type, ...], str]] = {
    "string": (str, "a string"),
    "integer": (int, "an integer"),
    "boolean": (bool, "true or false"),
    "array": (list, "a list"),
    "object": (Mapping, "an object"),
}


def validate(spec: ToolSpec, arguments: object) -> dict[str, Any]:
    """The arguments as a plain dict, optional nulls left out; raises `InvalidCallError` for anything the schema refuses."""
    if not isinstance(arguments, Mapping):
        raise InvalidCallError(f"the arguments of {spec.name} must be an object like {_example(spec)}")
    return _object(spec.parameters, arguments, spec.name, "")


def _example(spec: ToolSpec) -> str:
    return "{" + ", ".join(f'"{name}": ...' for name in spec.example) + "}"


def _object(schema: JsonObject, value: Mapping[str, Any], owner: str, prefix: str) -> dict[str, Any]:
    properties: Mapping[str, JsonObject] = schema["properties"]
    required: list[str] = schema.get("required", [])
    if missing := [prefix + name for name in required if name not in value]:
        raise InvalidCallError(f"missing fields for {owner}: {', '.join(missing)} ({_expected(properties, required)})")
    if extra := sorted(f"{prefix}{name}" for name in value if name not in properties):
        raise InvalidCallError(f"unexpected fields for {owner}: {', '.join(extra)} ({_expected(properties, required)})")
    return {
        name: _value(properties[name], item, owner, f"{prefix}{name}")
        for name, item in value.items()
        if item is not None or name in required
    }


def _expected(properties: Mapping[str, JsonObject], required: list[str]) -> str:
    optional = [name for name in properties if name not in required]
    return "expected " + ", ".join(required or ["nothing"]) + (f"; optional {', '.join(optional)}" if optional else "")


def _value(schema: JsonObject, value: Any, owner: str, where: str) -> Any:
    kind, words = _TYPES[schema["type"]]
    if schema["type"] == "array" and schema["items"]["type"] == "string":
        words = "a list of strings"
    if not isinstance(value, kind) or (isinstance(value, bool) and schema["type"] != "boolean"):
        raise InvalidCallError(f"{where} must be {words}")
    if isinstance(value, str):
        _text(schema, value, where)
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            raise InvalidCallError(f"{where} must not be empty: at least one is needed")
        return [_value(schema["items"], item, owner, f"{where}[{i}]") for i, item in enumerate(value)]
    if isinstance(value, Mapping):
        return _object(schema, value, owner, f"{where}.")
    if "minimum" in schema and value < schema["minimum"]:
        raise InvalidCallError(f"{where} must be at least {schema['minimum']}")
    return value


def _text(schema: JsonObject, value: str, where: str) -> None:
    if "enum" in schema and value not in schema["enum"]:
        raise InvalidCallError(f"{where} must be one of {', '.join(schema['enum'])}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidCallError(f"{where} contains half of a surrogate pair, which is no valid Unicode text") from None
