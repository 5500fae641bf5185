"""Secrets are hidden by value, whole or in pieces, and nothing else changes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes import FakeTools
from tui_agent.core.agent import Agent, Dialect, Plain
from tui_agent.core.loop import run
from tui_agent.core.reply import collect, masked
from tui_agent.core.secrets import HIDDEN, SHORT, Masked, Secrets, typed_keys
from tui_agent.core.types import Author, CallDelta, Delta, Model, ReplyEnd, Request, TextDelta
from tui_agent.protocols.dialect import Speech
from tui_agent.protocols.native import StepDown

# few letters and secrets that overlap, hold one another and repeat: what makes a matcher go wrong
LETTERS = "ab"
SECRET = st.text(LETTERS, min_size=SHORT, max_size=12)


def fed(secrets: Secrets, pieces: list[str]) -> tuple[list[str], str]:
    masked = Masked(secrets)
    return [masked.feed(piece) for piece in pieces], masked.finish()


@given(st.lists(SECRET, min_size=1, max_size=4), st.lists(st.text(LETTERS + "c", max_size=9) | SECRET, max_size=12))
def test_pieces_give_what_the_whole_gives(known: list[str], pieces: list[str]) -> None:
    secrets = Secrets(known)
    shown, rest = fed(secrets, pieces)
    assert "".join(shown) + rest == secrets.hide("".join(pieces))
    assert not any(secret in "".join(shown) + rest for secret in known)


@given(st.text(), st.data())
def test_a_secret_in_any_pieces_is_gone_and_the_rest_is_what_it_was(around: str, data: st.DataObject) -> None:
    key = "sk-CANARY-0123456789abcdef"
    text = f"{around}{key}{around}"
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    shown, rest = fed(Secrets([key]), pieces)
    assert "".join(shown) + rest == f"{around}{HIDDEN}{around}"


def test_no_more_is_held_back_than_a_secret_could_need() -> None:
    secrets = Secrets(["sk-12345678", "12345678-longer"])
    masked = Masked(secrets)
    assert masked.feed("ask") == "a"
    assert masked.feed("ing") == "sking"
    assert masked.feed(" sk-1234567") == " "
    assert masked.feed("9") == "sk-12345679"
    given_out = "".join(masked.feed("s") for _ in range(10_000))
    assert len(given_out) == 9_999


@pytest.mark.parametrize("key", ['with "quotes" 1', "back\\slash\\1", "schlüssel-1"])
def test_a_secret_is_known_as_json_writes_it(key: str) -> None:
    secrets = Secrets([key])
    for text in (key, json.dumps({"a": key}), json.dumps(json.dumps({"a": key}))):
        hidden = secrets.hide(text)
        assert HIDDEN in hidden
        assert key[-4:] not in hidden


def test_what_is_too_short_tears_no_words_apart() -> None:
    secrets = Secrets(["ollama", "", "x" * (SHORT - 1)])
    assert not secrets.known
    assert secrets.hide("ollama serve") == "ollama serve"
    assert fed(secrets, ["ollama"]) == (["ollama"], "")


def test_what_is_learned_later_counts_from_then_on() -> None:
    secrets = Secrets()
    masked = Masked(secrets)
    assert masked.feed("late-key-1") == "late-key-1"
    secrets.add("late-key-1", None)
    assert masked.feed("late-key-1") == HIDDEN


# ------------------------------------------------------------------ spelled in another way

KEY = "sk-CANARY/0123456789abcdef"


def spelled(text: str, escaped: list[bool]) -> str:
    return "".join(f"\\u{ord(letter):04x}" if odd else letter for letter, odd in zip(text, escaped, strict=True))


SPELLINGS = st.lists(st.booleans(), min_size=len(KEY), max_size=len(KEY)).map(lambda odd: spelled(KEY, odd))


@given(SPELLINGS, st.sampled_from(["%s", "[[%s]]", '{"in": [%s]}', "{%s: 1}"]))
def test_no_spelling_of_a_secret_comes_out_of_the_arguments_of_a_call(key: str, around: str) -> None:
    raw = '{"a": %s}' % (around % f'"so {key}."')
    for text in (raw, json.dumps(raw)):  # some servers encode twice
        plain = collect([CallDelta(0, "c1", "run", text), ReplyEnd("stop")])
        hidden = masked(plain, Secrets([KEY]))
        assert KEY in str(plain.calls[0].arguments)
        assert str(hidden.calls[0].arguments) == str(plain.calls[0].arguments).replace(KEY, HIDDEN)
        assert hidden.calls[0].raw == ""


@given(st.dictionaries(st.text(), st.none() | st.integers() | st.text() | st.lists(st.text())))
def test_arguments_without_a_secret_stay_as_they_came(arguments: dict[str, object]) -> None:
    reply = collect([CallDelta(0, "c1", "run", json.dumps(arguments)), ReplyEnd("stop")])
    assert masked(reply, Secrets([KEY])) == reply


@pytest.mark.parametrize("protocol", ["native", "json"])
@given(key=SPELLINGS)
async def test_no_spelling_of_a_secret_comes_out_of_a_run(protocol: str, key: str) -> None:
    deltas: list[list[Delta]] = [
        [CallDelta(0, "c1", "read_file", f'{{"path": "{key}"}}'), ReplyEnd("tool_calls")],
        [TextDelta("done"), ReplyEnd("stop")],
    ]
    dialect: Dialect = Plain()
    if protocol == "json":
        dialect = Speech("", "", StepDown("json"), auto=False)
        said = (f'{{"tool": "read_file", "path": "{key}"}}', f'{{"final": "it is {key}"}}')
        deltas = [[TextDelta(text), ReplyEnd("stop")] for text in said]
    replies = iter(deltas)

    async def stream(_: Request) -> AsyncIterator[Delta]:
        for delta in next(replies):
            yield delta

    agent = Agent(Model(Author("", "", ""), stream), FakeTools(), dialect=dialect, hidden=Secrets([KEY]))
    async with aclosing(run("read it", agent)) as events:
        told = repr([event async for event in events])
    assert KEY not in told
    assert f"'path': '{HIDDEN}'" in told


@pytest.mark.parametrize(
    "key",
    [
        "sk-CANARY-0123456789abcdef",
        "sk-proj-Ab0_x9-Tz81hQpLm4Rw2Ye7u",
        "sk-ant-api03-qP4vXw81ZtYkLm20RsUvNb55-AA",
        "gsk_a1B2c3D4e5F6g7H8i9J0kLmN",
        "AIzaSyA1b2C3d4E5f6G7h8I9j0",
        "hf_abcDEFghiJKLmnoPQRstuVWX",
        "Bearer eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.e30",
    ],
)
def test_a_key_that_was_typed_is_known_by_its_looks(key: str) -> None:
    assert typed_keys(f"use {key}, please") == f"use {HIDDEN}, please"


@pytest.mark.parametrize(
    "text",
    [
        "call hf_hub_download_with_retries from sk-learn-contrib-extensions",
        "rename pk_constraint_of_users_v2 to rk_users_2024_by_name",
        "Bearer authentication_required",
        "AIza",
        "sk-short1",
        "",
    ],
)
def test_a_name_that_was_typed_stays(text: str) -> None:
    assert typed_keys(text) == text
