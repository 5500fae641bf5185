"""Promises of the acceptance list about profiles and cost that no other test names (docs/acceptance.md)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tui_agent.config import Settings, load
from tui_agent.core.profile import Pricing, Profile
from tui_agent.core.types import Ask, Usage
from tui_agent.paths import Paths
from tui_agent.providers.scripted import scripted
from tui_agent.session import Session, Terms

PROFILE = """[profiles.x]
type = "vllm"
model = ""
api_key_env = ""
[profiles.x.generation]
think = true
odd = { deep = [1] }
[profiles.x.pricing]
input = 3.0
rounding = 2
"""


def loaded(tmp_path: Path) -> Any:
    file = tmp_path / "config.toml"
    file.write_text(PROFILE, encoding="utf-8")
    return load(file)


def test_empty_values_are_none_and_unknown_ones_do_no_harm(tmp_path: Path) -> None:
    config = loaded(tmp_path)
    profile = config.settings.profiles["x"]
    assert (profile.model, profile.api_key_env) == (None, None)
    assert dict(profile.generation) == {"think": True, "odd": {"deep": [1]}}
    assert not config.broken
    assert [fault.key for fault in config.faults] == ["profiles.x.pricing.rounding"]


def test_a_missing_rate_counts_as_nothing(tmp_path: Path) -> None:
    pricing = loaded(tmp_path).settings.profiles["x"].pricing
    assert pricing == Pricing(input=3.0)
    assert pricing.cost(Usage(1_000_000, 1_000_000, cached_tokens=500_000)) == 1.5


def test_without_prices_a_cost_is_unknown_and_a_local_model_costs_nothing(tmp_path: Path) -> None:
    ask: Ask | None = None
    session = Session(Terms(tmp_path, Settings(), Paths(*(tmp_path / n for n in "cds"))), ask)  # type: ignore[arg-type]
    usage = Usage(1000, 10)
    assert session.price(usage) is None
    for profile, cost in (
        (Profile("far"), None),
        (Profile("near", local=True), 0.0),
        (Profile("dear", pricing=Pricing(input=2.0), local=True), 0.002),
    ):
        session.use(scripted([]), profile)
        assert session.price(usage) == cost
