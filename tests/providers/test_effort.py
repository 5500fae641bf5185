"""One word for the effort of thinking, as each server takes it."""

from __future__ import annotations

from typing import Any

import pytest

from tui_agent.core.profile import Profile
from tui_agent.core.types import UserMessage
from tui_agent.providers import anthropic, ollama, openai_chat, vendors

SAID = (UserMessage("hi"),)


def made(kind: str, wire: str, effort: str | None, **generation: Any) -> Profile:
    return Profile("p", type=kind, wire=wire, endpoint="http://x", model="m", effort=effort, generation=generation)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "wire", "build", "effort", "sent"),
    [
        ("openai", "openai-chat", openai_chat.build, "low", {"reasoning_effort": "low"}),
        ("openai", "openai-chat", openai_chat.build, "off", {"reasoning_effort": "none"}),
        ("openrouter", "openai-chat", openai_chat.build, "high", {"reasoning": {"effort": "high"}}),
        ("openrouter", "openai-chat", openai_chat.build, "off", {"reasoning": {"enabled": False}}),
        ("deepseek", "openai-chat", openai_chat.build, "off", {"thinking": {"type": "disabled"}}),
        ("llamacpp", "openai-chat", openai_chat.build, "off", {"chat_template_kwargs": {"enable_thinking": False}}),
        ("anthropic", "anthropic", anthropic.build, "off", {"thinking": {"type": "disabled"}}),
        ("ollama", "ollama-native", ollama.build, "high", {"think": "high"}),
        ("ollama", "ollama-native", ollama.build, "off", {"think": False}),
    ],
)
def test_what_is_sent(kind: str, wire: str, build: Any, effort: str, sent: dict[str, Any]) -> None:
    body = build(SAID, made(kind, wire, effort))
    assert {name: body[name] for name in sent} == sent
    assert not sent.keys() & build(SAID, made(kind, wire, None)).keys()


@pytest.mark.parametrize("effort", ["low", "medium", "high"])
@pytest.mark.parametrize("limit", [None, 500, 3000, 4096, 64_000])
def test_a_budget_always_leaves_room_for_the_answer(effort: str, limit: int | None) -> None:
    generation = {"temperature": 0.2, **({} if limit is None else {"max_tokens": limit})}
    body = anthropic.build(SAID, made("anthropic", "anthropic", effort, **generation))
    if "thinking" not in body:
        assert limit is not None
        assert limit < 2048
        return
    assert 1024 <= body["thinking"]["budget_tokens"] < body["max_tokens"]
    assert limit is None or body["max_tokens"] == limit
    assert "temperature" not in body


@pytest.mark.parametrize(
    ("kind", "wire", "build", "said", "name"),
    [
        ("openai", "openai-chat", openai_chat.build, "Unsupported parameter: 'reasoning_effort'", "reasoning_effort"),
        ("ollama", "ollama-native", ollama.build, '{"error":"\\"gemma3\\" does not support thinking"}', "think"),
        ("anthropic", "anthropic", anthropic.build, "thinking is not supported by this model", "thinking"),
    ],
)
def test_a_model_that_cannot_think_is_asked_once_more_without_it(
    kind: str, wire: str, build: Any, said: str, name: str
) -> None:
    profile = made(kind, wire, "low")
    rules = vendors.rules(profile)
    learned = vendors.adapt(rules, build(SAID, profile), 400, said)
    assert learned is not None
    assert learned[1] == name
    assert name not in build(SAID, profile, vendor=learned[0])
