"""Switching what answers: said before, done after the running turn, honest about what is known."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.ui.looking import CANARY, Fake, serving, text_of
from tests.waiting import PATIENCE, until
from tui_agent.config import settings
from tui_agent.core import events as ev
from tui_agent.core.endings import StopReason
from tui_agent.core.profile import ModelInfo, Pricing, Profile
from tui_agent.core.types import (
    AssistantMessage,
    Author,
    CallDelta,
    Image,
    Model,
    ReplyEnd,
    Request,
    TextDelta,
    Usage,
    UserMessage,
)
from tui_agent.paths import Paths
from tui_agent.providers.network import Network
from tui_agent.providers.scripted import scripted
from tui_agent.session import Terms
from tui_agent.ui.app import AgentApp, Ready, Start
from tui_agent.ui.palette import Palette
from tui_agent.ui.switching import Today, fits, hint, note
from tui_agent.window import compatible_trap, window_trap, with_window

CLOUD = Profile(
    "cloud", "anthropic", "anthropic", "https://api.anthropic.com", "claude", pricing=Pricing(3.0, 0.3, 15.0)
)
LOCAL = Profile("ollama", "ollama", "ollama-native", "http://127.0.0.1:11434", "qwen", local=True)

# ------------------------------------------------------------------ words before a switch


def test_the_words_of_a_switch() -> None:
    author = Author("ollama-native", LOCAL.endpoint or "", "qwen")
    history = (
        UserMessage("hi"),
        AssistantMessage("a", reasoning="hm", author=author),
        AssistantMessage("b", author=author, extras={"thinking": [1]}),
        AssistantMessage("c", author=author),
    )
    today = Today(history, 18_000, LOCAL)
    info = ModelInfo("claude", 200_000, tools=True)
    assert note(info, CLOUD, today) == (
        "Next message goes to cloud. 2 reasoning blocks of qwen left out, tool results stay. Next request about $0.05."
    )
    assert hint(info, CLOUD, today).split() == ["200k", "yes", "3.00/15.00", "fits,", "18.0k"]
    assert "left out" not in note(ModelInfo("qwen"), LOCAL, today)


def test_what_does_not_fit_is_said_first() -> None:
    picture = UserMessage("look", (Image("a.png", "image/png", "0", 1),))
    today = Today((picture,), 18_000, LOCAL, working=True)
    words = note(ModelInfo("codellama", 16_384, tools=False, images=False), LOCAL, today)
    assert words.startswith("The conversation, about 18.0k tokens, does not fit 16k: /compact first. It takes no tools")
    assert "1 picture left out" in words
    assert "The running turn ends on qwen." in words
    assert "too small" in hint(ModelInfo("codellama", 16_384), LOCAL, today)


def test_unknown_stays_open() -> None:
    assert fits(ModelInfo("m"), 100) == ""
    assert fits(ModelInfo("m", 100), None) == ""
    assert hint(ModelInfo("m"), Profile("p"), Today()).split() == ["?", "?", "?"]


@pytest.mark.parametrize(
    ("loaded", "asked", "most", "says"),
    [
        (4096, 32_768, 262_144, "loaded with 4,096 tokens; the profile asks for 32,768"),
        (4096, None, 262_144, "/window 32768 asks for more"),
        (4096, None, 8192, "/window 8192 asks for more"),
        (4096, None, 4096, ""),
        (32_768, 32_768, 262_144, ""),
        (None, 32_768, 262_144, ""),
    ],
)
def test_the_context_trap(loaded: int | None, asked: int | None, most: int, says: str) -> None:
    used = Profile("o", wire="ollama-native", model="q", generation={"num_ctx": asked} if asked else {})
    trap = window_trap(ModelInfo("q", loaded, most=most), used)
    assert (trap is None) is (not says)
    if trap is not None:
        assert says in trap.words
        assert trap.window == (asked or min(32_768, most))
        assert trap.anew is (asked is not None)


def test_the_compatible_interface_of_ollama_is_told() -> None:
    trap = compatible_trap(Profile("o", endpoint="http://127.0.0.1:11434/v1"))
    assert trap is not None
    assert 'type = "ollama"' in trap.words
    assert compatible_trap(LOCAL) is None
    assert compatible_trap(Profile("o", endpoint="http://127.0.0.1:8080/v1")) is None
    assert compatible_trap(Profile("o", endpoint="http://127.0.0.1:port/v1")) is None


def test_a_window_is_asked_for_where_it_can_be() -> None:
    native = with_window(LOCAL, 8192)
    assert native is not None
    assert (native.endpoint, native.generation) == (LOCAL.endpoint, {"num_ctx": 8192})
    compatible = with_window(Profile("o", endpoint="http://127.0.0.1:11434/v1/", generation={"seed": 1}), 8192)
    assert compatible is not None
    assert (compatible.type, compatible.wire, compatible.endpoint) == (
        "ollama",
        "ollama-native",
        "http://127.0.0.1:11434",
    )
    assert compatible.generation == {"seed": 1, "num_ctx": 8192}
    assert with_window(CLOUD, 8192) is None


# ------------------------------------------------------------------ in the app


@asynccontextmanager
async def running(
    tmp_path: Path,
    model: Model,
    profiles: dict[str, Any],
    profile: Profile | None = None,
    *,
    environment: dict[str, str] | None = None,
    **kw: Any,
) -> AsyncIterator[tuple[AgentApp, Pilot[int]]]:
    root = tmp_path / "work"
    root.mkdir(exist_ok=True)
    network = Network(**kw)
    env = {"HOME": str(tmp_path), "THE_KEY": CANARY, **(environment or {})}
    at = Terms(
        root,
        settings({"profiles": profiles}),
        Paths(*(tmp_path / part for part in ("config", "data", "state"))),
        trusted=True,
        network=network,
        environment=env,
    )
    used = profile or Profile("first", model="m1")
    app = AgentApp(
        Start(root, at.paths, at.paths.config_file, ready=Ready(at, model, used), environment=env, network=network)
    )
    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: app.main.conversation is not None and app.session.profile is not None)
        yield app, pilot


async def send(app: AgentApp, pilot: Pilot[int], text: str) -> None:
    app.main.composer.load(text)
    await pilot.press("enter")


async def ended(app: AgentApp, runs: int = 1) -> None:
    await until(lambda: not app.talk.working and sum(isinstance(e, ev.RunEnded) for e in app.session.events) == runs)


def ollama_fake(loaded: int = 4096) -> Fake:
    done = {
        "message": {"content": "ok"},
        "done": True,
        "done_reason": "stop",
        "prompt_eval_count": 900,
        "eval_count": 3,
    }
    return Fake(
        {
            "/api/chat": (200, json.dumps(done).encode() + b"\n"),
            "/api/show": (200, {"capabilities": ["tools"], "model_info": {"q.context_length": 262_144}}),
            "/api/ps": (200, {"models": [{"name": "qwen", "context_length": loaded}]}),
            "/api/tags": (200, {"models": [{"name": "qwen"}, {"name": "other"}]}),
        }
    )


async def test_a_running_turn_ends_on_the_old_model_and_its_cost_is_booked_there(tmp_path: Path) -> None:
    go = asyncio.Event()

    async def stream(request: Request) -> AsyncIterator[Any]:
        yield TextDelta("slow ")
        await go.wait()
        yield TextDelta("answer")
        yield ReplyEnd("stop", Usage(1_000_000, 0))

    old = Profile("first", model="m1", pricing=Pricing(2.0, 2.0, 2.0))
    script = tmp_path / "script.json"
    script.write_text('{"replies": [{"text": "of the first"}, {"text": "from the second"}]}')
    second = {"type": "scripted", "endpoint": str(script), "model": "m2", "pricing": {"input": 50}}
    async with running(tmp_path, Model(Author("x", "x", "m1"), stream), {"second": second}, old) as (app, pilot):
        await send(app, pilot, "hello")
        await until(lambda: app.talk.phase.name == "streaming")
        await send(app, pilot, "/provider second")
        assert app.session.profile is old
        go.set()
        await ended(app)
        assert app.session.profile is not None
        assert app.session.profile.name == "second"
        events = app.session.events
        chosen = [n for n, e in enumerate(events) if isinstance(e, ev.ModelChosen)]
        said = [n for n, e in enumerate(events) if isinstance(e, ev.AssistantSaid)]
        assert chosen[0] < said[0] < chosen[1]
        assert app.talk.totals.cost == pytest.approx(2.0)
        await send(app, pilot, "again")
        await ended(app, 2)
        await until(lambda: "from the second" in text_of(app))


async def test_the_context_trap_is_found_after_the_first_answer_and_the_meter_is_real(tmp_path: Path) -> None:
    with serving(ollama_fake()) as fake:
        table = {"type": "ollama", "endpoint": fake.url, "model": "qwen", "generation": {"num_ctx": 32_768}}
        async with running(tmp_path, scripted([]), {"ollama": table}) as (app, pilot):
            await send(app, pilot, "/provider ollama")
            assert fake.asked == []  # nothing is asked before the person asks something
            await send(app, pilot, "hello")
            await ended(app)
            await until(lambda: app.session.info is not None)
            await until(lambda: "Context smaller than it looks" in text_of(app))
            await pilot.pause()
            assert "4,096" in text_of(app)
            await until(lambda: "903/4k 22%" in text_of(app).splitlines()[0])
            chat = next(body for path, _, body in fake.asked if path == "/api/chat")
            assert chat["options"]["num_ctx"] == 32_768
            told = sum(isinstance(e, ev.Notice) and bool(e.title) for e in app.session.events)
            await send(app, pilot, "more")
            await ended(app, 2)
            await pilot.pause(0.2)
            assert sum(isinstance(e, ev.Notice) and bool(e.title) for e in app.session.events) == told


async def trapped(app: AgentApp, pilot: Pilot[int]) -> None:
    """Until the card of a window that is too small stands there."""
    await send(app, pilot, "/provider ollama")
    await send(app, pilot, "hello")
    await until(lambda: app.talk.trap is not None and not app.talk.working)


@pytest.mark.parametrize("keys", [("ctrl+x", "f"), ("ctrl+x", "tab", "f")], ids=["leader", "card"])
@pytest.mark.parametrize("given", [32_768, 4096])
async def test_the_key_of_the_card_loads_the_model_anew(tmp_path: Path, keys: tuple[str, ...], given: int) -> None:
    with serving(ollama_fake()) as fake:
        table = {"type": "ollama", "endpoint": fake.url, "model": "qwen", "generation": {"num_ctx": 32_768}}
        async with running(tmp_path, scripted([]), {"ollama": table}) as (app, pilot):
            await trapped(app, pilot)
            await until(lambda: "Ctrl+X f fix it   Ctrl+X i ignore for this session" in text_of(app))
            fake.answers["/api/generate"] = (200, {"done": True, "done_reason": "unload"})
            fake.answers["/api/ps"] = (200, {"models": [{"name": "qwen", "context_length": given}]})
            asked = len(fake.asked)
            app.main.composer.load("a draft")
            await pilot.press(*keys)
            if given == 32_768:
                await until(lambda: "qwen is loaded with 32,768 tokens" in text_of(app))
                assert app.talk.trap is None
            else:
                await until(lambda: text_of(app).count("Context smaller than it looks") == 2)
                assert app.talk.trap is not None
            assert app.main.composer.text == "a draft"
        told = [(path, body) for path, _, body in fake.asked[asked:]]
        assert told[0] == ("/api/generate", {"model": "qwen", "keep_alive": 0})
        assert [body["options"]["num_ctx"] for path, body in told if path == "/api/chat"] == [32_768]


async def test_a_model_that_cannot_be_loaded_anew_is_told(tmp_path: Path) -> None:
    with serving(ollama_fake()) as fake:
        table = {"type": "ollama", "endpoint": fake.url, "model": "qwen", "generation": {"num_ctx": 32_768}}
        async with running(tmp_path, scripted([]), {"ollama": table}) as (app, pilot):
            await trapped(app, pilot)
            fake.answers["/api/generate"] = (500, {"error": "out of memory"})
            await pilot.press("ctrl+x", "f")
            await until(lambda: "qwen was not loaded anew" in text_of(app) and "out of memory" in text_of(app))


async def test_a_window_that_is_ignored_is_not_told_again_in_this_session(tmp_path: Path) -> None:
    with serving(ollama_fake()) as fake:
        table = {"type": "ollama", "endpoint": fake.url, "model": "qwen", "generation": {"num_ctx": 32_768}}
        async with running(tmp_path, scripted([]), {"ollama": table}) as (app, pilot):
            await trapped(app, pilot)
            await pilot.press("ctrl+x", "tab")
            await until(lambda: "f fix it   i ignore for this session" in text_of(app).splitlines()[-1])
            await pilot.press("i")
            await until(lambda: app.talk.trap is None)
            await pilot.press("escape")
            told = sum(isinstance(e, ev.Notice) and bool(e.title) for e in app.session.events)
            shown = [path for path, *_ in fake.asked].count("/api/show")
            await send(app, pilot, "/provider ollama")
            await send(app, pilot, "more")
            await ended(app, 2)
            await until(lambda: [path for path, *_ in fake.asked].count("/api/show") > shown)
            await until(lambda: app.session.info is not None)
            await pilot.pause()
            assert sum(isinstance(e, ev.Notice) and bool(e.title) for e in app.session.events) == told
            assert app.talk.trap is None


async def test_the_compatible_interface_is_left_by_the_key_before_anything_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(ollama_fake(32_768)) as fake:
        monkeypatch.setattr("tui_agent.window._OLLAMA_PORT", fake.port)
        used = Profile("ollama", endpoint=f"{fake.url}/v1", model="qwen", local=True)
        async with running(tmp_path, scripted([]), {}, used) as (app, pilot):
            await until(lambda: "cannot set the window" in text_of(app))
            await pilot.press("ctrl+x", "f")
            await until(lambda: "qwen is asked for a window of 32,768 tokens" in text_of(app))
            assert fake.asked == []
            await send(app, pilot, "hello")
            await ended(app)
            assert text_of(app).count("Context smaller than it looks") == 1
        assert [body["options"] for path, _, body in fake.asked if path == "/api/chat"] == [{"num_ctx": 32_768}]


async def test_a_window_for_this_session(tmp_path: Path) -> None:
    with serving(ollama_fake()) as fake:
        table = {"type": "ollama", "endpoint": fake.url, "model": "qwen"}
        async with running(tmp_path, scripted([{"text": "a"}]), {"ollama": table}) as (app, pilot):
            await send(app, pilot, "/window 8k")
            assert any("only Ollama can" in n.message for n in app._notifications)
            await send(app, pilot, "/provider ollama")
            for word in ("", " nonsense", " 0"):
                await send(app, pilot, f"/window{word}")
            await send(app, pilot, "/window 8k")
            await send(app, pilot, "hello")
            await ended(app)
            assert "qwen is asked for a window of 8,192 tokens" in text_of(app)
        assert [body["options"] for path, _, body in fake.asked if path == "/api/chat"] == [{"num_ctx": 8192}]


@pytest.mark.parametrize("given", [32_768, 8192])
async def test_the_key_that_asks_for_a_window_is_judged_by_the_next_answer(tmp_path: Path, given: int) -> None:
    with serving(ollama_fake()) as fake:
        table = {"type": "ollama", "endpoint": fake.url, "model": "qwen"}
        async with running(tmp_path, scripted([]), {"ollama": table}) as (app, pilot):
            await trapped(app, pilot)
            shown = [path for path, *_ in fake.asked].count("/api/ps")
            await pilot.press("ctrl+x", "f")
            # it is still loaded as it was, and the next message loads it anew: nothing is wrong
            await until(lambda: [path for path, *_ in fake.asked].count("/api/ps") > shown)
            await until(lambda: app.session.info is not None and app.session.info.window == 32_768)
            assert text_of(app).count("Context smaller than it looks") == 1
            assert app.talk.trap is None
            await send(app, pilot, "/effort high")
            await until(lambda: app.session.info is not None and app.session.info.window == 32_768)
            fake.answers["/api/ps"] = (200, {"models": [{"name": "qwen", "context_length": given}]})
            await send(app, pilot, "more")
            await ended(app, 2)
            await until(lambda: app.session.info is not None and app.session.info.window == given)
            assert (app.talk.trap is not None) is (given == 8192)


async def test_enough_context_says_nothing(tmp_path: Path) -> None:
    with serving(ollama_fake(32_768)) as fake:
        table = {"type": "ollama", "endpoint": fake.url, "model": "qwen", "generation": {"num_ctx": 32_768}}
        async with running(tmp_path, scripted([]), {"ollama": table}) as (app, pilot):
            await send(app, pilot, "/provider ollama")
            await send(app, pilot, "hello")
            await ended(app)
            await until(lambda: "903/32k 3%" in text_of(app).splitlines()[0])
            await pilot.pause()
            assert "smaller" not in text_of(app)


async def test_a_key_that_the_next_one_lacks_is_no_failure_of_the_running_turn(tmp_path: Path) -> None:
    go = asyncio.Event()

    async def stream(request: Request) -> AsyncIterator[Any]:
        yield TextDelta("slow ")
        await go.wait()
        yield TextDelta("answer")
        yield ReplyEnd("stop", Usage(10, 1))

    keyless = {"type": "anthropic", "model": "claude", "api_key_env": "NOT_SET"}
    async with running(tmp_path, Model(Author("x", "x", "m1"), stream), {"keyless": keyless}) as (app, pilot):
        await send(app, pilot, "hello")
        await until(lambda: app.talk.phase.name == "streaming")
        await send(app, pilot, "/provider keyless")
        await until(lambda: any("NOT_SET" in one.message for one in app._notifications))
        assert app.talk.failure is None
        go.set()
        await ended(app)
        assert "slow answer" in text_of(app)
        assert "cut short" not in text_of(app)
        assert "No key" not in text_of(app)
        await send(app, pilot, "again")
        await ended(app, 2)
        assert "No key for keyless" in text_of(app)


async def test_what_somebody_else_said_is_no_answer_of_ollama(tmp_path: Path) -> None:
    """What it has loaded is judged once it has answered here: not after a turn that ends on another, not after a pause."""
    go = asyncio.Event()

    async def stream(request: Request) -> AsyncIterator[Any]:
        if len(request.messages) == 1:
            yield CallDelta(0, "c1", "list_files", "{}")
        else:
            yield TextDelta("from the first")
            await go.wait()
        yield ReplyEnd("stop", Usage(10, 1))

    with serving(ollama_fake()) as fake:
        table = {"type": "ollama", "endpoint": fake.url, "model": "qwen", "generation": {"num_ctx": 32_768}}
        asked = lambda: [path for path, *_ in fake.asked].count("/api/ps")  # noqa: E731
        async with running(tmp_path, Model(Author("x", "x", "m1"), stream), {"ollama": table}) as (app, pilot):
            await send(app, pilot, "hello")
            await send(app, pilot, "/provider ollama")
            go.set()
            await ended(app)
            await until(asked)
            await until(lambda: app.session.info is not None and app.session.info.window == 32_768)
            assert app.talk.trap is None
            await send(app, pilot, "and now")
            await ended(app, 2)
            await until(lambda: app.talk.trap is not None)
            await pilot.press("ctrl+x", "i")
            first, before = app.session.id, asked()
            await send(app, pilot, "/new")
            await until(lambda: app.session.id != first)
            await send(app, pilot, "/provider ollama")
            await send(app, pilot, f"/resume {first}")
            await until(lambda: app.session.id == first and asked() > before)
            await until(lambda: app.session.info is not None)
            assert app.talk.trap is None


async def test_the_window_of_the_model_in_use_is_listed_as_it_is(tmp_path: Path) -> None:
    with serving(ollama_fake()) as fake:
        table = {"type": "ollama", "endpoint": fake.url, "model": "qwen", "generation": {"num_ctx": 32_768}}
        async with running(tmp_path, scripted([]), {"ollama": table}) as (app, pilot):
            await trapped(app, pilot)
            await send(app, pilot, "/model")
            await until(lambda: isinstance(app.screen, Palette))
            await until(lambda: "other" in text_of(app))
            rows = [row for row in text_of(app).splitlines() if " local " in row]
            assert " 4k " in next(row for row in rows if "qwen" in row)
            assert " 32k " in next(row for row in rows if "other" in row)


async def test_models_come_from_the_server_with_the_one_in_use_first(tmp_path: Path) -> None:
    with serving(ollama_fake()) as fake:
        table = {"type": "ollama", "endpoint": fake.url, "model": "other"}
        async with running(tmp_path, scripted([]), {"ollama": table}) as (app, pilot):
            await send(app, pilot, "/provider ollama")
            await send(app, pilot, "/model")
            await until(lambda: isinstance(app.screen, Palette))
            await pilot.pause()
            rows = text_of(app)
            assert rows.index("› other") < rows.index("qwen")
            await pilot.press("down", "enter")
            await until(lambda: app.session.profile is not None and app.session.profile.model == "qwen")


async def test_the_window_is_known_again_when_the_one_in_use_is_chosen(tmp_path: Path) -> None:
    with serving(ollama_fake(32_768)) as fake:
        table = {"type": "ollama", "endpoint": fake.url, "model": "qwen", "generation": {"num_ctx": 32_768}}
        async with running(tmp_path, scripted([]), {"ollama": table}) as (app, pilot):
            await send(app, pilot, "/provider ollama")
            await send(app, pilot, "hello")
            await ended(app)
            await until(lambda: app.session.info is not None)
            await send(app, pilot, "/provider ollama")
            await until(lambda: app.session.info is not None and "/32k" in text_of(app).splitlines()[0])


async def test_the_models_of_ollama_come_with_what_each_can_do(tmp_path: Path) -> None:
    with serving(ollama_fake()) as fake:
        table = {"type": "ollama", "endpoint": fake.url, "model": "qwen", "generation": {"num_ctx": 16_384}}
        async with running(tmp_path, scripted([]), {"ollama": table}) as (app, pilot):
            await send(app, pilot, "/provider ollama")
            await send(app, pilot, "/model")
            await until(lambda: isinstance(app.screen, Palette))
            await pilot.pause()
            rows = [row for row in text_of(app).splitlines() if "other" in row or "› qwen" in row]
            assert len(rows) == 2
            assert all(" 16k " in row and " yes " in row and " local " in row for row in rows)
    shown = [body for path, _, body in fake.asked if path == "/api/show"]
    assert sorted(one["model"] for one in shown) == ["other", "qwen"]  # asked at the same time


async def test_one_escape_ends_a_countdown_and_keeps_the_message(tmp_path: Path) -> None:
    busy = (429, {"error": {"message": "slow down"}, "details": []})
    with serving(Fake({"/v1/chat/completions": busy})) as fake:
        table = {"type": "openai", "endpoint": f"{fake.url}/v1", "model": "m"}
        async with running(tmp_path, scripted([]), {"p": table}) as (app, pilot):
            await send(app, pilot, "/provider p")
            await send(app, pilot, "hello")
            await until(lambda: app.talk.retrying and "Next try in " in text_of(app))
            assert re.search(r"Rate limit at p \(429\): try \d of 6", text_of(app))
            assert "Esc stop   Ctrl+X r now   Ctrl+X p other provider" in text_of(app).splitlines()[-1]
            await pilot.press("escape")
            async with asyncio.timeout(PATIENCE):
                await ended(app)
            assert app.main.composer.text == "hello"
            (end,) = [e for e in app.session.events if isinstance(e, ev.RunEnded)]
            assert end.reason is StopReason.STOPPED
            assert end.detail.startswith("stopped by you before the next try: ")
            assert end.detail.endswith("slow down")
            await until(lambda: "slow down" in text_of(app))
        assert [path for path, *_ in fake.asked] == ["/v1/chat/completions"]


async def test_the_provider_in_use_is_marked(tmp_path: Path) -> None:
    table = {"type": "ollama", "model": "qwen", "window": 8192}
    async with running(tmp_path, scripted([]), {"first": {"model": "m1"}, "ollama": table}) as (app, pilot):
        await send(app, pilot, "/provider")
        await until(lambda: isinstance(app.screen, Palette))
        await pilot.pause()
        rows = text_of(app).splitlines()
        assert [" (now) " in row for row in rows if "first  m1" in row or "ollama  qwen" in row] == [True, False]
        assert any("ollama  qwen" in row and "8k" in row and "local" in row for row in rows)


async def test_effort_is_sent_from_the_next_message_on(tmp_path: Path) -> None:
    with serving(ollama_fake()) as fake:
        table = {"type": "ollama", "endpoint": fake.url, "model": "qwen"}
        async with running(tmp_path, scripted([]), {"ollama": table}) as (app, pilot):
            await send(app, pilot, "/provider ollama")
            await send(app, pilot, "/effort nonsense")
            await send(app, pilot, "/effort low")
            await send(app, pilot, "hello")
            await ended(app)
            await send(app, pilot, "/effort default")
            await send(app, pilot, "hello")
            await ended(app, 2)
        bodies = [body for path, _, body in fake.asked if path == "/api/chat"]
        assert [body.get("think") for body in bodies] == ["low", None]


@pytest.mark.parametrize("word", ["/tokens", "/cost", "/usage", "/TOKENS"])
async def test_tokens_by_any_of_its_names(tmp_path: Path, word: str) -> None:
    async with running(tmp_path, scripted([{"text": "ok"}]), {}) as (app, pilot):
        await send(app, pilot, "hello")
        await ended(app)
        await send(app, pilot, word)
        await until(lambda: 'n/a (no "pricing" block for this provider)' in text_of(app))
        await pilot.pause()
        assert "n/a (the cost of a reply is unknown)  (1 session)" in text_of(app)


async def test_offline_refuses_a_provider_outside_and_privacy_says_so(tmp_path: Path) -> None:
    table = {"type": "openai", "model": "m", "api_key_env": "THE_KEY"}
    async with running(tmp_path, scripted([{"text": "still here"}]), {"cloud": table}, offline=True) as (app, pilot):
        await send(app, pilot, "/provider cloud")
        await until(lambda: "cloud cannot answer" in text_of(app))
        assert any("--offline" in e.text for e in app.session.events if isinstance(e, ev.Notice))
        assert app.session.profile is not None
        assert app.session.profile.name == "first"
        await send(app, pilot, "hello")
        await ended(app)
        await send(app, pilot, "/privacy")
        await pilot.pause(0.2)
        assert "Nothing has left this machine" in text_of(app)


# ------------------------------------------------------------------ pictures

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


async def test_a_picture_goes_with_its_message_and_stays_in_the_history(tmp_path: Path) -> None:
    requests: list[Request] = []

    async def stream(request: Request) -> AsyncIterator[Any]:
        requests.append(request)
        yield TextDelta("a cat")
        yield ReplyEnd("stop")

    async with running(tmp_path, Model(Author("x", "x", "m"), stream), {}) as (app, pilot):
        (tmp_path / "work" / "cat.png").write_bytes(PNG)
        await send(app, pilot, "what is @cat.png ?")
        await ended(app)
        await send(app, pilot, "and its colour?")
        await ended(app, 2)
        assert "cat.png" in text_of(app)
        assert "picture" in text_of(app)
        log = app.session.log.path.read_text()
    firsts = [request.messages[0] for request in requests]
    assert all(isinstance(m, UserMessage) and m.images[0].data for m in firsts)
    assert requests[0].messages[0].text == "what is @cat.png ?"
    assert firsts[0].images[0].data not in log  # type: ignore[union-attr]


@pytest.mark.parametrize("has", [True, False])
async def test_ctrl_v_takes_the_picture_of_the_clipboard_else_what_was_copied_here(tmp_path: Path, has: bool) -> None:
    requests: list[Request] = []

    async def stream(request: Request) -> AsyncIterator[Any]:
        requests.append(request)
        yield TextDelta("a cat")
        yield ReplyEnd("stop")

    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "png").write_bytes(PNG)
    (programs / "pngpaste").write_text(f"#!/bin/sh\n{f'cat {programs}/png' if has else 'exit 1'}\n")
    (programs / "pngpaste").chmod(0o755)
    extra = {"PATH": f"{programs}:/usr/bin:/bin"}
    async with running(tmp_path, Model(Author("x", "x", "m"), stream), {}, environment=extra) as (app, pilot):
        app._clipboard = "copied here"
        app.main.composer.load("what is ")
        app.main.composer.move_cursor(app.main.composer.document.end)
        await pilot.press("ctrl+v")
        await until(lambda: len(app.main.composer.text) > len("what is "))
        text = app.main.composer.text
        await pilot.press("enter")
        await ended(app)
    (said,) = [m for m in requests[0].messages if isinstance(m, UserMessage)]
    if has:
        (file,) = (tmp_path / "state" / "pasted").iterdir()
        assert text == f'what is @"{file}" '
        assert [(image.media_type, image.size) for image in said.images] == [("image/png", len(PNG))]
    else:
        assert text == "what is copied here"
        assert said.images == ()


async def test_a_model_that_takes_no_pictures_is_not_sent_one(tmp_path: Path) -> None:
    async with running(tmp_path, scripted([{"text": "x"}]), {}, Profile("first", model="blind", images=False)) as (
        app,
        pilot,
    ):
        (tmp_path / "work" / "cat.png").write_bytes(PNG)
        await send(app, pilot, "what is @cat.png")
        await until(lambda: app.main.composer.text == "what is @cat.png")
        assert any("blind takes no pictures" in e.text for e in app.session.events if isinstance(e, ev.Notice))
        assert not any(isinstance(e, ev.UserSaid) for e in app.session.events)


async def test_after_a_switch_to_a_blind_model_pictures_are_left_out_and_said(tmp_path: Path) -> None:
    requests: list[Request] = []

    async def stream(request: Request) -> AsyncIterator[Any]:
        requests.append(request)
        yield TextDelta("ok")
        yield ReplyEnd("stop")

    async with running(tmp_path, Model(Author("x", "x", "m"), stream), {}) as (app, pilot):
        (tmp_path / "work" / "cat.png").write_bytes(PNG)
        await send(app, pilot, "what is @cat.png")
        await ended(app)
        app.session.use(Model(Author("y", "y", "n"), stream), Profile("blind", model="n", images=False))
        await send(app, pilot, "and?")
        await ended(app, 2)
    first = requests[1].messages[0]
    assert isinstance(first, UserMessage)
    assert first.images == ()
    assert "[the picture cat.png is left out]" in first.text


# ------------------------------------------------------------------ silence


def test_a_silent_stream_is_told_apart_from_a_busy_one() -> None:
    from tui_agent.ui.chrome import phase_words

    streaming, waiting = ev.Phase("streaming"), ev.Phase("waiting")
    assert phase_words(streaming, 30, 1) == "streaming 30s"
    assert phase_words(streaming, 30, 21) == "no data for 21s"
    assert phase_words(waiting, 30, 30) == "waiting for the model 30s"
