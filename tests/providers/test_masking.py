"""A key that a server says again leaves no stream: not in text, reasoning, refusals, calls or what goes back."""

from __future__ import annotations

import json
import sys
from contextlib import aclosing
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.echoes import anthropic_echo, ollama_echo, openai_echo
from tests.providers.conftest import Peer, chunk
from tui_agent.core.profile import Profile
from tui_agent.core.reply import collect
from tui_agent.core.secrets import HIDDEN, Secrets
from tui_agent.core.types import (
    CallDelta,
    Delta,
    ReasoningDelta,
    RefusalDelta,
    ReplyEnd,
    Request,
    RetryTick,
    TextDelta,
    Usage,
    UserMessage,
)
from tui_agent.providers import anthropic, errors, http, ollama, openai_chat
from tui_agent.providers.masking import Mask

KEY = "sk-CANARY-0123456789abcdef"
END = ReplyEnd("stop", Usage(1, 2))


def masked(deltas: list[Delta], known: tuple[str, ...] = (KEY,)) -> list[Delta]:
    mask = Mask(Secrets(known))
    return [out for delta in deltas for out in mask.through([delta])]


PIECES = st.lists(
    st.builds(TextDelta, st.text("sk-CANRY0123x"))
    | st.builds(ReasoningDelta, st.text("sk-CANRY0123x"))
    | st.builds(RefusalDelta, st.text("sk-CANRY0123x"))
    | st.builds(CallDelta, st.integers(0, 2), st.just("c1"), st.just("run"), st.text("sk-CANRY0123x"))
    | st.just(RetryTick(1, 1.0, errors.from_payload("x"))),
    max_size=12,
)


@given(PIECES)
def test_what_holds_no_key_is_the_same_reply(deltas: list[Delta]) -> None:
    out = masked([*deltas, END])
    assert collect(out) == collect([*deltas, END])
    assert out[-1] == END
    assert masked(deltas, ()) == deltas


@given(st.integers(1, len(KEY)), st.sampled_from(["text", "reasoning", "refusal", "arguments"]))
def test_a_key_in_pieces_of_any_size_is_hidden_in_every_text(size: int, where: str) -> None:
    make: Any = {
        "text": TextDelta,
        "reasoning": ReasoningDelta,
        "refusal": RefusalDelta,
        "arguments": lambda piece: CallDelta(0, "c1", "run", piece),
    }[where]
    text = json.dumps({"say": f"it is {KEY}!"})
    deltas: list[Delta] = []
    for at in range(0, len(text), size):  # other texts between the pieces change nothing
        other: Delta = TextDelta("t") if where == "reasoning" else ReasoningDelta("r")
        deltas += [make(text[at : at + size]), other]
    out = masked([*deltas, END])
    reply = collect(out)
    said = {
        "text": reply.text,
        "reasoning": reply.reasoning,
        "refusal": reply.refusal,
        "arguments": reply.calls[0].raw if reply.calls else "",
    }
    assert said[where] == text.replace(KEY, HIDDEN)


def test_ids_names_and_what_goes_back() -> None:
    plain = {"signature": "abc"}
    deltas: list[Delta] = [CallDelta(0, KEY, f"run_{KEY}", "{}", {"x": [KEY]}), CallDelta(1, "c2", "run", "{}", plain)]
    first, second, *_, end = masked([*deltas, ReplyEnd("stop", extras={"thinking": [{"text": KEY}]})])
    assert first == CallDelta(0, HIDDEN, f"run_{HIDDEN}", "{}", {})
    assert second == deltas[1]
    assert end == ReplyEnd("stop")
    assert masked([ReplyEnd("stop", extras=plain)]) == [ReplyEnd("stop", extras=plain)]


@given(st.integers(8, len(KEY) - 8))
def test_pieces_of_a_key_are_no_name_of_a_call(cut: int) -> None:
    pieces = [CallDelta(0, "c1", KEY[:cut], "{}"), CallDelta(1, "c2", KEY[cut:], "{}")]
    assert [call.name for call in collect(masked([*pieces, END])).calls] == [HIDDEN, HIDDEN]
    assert collect(masked([CallDelta(0, "c1", "write_file", "{}"), END])).calls[0].name == "write_file"


# ------------------------------------------------------------------ from the socket


@pytest.mark.parametrize(
    ("adapter", "echo"), [(openai_chat, openai_echo), (anthropic, anthropic_echo), (ollama, ollama_echo)]
)
@pytest.mark.parametrize("source", ["env", "cmd"])
async def test_a_key_that_the_server_says_again(loopback: Any, adapter: ModuleType, echo: Any, source: str) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer(body=echo(KEY))

    server = await loopback(script)
    key: dict[str, Any] = {"api_key_env": "A_KEY"}
    if source == "cmd":
        key = {"api_key_cmd": (sys.executable, "-c", f"print({KEY!r})")}
    used = Profile("p", wire=adapter.NAME, endpoint=server.url, model="m", **key)
    link = http.Link(env={"A_KEY": KEY} if source == "env" else {})
    async with aclosing(adapter.stream(used, Request("", (UserMessage("hi"),)), link)) as deltas:
        reply = collect([delta async for delta in deltas])
    assert any(KEY in value for value in server.peers[0].headers.values())
    assert reply.error is None
    assert reply.text == f"it is {HIDDEN}."
    assert reply.reasoning == f"my key is {HIDDEN}"
    assert [call.arguments for call in reply.calls] == [{"argv": ["echo", HIDDEN]}]
    assert KEY not in repr(reply)
    assert link.network.secrets.hide(KEY) == HIDDEN  # the log of the session asks the same value


async def test_the_key_of_another_profile_and_a_header_are_hidden_too(loopback: Any) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer(body=chunk({"content": "other-key-0001 and tok-0123456789 and json"}, "stop"))

    server = await loopback(script)
    link = http.Link(env={})
    link.network.secrets.add("other-key-0001")
    headers = {"X-Auth-Token": "Token tok-0123456789", "Accept": "application/json"}
    used = Profile("p", endpoint=server.url, model="m", headers=headers)
    async with aclosing(openai_chat.stream(used, Request("", (UserMessage("hi"),)), link)) as deltas:
        reply = collect([delta async for delta in deltas])
    assert reply.text == f"{HIDDEN} and {HIDDEN} and json"
