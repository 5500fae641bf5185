"""The vendors and servers that are known by name: data, complete, and nowhere else."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tui_agent.config import presets, profile
from tui_agent.core.address import is_loopback
from tui_agent.core.types import ConfigError

PACKAGE = Path(__file__).resolve().parent.parent / "tui_agent"
LOCAL = {"ollama", "mlx", "lmstudio", "llamacpp", "vllm"}
CLOUD = {
    "openai",
    "anthropic",
    "openrouter",
    "groq",
    "deepseek",
    "mistral",
    "gemini",
    "fireworks",
    "together",
    "xai",
}


def test_all_of_them_are_there() -> None:
    assert set(presets()) == LOCAL | CLOUD | {"scripted"}


@pytest.mark.parametrize("name", sorted(LOCAL))
def test_a_server_of_ones_own(name: str) -> None:
    made = profile("mine", {"type": name, "model": "m"})
    assert is_loopback(made.endpoint or "")
    assert made.local
    assert made.api_key_env is None
    assert made.start


@pytest.mark.parametrize("name", sorted(CLOUD))
def test_a_vendor(name: str) -> None:
    made = profile("theirs", {"type": name, "model": "m"})
    assert urlsplit(made.endpoint or "").scheme == "https"
    assert not made.local
    assert (made.api_key_env or "").endswith("_API_KEY")
    assert presets()[name]["key_page"]


@pytest.mark.parametrize("name", sorted(CLOUD))
def test_a_vendors_key_is_for_the_vendors_server(name: str) -> None:
    own = str(presets()[name]["endpoint"])
    host = urlsplit(own).hostname
    for endpoint in (own, own + "/", f"https://{host}:443/other/v2"):
        assert profile("x", {"type": name, "endpoint": endpoint}).api_key_env == presets()[name]["api_key_env"]
    for endpoint in ("http://127.0.0.1:1/v1", f"http://{host}", f"https://{host}:444", f"https://{host}@x.example",
                     f"https://x.{host}", "https://x.example/v1", f"//{host}", "https://h:port"):  # fmt: skip
        table = {"type": name, "endpoint": endpoint}
        assert profile("x", table).api_key_env is None
        assert profile("x", table | {"api_key_env": "MINE"}).api_key_env == "MINE"


def test_the_example_sends_a_vendors_key_to_the_vendor_only() -> None:
    example = tomllib.loads((PACKAGE.parent / "config.example.toml").read_text())["profiles"]
    assert profile("local", example["local"]).api_key_env is None
    assert profile("cloud", example["cloud"]).api_key_env == "OPENAI_API_KEY"


@pytest.mark.parametrize("rates", [{}, {"cached_input": 1.0}])
def test_prices_without_a_rate_are_none(rates: dict[str, float]) -> None:
    assert profile("x", {"pricing": rates}).pricing is None
    assert profile("x", {"pricing": {"output": 0.0, **rates}}).pricing is not None


@pytest.mark.parametrize(
    ("word", "kind"),
    [("omlx", "mlx"), ("SUSHI", "mlx"), ("Ollama", "ollama"), ("OpenAI", "openai"), ("vLLM", "vllm"), ("", "openai")],
)
def test_a_type_by_any_of_its_names(word: str, kind: str) -> None:
    assert profile("x", {"type": word}).type == kind


@pytest.mark.parametrize("table", [{"endpoint": ""}, {"type": "", "endpoint": ""}, {"model": "m"}])
def test_a_profile_without_type_never_gets_a_vendors_address_or_key(table: dict[str, object]) -> None:
    made = profile("x", table)
    assert (made.endpoint, made.api_key_env, made.wire) == (None, None, "openai-chat")


def test_an_unknown_type_is_refused_with_a_suggestion() -> None:
    with pytest.raises(ConfigError, match="did you mean mistral"):
        profile("x", {"type": "mistrall"})


@pytest.mark.parametrize(
    ("table", "local"),
    [
        ({"endpoint": "http://127.0.0.1:8080/v1"}, True),
        ({"endpoint": "http://[::1]:8080/v1"}, True),
        ({"endpoint": "http://localhost/v1"}, True),
        ({"endpoint": "http://127.evil.example/v1"}, False),
        ({"endpoint": "http://192.168.1.9/v1"}, False),
        ({"type": "ollama", "endpoint": "http://192.168.1.9:11434"}, True),
        ({"type": "ollama", "endpoint": "http://box.lan:11434"}, True),
        ({"type": "ollama", "endpoint": "https://ollama.com"}, False),
        ({"type": "vllm", "endpoint": "https://gpu.example.com/v1"}, False),
        ({"endpoint": "http://127.0.0.1:4000/v1", "local": False}, False),
        ({"endpoint": "https://models.example.com/v1", "local": True}, True),
        ({"endpoint": "http://[bad"}, False),
        ({}, False),
    ],
)
def test_whose_answers_cost_nothing(table: dict[str, object], local: bool) -> None:
    assert profile("x", table).local is local


def test_no_vendor_is_named_outside_the_data_and_the_rules() -> None:
    names = re.compile(rf"\b({'|'.join(sorted(LOCAL | CLOUD - {'together'}))})\b(?!-)", re.IGNORECASE)
    rooms = ["core", "protocols", "session.py", "oneshot.py", "config.py", "prompt.py"]
    files = [
        f for room in rooms for f in ([PACKAGE / room] if room.endswith(".py") else (PACKAGE / room).rglob("*.py"))
    ]
    allowed = {
        "profile.py": {"openai", "ollama", "anthropic"},
        "config.py": {"openai"},
    }  # the wires, and the default type
    found = {
        (file.name, word.lower())
        for file in files
        for word in names.findall(file.read_text(encoding="utf-8"))
        if word.lower() not in allowed.get(file.name, set())
    }
    assert found == set()
