"""What a message is about: words first, then, where it matters, one word of the model; in doubt the full set of tools."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from contextlib import aclosing
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from tui_agent.core.reply import ReplyBuilder
from tui_agent.core.stage import stream_reply
from tui_agent.core.types import Model, Reply, Request, UserMessage

Intent: TypeAlias = Literal["general", "coding", "hybrid"]

ENABLES: Mapping[Intent, str] = MappingProxyType(
    {
        "general": "one answer with a search of the web, apart from the work; no files",
        "coding": "files and commands, no web",
        "hybrid": "files, commands and the web",
    }
)

GENERAL = (
    "weather", "news", "headlines", "capital of", "population of", "recipe", "stock price",
    "exchange rate", "tell me a joke", "what day is", "what time is it", "how old is", "how tall is", "football",
)  # fmt: skip
CODING = (
    "fix", "bug", "code", "test", "tests", "function", "method", "class", "module", "file", "files", "folder", "directory",
    "refactor", "implement", "compile", "build", "error", "exception", "traceback", "commit", "branch", "repository", "repo",
    "import", "variable", "lint", "debug", "rename", "script", "readme", "edit", "git", "type", "types", "api",
)  # fmt: skip

CHANGING = (
    "add", "append", "build", "change", "clean", "convert", "correct", "create", "debug", "delete", "edit", "extend", "fix",
    "generate", "implement", "improve", "insert", "make", "migrate", "move", "optimise", "optimize", "patch", "port",
    "refactor", "remove", "rename", "repair", "replace", "revert", "rewrite", "update", "write",
)  # fmt: skip

LONGEST = 200
"""Characters of a message in which a general word counts."""

SHORT: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "openai-chat": {"max_tokens": 10, "temperature": 0},
        "anthropic": {"max_tokens": 10, "temperature": 0},
        "ollama-native": {"num_predict": 10, "temperature": 0},
    }
)
"""Settings of the one-word question, by wire."""

QUESTION = (
    "Say in one word what the message needs. CODING: work on files, code or commands of this folder. GENERAL: a question "
    "about the world that has nothing to do with them. HYBRID: work on the folder that needs facts from the web. Answer "
    "CODING, GENERAL or HYBRID, nothing else."
)


def _matches(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, words))})\b", re.IGNORECASE)


_GENERAL, _CODING, _CHANGING = _matches(GENERAL), _matches(CODING), _matches(CHANGING)
_FILE = re.compile(r"\w\.[a-z][a-z0-9]{0,7}\b|\w/\w|(?<!\w)@\w")
"""What looks like the name of a file, a path or a mention of one."""


def is_work(text: str) -> bool:
    """Whether a message names a file or asks for a change: then it is no question about the world."""
    return bool(_CHANGING.search(text) or _FILE.search(text))


def by_words(text: str) -> Intent | None:
    """The intent as words tell it, general ones before those of coding; None when none do.

    A message that is work is never general, in doubt it has the full set of tools. A long message is no question about the world: there a general word is by chance.
    """
    if len(text) <= LONGEST and _GENERAL.search(text):
        return "coding" if is_work(text) else "general"
    return "coding" if _CODING.search(text) else None


def read(answer: str, text: str) -> Intent:
    """The intent that a model's answer to a message names; one that names none means coding, as does work."""
    said = answer.upper()
    if "GENERAL" in said:
        return "coding" if is_work(text) else "general"
    return "hybrid" if "HYBRID" in said else "coding"


async def ask(model: Model, text: str) -> Reply:
    """One short reply about a message; `error` in it when there was none."""
    builder = ReplyBuilder()
    request = Request(QUESTION, (UserMessage(text[:2000]),))
    async with aclosing(stream_reply(model, request, builder, time.monotonic, live=False)) as events:
        async for _ in events:
            continue
    return builder.reply()
