"""The JSON protocol: a reply is exactly one object, `{"final": text}` or `{"tool": name, fields...}`.

Nothing is repaired by guessing. A reply that is not one valid object of this form is an error that the
model is told; what surrounds it without changing its meaning (reasoning, one fence) is dropped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from types import MappingProxyType

from tui_agent.core.reply import strict_json
from tui_agent.core.types import Json, JsonObject, ToolCall
from tui_agent.protocols.action import Action, Final, NotExpressible, ParseError, excerpt, listing, without_id
from tui_agent.protocols.fields import BUILT_IN, check
from tui_agent.protocols.habits import normalise, without_fence, without_thoughts

RESERVED = frozenset({"tool", "final"})
"""Names that no field of a tool can have in this protocol."""

_FORM = 'send one JSON object only, {"tool": NAME, fields...} or {"final": TEXT}'
_BEGINS = re.compile(r"\s*[{`]")
_NO_MORE: Mapping[str, JsonObject] = MappingProxyType({})


def parse(reply: str, enabled: Collection[str], more: Mapping[str, JsonObject] = _NO_MORE) -> Action | ParseError:
    """Read one reply.

    Args:
        reply: the whole visible text of the model, not cut by a limit.
        enabled: names of the tools that are on for this run.
        more: parameter schemas of tools beyond the built-in ones, by name; they cannot replace one of those.
    """
    text = without_thoughts(normalise(reply), _BEGINS)
    if text is None:
        return ParseError("unclosed_think", f"the reply ended inside its reasoning and holds no JSON; {_FORM}")
    if not text.strip():
        return ParseError("invalid_json", f"the reply is empty; {_FORM}")
    try:
        value = strict_json(without_fence(text))
    except ValueError as error:
        return _not_json(str(error))
    if not isinstance(value, dict):
        return ParseError("not_object", f"the reply is JSON but no object; {_FORM}")
    return _final(value) if "final" in value else _call(value, enabled, {**more, **BUILT_IN})


def render(action: Action, more: Mapping[str, JsonObject] = _NO_MORE) -> str:
    """Write an action as a reply; reading it gives the action back, its id aside.

    Raises:
        NotExpressible: the protocol has no form for it.
    """
    if isinstance(action, Final):
        value, enabled = {"final": action.text}, frozenset[str]()
    elif action.arguments is None or not RESERVED.isdisjoint(action.arguments):
        raise NotExpressible(f"a call of {action.name} with these arguments has no form as one JSON object")
    else:
        value, enabled = {"tool": action.name, **action.arguments}, frozenset({action.name})
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise NotExpressible(f"the arguments are not JSON: {error}") from None
    read = parse(text, enabled, more)
    if read != without_id(action):
        raise NotExpressible(read.message if isinstance(read, ParseError) else "it would be read back differently")
    return text


def _not_json(why: str) -> ParseError:
    kind = "duplicate_key" if "appears twice" in why else "invalid_text" if "surrogate" in why else "invalid_json"
    if "control character" in why:
        why += r" (a line break inside a string is written \n)"
    elif "escape" in why:
        why += r" (a backslash inside a string is written \\)"
    elif "Extra data" in why:
        why += " (exactly one object, and no text behind it)"
    elif why.endswith("at character 0"):
        why += " (nothing may stand before the object)"
    return ParseError(kind, f"the reply is not valid JSON: {why[:200]}; {_FORM}")


def _final(value: dict[str, Json]) -> Final | ParseError:
    if extra := [key for key in value if key != "final"]:
        return ParseError(
            "bad_final", f"final must be the only field, without {listing(extra)}: send a final answer or a call"
        )
    text = value["final"]
    if not isinstance(text, str):
        return ParseError("bad_final", "final must be a string: the answer as plain text")
    if not text.strip():
        return ParseError("blank_final", "final is blank: it must be a string that says what was done")
    return Final(text)


def _call(value: dict[str, Json], enabled: Collection[str], schemas: Mapping[str, JsonObject]) -> ToolCall | ParseError:
    name = value.get("tool")
    if not isinstance(name, str) or not name.strip():
        found = f"; its fields are {listing(value)}" if value else ""
        return ParseError("missing_tool", f'the object has neither "tool" with a name nor "final"{found}; {_FORM}')
    on = ", ".join(known for known in schemas if known in enabled) or "none"
    if name not in schemas:
        return ParseError("unknown_tool", f"unknown tool: {excerpt(name)}; the tools are {on}")
    if name not in enabled:
        return ParseError("tool_disabled", f"tool is not enabled: {name}; use one of {on}, or the final answer")
    arguments = {key: item for key, item in value.items() if key != "tool"}
    return check(name, schemas[name], arguments) or ToolCall("", name, arguments)
