"""Frozen dataclasses to JSON values and back, driven by their own annotations.

One codec for the log, `--json` and replay. Values are validated on the way in: a record that
does not fit its class raises `ValueError` with the path of the field ("usage.input_tokens").
"""

from __future__ import annotations

import dataclasses
import enum
import types
import typing
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, TypeVar, Union, cast

T = TypeVar("T")

_SCALARS = frozenset({str, int, float, bool, type(None)})


def to_json(value: object) -> Any:
    """Turn a value made of dataclasses, tuples, mappings, sets and scalars into JSON types. Defaults are left out."""
    if type(value) in _SCALARS:  # most are; the schemas of all tools are gone through for each request
        return value
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            f.name: to_json(v)
            for f in dataclasses.fields(value)
            if (v := getattr(value, f.name)) is not None and not _is_default(f, v)
        }
    if isinstance(value, Mapping):
        return {str(k): to_json(v) for k, v in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(to_json(v) for v in value)
    if isinstance(value, (list, tuple)):
        return [to_json(v) for v in value]
    return value


def _is_default(f: dataclasses.Field[Any], value: object) -> bool:
    if f.default is not dataclasses.MISSING:
        return bool(f.default == value)
    return f.default_factory is not dataclasses.MISSING and bool(f.default_factory() == value)


@cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def from_json(cls: type[T], data: object, where: str = "") -> T:
    """Build a dataclass from a JSON object; unknown fields are ignored, a missing or wrong one is a ValueError."""
    if not isinstance(data, Mapping):
        raise ValueError(f"{where or cls.__name__}: expected an object, not {type(data).__name__}")
    hints, values = _hints(cast("Any", cls)), {}
    for f in dataclasses.fields(cast("Any", cls)):
        path = f"{where}.{f.name}" if where else f.name
        if f.name in data:
            values[f.name] = _value(hints[f.name], data[f.name], path)
        elif f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING:
            if not _takes_none(hints[f.name]):
                raise ValueError(f"{path}: missing")
            values[f.name] = None
    return cls(**values)


def _takes_none(hint: Any) -> bool:
    return type(None) in typing.get_args(hint)


def _value(hint: Any, value: object, where: str) -> Any:
    origin = typing.get_origin(hint)
    if hint is Any:
        return value
    if origin in {Union, types.UnionType}:
        if value is None and _takes_none(hint):
            return None
        (inner,) = [a for a in typing.get_args(hint) if a is not type(None)]
        return _value(inner, value, where)
    if origin is Literal:
        if value not in typing.get_args(hint):
            raise ValueError(f"{where}: {value!r} is not one of {', '.join(map(str, typing.get_args(hint)))}")
        return value
    if dataclasses.is_dataclass(hint):
        return from_json(cast("type", hint), value, where)
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            raise ValueError(f"{where}: expected an object")
        return dict(value)
    if origin is tuple:
        if not isinstance(value, list):
            raise ValueError(f"{where}: expected a list")
        return tuple(_value(typing.get_args(hint)[0], v, f"{where}[{i}]") for i, v in enumerate(value))
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return hint(value)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            raise ValueError(f"{where}: out of range") from None
    if not isinstance(value, hint) or (isinstance(value, bool) and hint is not bool):
        raise ValueError(f"{where}: expected {hint.__name__}, not {type(value).__name__}")
    return value
