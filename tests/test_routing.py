"""What a message is about: words, then a word of the model, else coding; and what follows from it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cli.server import Failure, Text, serving
from tests.conftest import talking
from tests.fakes import Person
from tests.providers.test_web import DDG, Site, site
from tui_agent import recording, replay, routing
from tui_agent.config import Settings, Web
from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.ledger import ledger
from tui_agent.core.meter import meter
from tui_agent.core.policy import DEFAULT
from tui_agent.core.profile import Profile
from tui_agent.core.sent import sent
from tui_agent.core.standing import standing
from tui_agent.core.types import Decision, Request
from tui_agent.intents import by_words, read
from tui_agent.paths import Paths
from tui_agent.providers.scripted import scripted
from tui_agent.session import Session, Terms
from tui_agent.sessions import fork


async def play(made: Session, task: str) -> list[ev.Event]:
    return [event async for event in routing.run(made, task)]


def intents(made: Session) -> list[tuple[str, str]]:
    return [(event.intent, event.by) for event in made.events if isinstance(event, ev.Routed)]


def reach(here: Site, engine: Any = "off", how: Any = "auto") -> Web:
    here.page("/search", json.dumps(DDG), "application/json")
    return Web(engine, how, endpoints={"ddg": f"{here.url}/search"})


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("What is the WEATHER in Bern?", "general"),
        ("What is the weather API of Bern?", "general"),  # the general words are the tie-breaker
        ("Fix the failing test", "coding"),
        ("add a Function", "coding"),
        ("What is the weather? " + "Look at this. " * 20, None),
        ("hello", None),
        ("newsletter", None),
        ("prefix", None),
    ],
)
def test_words_decide_first_and_general_ones_before_coding_ones(text: str, intent: str | None) -> None:
    assert by_words(text) == intent


@pytest.mark.parametrize(
    ("answer", "intent"),
    [("GENERAL", "general"), ("hybrid.", "hybrid"), ("Coding", "coding"), ("", "coding"), ("no idea", "coding")],
)
def test_one_word_of_the_model_is_read_and_anything_else_is_coding(answer: str, intent: str) -> None:
    assert read(answer, "hello") == intent


@pytest.mark.parametrize(
    "text",
    [
        "fix the bug in weather.py",
        "the news page shows no headlines, repair it",
        "add a recipe model with tests",
        "write a function for the stock price",
        "what does src/news do?",
        "weather in @notes",
    ],
)
def test_work_is_never_general(text: str) -> None:
    assert by_words(text) in {"coding", None}
    assert read("GENERAL", text) == "coding"


async def test_while_search_is_off_everything_is_coding(tmp_path: Path) -> None:
    made, seen = talking(tmp_path, ["Rain."], Web())
    await play(made, "What is the weather in Bern?")
    assert (len(seen), intents(made)) == (1, [])
    assert seen[0].tools


async def test_the_model_is_asked_for_ten_tokens_only_when_words_do_not_tell(tmp_path: Path) -> None:
    with serving(Text("HYBRID"), Text("Done."), Text("Done.")) as server:
        (tmp_path / "work").mkdir()
        paths = Paths(tmp_path / "config", tmp_path / "data", tmp_path / "state")
        settings = Settings(web=Web(intents="model"))
        made = Session(Terms(tmp_path / "work", settings, paths, trusted=True, environment={}), Person())
        made.choose(Profile("local", "openai", "openai-chat", endpoint=server.url, model="m"))
        await play(made, "hello")
    assert intents(made) == [("hybrid", "model")]
    assert (server.bodies[0]["max_tokens"], server.bodies[0]["temperature"]) == (10, 0)
    assert "tools" not in server.bodies[0]
    assert "max_tokens" not in server.bodies[1]


async def test_a_failure_of_the_question_is_told_and_means_coding(tmp_path: Path) -> None:
    with serving(Failure(400, b'{"error": {"message": "no"}}'), Text("Done.")) as server:
        (tmp_path / "work").mkdir()
        paths = Paths(tmp_path / "config", tmp_path / "data", tmp_path / "state")
        settings = Settings(web=Web(intents="model"))
        made = Session(Terms(tmp_path / "work", settings, paths, trusted=True, environment={}), Person())
        profile = Profile("local", "openai", "openai-chat", endpoint=server.url, model="m", options={"retries": 0})
        made.choose(profile)
        await play(made, "hello")
    told = [event.text for event in made.events if isinstance(event, ev.Notice)]
    assert [text for text in told if text.startswith(routing.FAILED)]
    assert "tools" in server.bodies[-1]


@pytest.mark.parametrize("how", ["auto", "words", "off"])
async def test_where_it_would_change_nothing_the_model_is_not_asked(tmp_path: Path, how: Any) -> None:
    made, seen = talking(tmp_path, ["Done."], Web(intents=how))
    await play(made, "hello")
    assert (len(seen), intents(made)) == (1, [])
    assert seen[0].tools


async def test_a_general_question_is_searched_for_and_stays_out_of_the_work(tmp_path: Path) -> None:
    asked: list[Any] = []

    async def person(batch: Any) -> Any:
        asked.extend(batch)
        return tuple(Decision(one.id, "yes") for one in batch)

    with site() as here:
        made, seen = talking(tmp_path, ["Fixed.", "Rain.", "Fixed again."], reach(here, how="words"), person)
        await play(made, "fix the test")
        await play(made, "What is the weather in Bern?")
        await play(made, "fix it more, the test")
    assert [one.summary for one in asked] == ["web  What is the weather in Bern?"]
    general = seen[1]
    assert general.tools == ()
    assert "apart from the work" in general.system
    assert "https://d.org/1" in str(general.messages)
    assert "fix the test" not in str(general.messages)
    later = str(seen[2].messages)
    assert "weather" not in later
    assert "Rain." not in later
    assert "Fixed." in later
    assert seen[0].system == seen[2].system
    assert "web_search" not in {tool.name for request in seen for tool in request.tools}
    assert intents(made) == [("general", "words"), ("coding", "words")]
    assert "weather" not in str(sent(made.events))
    assert fold.totals(made.events).replies == 3


async def test_a_search_that_is_refused_or_denied_leaves_the_question(tmp_path: Path) -> None:
    async def person(batch: Any) -> Any:
        return tuple(Decision(one.id, "no") for one in batch)

    with site() as here:
        made, seen = talking(tmp_path, ["Rain."], reach(here, how="words"), person)
        await play(made, "What is the weather in Bern?")
    assert here.asked == []
    assert [m.text for m in seen[0].messages] == ["What is the weather in Bern?"]
    assert any("not searched: refused by you" in e.text for e in made.events if isinstance(e, ev.Notice))


async def test_a_search_that_a_rule_denies_is_not_made_and_nobody_is_asked(tmp_path: Path) -> None:
    policy = replace(DEFAULT, table={**DEFAULT.table, "network": "deny"})
    for engine in ("off", "ddg"):
        with site() as here:
            made, seen = talking(tmp_path, ["Rain."], reach(here, engine, "words"), None, policy)
            await play(made, "What is the weather in Bern?")
        assert here.asked == []
        assert [m.text for m in seen[0].messages] == ["What is the weather in Bern?"]
        assert any("not searched: table: network = deny" in e.text for e in made.events if isinstance(e, ev.Notice))


async def test_a_search_that_fails_says_that_nothing_was_searched(tmp_path: Path) -> None:
    with site() as here:
        made, _ = talking(tmp_path, ["Rain."], reach(here, "ddg"))
        here.page("/search", "", status=503)
        await play(made, "What is the weather in Bern?")
    told = [e.text for e in made.events if isinstance(e, ev.Notice)]
    assert told == ["not searched: DuckDuckGo answered with status 503"]


async def test_a_general_question_that_fails_takes_nothing_of_the_work_with_it(tmp_path: Path) -> None:
    with site() as here:
        broken = {"error": {"kind": "server", "message": "down"}}
        made, seen = talking(tmp_path, ["Fixed.", broken, "Again."], reach(here, how="words"))
        await play(made, "fix the test")
        before = sent(made.events)
        await play(made, "What is the weather in Bern?")
        assert sent(made.events) == before
        await play(made, "fix the test again")
        assert len(seen[-1].messages) >= 3


async def test_hybrid_has_files_and_the_web_and_coding_has_no_web(tmp_path: Path) -> None:
    with site() as here:
        made, seen = talking(tmp_path, ["Done."] * 3, reach(here, "ddg"))
        made.quick = scripted([{"text": "HYBRID"}])
        await play(made, "the newest release of it please")
        made.quick = scripted([{"text": "CODING"}])
        await play(made, "hello")
        await play(made, "fix the test")
    names = [{tool.name for tool in request.tools} for request in seen]
    assert {"web_search", "edit_file"} <= names[0]
    assert "https://d.org/1" in str(seen[0].messages[0])
    assert "web_search" not in names[1] | names[2]
    assert intents(made)[:2] == [("hybrid", "model"), ("coding", "model")]


async def asked_in_the_middle(tmp_path: Path, here: Site, *, third: bool = True) -> tuple[Session, list[Request]]:
    """Work, a question about the world with what was found for it, and work again."""
    made, seen = talking(tmp_path, ["Fixed.", "Rain.", "Fixed again.", "More."], reach(here, "ddg", how="words"))
    await play(made, "fix the test")
    await play(made, "What is the weather in Bern?")
    if third:
        await play(made, "fix it more, the test")
    return made, seen


async def test_a_replay_goes_across_a_general_question(tmp_path: Path) -> None:
    with site() as here:
        made, _ = await asked_in_the_middle(tmp_path, here)
    number, divergence = await replay.play(made.events, replay.Stage())
    assert divergence is None
    assert number == 9
    assert [run.task for run in recording.runs(made.events)][1] == "What is the weather in Bern?"


@pytest.mark.parametrize(("turn", "texts"), [(1, []), (2, ["fix the test", "Fixed."]), (3, ["fix the test", "Fixed."])])
@pytest.mark.parametrize("how", ["words", "off"])
async def test_a_rewind_across_a_general_question_leaves_nothing_of_it(
    tmp_path: Path, turn: int, texts: list[str], how: Any
) -> None:
    with site() as here:
        made, seen = await asked_in_the_middle(tmp_path, here)
        made.log.append(ev.Rewound(turn))
        assert not [e for e in standing(made.events) if isinstance(e, ev.Routed)] or turn == 3
        made.beyond.intents = how
        await play(made, "fix the other test")
    assert [m.text for m in seen[-1].messages] == [*texts, "fix the other test"]
    assert [m.text for m in sent(made.events)][:-1] == [*texts, "fix the other test"]


@pytest.mark.parametrize("turn", [2, 3])
async def test_a_copy_from_before_a_general_question_goes_on_with_the_work(tmp_path: Path, turn: int) -> None:
    with site() as here:
        made, _ = await asked_in_the_middle(tmp_path, here)
    copy = fork(made.place, tmp_path / "copies", made.root, turn)
    copy.log.append(ev.UserSaid("another way"))
    copy.close()
    assert [m.text for m in sent(copy.log.events)] == ["fix the test", "Fixed.", "another way"]


async def test_a_kill_between_intent_and_question_does_not_take_the_next_message_away(tmp_path: Path) -> None:
    with site() as here:
        made, seen = await asked_in_the_middle(tmp_path, here, third=False)
        made.log.append(ev.Routed("general"))
        made.beyond.intents = "off"
        await play(made, "fix the other test")
    assert [m.text for m in seen[-1].messages] == ["fix the test", "Fixed.", "fix the other test"]
    assert [m.text for m in sent(made.events)][:-1] == ["fix the test", "Fixed.", "fix the other test"]


async def test_a_general_question_costs_none_of_the_work_and_fills_nothing(tmp_path: Path) -> None:
    usage = {"input_tokens": 4_000, "output_tokens": 10}
    small = {"input_tokens": 30, "output_tokens": 5}
    with site() as here:
        made, _ = talking(tmp_path, [{"text": "Fixed.", "usage": usage}], reach(here, "ddg", how="words"))
        await play(made, "fix the test")
        before = meter(made.events)
        assert made.profile is not None
        made.use(scripted([{"text": "Rain.", "usage": small}]), made.profile)
        await play(made, "What is the weather in Bern?")
    assert meter(made.events) == before
    assert before.tokens == 4_010
    spent = ledger(made.events, lambda _: None)
    rain = max(n for n, event in enumerate(made.events) if isinstance(event, ev.AssistantSaid))
    assert spent[rain].tokens == 35
    assert round(sum(one.tokens for one in spent.values())) == 4_045


async def test_a_word_to_the_turn_is_not_lost_in_a_general_question(tmp_path: Path) -> None:
    cut = {"text": "Rai", "finish": "length"}
    with site() as here:
        made, seen = talking(tmp_path, [cut, "Rain."], reach(here, "ddg", how="words"))
        made.meanwhile = lambda: pytest.fail("it belongs to the work, and waits for it")
        await play(made, "What is the weather in Bern?")
    assert len(seen) == 2
