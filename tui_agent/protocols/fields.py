"""Which fields a call may have: the tools of the product, and the check of a call against its schema."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from tui_agent.core.types import Json, JsonObject
from tui_agent.protocols.action import ParseError, listing


def _object(required: str, **properties: JsonObject) -> JsonObject:
    return {"type": "object", "properties": properties, "required": required.split(), "additionalProperties": False}


_TEXT: JsonObject = {"type": "string"}
_COUNT: JsonObject = {"type": "integer", "minimum": 1}
_WORD: JsonObject = {"type": "string", "minLength": 1}
_STATUS: JsonObject = {"type": "string", "enum": ["done", "now", "next"]}

BUILT_IN: Mapping[str, JsonObject] = MappingProxyType(
    {
        "read_file": _object("path", path=_TEXT, start=_COUNT, limit=_COUNT),
        "list_files": _object("", path=_TEXT),
        "search": _object("text", text=_TEXT, path=_TEXT),
        "edit_file": _object("path old new", path=_TEXT, old=_TEXT, new=_TEXT, replace_all={"type": "boolean"}),
        "multi_edit": _object(
            "path edits",
            path=_TEXT,
            edits={"type": "array", "minItems": 1, "items": _object("old new", old=_TEXT, new=_TEXT)},
        ),
        "write_file": _object("path content", path=_TEXT, content=_TEXT),
        "propose_edit": _object("path old new", path=_TEXT, old=_TEXT, new=_TEXT),
        "delete_file": _object("path", path=_TEXT),
        "run_command": _object("argv", argv={"type": "array", "minItems": 1, "items": _WORD}),
        "run_shell": _object("script", script=_TEXT),
        "update_plan": _object(
            "items",
            items={"type": "array", "items": _object("status text", status=_STATUS, text=_TEXT)},
        ),
    }
)
"""The vocabulary of the JSON protocol: what a reply is held against when only names are enabled.

A protocol cannot import the tools; a test keeps this equal to their table.
"""

_TYPES: Mapping[str, tuple[type | tuple[type, ...], str]] = MappingProxyType(
    {
        "string": (str, "a string"),
        "integer": (int, "an integer"),
        "number": ((int, float), "a number"),
        "boolean": (bool, "true or false"),
        "array": (list, "a list"),
        "object": (Mapping, "an object"),
    }
)


def check(name: str, schema: JsonObject, fields: JsonObject) -> ParseError | None:
    """What is wrong with the fields of a call to the tool `name`, None when nothing is.

    Only the common part of JSON Schema is looked at; what a foreign schema says beyond it is left to the tool.
    """
    properties, required = _properties(schema), list(schema.get("required") or ())
    missing = [field for field in required if field not in fields]
    extra = [] if schema.get("additionalProperties", True) else sorted(f for f in fields if f not in properties)
    expected = f"the fields of {name} are {', '.join(_names(properties, required)) or 'none'}"
    if missing:
        also = f" and unexpected fields: {listing(extra)}" if extra else ""
        return ParseError("missing_field", f"missing fields for {name}: {', '.join(missing)}{also}; {expected}")
    if extra:
        return ParseError("extra_field", f"unexpected fields for {name}: {listing(extra)}; {expected}")
    for field, value in fields.items():
        if fault := _fault(properties.get(field), value, field):
            return ParseError("wrong_type", f"{fault} in a call of {name}")
    return None


def _properties(schema: JsonObject) -> JsonObject:
    properties = schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _names(properties: JsonObject, required: list[str]) -> list[str]:
    return [field if field in required else f"{field} (optional)" for field in properties]


def _fault(schema: Any, value: Json, where: str) -> str:
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    if not isinstance(kind, str) or kind not in _TYPES:
        return ""
    types, words = _TYPES[kind]
    items = schema.get("items")
    if kind == "array" and isinstance(items, Mapping) and items.get("type") == "string":
        words = "a list of strings"
    if not isinstance(value, types) or (isinstance(value, bool) and kind != "boolean"):
        return f"{where} must be {words}, not {_kind(value)}"
    if isinstance(value, str | list) and len(value) < schema.get("minLength" if kind == "string" else "minItems", 0):
        return f"{where} must not be empty"
    if "enum" in schema and value not in schema["enum"]:
        return f"{where} must be one of {', '.join(map(str, schema['enum']))}"
    if isinstance(value, int | float) and "minimum" in schema and value < schema["minimum"]:
        return f"{where} must be at least {schema['minimum']}"
    if isinstance(value, list):
        return next((f for i, item in enumerate(value) if (f := _fault(items, item, f"{where}[{i}]"))), "")
    if isinstance(value, Mapping):
        fault = check(where, schema, value)
        return fault.message if fault else ""
    return ""


def _kind(value: Json) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return next((words for types, words in _TYPES.values() if isinstance(value, types)), "something else")
