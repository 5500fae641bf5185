"""A profile may lead elsewhere by the time a session goes on: whoever is sent the conversation then is named."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Shell
from tests.cli.server import Text, serving
from tui_agent.core import events as ev
from tui_agent.core.profile import Profile
from tui_agent.core.types import AssistantMessage, Author
from tui_agent.told import answers_elsewhere

THERE = "https://one.example/v1"


def answered(endpoint: str, wire: str = "openai-chat") -> tuple[ev.Durable, ...]:
    author = Author(wire, endpoint, "m")
    return ev.ModelChosen("local", "m"), ev.UserSaid("hi"), ev.AssistantSaid(AssistantMessage("ho", author=author))


@pytest.mark.parametrize(
    ("events", "told"),
    [
        (answered("https://two.example/v1"), True),
        (answered("http://one.example/v1"), True),
        (answered("https://one.example:443/v2?key=***"), False),
        (answered("a file", "scripted"), False),
        ((*answered("https://two.example"), ev.ModelChosen("other", "m")), False),  # that is told by another sentence
        ((*answered("https://two.example"), *answered(THERE)), False),
        ((), False),
    ],
)
def test_only_another_server_is_told(events: tuple[ev.Durable, ...], *, told: bool) -> None:
    said = answers_elsewhere(events, Profile("local", endpoint=THERE, model="m"))
    assert ("https://one.example answers from here on, and is sent what was said." in said) is told


def test_one_task_says_it_before_it_goes_on(shell: Shell) -> None:
    with serving(Text("one")) as first, serving(Text("two"), Text("three")) as second:
        shell.use(first.url)
        assert shell.run("-q", "-p", "hi").err == ""
        shell.use(second.url)
        done = shell.run("-q", "-p", "again", "--continue")
        assert f"({first.url.removesuffix('/v1')}): {second.url.removesuffix('/v1')} answers from here on" in done.err
        assert (done.out, shell.run("-q", "-p", "more", "--continue").err) == ("two\n", "")
