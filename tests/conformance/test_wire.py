"""Every case of the wire corpus: over real HTTP, and its bytes one by one without HTTP."""

from __future__ import annotations

import asyncio
import base64
import email.utils
import importlib
import importlib.util
import json
import os
import re
import sys
import time
import zlib
from contextlib import aclosing
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.waiting import PATIENCE
from tui_agent.core.profile import Profile, Timeouts
from tui_agent.core.reply import ReplyBuilder, collect
from tui_agent.core.types import (
    AssistantMessage,
    Author,
    Delta,
    ProviderError,
    Reply,
    ReplyEnd,
    Request,
    ToolSpec,
    UserMessage,
)
from tui_agent.providers import anthropic, errors, http, ollama, openai_chat

ROOT = Path(__file__).resolve().parents[2]
CASES = (ROOT / (os.environ.get("TUI_AGENT_CASES") or "tests/cases")).resolve()
HELPERS = ROOT / "tests/cases/wire"
ADAPTERS: dict[str, ModuleType] = {"openai-chat": openai_chat, "anthropic": anthropic, "ollama-native": ollama}
SUFFIX = {"openai-chat": "/v1", "anthropic": "", "ollama-native": ""}
CONCURRENT = 40

_PATH = {"type": "string"}
_PARAMETERS: dict[str, dict[str, Any]] = {
    "read_file": {"path": _PATH, "limit": {"type": "integer"}},
    "write_file": {"path": _PATH, "content": {"type": "string"}},
    "list_dir": {"path": _PATH},
    "run": {"command": {"type": "string"}},
    "git_status": {},
}


def helper(name: str) -> ModuleType:
    """Load a helper of the corpus; they import one another by plain name."""
    sys.path.insert(0, str(HELPERS))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(HELPERS))


judge, replay_server = helper("judge"), helper("replay_server")
LOADED: dict[str, dict[str, Any]] = replay_server.load_cases([str(CASES / "wire" / "cases")])


def tools(case: dict[str, Any]) -> tuple[ToolSpec, ...]:
    names = case.get("request", {}).get("tools", [])
    return tuple(
        ToolSpec(name, name, {"type": "object", "properties": _PARAMETERS.get(name, {})}, {}) for name in names
    )


def waits(case: dict[str, Any]) -> bool:
    """Whether the case is about silence; for all others a busy machine may be as slow as it likes."""
    return case["then"] == "stall" or bool(case.get("delay"))


def profile(case: dict[str, Any], endpoint: str) -> Profile:
    return Profile(
        name="case",
        wire=case["wire"],
        endpoint=endpoint,
        model=case.get("request", {}).get("model", "m-test"),
        api_key_env="CASE_KEY",
        timeouts=Timeouts(5, 6, 2, 4) if waits(case) else Timeouts(PATIENCE, PATIENCE, PATIENCE, PATIENCE),
        options={"retries": 0, **case.get("profile", {})},
    )


def result(case: dict[str, Any], reply: Reply, used: Profile) -> dict[str, Any]:
    """A reply in the judge's words; `replay` is what the next request would really hold."""
    error = reply.error
    said = AssistantMessage(
        reply.text,
        reply.reasoning,
        reply.calls,
        Author(case["wire"], used.endpoint or "", "m-test"),
        reply.extras,
    )
    history = (UserMessage("go"), said, UserMessage("on"))
    return {
        "text": reply.text,
        "reasoning": reply.reasoning,
        "tool_calls": [
            {"id": call.id, "name": call.name}
            | ({"arguments": call.arguments} if call.error is None else {"arguments_error": True})
            for call in reply.calls
        ],
        "finish": reply.finish,
        "usage": None
        if reply.usage is None
        else {name: getattr(reply.usage, name) for name in type(reply.usage).__slots__},
        "error": None
        if error is None
        else {name: getattr(error, name) for name in ("kind", "message", "retryable", "retry_after")},
        "refusal": reply.refusal,
        "replay": ADAPTERS[case["wire"]].build(history, used, tools(case)),
    }


# ------------------------------------------------------------------ over HTTP


async def over_http(case: dict[str, Any], base: str) -> dict[str, Any]:
    adapter = ADAPTERS[case["wire"]]
    used = profile(case, base + SUFFIX[case["wire"]])
    link = http.Link(env={"CASE_KEY": "sk-CANARY-0123456789abcdef"})
    builder = ReplyBuilder()
    ends = 0
    async with (
        asyncio.timeout(2 * PATIENCE),  # only a hang takes so long
        aclosing(adapter.stream(used, Request("", (UserMessage("go"),), tools(case)), link)) as deltas,
    ):
        async for delta in deltas:
            builder.add(delta)
            ends += isinstance(delta, ReplyEnd)
    assert ends == 1
    return result(case, builder.reply(), used)


@pytest.fixture(scope="module")
def served() -> dict[str, Any]:
    """Run those that wait at once and before the others, whose work would be their silence; those by a few dozen."""

    async def run_all(server: Any) -> dict[str, Any]:
        limit = asyncio.Semaphore(CONCURRENT)

        async def one(name: str) -> Any:
            async with limit:
                return await over_http(server.cases[name], server.url(name))

        names = sorted(server.cases, key=lambda name: not waits(server.cases[name]))
        first = sum(map(waits, server.cases.values()))
        results = await asyncio.gather(*map(one, names[:first]), return_exceptions=True)
        results += await asyncio.gather(*map(one, names[first:]), return_exceptions=True)
        return dict(zip(names, results, strict=True))

    with replay_server.ReplayServer([str(CASES / "wire" / "cases")], hold=9) as server:
        results = asyncio.run(run_all(server))
        results["requests"] = list(server.requests)
    return results


@pytest.mark.parametrize("name", sorted(LOADED))
def test_over_http(name: str, served: dict[str, Any]) -> None:
    got = served[name]
    if isinstance(got, BaseException):
        raise got
    assert judge.compare(LOADED[name], got, strict_keep=True) == []


def test_one_request_per_case_and_no_key_in_any_error(served: dict[str, Any]) -> None:
    asked: dict[str, list[Any]] = {}
    for request in served["requests"]:
        asked.setdefault(request["case"], []).append(request["body"])
    assert sorted(asked) == sorted(LOADED)
    for bodies in asked.values():  # retries are off; a refused parameter may be left out once
        assert bodies[1:] == [{name: bodies[0][name] for name in bodies[0] if name != "stream_options"}] * (
            len(bodies) - 1
        )
        assert len(bodies) <= 2
    redirects = [name for name, case in LOADED.items() if 300 <= case["status"] < 400]
    assert all(len(asked[name]) == 1 for name in redirects)
    told = [got["error"]["message"] for name, got in served.items() if name != "requests" and got["error"]]
    assert told
    assert not [message for message in told if "CANARY" in message]


# ------------------------------------------------------------------ without HTTP


def fed(case: dict[str, Any], size: int) -> dict[str, Any]:
    """The case by the pure functions alone, its body in pieces of `size` bytes; what TCP did is an error at the end."""
    used = profile(case, "http://127.0.0.1:1/v1")
    body = b"".join(base64.b64decode(chunk) for chunk in case["chunks"])
    if case["status"] != 200:
        headers = {name.lower(): filled(value) for name, value in case["headers"].items()}
        return result(case, Reply(error=errors.from_response(case["status"], headers, body)), used)
    if case["headers"].get("content-encoding") == "gzip":
        body = zlib.decompress(body, wbits=31)
    cut = None if case["then"] == "close" else ProviderError("network", "the connection ended", retryable=True)
    decoder = ADAPTERS[case["wire"]].decoder(used, tools(case))
    deltas: list[Delta] = []
    for at in range(0, len(body), size):
        deltas += decoder.feed(body[at : at + size])
    return result(case, collect([*deltas, *decoder.finish(cut)]), used)


def filled(value: str) -> str:
    """A header as the server sends it: with the date that the case asks for."""
    found = re.fullmatch(r"\{\{HTTP_DATE\+(\d+)\}\}", value)
    return email.utils.formatdate(time.time() + int(found[1]), usegmt=True) if found else value


BODIES = sorted(name for name, case in LOADED.items() if not 300 <= case["status"] < 400)
"""All but redirects: those are refused without a look at the body."""


@pytest.mark.parametrize("name", BODIES)
def test_byte_by_byte(name: str) -> None:
    case = LOADED[name]
    single = fed(case, 1)
    assert judge.compare(case, single, strict_keep=True) == []
    if case["status"] == 200:
        assert fed(case, 1 << 30) == single
        assert fed(case, 7) == single


def test_counts() -> None:
    files = list((CASES / "wire" / "cases").glob("*.json"))
    names = [json.loads(file.read_text("utf-8"))["name"] for file in files]
    assert sorted(names) == sorted(LOADED)
    assert len(LOADED) == len(files)
    assert errors.MAX_BODY == 4096
