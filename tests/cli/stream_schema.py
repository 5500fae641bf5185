"""The JSON Schema of `--stream-json`, made from the event classes: `python -m tests.cli.stream_schema` publishes it."""

from __future__ import annotations

import dataclasses
import enum
import json
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from tui_agent.core import events as ev
from tui_agent.core.log import _TYPES
from tui_agent.core.types import Finish
from tui_agent.stream import TRANSIENT, VERSION

PUBLISHED = Path(__file__).resolve().parents[2] / "docs/stream.schema.json"
SCALARS = {str: "string", int: "integer", float: "number", bool: "boolean"}


def schema(*, closed: bool = False) -> dict[str, Any]:
    """The schema of one line. `closed`: no field but the known ones, to check the product; readers ignore others."""
    kinds = {**_TYPES, **TRANSIENT}
    mark = {"transient": {"const": True}}
    assert set(kinds) == {*get_args(ev.Durable), *get_args(ev.Transient)}
    lines = [
        _object({"type": {"const": "stream"}, "v": {"const": VERSION}, "session": _type(str)}, closed=closed),
        *(_class(cls, closed=closed, kind=name) for cls, name in _TYPES.items()),
        *(_class(cls, closed=closed, kind=name, more=mark) for cls, name in TRANSIENT.items()),
        _object({"type": {"const": "result"}, **_result(closed=closed)}, closed=closed),
    ]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "One line of tui-agent --stream-json",
        "description": "The first line has the type stream, the last one result. A field that is left out has its "
        "default. What is marked as transient is for the eye: it is not in the log, and what stays of it is told by a "
        "later line. Fields and types that are not listed may be added; a reader passes over them.",
        "oneOf": lines,
    }


def _object(properties: Mapping[str, Any], *, closed: bool, required: list[str] | None = None) -> dict[str, Any]:
    out = {"type": "object", "properties": dict(properties), "required": required or list(properties)}
    return {**out, "additionalProperties": False} if closed else out


def _class(cls: Any, *, closed: bool, kind: str = "", more: Mapping[str, Any] | None = None) -> dict[str, Any]:
    hints = typing.get_type_hints(cls)
    properties = {**({"type": {"const": kind}} if kind else {}), **(more or {})}
    required = list(properties)
    for field in dataclasses.fields(cls):
        properties[field.name] = _type(hints[field.name], closed=closed)
        optional = type(None) in get_args(hints[field.name])
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING and not optional:
            required.append(field.name)
    return {**_object(properties, closed=closed), "required": required}


def _type(hint: Any, *, closed: bool = False) -> dict[str, Any]:
    origin, args = get_origin(hint), get_args(hint)
    if hint is Any:
        return {}
    if hint in SCALARS:
        return {"type": SCALARS[hint]}
    if origin is Literal:
        return {"enum": list(args)}
    if origin in {Union, types.UnionType}:
        (inner,) = [a for a in args if a is not type(None)]
        return _type(inner, closed=closed)  # None is left out
    if origin is tuple:
        return {"type": "array", "items": _type(args[0], closed=closed)}
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object"}
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return {"enum": [member.value for member in hint]}
    return _class(hint, closed=closed)


def _result(*, closed: bool) -> dict[str, Any]:
    named = {"tool": _type(str), "path": _type(str), "argv": {}, "script": _type(str)}
    refused = _object({**named, "by": _type(str), "why": _type(str)}, closed=closed, required=["tool", "by", "why"])
    failed = _object({**named, "why": _type(str)}, closed=closed, required=["tool", "why"])
    change = _object({"mark": {"enum": ["A", "M", "D"]}, "added": _type(int), "removed": _type(int)}, closed=closed)
    tokens = {"type": ["integer", "null"]}
    return {
        "status": {"enum": ["refused", *(reason.value for reason in ev.StopReason)]},
        "reason": {"enum": [reason.value for reason in ev.StopReason]},
        "detail": _type(str),
        "answer": _type(str),
        "finish": {"enum": [*get_args(Finish), None]},
        "check": {"enum": list(get_args(typing.get_type_hints(ev.RunEnded)["check"]))},
        "unsandboxed": _type(bool),
        "refused": {"type": "array", "items": refused},
        "failed": {"type": "array", "items": failed},
        "files": {"type": "object", "additionalProperties": change},
        "steps": _type(int),
        "usage": _object(
            {
                **dict.fromkeys(("in", "out", "cached", "reasoning"), tokens),
                "uncounted": _type(int),
                "cost": {"type": ["number", "null"]},
            },
            closed=closed,
        ),
        "session": _type(str),
        "exit_code": _type(int),
    }


if __name__ == "__main__":
    PUBLISHED.write_text(json.dumps(schema(), indent=1) + "\n", encoding="utf-8")
