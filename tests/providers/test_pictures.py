"""Pictures in the three formats."""

from __future__ import annotations

from typing import Any

import pytest

from tui_agent.core.profile import Profile
from tui_agent.core.types import Image, UserMessage
from tui_agent.providers import anthropic, ollama, openai_chat

FULL = Image("a.png", "image/png", "0" * 64, 3, "QUJD")
BARE = Image("b.png", "image/png", "1" * 64, 3)


def body(adapter: Any, *history: UserMessage) -> Any:
    return adapter.build(history, Profile("p", wire=adapter.NAME, endpoint="http://x", model="m"))["messages"][0]


def test_chat_completions() -> None:
    assert body(openai_chat, UserMessage("look", (FULL, BARE)))["content"] == [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
    ]


def test_messages() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "QUJD"}
    blocks = body(anthropic, UserMessage("look", (FULL, BARE)))["content"]
    assert (blocks[0]["type"], blocks[0]["source"]) == ("image", source)
    assert blocks[1]["text"] == "look"


def test_ollama() -> None:
    message = body(ollama, UserMessage("look", (FULL, BARE)))
    assert message == {"role": "user", "content": "look", "images": ["QUJD"]}


@pytest.mark.parametrize("adapter", [openai_chat, anthropic, ollama])
def test_a_picture_without_words_is_a_message_and_neighbours_keep_theirs(adapter: Any) -> None:
    assert str(body(adapter, UserMessage("", (FULL,)), UserMessage("and?", (FULL,)))).count("QUJD") == 2


@pytest.mark.parametrize("adapter", [openai_chat, ollama])
def test_without_pictures_the_content_is_plain_text(adapter: Any) -> None:
    assert body(adapter, UserMessage("look")) == {"role": "user", "content": "look"}
