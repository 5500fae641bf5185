"""What a profile says of its own model counts for no other one that its server has."""

from __future__ import annotations

from pathlib import Path

from tests.ui.looking import Fake, serving, text_of
from tests.ui.test_switching import Palette, running, scripted, send
from tests.waiting import until
from tui_agent.core.profile import ModelInfo, Pricing, Profile
from tui_agent.ui.switching import Today, hint

OWN, LISTED = Pricing(1.0, 0.5, 2.0), Pricing(10.0, 10.0, 20.0)
MODELS = [
    {"id": "cheap", "pricing": {"prompt": "0.000007", "completion": "0.000007"}},
    {"id": "dear", "pricing": {"prompt": "0.00001", "completion": "0.00002"}},
    {"id": "plain"},
]


def test_another_model_has_neither_the_prices_nor_the_window_of_the_one_that_was_described() -> None:
    said = Profile("p", model="cheap", pricing=OWN, window=8_192, images=False)
    assert said.answering("cheap", LISTED) == said
    other = said.answering("dear", LISTED)
    assert (other.model, other.pricing, other.window, other.images) == ("dear", LISTED, None, None)
    assert said.answering("plain").pricing is None
    assert Profile("p", pricing=OWN, window=1).answering("any") == Profile("p", model="any", pricing=OWN, window=1)
    assert Profile("p", model="own", local=True).answering("other").local
    assert not Profile("p", model="own", local=True, pricing=OWN).answering("other").local
    assert Profile("p", model="cheap").answering("cheap", LISTED).pricing == LISTED


async def test_after_a_switch_of_the_model_the_prices_of_the_list_count_and_back_again_those_of_the_profile(
    tmp_path: Path,
) -> None:
    with serving(Fake({"/v1/models": (200, {"data": MODELS})})) as fake:
        prices = {"input": 1.0, "cached_input": 0.5, "output": 2.0}
        table = {"type": "openai", "endpoint": f"{fake.url}/v1", "model": "cheap", "window": 4_096, "pricing": prices}
        async with running(tmp_path, scripted([]), {"peer": table}) as (app, pilot):

            def now() -> tuple[str | None, Pricing | None, int | None]:
                used = app.session.profile
                return (used.model, used.pricing, used.window) if used else (None, None, None)

            await send(app, pilot, "/provider peer")
            await send(app, pilot, "/model")
            await until(lambda: isinstance(app.screen, Palette))
            await pilot.pause()
            rows = text_of(app)
            assert all(words in rows for words in ("1.00/2.00", "10.00/20.00"))
            assert "7.00" not in rows
            await pilot.press("down", "enter")
            await until(lambda: now() == ("dear", LISTED, None))
            await send(app, pilot, "/model plain")
            await until(lambda: now() == ("plain", None, None))
            await send(app, pilot, "/model cheap")
            await until(lambda: now() == ("cheap", OWN, 4_096))


def test_a_model_without_a_price_is_not_shown_with_that_of_another() -> None:
    assert hint(ModelInfo("own"), Profile("p", model="other", local=True), Today()).split() == ["?", "?", "local"]
    assert hint(ModelInfo("plain"), Profile("p", model="cheap", local=True, pricing=OWN), Today()).split()[2] == "?"
    assert hint(ModelInfo("plain"), Profile("p", model="cheap", pricing=OWN), Today()).split() == ["?", "?", "?"]
