"""Providers, loop and one shot against a real server: what no recording can show."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tomllib
import urllib.request
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.live.conftest import MODEL, MakeProfile, make_profile
from tui_agent.config import Settings
from tui_agent.core import events as ev
from tui_agent.core.endings import Limits, StopReason
from tui_agent.core.profile import Profile
from tui_agent.core.reply import collect
from tui_agent.core.types import (
    ApprovalRequest,
    Decision,
    Reply,
    ReplyEnd,
    Request,
    RetryTick,
    TextDelta,
    UserMessage,
)
from tui_agent.paths import Paths
from tui_agent.protocols.prompts import json_prompt, verbs_prompt
from tui_agent.providers import connect, inspect, list_models, verify
from tui_agent.providers.network import Network
from tui_agent.session import SHELL, Session, Terms
from tui_agent.tools.lookups import LOOKUPS
from tui_agent.tools.registry import TOOLS

ROOT = Path(__file__).resolve().parents[2]
ENDLESS = {"ignore_eos": True, "max_tokens": 3500}
"""An answer that only the length of the context ends."""


def ask(text: str) -> Request:
    return Request("You answer in one short sentence.", (UserMessage(text),))


async def answer(profile: Profile, text: str) -> Reply:
    stream = connect(profile, env={}).stream(ask(text))
    return collect([delta async for delta in stream])


def generated(server: str) -> float:
    """How many tokens the server has made since it started."""
    with urllib.request.urlopen(server + "/metrics", timeout=60) as response:
        lines = response.read().decode().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("llamacpp:tokens_predicted_total"))


async def test_an_answer_arrives_in_pieces_with_its_usage(live: MakeProfile) -> None:
    model = connect(live(), env={})
    async with aclosing(model.stream(ask("What is the capital of France?"))) as stream:
        deltas = [delta async for delta in stream]
    pieces = [delta for delta in deltas if isinstance(delta, TextDelta)]
    end = deltas[-1]
    assert len(pieces) > 1
    assert "Paris" in "".join(piece.text for piece in pieces)
    assert isinstance(end, ReplyEnd)
    assert (end.error, end.finish) == (None, "stop")
    assert end.usage is not None
    assert (end.usage.input_tokens or 0) > 10
    assert 0 < (end.usage.output_tokens or 0) <= 64
    assert not any(isinstance(delta, RetryTick) for delta in deltas)


async def test_the_length_limit_is_told_apart_from_an_end(live: MakeProfile) -> None:
    reply = await answer(live(max_tokens=5), "Tell a long story about a fox.")
    assert (reply.error, reply.finish) == (None, "length")
    assert reply.usage is not None
    assert reply.usage.output_tokens == 5


async def test_closing_a_stream_stops_the_server(live: MakeProfile, server: str) -> None:
    before = generated(server)
    model = connect(live(**ENDLESS), env={})
    async with aclosing(model.stream(ask("Count."))) as deltas:
        seen = 0
        async for delta in deltas:
            seen += isinstance(delta, TextDelta)
            if seen == 3:
                break
    # the server has one slot: this answer comes only after the first was given up
    reply = await answer(live(), "What is the capital of France?")
    assert reply.error is None
    assert "Paris" in reply.text
    assert generated(server) - before < ENDLESS["max_tokens"] / 2


async def test_a_cancelled_task_stops_the_server(live: MakeProfile, server: str) -> None:
    before = generated(server)
    model = connect(live(**ENDLESS), env={})
    begun = asyncio.Event()

    async def read() -> None:
        async with aclosing(model.stream(ask("Count."))) as deltas:
            async for _ in deltas:
                begun.set()

    task = asyncio.create_task(read())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    reply = await answer(live(), "What is the capital of France?")
    assert reply.error is None
    assert reply.text
    assert generated(server) - before < ENDLESS["max_tokens"] / 2


async def test_a_prompt_that_is_too_long_is_named_as_such(live: MakeProfile) -> None:
    reply = await answer(live(), "fox " * 6000)
    assert reply.error is not None
    assert reply.error.kind == "context_length"
    assert not reply.error.retryable


async def test_the_server_lists_its_model(live: MakeProfile) -> None:
    assert [model.id for model in await list_models(live(), env={})] == [MODEL]


async def test_a_tiny_request_proves_that_it_works(live: MakeProfile) -> None:
    network = Network()
    assert (await verify(live(), env={}, network=network)).seconds > 0
    assert list(network.contacted.values()) == [1]


async def test_it_says_the_window_it_was_started_with(server: str) -> None:
    info = await inspect(make_profile("openai", server, {}), env={})
    assert info.window == 4096


async def test_the_effort_of_thinking_is_taken_or_left_out(live: MakeProfile) -> None:
    reply = await answer(replace(live(max_tokens=3000), effort="low"), "What is the capital of France?")
    assert reply.error is None
    assert reply.text


async def test_the_loop_with_tools_ends_within_its_limits(live: MakeProfile, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "notes.txt").write_text("The fox is red.\n")
    paths = Paths(tmp_path / "config", tmp_path / "data", tmp_path / "state")
    settings = Settings(limits=Limits(max_steps=3))

    async def nobody(batch: tuple[ApprovalRequest, ...]) -> tuple[Decision, ...]:
        return tuple(Decision(request.id, "no", by="nobody") for request in batch)

    session = Session(Terms(tmp_path / "work", settings, paths, interactive=False, environment={}), nobody)
    session.choose(live())
    async with aclosing(session.run("Read notes.txt and say which colour the fox has.")) as events:
        seen = [event async for event in events]
    ended = [event for event in seen if isinstance(event, ev.RunEnded)]
    said = [event for event in seen if isinstance(event, ev.AssistantSaid)]
    assert len(ended) == 1
    assert ended[0].reason in StopReason
    assert ended[0].reason is not StopReason.FAILED, [e for e in seen if isinstance(e, ev.ProviderFailed)]
    assert 1 <= len(said) <= 3
    assert all(event.usage is not None and event.usage.output_tokens for event in said)
    assert (tmp_path / "work" / "notes.txt").read_text() == "The fox is red.\n"


async def test_the_json_protocol_ends_within_a_minute_and_never_as_verified(server: str, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "sums.py").write_text("def total(numbers):\n    return 0\n")
    paths = Paths(tmp_path / "config", tmp_path / "data", tmp_path / "state")
    check = (sys.executable, "-c", "import sums; assert sums.total([1, 2]) == 3")
    settings = Settings(limits=Limits(max_steps=8), checks={str(work.resolve()): check})

    async def yes(batch: tuple[ApprovalRequest, ...]) -> tuple[Decision, ...]:
        return tuple(Decision(request.id, "yes") for request in batch)

    session = Session(Terms(work, settings, paths, trusted=True, environment=dict(os.environ)), yes)
    session.choose(replace(make_profile("openai", server, {"max_tokens": 128}), protocol="json"))
    async with (
        asyncio.timeout(60),
        aclosing(session.run("Repair total in sums.py: it must add the numbers.")) as events,
    ):
        seen = [event async for event in events]
    (ended,) = [event for event in seen if isinstance(event, ev.RunEnded)]
    said = [event for event in seen if isinstance(event, ev.AssistantSaid)]
    assert ended.reason in set(StopReason) - {StopReason.VERIFIED, StopReason.FAILED}, seen
    assert 1 <= ended.steps <= 8
    calls = [call for event in said for call in event.message.calls]
    # the server holds the reply to the schema: what is not cut is always an action
    assert all(call.name and call.arguments is not None for call in calls)
    assert len({call.id for call in calls}) == len(calls)


@pytest.mark.parametrize("prompt", [json_prompt, verbs_prompt])
def test_a_prompt_with_every_tool_has_at_most_700_tokens_as_a_model_counts_them(prompt: Any, server: str) -> None:
    everything = [tool.spec for name, tool in {**TOOLS, **LOOKUPS}.items() if name not in SHELL]
    text = prompt(everything, Path("/home/ada/projects/a_shop_with_a_long_name"), ("make", "check"))
    asked = urllib.request.Request(f"{server}/tokenize", json.dumps({"content": text}).encode())
    with urllib.request.urlopen(asked, timeout=60) as response:
        assert 0 < len(json.load(response)["tokens"]) <= 700


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_one_shot(kind: str, server: str, tmp_path: Path) -> None:
    live = make_profile(kind, server, {})
    config = tmp_path / "config.toml"
    text = f'[profiles.live]\ntype = "{kind}"\nendpoint = "{live.endpoint}"\nmodel = "{MODEL}"\n'
    config.write_text(text + "generation = { temperature = 0, max_tokens = 64 }\n[limits]\nmax_steps = 3\n")
    assert tomllib.loads(config.read_text())["profiles"]["live"]["endpoint"] == live.endpoint
    work = tmp_path / "work"
    work.mkdir()
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    argv = [
        sys.executable,
        "-m",
        "tui_agent",
        "--config",
        str(config),
        "--cwd",
        str(work),
        "-p",
        "Say hello.",
        "--json",
    ]
    done = subprocess.run(
        argv, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False
    )
    result = json.loads(done.stdout)
    assert result["exit_code"] == done.returncode, done.stderr
    assert result["status"] in {"refused", *StopReason} - {"failed"}, done.stderr
    assert result["usage"]["out"] > 0
    assert result["files"] == {}
