"""A failed model call on the screen: the card says cause and next step, and its keys work while it has the focus."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ui.looking import CANARY, Fake, serving, text_of
from tests.ui.test_switching import ended, running, send
from tests.waiting import until
from tui_agent.core.profile import Profile
from tui_agent.core.types import ConfigError, ErrorKind, ProviderError
from tui_agent.providers.keys import read_key
from tui_agent.providers.scripted import scripted
from tui_agent.ui import failures
from tui_agent.ui.palette import Palette

ANSWER = b'data: {"choices":[{"index":0,"delta":{"content":"here I am"},"finish_reason":"stop"}]}\n\n'
CHAT = "/v1/chat/completions"


def table(fake: Fake) -> dict[str, Any]:
    return {"p": {"type": "openai", "endpoint": f"{fake.url}/v1", "model": "m", "api_key_env": "THE_KEY"}}


def test_the_details_show_no_secret_of_the_address() -> None:
    profile = Profile("mine", endpoint=f"https://me:{CANARY}@h.example/v1?key={CANARY}", model="m")
    facts = failures.details(ProviderError("server", "said"), profile)
    assert CANARY not in facts
    assert "endpoint: https://[hidden]@h.example/v1?key=[hidden]" in facts


def test_an_empty_account_is_no_limit_of_requests_and_a_barred_door_no_wrong_key() -> None:
    title, _, following = failures.words(ProviderError("rate_limit", "x", retryable=False, status=402), "mine")
    assert title == "No credit left at mine (402)"
    assert "Waiting does not help" in following
    assert failures.words(ProviderError("auth", "x", status=402), "mine")[0] == title
    refused = failures.words(ProviderError("auth", "x", status=403), "mine")
    assert refused == ("Access was refused at mine (403)", "x", failures.NO_ACCESS)
    assert failures.words(ProviderError("rate_limit", "x", retryable=True), "mine")[0] == "Rate limit at mine"


@pytest.mark.parametrize(
    ("table", "title", "then"),
    [
        ({"api_key_env": "NOT_SET"}, "No key for mine", "Set the key and start again"),
        ({"api_key_env": "WITH_BLANK"}, "No usable key for mine", "Mend that"),
        ({"api_key_env": "A_KEY", "endpoint": "http://h.example/v1"}, "No usable key for mine", "/configure"),
        ({"api_key_cmd": ("false",)}, "No usable key for mine", "then /retry"),
    ],
)
async def test_what_is_wrong_with_a_key_is_named_with_what_helps(table: dict[str, Any], title: str, then: str) -> None:
    used = Profile(**{"name": "mine", "endpoint": "https://h.example/v1", "model": "m", "local": False, **table})
    with pytest.raises(ConfigError) as refused:
        await read_key(used, {"WITH_BLANK": "a b", "A_KEY": CANARY})
    words = failures.words(ProviderError("auth", str(refused.value)), "mine")
    assert words[0] == title
    assert then in words[2]
    refusal = ProviderError("auth", "no (the key comes from api_key_cmd of profile 'mine')", status=401)
    assert failures.words(refusal, "mine")[2] == failures.READ_ANEW


def test_an_answer_that_broke_off_is_not_told_as_no_connection() -> None:
    """The connection was there, and half of the answer stands above the card."""
    gone = ProviderError("network", "x", retryable=True)
    assert failures.words(gone, "mine")[0] == "No answer from mine"
    assert failures.words(replace(gone, begun=True), "mine")[0] == "Half an answer from mine"
    assert failures.words(ProviderError("server", "x", begun=True), "mine")[0] == "The server failed at mine"


@given(st.sampled_from(get_args(ErrorKind)), st.none() | st.integers(400, 599), st.none() | st.floats(0, 1e6))
def test_every_kind_has_a_title_a_cause_and_a_next_step(kind: Any, status: Any, wait: Any) -> None:
    error = ProviderError(kind, "because of this", retryable=True, retry_after=wait, status=status)
    title, cause, following = failures.words(error, "mine")
    assert "mine" in title
    assert cause == "because of this"
    assert following
    facts = failures.details(error, Profile("mine", endpoint="http://127.0.0.1:1/v1", model="m"))
    assert "because of this" in facts
    assert (f"status: {status}" in facts) == (status is not None)
    assert ("wait asked for" in facts) == (wait is not None)


async def test_the_keys_of_the_card(tmp_path: Path) -> None:
    fake = Fake({CHAT: (401, {"error": {"message": f"bad key {CANARY}"}})})
    with serving(fake):
        async with running(tmp_path, scripted([]), table(fake)) as (app, pilot):
            await send(app, pilot, "/provider p")
            await send(app, pilot, "hello")
            await ended(app)
            await pilot.pause(0.1)
            shown = text_of(app)
            assert "▌ The key was not accepted at p (401)" in shown
            assert "▌ Ctrl+X r retry   Ctrl+X p provider   Ctrl+X d details   /config" in shown
            assert "not answered" in shown.splitlines()[-1]
            assert app.main.composer.text == "hello"
            await pilot.press("r")  # in the composer it is a letter
            assert app.main.composer.text == "hellor"
            await pilot.press("backspace", "ctrl+x", "d")
            await until(lambda: "key: the variable THE_KEY" in text_of(app))
            assert app.screen is app.main
            await pilot.press("ctrl+x", "tab")
            await pilot.pause(0.1)
            assert app.focused is app.main.transcript
            assert "r retry   p provider" in text_of(app).splitlines()[-1]
            await pilot.press("d")
            await until(lambda: "status: 401" in text_of(app))
            await pilot.pause()
            assert "key: the variable THE_KEY" in text_of(app)
            await pilot.press("c")
            await until(lambda: "config.toml" in text_of(app))
            await pilot.press("p")
            await until(lambda: isinstance(app.screen, Palette))
            await pilot.press("escape")
            fake.answers[CHAT] = (200, ANSWER)
            app.main.transcript.focus()
            await pilot.press("r")
            await until(lambda: "here I am" in text_of(app))
            assert app.main.composer.text == ""
            assert CANARY not in text_of(app)
    assert [path for path, *_ in fake.asked].count(CHAT) == 2


async def test_without_a_failure_they_are_no_keys(tmp_path: Path) -> None:
    with serving(Fake({CHAT: (200, ANSWER)})) as fake:
        async with running(tmp_path, scripted([]), table(fake)) as (app, pilot):
            await send(app, pilot, "/provider p")
            await send(app, pilot, "hello")
            await ended(app)
            app.main.transcript.focus()
            events = len(app.session.events)
            await pilot.press("r", "p", "c", "d")
            app.main.composer.focus()
            await send(app, pilot, "/failure")
            assert app.screen is app.main
            assert len(app.session.events) == events
            assert any("did not fail" in n.message for n in app._notifications)


BUSY = (429, {"error": {"message": "slow down", "details": [{"retryDelay": "50s"}]}})


@pytest.mark.parametrize("way", ["card", "leader", "slash"])
async def test_during_a_countdown_the_next_try_can_be_had_now(tmp_path: Path, way: str) -> None:
    with serving(Fake({CHAT: BUSY})) as fake:
        async with running(tmp_path, scripted([]), table(fake)) as (app, pilot):
            await send(app, pilot, "/provider p")
            await send(app, pilot, "hello")
            await until(lambda: app.talk.retrying)
            await pilot.pause(0.1)
            assert re.search(r"try 2 of 6 in [45]\ds   Esc stop   Ctrl\+X r now", text_of(app).splitlines()[-1])
            assert re.search("▌ Next try in [45]\\d s  [█░]{16}", text_of(app))
            fake.answers[CHAT] = (200, ANSWER)
            if way == "card":
                await pilot.press("ctrl+x", "tab")
                await until(lambda: "r now   p provider   Esc stop" in text_of(app).splitlines()[-1])
                await pilot.press("r")
            elif way == "leader":
                await pilot.press("ctrl+x", "r")
            else:
                await send(app, pilot, "/retry")
            await ended(app)
            await pilot.pause(0.1)
            assert "here I am" in text_of(app)
            assert "Next try" not in text_of(app)
            assert not app.talk.retrying
        assert [path for path, *_ in fake.asked].count(CHAT) == 2


async def test_during_a_countdown_another_provider_gets_the_message(tmp_path: Path) -> None:
    with serving(Fake({CHAT: BUSY})) as busy, serving(Fake({CHAT: (200, ANSWER)})) as free:
        profiles = {**table(busy), "q": {**table(free)["p"], "model": "n"}}
        async with running(tmp_path, scripted([]), profiles) as (app, pilot):
            await send(app, pilot, "/provider p")
            await send(app, pilot, "hello")
            await until(lambda: app.talk.retrying)
            app.main.composer.load("a draft")
            await pilot.press("ctrl+x", "tab", "p")
            await until(lambda: isinstance(app.screen, Palette))
            await pilot.press("down")
            await until(lambda: "It is sent what waits for its next try." in text_of(app))
            await pilot.press("enter")
            await ended(app, 2)
            await pilot.pause(0.1)
            assert "here I am" in text_of(app)
            assert app.main.composer.text == "a draft"
            assert app.talk.unsent is None
            assert [m.text for m in app.session.history] == ["hello", "here I am"]
        assert [path for path, *_ in busy.asked].count(CHAT) == 1
        assert [body["messages"][-1]["content"] for path, _, body in free.asked if path == CHAT] == ["hello"]


async def test_one_escape_on_the_card_ends_the_countdown(tmp_path: Path) -> None:
    with serving(Fake({CHAT: BUSY})) as fake:
        async with running(tmp_path, scripted([]), table(fake)) as (app, pilot):
            await send(app, pilot, "/provider p")
            await send(app, pilot, "hello")
            await until(lambda: app.talk.retrying)
            await pilot.press("ctrl+x", "tab", "escape")
            await ended(app)
            assert app.main.composer.text == "hello"


@pytest.mark.parametrize("size", [(80, 24), (40, 20)])
async def test_the_card_is_whole_in_a_small_terminal(tmp_path: Path, size: tuple[int, int]) -> None:
    with serving(Fake({CHAT: (401, {"error": {"message": "bad key"}})})) as fake:
        async with running(tmp_path, scripted([]), table(fake)) as (app, pilot):
            await pilot.resize_terminal(*size)
            await send(app, pilot, "/provider p")
            await send(app, pilot, "hello")
            await ended(app)
            await pilot.pause(0.1)
            shown = text_of(app)
            for word in ("not accepted", "THE_KEY", "/provider", "Ctrl+X r retry", "Ctrl+X d details"):
                assert word in shown


async def test_a_countdown_tells_more_than_how_to_stop_at_every_width(tmp_path: Path) -> None:
    with serving(Fake({CHAT: BUSY})) as fake:
        async with running(tmp_path, scripted([]), table(fake)) as (app, pilot):
            await pilot.resize_terminal(40, 20)
            await send(app, pilot, "/provider p")
            await send(app, pilot, "hello")
            await until(lambda: "Esc stop   Ctrl+X r now" in text_of(app).splitlines()[-1])
            assert " try in " in text_of(app).splitlines()[-1]
            await until(lambda: "▌ Next try in" in text_of(app))
            assert "▌ Ctrl+X r now   Ctrl+X p provider" in text_of(app)


async def test_the_card_of_half_an_answer(tmp_path: Path) -> None:
    half = b'data: {"choices":[{"index":0,"delta":{"content":"half of it"},"finish_reason":null}]}\n\n'
    with serving(Fake({CHAT: (200, half)})) as fake:
        async with running(tmp_path, scripted([]), table(fake)) as (app, pilot):
            await send(app, pilot, "/provider p")
            await send(app, pilot, "hello")
            await ended(app)
            await until(lambda: "▌ Half an answer from p" in text_of(app))
            assert "half of it" in text_of(app)


async def test_the_way_to_the_card_is_told_at_every_width(tmp_path: Path) -> None:
    with serving(Fake({CHAT: (401, {"error": {"message": "no"}})})) as fake:
        async with running(tmp_path, scripted([]), table(fake)) as (app, pilot):
            await send(app, pilot, "/provider p")
            await send(app, pilot, "hello")
            await ended(app)
            for width, height in ((120, 40), (80, 24), (40, 20)):
                await pilot.resize_terminal(width, height)
                await until(lambda: "Ctrl+X Tab card" in text_of(app).splitlines()[-1])


async def test_while_the_key_is_fetched_that_is_what_is_waited_for(tmp_path: Path) -> None:
    command = f"while [ ! -e {tmp_path}/go ]; do sleep 0.01; done; echo key"
    with serving(Fake({CHAT: (200, ANSWER)})) as fake:
        own = {"p": {**table(fake)["p"], "api_key_cmd": ["sh", "-c", command]}}
        async with running(tmp_path, scripted([]), own) as (app, pilot):
            await send(app, pilot, "/provider p")
            await send(app, pilot, "hello")
            await until(lambda: "running api_key_cmd" in text_of(app).splitlines()[-1])
            await pilot.press("ctrl+c")
            await ended(app)
            assert app.main.composer.text == "hello"
            assert not fake.asked
            await pilot.press("enter")
            await until(lambda: "running api_key_cmd" in text_of(app).splitlines()[-1])
            (tmp_path / "go").touch()
            await until(lambda: "here I am" in text_of(app))


def test_what_answers_in_another_format_is_not_just_asked_again() -> None:
    assert failures.words(ProviderError("protocol", "a web page"))[2].startswith(
        "Look at its type and endpoint (/configure)"
    )
    assert failures.words(ProviderError("protocol", "bytes were lost", retryable=True))[2].startswith("/retry")
