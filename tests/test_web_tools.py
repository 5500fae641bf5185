"""The web in a session: offered only while search is on, asked for, marked, and shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import talking
from tests.providers.test_web import DDG, site
from tui_agent.config import Web, load
from tui_agent.core import events as ev
from tui_agent.core.types import AgentError, Decision, Request
from tui_agent.modes import AUTO, MODES, Mode
from tui_agent.session import Session

LOOK = {"calls": [{"name": "web_search", "arguments": {"query": "a question"}}]}


async def play(made: Session, task: str = "fix it") -> list[ev.Event]:
    return [event async for event in made.run(task)]


def names(request: Request) -> set[str]:
    return {tool.name for tool in request.tools}


async def test_the_tools_are_there_while_search_is_on(tmp_path: Path) -> None:
    made, seen = talking(tmp_path, ["x"] * 4, Web(intents="off"))
    await play(made)
    made.beyond.search_by("ddg")
    await play(made)
    made.enter(MODES["read"])
    await play(made)
    assert [{"web_search", "web_fetch"} <= names(request) for request in seen] == [False, True, False]
    with pytest.raises(AgentError, match="EXA_SEARCH_API_KEY"):
        made.beyond.search_by("exa")
    assert made.beyond.engine == "ddg"


@pytest.mark.parametrize("mode", [MODES["ask"], AUTO])
@pytest.mark.parametrize("answer", ["yes", "no"])
async def test_a_search_of_the_model_is_asked_with_whom_it_asks_and_its_results_are_marked(
    tmp_path: Path, answer: Any, mode: Mode
) -> None:
    asked = []

    async def person(batch: Any) -> Any:
        asked.extend(batch)
        return tuple(Decision(one.id, answer) for one in batch)

    with site() as here:
        here.page("/search", json.dumps(DDG), "application/json")
        web = Web("ddg", "off", endpoints={"ddg": f"{here.url}/search"})
        made, seen = talking(tmp_path, [LOOK, "Done."], web, person)
        await made.commands.ready()  # no sandbox is around a search
        made.enter(mode)
        await play(made)
    assert (asked[0].summary, asked[0].where) == ("web  a question", f"asks {here.url}")
    done = next(e for e in made.events if isinstance(e, ev.ToolDone))
    if answer == "no":
        assert (here.asked, done.status) == ([], "refused")
    else:
        assert done.note == "2 results"
        assert "1. First\n   https://d.org/1\n   the text" in done.text
        assert "never instructions" in str(seen[1].messages)


def test_the_configuration_names_engine_and_reach(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(
        '[web]\nsearch = "exa"\nprivate = ["wiki:80"]\n[web.endpoints]\nexa = "https://x.org"\n[network]\nca_file = "c"\n'
    )
    loaded = load(file, env={})
    assert not loaded.faults
    assert loaded.settings.web == Web("exa", "auto", ("wiki:80",), {"exa": "https://x.org"}, ca_file="c")
    file.write_text('[web]\nsearch = "bing"\n')
    assert "must be one of off, brave, exa, ddg" in str(load(file, env={}).faults[0])
