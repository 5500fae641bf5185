"""The first start by its keys: what is found, what is asked, what is written, and what is not."""

from __future__ import annotations

import asyncio
import errno
import json
import socket
import tomllib
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.widgets import OptionList

from tests.ui.looking import CANARY, Fake, first_run, nothing, offered, serving, text_of
from tests.waiting import until
from tui_agent.config import presets
from tui_agent.core.profile import ModelInfo
from tui_agent.providers.network import Network
from tui_agent.ui.app import AgentApp
from tui_agent.ui.approval import ApprovalScreen
from tui_agent.ui.choices import address_of, suggested
from tui_agent.ui.examples import examples, names_in
from tui_agent.ui.field import Field
from tui_agent.ui.first_run import FirstRun
from tui_agent.ui.found import AGAIN_SECONDS, LOOK_SECONDS, Found, best_of, keys, look_around, to_pull
from tui_agent.ui.offer import Offer

SSE = (
    b'data: {"choices": [{"index": 0, "delta": {"content": "ok"}, "finish_reason": null}]}\n\n'
    b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'
)
ENV = {"OPENAI_API_KEY": CANARY}
SHOW = {"capabilities": ["completion", "tools"], "model_info": {"q.context_length": 262144}}
CHAT = (
    b'{"message": {"role": "assistant", "content": "here I am"}, "done": false}\n'
    b'{"message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop", "prompt_eval_count": 9, '
    b'"eval_count": 3}\n'
)
TAGS = {"models": [{"name": "qwen3-coder:30b", "size": 18_000}, {"name": "gemma:2b", "size": 2_000}]}


def ollama(**answers: Any) -> Fake:
    fake = Fake({"/api/tags": (200, TAGS), "/api/show": (200, SHOW), "/api/ps": (200, {"models": []})})
    fake.answers["/api/chat"] = (200, CHAT)
    fake.answers.update({f"/api/{name}": answer for name, answer in answers.items()})
    return fake


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Put the presets' servers on other ports: what really runs on this machine must not count."""

    def place(**endpoints: str) -> None:
        free = "http://127.0.0.1:9"
        table = {
            name: {**preset, "endpoint": endpoints.get(name, free)}
            if preset.get("local") and "endpoint" in preset
            else {**preset, **({"endpoint": endpoints[name]} if name in endpoints else {})}
            for name, preset in presets().items()
        }
        monkeypatch.setattr("tui_agent.ui.found.presets", lambda: table)
        monkeypatch.setattr("tui_agent.ui.first_run.presets", lambda: table)
        monkeypatch.setattr("tui_agent.ui.choices.presets", lambda: table)
        monkeypatch.setattr("tui_agent.config.presets", lambda: table)

    return place


@pytest.fixture
def guarded(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every address that a socket was connected to."""
    addresses: list[Any] = []
    real = socket.socket.connect

    def connect(self: socket.socket, address: Any) -> Any:
        addresses.append(address)
        return real(self, address)

    def connect_ex(self: socket.socket, address: Any) -> int:
        addresses.append(address)
        return 111

    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(socket.socket, "connect_ex", connect_ex)
    return addresses


def written(tmp_path: Path) -> list[str]:
    """Files of the person but the answer to the question of trust."""
    return [p.name for p in (tmp_path / "user").rglob("*") if p.is_file() and p.name != "trust.toml"]


def profile_written(file: Path, name: str) -> dict[str, Any]:
    data = tomllib.loads(file.read_text(encoding="utf-8"))
    assert data["default_provider"] == name
    table: dict[str, Any] = data["profiles"][name]
    return table


async def running(app: AgentApp) -> None:
    await until(lambda: app.main.conversation is not None and app.session.profile is not None)


# ------------------------------------------------------------------ (a) nothing found


async def test_nothing_found_says_so_and_the_demo_needs_nothing(tmp_path: Path) -> None:
    async with first_run(tmp_path, nothing) as (app, pilot, file):
        text = text_of(app)
        assert "Nothing has left this machine" in text
        assert "no server on 11434" in text
        assert [row.id for row in app.screen._rows][:7] == [
            *("ollama", "openai", "anthropic", "openrouter", "mistral", "server", "demo")
        ]
        await pilot.press("7")
        await until(lambda: app.wants_demo)
        assert app.main.conversation is None, "it plays in a folder of its own, not here"
        assert not file.exists()


async def test_the_configuration_can_be_written_by_hand_instead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["# nothing yet\n", '[profiles.mine]\ntype = "openai"\nendpoint = "http://127.0.0.1:1/v1"\nmodel = "m"\n']
    monkeypatch.setattr("tui_agent.ui.mending.open_at", lambda path, *_: Path(path).write_text(texts.pop(0)))
    monkeypatch.setattr(AgentApp, "suspend", lambda _: nullcontext())
    async with first_run(tmp_path, nothing) as (app, pilot, _):
        assert "tui-agent" in text_of(app).splitlines()[0]
        assert text_of(app).splitlines()[0].rstrip().endswith("no provider yet")
        await pilot.press("o")
        await until(lambda: len(texts) == 1 and not any(w.group == "editor" for w in app.workers))
        assert isinstance(app.screen, FirstRun)
        await pilot.press("O")
        await running(app)
        assert app.session.profile is not None
        assert app.session.profile.name == "mine"


async def test_leaving_writes_nothing(tmp_path: Path) -> None:
    async with first_run(tmp_path, nothing) as (app, pilot, _):
        await pilot.press("escape")
        await until(lambda: app.return_code is not None)
    assert written(tmp_path) == []


async def test_ollama_that_is_started_meanwhile_is_found_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui_agent.ui.first_run.POLL_SECONDS", 0.05)
    there = Found("ollama", {"type": "ollama"}, (ModelInfo("m"),), ModelInfo("m"))
    started = asyncio.Event()

    async def look(environment: Any, network: Network, seconds: float) -> list[Found]:
        return [there] if started.is_set() else []

    async with first_run(tmp_path, look) as (app, pilot, _):
        await pilot.press("1")
        await pilot.pause()
        assert "ollama serve" in text_of(app)
        assert "ollama pull" in text_of(app)
        started.set()
        await until(lambda: offered(app))


async def test_what_answers_late_is_found_all_the_same_and_the_cursor_stays(tmp_path: Path) -> None:
    there = Found("ollama", {"type": "ollama"}, (ModelInfo("m"),), ModelInfo("m"))
    late = asyncio.Event()
    asked: list[float] = []

    async def look(environment: Any, network: Network, seconds: float) -> list[Found]:
        asked.append(seconds)
        if len(asked) > 1:
            await late.wait()
        return [there] if late.is_set() else []

    async with first_run(tmp_path, look, patience=0, settled=False) as (app, pilot, _):
        await until(lambda: len(asked) > 1)
        await pilot.pause()
        assert "Looking for servers" in text_of(app)
        assert "no server" not in text_of(app)
        await pilot.press("down", "down")
        late.set()
        await until(lambda: "FOUND ON THIS MACHINE" in text_of(app))
        option = app.screen.query_one(OptionList).highlighted_option
        assert option is not None
        assert option.id == "anthropic"
        assert asked == [LOOK_SECONDS, AGAIN_SECONDS]


async def test_a_key_that_is_not_set_says_where_keys_come_from(tmp_path: Path) -> None:
    async with first_run(tmp_path, nothing) as (app, pilot, _):
        await pilot.press("2")
        await pilot.pause()
        assert "OPENAI_API_KEY is not set" in text_of(app)
        assert "platform.openai.com" in text_of(app)


# ------------------------------------------------------------------ (b) a server on this machine


LOCAL = {"type": "ollama", "model": "qwen3-coder:30b", "generation": {"num_ctx": 32768}}


def chats(fake: Fake) -> list[Any]:
    return [body for path, _, body in fake.asked if path == "/api/chat"]


async def test_where_a_server_answers_the_first_message_is_all_it_takes(
    tmp_path: Path, only: Any, guarded: list[Any]
) -> None:
    with serving(ollama()) as fake:
        only(ollama=fake.url)
        async with first_run(tmp_path, look_around, ENV) as (app, pilot, file):
            assert "ollama · qwen3-coder:30b, 32k context, tools yes, local and free." in text_of(app)
            assert "Enter use   m other" in text_of(app)
            assert "Enter use   m other" in text_of(app).splitlines()[-1]
            assert written(tmp_path) == []
            assert chats(fake) == []
            assert {host for host, *_ in guarded} == {"127.0.0.1"}
            await pilot.press(*"hi", "enter")
            await until(lambda: "here I am" in text_of(app))
            assert profile_written(file, "ollama") == LOCAL
            assert not offered(app)
            assert app.session.profile is not None
            assert app.loaded.settings.active() == app.session.profile
        (chat,) = chats(fake)
        assert chat["messages"][-1]["content"] == "hi"
        assert chat["options"]["num_ctx"] == 32768


async def test_enter_agrees_and_sees_whether_it_works_with_its_context(tmp_path: Path, only: Any) -> None:
    loaded = {"models": [{"name": "qwen3-coder:30b", "context_length": 4096}]}
    with serving(ollama(ps=(200, loaded))) as fake:
        only(ollama=fake.url)
        async with first_run(tmp_path, look_around) as (app, pilot, file):
            await pilot.press("enter")
            await until(lambda: "ollama/qwen3-coder:30b works" in text_of(app))
            await until(lambda: "is loaded with 4,096 tokens; the profile asks for 32,768" in text_of(app))
            assert profile_written(file, "ollama") == LOCAL
            assert app.main.composer.has_focus
        (chat,) = chats(fake)
        assert chat["options"] == {"num_ctx": 32768, "num_predict": 16}


def writes(path: str) -> tuple[int, bytes]:
    call = {"function": {"name": "write_file", "arguments": {"path": path, "content": "x\n"}}}
    return 200, json.dumps({"message": {"tool_calls": [call]}, "done": True, "done_reason": "stop"}).encode() + b"\n"


async def test_a_first_start_says_what_may_be_asked_and_that_nothing_is_written_yet(tmp_path: Path, only: Any) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "Makefile").write_text("check:\n")
    promised = "Nothing is written until you press y."
    with serving(ollama(chat=writes("a.txt"))) as fake:
        only(ollama=fake.url)
        async with first_run(tmp_path, look_around, size=(80, 24)) as (app, pilot, _):
            await until(lambda: "run the tests and fix the first failure" in text_of(app))
            await pilot.press(*"hi", "enter")
            await until(lambda: isinstance(app.screen, ApprovalScreen) and app.screen.armed)
            assert promised in text_of(app)
            fake.answers["/api/chat"] = writes("b.txt")
            await pilot.press("y")
            await until((tmp_path / "work" / "a.txt").exists)
            await until(lambda: "b.txt" in text_of(app))
            await until(lambda: isinstance(app.screen, ApprovalScreen) and app.screen.armed)
            assert promised not in text_of(app), "it is said once"
            fake.answers["/api/chat"] = (200, CHAT)
            await pilot.press("n")
            await until(lambda: app.screen.field is not None)  # faster, it would be text
            await pilot.press("enter")
            await until(lambda: "here I am" in text_of(app))
            assert text_of(app).count("Ctrl+O opens") == 1, "where the first action holds more than is shown"
            assert not any(word in repr(e) for word in ("For example", "Ctrl+O") for e in app.session.events)


async def test_who_wants_no_hints_is_told_none(tmp_path: Path, only: Any) -> None:
    (tmp_path / "user" / "config").mkdir(parents=True)
    (tmp_path / "user" / "config" / "config.toml").write_text("[ui]\nhints = false\n")
    with serving(ollama(chat=writes("a.txt"))) as fake:
        only(ollama=fake.url)
        async with first_run(tmp_path, look_around, size=(80, 24)) as (app, pilot, _):
            await pilot.press(*"hi", "enter")
            await until(lambda: isinstance(app.screen, ApprovalScreen) and app.screen.armed)
            assert "Nothing is written until" not in text_of(app)
            fake.answers["/api/chat"] = (200, CHAT)
            await pilot.press("y")
            await until(lambda: "here I am" in text_of(app))
            assert "For example" not in text_of(app)
            assert "Ctrl+O opens" not in text_of(app)


@pytest.mark.parametrize(
    ("names", "asked"),
    [
        ([".git", "src", "pyproject.toml"], ["explain this repo", "run the tests", "review my uncommitted changes"]),
        (["notes.md"], ["explain what is in this folder", "find a mistake", "what would you mend"]),
        ([".cache"], ["write a program", "what can you do?", "undo"]),
        ([], ["write a program", "what can you do?", "undo"]),
    ],
)
def test_the_examples_fit_the_folder(names: list[str], asked: list[str]) -> None:
    found = examples(names)
    assert len(found) == 3
    assert all(part in example for part, example in zip(asked, found, strict=True))


def test_a_folder_that_cannot_be_read_has_examples_too(tmp_path: Path) -> None:
    assert names_in(tmp_path / "gone") == []


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("typed", ["make it work", "modify a.txt", "m", "mr m 1", "hi"])
async def test_a_message_may_begin_with_the_letter_that_leads_to_the_others(
    tmp_path: Path, only: Any, typed: str, at_once: bool
) -> None:
    with serving(ollama()) as fake:
        only(ollama=fake.url)
        async with first_run(tmp_path, look_around) as (app, pilot, file):
            keys = ["space" if letter == " " else letter for letter in typed]
            if at_once and typed != "m":  # a terminal gives what was typed in one piece
                for key in (*keys, "enter"):
                    app.post_message(events.Key(key, " " if key == "space" else key[0] if key != "enter" else "\r"))
                await until(lambda: "here I am" in text_of(app))
                assert chats(fake)[-1]["messages"][-1]["content"] == typed
                return
            await pilot.press(*keys)
            if typed == "m":
                await until(lambda: "Which model of ollama?" in text_of(app))
                await pilot.press("escape", "escape")
                await until(lambda: offered(app))
                assert app.main.composer.text == ""
                return
            await until(lambda: app.main.composer.text == typed)
            assert not file.exists()
            await pilot.press("enter")
            await until(lambda: "here I am" in text_of(app))
            assert profile_written(file, "ollama") == LOCAL
        assert chats(fake)[-1]["messages"][-1]["content"] == typed


async def test_what_is_no_message_agrees_to_nothing(tmp_path: Path, only: Any) -> None:
    with serving(ollama()) as fake:
        only(ollama=fake.url)
        async with first_run(tmp_path, look_around) as (app, pilot, file):
            app.main.query_one(Offer).post_message(events.Paste("pasted"))
            await until(lambda: app.main.composer.text == "pasted")
            await pilot.press("ctrl+c")
            app.main.composer.load("/tokens")
            await pilot.press("enter")
            await until(lambda: "No tokens yet" in text_of(app))
            app.main.composer.load("!echo of my own")
            await pilot.press("enter")
            await until(lambda: "of my own" in text_of(app) and not app.main.working)
            assert offered(app)
            app.main.composer.load("/model gemma:2b")
            await pilot.press("enter")
            await until(lambda: "ollama · gemma:2b" in text_of(app))
            assert not file.exists()
            app.main.composer.load("/provider demo")
            await pilot.press("enter")
            await until(lambda: not offered(app))
            assert not file.exists()
        assert chats(fake) == []


async def test_leaving_what_is_offered_leaves_nothing_behind(tmp_path: Path, only: Any) -> None:
    with serving(ollama()) as fake:
        only(ollama=fake.url)
        async with first_run(tmp_path, look_around) as (app, pilot, _):
            await pilot.press("escape")
            await until(lambda: app.main.composer.has_focus)
            assert offered(app)
            await pilot.press("ctrl+c", "ctrl+c")
            await until(lambda: app.return_code is not None)
        assert written(tmp_path) == []


@pytest.mark.parametrize(
    ("answers", "says", "after"),
    [
        ({"tags": (200, {"models": []})}, "running, no model installed", "ollama pull"),
        ({"show": (200, {"capabilities": ["completion"]})}, "no tools: chat and review only", None),
        ({"tags": (500, {"error": "boom"})}, "answers, but not as it should", "HTTP 500"),
        ({"tags": (200, b"<html>hello</html>")}, "answers, but not as it should", "did not send JSON"),
    ],
    ids=["no model", "no tools", "500", "html"],
)
async def test_ollama_that_cannot_work_says_why(
    tmp_path: Path, only: Any, answers: dict[str, Any], says: str, after: str | None
) -> None:
    with serving(ollama(**answers)) as fake:
        only(ollama=fake.url)
        async with first_run(tmp_path, look_around) as (app, pilot, file):
            assert says in text_of(app)
            assert offered(app) is (after is None)
            if after is not None:
                await pilot.press("1")
                await until(lambda: after in text_of(app))
                assert not file.exists()


def pulled(*steps: dict[str, Any]) -> tuple[int, bytes]:
    return 200, b"".join(json.dumps(step).encode() + b"\n" for step in steps)


async def test_a_model_is_loaded_down_when_the_person_says_so(
    tmp_path: Path, only: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui_agent.ui.first_run.POLL_SECONDS", 0.05)
    monkeypatch.setattr("tui_agent.ui.first_run.memory", lambda: 16 * 10**9)
    steps = [
        {"status": "pulling manifest"},
        {"status": "pulling 1a2b", "total": 9_300_000_000, "completed": 930_000_000},
        {"status": "success"},
    ]
    with serving(ollama(tags=(200, {"models": []}), pull=pulled(*steps))) as fake:
        only(ollama=fake.url)
        async with first_run(tmp_path, look_around) as (app, pilot, file):
            await pilot.press("y")
            await pilot.press("1")
            await until(lambda: "ollama pull qwen3:14b   9.3 GB" in text_of(app))
            assert "ollama pull qwen3:8b   5.2 GB" in text_of(app)
            assert "y does the first of it here" in text_of(app)
            assert "/api/pull" not in [path for path, _, _ in fake.asked]
            await pilot.press("y")
            await until(lambda: "qwen3:14b: success" in text_of(app))
            assert [body for path, _, body in fake.asked if path == "/api/pull"] == [
                {"model": "qwen3:14b", "stream": True}
            ]
            fake.answers["/api/tags"] = (200, {"models": [{"name": "qwen3:14b", "size": 9_000}]})
            await until(lambda: offered(app) and "ollama · qwen3:14b" in text_of(app))
            assert not file.exists()


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (
            pulled({"status": "pulling manifest"}, {"error": "pull model manifest: file does not exist"}),
            "does not exist",
        ),
        ((500, {"error": "disk full"}), "disk full"),
        ((200, b"<html>"), "no list of steps"),
        ((404, b""), "HTTP 404"),
    ],
    ids=["no such model", "500", "html", "404"],
)
async def test_a_loading_down_that_fails_says_why(tmp_path: Path, only: Any, answer: Any, says: str) -> None:
    with serving(ollama(tags=(200, {"models": []}), pull=answer)) as fake:
        only(ollama=fake.url)
        async with first_run(tmp_path, look_around) as (app, pilot, _):
            await pilot.press("1")
            await until(lambda: "y does the first" in text_of(app))
            await pilot.press("y")
            await until(lambda: says in text_of(app))
            assert isinstance(app.screen, FirstRun)


def test_models_that_fit_this_machine() -> None:
    assert to_pull("ollama", 64 * 10**9) == [("qwen3-coder:30b", 19.0), ("qwen3:14b", 9.3)]
    assert to_pull("ollama", 1) == [("qwen3:1.7b", 1.4)]
    assert to_pull("lmstudio", 64 * 10**9) == []


async def test_a_slow_server_does_not_hold_up_the_screen_and_is_found_with_patience(tmp_path: Path, only: Any) -> None:
    async def look(environment: Any, network: Network, seconds: float) -> list[Found]:
        return await look_around(environment, network, seconds if seconds == LOOK_SECONDS else 30)

    with serving(ollama()) as fake:
        fake.delay = 0.6
        only(ollama=fake.url)
        async with first_run(tmp_path, look, patience=0, settled=False) as (app, _, _):
            assert isinstance(app.screen, FirstRun)
            await until(lambda: offered(app))


async def test_another_model_of_what_was_found(tmp_path: Path, only: Any) -> None:
    with serving(ollama()) as fake:
        only(ollama=fake.url)
        async with first_run(tmp_path, look_around) as (app, pilot, file):
            await pilot.press("m")
            await until(lambda: "Which model of ollama?" in text_of(app))
            await pilot.press("down", "enter")
            await until(lambda: "ollama · qwen" not in text_of(app))
            assert profile_written(file, "ollama")["model"] == "gemma:2b"
            assert not offered(app)
            assert app.session.profile is not None
            assert app.session.profile.model == "gemma:2b"


async def test_compatible_servers_are_found_by_their_lists(tmp_path: Path, only: Any) -> None:
    models = {"/v1/models": (200, {"data": [{"id": "local-7b", "max_model_len": 16384}]})}
    with serving(Fake(models)) as fake:
        only(vllm=f"{fake.url}/v1")
        found = await look_around({}, Network())
    assert [(one.preset, one.best and one.best.window) for one in found] == [("vllm", 16384)]


@pytest.mark.parametrize(
    ("status", "body", "is_one"),
    [
        (404, b"not found", False),
        (302, b"", False),
        (405, b"", False),
        (200, b"<html>my own pages</html>", False),
        (200, b'{"data": "no"}', False),
        (401, {"error": {"message": "no key"}}, True),
        (503, {"error": {"message": "Loading model"}}, True),
    ],
)
async def test_a_program_that_happens_to_use_the_port_is_no_server_of_models(
    only: Any, status: int, body: Any, is_one: bool
) -> None:
    with serving(Fake({"/v1/models": (status, body)})) as fake:
        only(llamacpp=f"{fake.url}/v1")
        found = await look_around({}, Network(), 5.0)
    assert [(one.preset, bool(one.fault)) for one in found] == ([("llamacpp", True)] if is_one else [])


async def test_ollama_on_another_port_of_this_machine(only: Any) -> None:
    with serving(ollama()) as fake:
        only()
        found = await look_around({"OLLAMA_HOST": f"0.0.0.0:{fake.port}"}, Network())
        assert [one.table for one in found] == [{"type": "ollama", "endpoint": fake.url}]
        assert await look_around({"OLLAMA_HOST": f"192.168.1.9:{fake.port}"}, Network()) == []


def test_the_model_that_is_offered_first() -> None:
    big, small = ModelInfo("big", tools=True, size=90), ModelInfo("small", tools=True, size=20)
    plain = ModelInfo("plain", tools=False, size=40)
    assert best_of([big, small, plain], 100) == small
    assert best_of([big, small, plain], 1000) == big
    assert best_of([plain], 100) == plain
    assert best_of([], 100) is None


# ------------------------------------------------------------------ (c) a key in the environment


def vendor(**answers: Any) -> Fake:
    fake = Fake(
        {
            "/v1/models": (200, {"data": [{"id": "gpt-4.1"}, {"id": "gpt-5.1"}, {"id": "whisper"}]}),
            "/v1/chat/completions": (200, SSE),
        }
    )
    fake.answers.update({f"/v1/{name.replace('_', '/')}": answer for name, answer in answers.items()})
    return fake


async def test_a_key_is_one_key_away_and_is_tried_first(tmp_path: Path, only: Any, guarded: list[Any]) -> None:
    with serving(vendor()) as fake:
        only(openai=f"{fake.url}/v1")
        async with first_run(tmp_path, look_around, ENV) as (app, pilot, file):
            assert "OPENAI_API_KEY found. Use openai/gpt-5.1?" in text_of(app)
            assert "y yes   m other model   n not this one   Esc quit" in text_of(app).splitlines()[-1]
            await pilot.press("enter", "1", "r")
            await pilot.pause()
            assert fake.asked == []
            assert written(tmp_path) == []
            await pilot.press("y")
            await running(app)
            await pilot.pause(0.2)
            assert "openai/gpt-5.1 works" in text_of(app)
            assert "tools yes" in text_of(app)
            assert profile_written(file, "openai") == {
                "type": "openai",
                "api_key_env": "OPENAI_API_KEY",
                "model": "gpt-5.1",
            }
            assert CANARY not in text_of(app) + app.export_screenshot()
        assert [path for path, _, _ in fake.asked] == ["/v1/models", "/v1/chat/completions"]
        assert {host for host, *_ in guarded} == {"127.0.0.1"}
        assert {key for _, key, _ in fake.asked} == {f"Bearer {CANARY}"}
    files = [p for p in (tmp_path / "user").rglob("*") if p.is_file()]
    assert all(CANARY.encode() not in p.read_bytes() for p in files)


@pytest.mark.parametrize("where", ["models", "chat_completions"])
@pytest.mark.parametrize("status", [401, 403, 429])
async def test_a_key_that_is_refused_is_told_with_its_variable(
    tmp_path: Path, only: Any, status: int, where: str
) -> None:
    said = {"error": {"message": f"your key {CANARY} is not good here"}}
    with serving(vendor(**{where: (status, said)})) as fake:
        only(openai=f"{fake.url}/v1")
        async with first_run(tmp_path, look_around, ENV) as (app, pilot, file):
            await pilot.press("y")
            await until(lambda: f"HTTP {status}" in text_of(app))
            await pilot.pause()
            text = text_of(app)
            assert "is not good here" in text
            assert "OPENAI_API_KEY" in text
            assert "Nothing was written" in text
            assert CANARY not in text
            assert not file.exists()


async def test_a_vendor_that_does_not_answer(tmp_path: Path, only: Any) -> None:
    only(openai="http://127.0.0.1:9/v1")
    async with first_run(tmp_path, look_around, ENV) as (app, pilot, file):
        await pilot.press("y")
        await until(lambda: "refuses connections" in text_of(app))
        assert not file.exists()


async def test_an_unknown_list_is_shown_to_choose_from(tmp_path: Path, only: Any) -> None:
    with serving(vendor(models=(200, {"data": [{"id": "new-1"}, {"id": "new-2"}]}))) as fake:
        only(openai=f"{fake.url}/v1")
        async with first_run(tmp_path, look_around, ENV) as (app, pilot, file):
            await pilot.press("y")
            await until(lambda: "new-2" in text_of(app))
            assert "It has no gpt-5.1." in text_of(app)
            await pilot.press("down", "enter")
            await running(app)
            assert profile_written(file, "openai")["model"] == "new-2"


async def test_a_second_yes_asks_nobody_again(tmp_path: Path, only: Any) -> None:
    with serving(vendor()) as fake:
        fake.delay = 0.3
        only(openai=f"{fake.url}/v1")
        async with first_run(tmp_path, look_around, ENV) as (app, pilot, _):
            await pilot.press("y", "y", "y")
            await running(app)
        assert [path for path, _, _ in fake.asked] == ["/v1/models", "/v1/chat/completions"]


async def test_another_model_for_the_key(tmp_path: Path, only: Any) -> None:
    with serving(vendor()) as fake:
        only(openai=f"{fake.url}/v1")
        async with first_run(tmp_path, look_around, ENV) as (app, pilot, file):
            await pilot.press("m")
            await until(lambda: "whisper" in text_of(app))
            await pilot.press("enter")
            await running(app)
            assert profile_written(file, "openai")["model"] == "gpt-4.1"
        assert [path for path, _, _ in fake.asked] == ["/v1/models"]


async def test_a_key_that_was_tried_is_not_asked_for_as_if_nobody_was_asked(tmp_path: Path, only: Any) -> None:
    with serving(vendor(models=(401, {"error": {"message": "no"}}))) as fake:
        only(openai=f"{fake.url}/v1")
        async with first_run(tmp_path, look_around, ENV) as (app, pilot, _):
            assert "Nothing has left this machine." in text_of(app)
            await pilot.press("y")
            await until(lambda: "HTTP 401" in text_of(app))
            app.begin.network.record("https://api.openai.com/v1")
            await pilot.press("r")
            await until(lambda: "OPENAI_API_KEY found" in text_of(app))
            assert "Asked so far: https://api.openai.com" in text_of(app)
            assert "Nothing has left" not in text_of(app)


async def test_not_this_key_leads_to_everything_that_there_is(tmp_path: Path, only: Any) -> None:
    with serving(vendor()) as fake:
        only(openai=f"{fake.url}/v1")
        async with first_run(tmp_path, look_around, ENV, size=(80, 24)) as (app, pilot, _):
            await pilot.press("n")
            await until(lambda: "OPENAI_API_KEY is set" in text_of(app))
            assert "SET UP ONE OF THESE" in text_of(app)
            await pilot.press("r")
            await until(lambda: isinstance(app.screen, FirstRun) and not app.screen._looking)
            assert "SET UP ONE OF THESE" in text_of(app), "it is asked for once"
            await pilot.press("escape")
            await until(lambda: app.return_code is not None)
        assert fake.asked == []
        assert written(tmp_path) == []


async def test_a_server_that_answers_late_goes_before_the_key_unless_that_was_taken(tmp_path: Path, only: Any) -> None:
    there = Found("ollama", {"type": "ollama"}, (ModelInfo("m"),), ModelInfo("m"))
    late = asyncio.Event()
    looks: list[float] = []

    async def look(environment: Any, network: Network, seconds: float) -> list[Found]:
        looks.append(seconds)
        if len(looks) > 1:
            await late.wait()
        return [*([there] if late.is_set() else []), *keys(environment)]

    async with first_run(tmp_path, look, ENV, patience=0, settled=False) as (app, _, _):
        await until(lambda: len(looks) > 1 and "OPENAI_API_KEY found" in text_of(app))
        late.set()
        await until(lambda: offered(app))


@pytest.mark.parametrize("size", [(80, 24), (40, 20)])
async def test_the_question_of_a_key_is_whole_in_a_small_terminal(tmp_path: Path, size: tuple[int, int]) -> None:
    async def look(environment: Any, network: Network, seconds: float) -> list[Found]:
        return keys(environment)

    async with first_run(tmp_path, look, ENV, size=size) as (app, _, _):
        text = " ".join(text_of(app).split())
        for word in ("OPENAI_API_KEY found.", "Use openai/gpt-5.1?", "y yes", "m other", "n not this", "Esc quit"):
            assert word in text
        assert "It is never written to disk." in text


async def test_two_keys_and_a_server_are_a_list_with_the_local_one_first(tmp_path: Path, only: Any) -> None:
    with serving(ollama()) as fake:
        only(ollama=fake.url)
        env = {"ANTHROPIC_API_KEY": CANARY, "OPENAI_API_KEY": CANARY, "MISTRAL_API_KEY": ""}
        async with first_run(tmp_path, look_around, env) as (app, pilot, _):
            await pilot.press("m", "escape")
            await until(lambda: "FOUND ON THIS MACHINE" in text_of(app))
            assert isinstance(app.screen, FirstRun)
            assert [row.found and row.found.preset for row in app.screen._rows][:4] == [
                *("ollama", "openai", "anthropic", None)
            ]


def test_only_names_of_variables_are_kept() -> None:
    assert CANARY not in repr(keys({"OPENAI_API_KEY": CANARY}))


@pytest.mark.parametrize(
    ("names", "model"),
    [
        (["gpt-4.1", "gpt-5.1", "gpt-5"], "gpt-5.1"),
        (["gpt-5-2025-08-07", "gpt-5-2025-11-01", "gpt-5-mini"], "gpt-5-2025-11-01"),
        (["other"], None),
    ],
)
def test_the_model_to_begin_with(names: list[str], model: str | None) -> None:
    assert suggested("openai", [ModelInfo(name) for name in names]) == model


async def test_it_fits_a_small_terminal(tmp_path: Path) -> None:
    async with first_run(tmp_path, nothing, size=(40, 20)) as (app, _, _file):
        assert isinstance(app.screen, FirstRun)
        assert "Ollama" in text_of(app)
        assert "Esc" in text_of(app)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("127.0.0.1:8000", "http://127.0.0.1:8000/v1"),
        ("https://box.internal", "https://box.internal/v1"),
        ("http://127.0.0.1:8000/v1/", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000"),
        ("box/api/openai", "http://box/api/openai"),
    ],
)
def test_the_address_that_a_server_prints_is_that_of_its_api(typed: str, meant: str) -> None:
    assert address_of(typed) == meant


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 20)])
async def test_the_keys_of_every_step_are_whole(tmp_path: Path, size: tuple[int, int]) -> None:
    async with first_run(tmp_path, nothing, size=size) as (app, pilot, _):

        def last() -> str:
            return text_of(app).splitlines()[-1].rstrip()

        assert last().endswith("Esc quit")
        await pilot.press("6")
        await until(lambda: last().endswith("Enter continue   Esc back"))
        await pilot.press("ctrl+u", *"127.0.0.1:9", "enter")
        await until(lambda: "Which model" in text_of(app))
        await until(lambda: "Enter take it" in last() and "Tab" in last() and last().endswith("Esc back"))


async def test_where_nothing_can_be_written_the_choice_counts_for_this_session(
    tmp_path: Path, only: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(file: Path, text: str) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(file))

    monkeypatch.setattr("tui_agent.config.write_private", refuse)
    with serving(ollama()) as fake:
        only(ollama=fake.url)
        async with first_run(tmp_path, look_around) as (app, pilot, file):
            await pilot.press("enter")
            await until(lambda: "Read-only file system" in text_of(app))
            assert not file.exists()
            assert app.session.profile is not None
            assert app.session.profile.model == "qwen3-coder:30b"
            assert "ollama" in app.loaded.settings.profiles
            shown = text_of(app)
            assert "Read-only file system" in shown
            assert "This choice counts for this session only." in shown


# ------------------------------------------------------------------ an address


ADDRESSES = [
    "http://localhost:99999/v1",
    "ftp://x/v1",
    "http://",
    "http://:80",
    "localhost:port",
    "not a url at all",
    "http://exa mple/v1",
    "http://u:pw@localhost/v1",
]


@pytest.mark.parametrize("typed", ADDRESSES)
async def test_an_address_that_is_none_stays_to_be_mended(tmp_path: Path, typed: str) -> None:
    async with first_run(tmp_path, nothing) as (app, pilot, file):
        await pilot.press("6")
        await pilot.press(*typed, "enter")
        await pilot.pause()
        field = app.screen.query_one(Field)
        assert field.value == typed
        assert field.selection.is_empty
        assert field.cursor_position == len(typed), "the next key goes on where the person was"
        assert ("Leave the name and the password out" if "@" in typed else "no http:// or https:// address") in text_of(
            app
        )
        assert not file.exists()


async def test_an_address_needs_no_scheme(tmp_path: Path) -> None:
    with serving(Fake({"/v1/models": (200, {"data": [{"id": "only"}]})})) as fake:
        async with first_run(tmp_path, nothing) as (app, pilot, file):
            await pilot.press("6")
            await pilot.press(*fake.url.removeprefix("http://"), "/", "v", "1", "enter")
            await until(lambda: "Which model of local?" in text_of(app))
            await pilot.press("enter")
            await running(app)
            assert profile_written(file, "local") == {
                "type": "openai",
                "endpoint": f"{fake.url}/v1",
                "model": "only",
            }


async def test_what_a_first_start_in_another_terminal_wrote_meanwhile_stays(tmp_path: Path) -> None:
    with serving(Fake({"/v1/models": (200, {"data": [{"id": "only"}]})})) as fake:
        async with first_run(tmp_path, nothing) as (app, pilot, file):
            await pilot.press("6")
            await pilot.press(*fake.url.removeprefix("http://"), "/", "v", "1", "enter")
            await until(lambda: "Which model of local?" in text_of(app))
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text('[profiles.local]\nendpoint = "http://127.0.0.1:9/v1"\nmodel = "mine"\n')
            await pilot.press("enter")
            await running(app)
            assert app.session.profile is not None
            assert app.session.profile.name == "local-2"
            assert profile_written(file, "local-2")["model"] == "only"
            assert app.loaded.settings.profiles["local"].model == "mine"


async def test_so_does_it_where_a_server_was_found(tmp_path: Path, only: Any) -> None:
    with serving(ollama()) as fake:
        only(ollama=fake.url)
        async with first_run(tmp_path, look_around) as (app, pilot, file):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text('[profiles.ollama]\ntype = "ollama"\nmodel = "mine"\n')
            await pilot.press("enter")
            await until(lambda: "ollama-2" in app.loaded.settings.profiles)
            assert app.loaded.settings.profiles["ollama"].model == "mine"
            assert profile_written(file, "ollama-2") == LOCAL
            assert app.session.profile == app.loaded.settings.active()


async def test_what_stands_below_the_list_is_whole_in_a_small_terminal(tmp_path: Path) -> None:
    async with first_run(tmp_path, nothing, size=(40, 20)) as (app, pilot, _):
        for number in range(2, 6):
            await pilot.press(str(number))
            await pilot.pause()
            note = app.screen.query_one("#note")
            assert note.region.height == note.get_content_height(app.size, app.size, note.size.width)
            assert app.screen.query_one("#first-run").content_region.contains_region(note.region)
