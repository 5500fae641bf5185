"""Tokens and money in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rich.text import Text

from tests.ui.test_app import idle, running, text_of
from tests.waiting import until
from tui_agent.core import events as ev
from tui_agent.core.profile import ModelInfo, Pricing, Profile
from tui_agent.core.types import AssistantMessage, Author, Usage
from tui_agent.providers.scripted import scripted
from tui_agent.ui.app import AgentApp
from tui_agent.ui.chrome import HeaderState, header_line
from tui_agent.ui.numbers import NO_PRICING, forecast, gauge, money, privacy_report, size, tokens_report
from tui_agent.ui.switching import Today, hint, note

PRICED = Profile("cloud", model="m", pricing=Pricing(2.0, 0.5, 8.0))


def said(usage: Usage | None, cost: float | None) -> ev.AssistantSaid:
    return ev.AssistantSaid(AssistantMessage("x", author=Author("openai-chat", "e", "m")), usage=usage, cost=cost)


def report(*events: Any, profile: Profile = PRICED) -> str:
    return tokens_report(events, {profile.name: profile})


def test_all_the_numbers_of_a_priced_model() -> None:
    usage = Usage(12_345, 678, cached_tokens=8_000, reasoning_tokens=100)
    cost = PRICED.pricing.cost(usage) if PRICED.pricing else None
    text = report(ev.ModelChosen("cloud", "m"), said(usage, cost))
    for row in ("12,345", "678", "13,023", "8,000  (64.8% of the prompt)", "100  (part of the completion)"):
        assert row in text
    assert "$0.018114  (input 2.0000  cached 0.5000  output 8.0000 per million)" in text


def test_a_cached_line_only_when_there_is_something() -> None:
    assert "cached  " not in report(ev.ModelChosen("cloud", "m"), said(Usage(10, 1, cached_tokens=0), 0.1))


def test_without_pricing_the_cost_is_unknown_and_never_nothing() -> None:
    text = report(ev.ModelChosen("cloud", "m"), said(Usage(10, 1), None), profile=Profile("cloud", model="m"))
    assert NO_PRICING in text
    assert "$" not in text


def test_prices_of_another_model_are_told_as_that() -> None:
    text = report(ev.ModelChosen("cloud", "n"), said(Usage(10, 1), None))
    assert "n/a (the prices of cloud are those of m)" in text


def test_a_local_model_costs_nothing_and_says_why() -> None:
    text = report(ev.ModelChosen("own", "qwen", local=True), said(Usage(10, 1), 0.0), profile=Profile("own"))
    assert "$0 (local model qwen)" in text
    assert "11" in text


def test_tokens_that_nobody_counted_are_unknown() -> None:
    text = report(ev.ModelChosen("cloud", "m"), said(None, None))
    assert text.count("unknown") == 4
    assert "1 of 1 replies" in text
    assert " 0" not in text.replace("0.5000", "")


def test_each_model_has_its_own_and_the_sum_is_the_sum() -> None:
    text = report(
        ev.ModelChosen("own", "qwen", local=True),
        said(Usage(100, 10), 0.0),
        ev.ModelChosen("cloud", "m"),
        said(Usage(1000, 100), 0.0028),
        said(Usage(1000, 100), 0.0028),
    )
    assert "qwen (own)" in text
    assert "m (cloud)" in text
    everything = text.partition("all\n")[2]
    assert "2,100" in everything
    assert "$0.005600" in everything


def test_a_sum_with_an_unknown_part_is_unknown() -> None:
    text = report(
        ev.ModelChosen("cloud", "m"), said(Usage(1, 1), 0.5), ev.ModelChosen("dear", "n"), said(Usage(1, 1), None)
    )
    assert "n/a (the cost of one of them is unknown)" in text


def test_nothing_was_answered() -> None:
    assert report(ev.ModelChosen("cloud", "m")) == "No tokens yet: nothing was answered."


@pytest.mark.parametrize(
    ("used", "window", "estimated", "text"),
    [
        (None, 32768, False, ""),
        (830, None, False, "830"),
        (1_250_000, None, False, "1.2M"),
        (18_200, None, True, "~18.2k"),
        (18_200, 32_768, False, "18.2k/32k 56%"),
        (18_200, 200_000, True, "~18.2k/200k 9%"),
        (24_000, 32_768, False, "24.0k/32k 73% filling"),
        (30_000, 32_768, False, "30.0k/32k 92% nearly full"),
        (40_000, 32_768, True, "~40.0k/32k 122% full"),
        (0, 1_000_000, False, "0/1M 0%"),
    ],
)
def test_the_gauge(used: int | None, window: int | None, estimated: bool, text: str) -> None:
    assert gauge(used, window, estimated=estimated) == text


def test_sizes() -> None:
    assert [size(n) for n in (None, 512, 4096, 32_768, 200_000, 262_144, 1_048_576)] == [
        *("?", "512", "4k", "32k", "200k", "256k", "1M")
    ]


@pytest.mark.parametrize("width", [120, 80, 60, 40])
def test_the_header_keeps_how_full_it_is(width: int) -> None:
    state = HeaderState("parser", "main", 3, "qwen3-coder:30b", "ollama", "ask", 18_200, 32_768, cost=0.31)
    line = header_line(state, width)
    assert isinstance(line, Text)
    assert "56%" in line.plain
    assert "$0.31" in line.plain
    assert line.cell_len <= width


def test_hosts() -> None:
    assert "Nothing has left" in privacy_report({}, offline=False)
    text = privacy_report({"https://api.openai.com": 3, "http://127.0.0.1:11434": 1}, offline=True)
    assert "https://api.openai.com  3 requests" in text
    assert "http://127.0.0.1:11434  1 request" in text
    assert "--offline" in text


@pytest.mark.parametrize(
    ("used", "characters", "pricing", "told"),
    [
        (None, 5, Pricing(3.0, 0.3, 15.0), "message ~10"),
        (9_000, 1_600, Pricing(3.0, 0.3, 15.0), "next ~9.4k, up to $0.0282"),
        (90_000, 40_000, Pricing(3.0, 0.3, 15.0), "next ~100k, up to $0.30"),
        (9_000, 4, None, "next ~9.0k"),
        (10, 4, Pricing(0.0, 0.0, 0.0), "next ~20"),
    ],
)
def test_what_sending_would_take(used: int | None, characters: int, pricing: Pricing | None, told: str) -> None:
    assert forecast(used, characters, pricing) == told


async def test_the_footer_tells_it_while_a_message_is_typed(tmp_path: Path) -> None:
    usage = {"input_tokens": 9_000, "output_tokens": 0}
    async with running(tmp_path, scripted([{"text": "x", "usage": usage}])) as (app, pilot):
        await pilot.press(*"hello")
        await until(lambda: "message ~10" in footer(app))
        await pilot.press("enter")
        await idle(app)
        await until(lambda: "ready" in footer(app))
        app.main.composer.load("x" * 4_000)
        await until(lambda: "next ~10.0k" in footer(app))
        app.main.composer.load("/he")
        await until(lambda: "next" not in footer(app))


def footer(app: AgentApp) -> str:
    return text_of(app).splitlines()[-1]


@pytest.mark.parametrize(
    ("cost", "word"),
    [(None, "$ n/a"), (0.0, "$0.00"), (1e-9, "<$0.01"), (0.0099, "<$0.01"), (0.01, "$0.01"), (1.234, "$1.23")],
)
def test_a_real_cost_is_never_shown_as_nothing(cost: float | None, word: str) -> None:
    assert money(cost) == word
    assert word in header_line(HeaderState(cost=cost), 80).plain


def test_a_provider_without_a_model_stands_alone() -> None:
    assert " · " not in header_line(HeaderState("parser", provider="script"), 120).plain
    rate = ModelInfo("m", pricing=Pricing(0.001, 0.0, 0.004))
    listed = Profile("cloud", model="m")
    assert "<0.01/<0.01" in hint(rate, listed, Today())
    assert "about <$0.01." in note(rate, listed, Today(tokens=500))
