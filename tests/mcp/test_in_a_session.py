"""MCP tools in a session: one table, one decision, one question, one receipt."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import talking
from tests.mcp.conftest import HOSTILE, SDK, ground, program, running
from tests.waiting import until
from tui_agent import routing
from tui_agent.config import Web
from tui_agent.core import events as ev
from tui_agent.core.endings import StopReason
from tui_agent.core.types import ApprovalRequest, Decision
from tui_agent.mcp.servers import Servers
from tui_agent.modes import AUTO, MODES
from tui_agent.providers.network import Network
from tui_agent.session import Session


def calls(name: str, **arguments: Any) -> dict[str, Any]:
    return {"calls": [{"name": name, "arguments": arguments}]}


class Asked:
    """A person who answers every question in the same way."""

    def __init__(self, answer: Any = "yes") -> None:
        self.answer, self.seen = answer, list[ApprovalRequest]()

    async def __call__(self, batch: tuple[ApprovalRequest, ...]) -> tuple[Decision, ...]:
        self.seen += batch
        return tuple(Decision(one.id, self.answer) for one in batch)


async def play(made: Session, task: str = "fix it") -> list[ev.ToolDone]:
    return [event async for event in made.run(task) if isinstance(event, ev.ToolDone)]


async def test_a_call_is_asked_with_all_it_sends_and_has_a_receipt(tmp_path: Path) -> None:
    person = Asked()
    async with running(tmp_path, program(tmp_path, "sums", SDK, "stdio")) as servers:
        made, seen = talking(
            tmp_path, [calls("sums/add", a=2, b=40), "Done."], Web(intents="off"), person, servers=servers
        )
        (done,) = await play(made)
    assert "sums/add" in {tool.name for tool in seen[0].tools}
    (asked,) = person.seen
    assert asked.summary == 'mcp  sums/add  {"a": 2, "b": 40}'
    assert asked.where == "a program of yours, not sandboxed"
    assert (asked.policy.tool, asked.policy.permission) == ("sums/add", "mcp")
    assert done.receipt is not None
    assert (done.receipt.tool, done.receipt.arguments, done.receipt.by) == ("sums/add", {"a": 2, "b": 40}, "key")
    assert done.receipt.duration > 0
    assert (done.status, done.note) == ("applied", "1 line")
    assert "<mcp-text>\n42\n</mcp-text>" in done.text
    assert "<mcp-text>" in str(seen[1].messages)


async def test_a_no_reaches_no_server(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    async with running(tmp_path, program(tmp_path, "s", SDK, "stdio")) as servers:
        replies = [calls("s/write", path=str(mark), text="x"), "Done."]
        made, _ = talking(tmp_path, replies, Web(intents="off"), Asked("no"), servers=servers)
        (done,) = await play(made)
    assert done.status == "refused"
    assert not mark.exists()


async def test_files_that_a_call_changed_are_in_its_receipt_and_come_back(tmp_path: Path) -> None:
    async with running(tmp_path, program(tmp_path, "s", SDK, "stdio"), trusted=True) as servers:
        file = tmp_path / "work" / "a.txt"
        file.write_text("before\n")
        replies = [calls("read_file", path="a.txt"), calls("s/write", path="a.txt", text="after\n"), "Done."]
        made, _ = talking(tmp_path, replies, Web(intents="off"), Asked(), servers=servers)
        _, done = await play(made)
        assert done.receipt is not None
        assert done.receipt.touched == ("a.txt",)
        assert done.note == "1 line, 1 file changed"
        assert made.holds_unseen_edits
        steps = await made.workspace.plan_undo([done.receipt])
        await made.workspace.undo(steps)
        assert file.read_text() == "before\n"


async def test_stopping_a_run_stops_the_call_and_the_log_says_so(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    async with running(tmp_path, program(tmp_path, "s", SDK, "stdio")) as servers:
        made, _ = talking(
            tmp_path, [calls("s/wait", file=str(mark)), "x"], Web(intents="off"), Asked(), servers=servers
        )
        task = asyncio.create_task(play(made))
        await until(lambda: mark.exists() and mark.read_text() == "begun")
        task.cancel()
        await asyncio.wait({task})
        await until(lambda: mark.read_text() == "cancelled")
    (done,) = [event for event in made.events if isinstance(event, ev.ToolDone)]
    assert done.note == "stopped"
    assert done.receipt is not None
    assert isinstance(made.events[-1], ev.RunEnded)
    assert made.events[-1].reason is StopReason.STOPPED


@pytest.mark.parametrize("name", ["read", "review", "plan"])
async def test_modes_that_only_read_have_none_of_them_and_start_none(tmp_path: Path, name: str) -> None:
    note = tmp_path / "note"
    servers = Servers(20)
    made, seen = talking(tmp_path, [calls("h/go", text="x"), "Done."], Web(intents="off"), Asked(), servers=servers)
    servers.use(ground(tmp_path), {"h": program(tmp_path, "h", HOSTILE, "fine", str(note))})
    made.enter(MODES[name])
    (done,) = await play(made)
    assert not note.exists()
    assert not [tool.name for tool in seen[0].tools if "/" in tool.name]
    assert done.invalid
    assert servers.all[0].state == "waiting"


async def test_mode_auto_asks_for_a_call_because_no_sandbox_is_around_a_server(tmp_path: Path) -> None:
    person = Asked()
    async with running(tmp_path, program(tmp_path, "s", SDK, "stdio")) as servers:
        made, _ = talking(tmp_path, [calls("s/add", a=1, b=1), "x"], Web(intents="off"), person, servers=servers)
        made.enter(AUTO)
        await play(made)
    assert [one.policy.tool for one in person.seen] == ["s/add"]


async def test_arguments_that_do_not_fit_are_no_question(tmp_path: Path) -> None:
    person = Asked()
    async with running(tmp_path, program(tmp_path, "s", SDK, "stdio")) as servers:
        made, _ = talking(tmp_path, [calls("s/add", a=1), "x"], Web(intents="off"), person, servers=servers)
        (done,) = await play(made)
    assert person.seen == []
    assert "missing fields for s/add: b (its fields are a, b)" in done.text


async def test_a_field_called_path_is_the_servers_own(tmp_path: Path) -> None:
    async with running(tmp_path, program(tmp_path, "s", SDK, "stdio")) as servers:
        outside = tmp_path / "outside"
        replies = [calls("s/write", path=str(outside), text="x"), "Done."]
        made, _ = talking(tmp_path, replies, Web(intents="off"), Asked(), servers=servers)
        (done,) = await play(made)
    assert done.status == "applied"
    assert outside.read_text() == "x"


async def test_a_long_result_is_cut_with_the_rest_kept_and_what_is_secret_is_hidden(tmp_path: Path) -> None:
    async with running(tmp_path, program(tmp_path, "h", HOSTILE, "huge")) as servers:
        made, _ = talking(tmp_path, [calls("h/go", text="x"), "Done."], Web(intents="off"), Asked(), servers=servers)
        (done,) = await play(made)
    assert len(done.text) < 17_000
    assert "read_output with the name" in done.text


async def test_a_secret_that_a_server_says_again_is_hidden(tmp_path: Path) -> None:
    config, network = program(tmp_path, "s", SDK, "stdio", env={"TOKEN": "tok-CANARY-123456"}), Network()
    async with running(tmp_path, config, network=network) as servers:
        replies = [calls("s/variable", key="TOKEN"), "Done."]
        there = {"servers": servers, "network": network}
        made, seen = talking(tmp_path, replies, Web(intents="off"), Asked(), **there)
        (done,) = await play(made)
    assert "CANARY" not in done.text + str(seen)
    assert "[key hidden]" in done.text


async def test_what_a_task_waits_for_is_told_while_it_waits(tmp_path: Path) -> None:
    servers = Servers()
    slow = program(tmp_path, "late", HOSTILE, "slow", start_timeout=0.3)
    servers.use(ground(tmp_path), {slow.name: slow})
    made, _ = talking(tmp_path, ["Done."], Web(intents="off"), servers=servers)
    phases = [event async for event in routing.run(made, "hi") if isinstance(event, ev.Phase)]
    assert phases[0] == ev.Phase("waiting", "starting MCP server late")
    assert servers.starting == ()
    await servers.close()


async def test_a_server_that_is_not_there_is_told_once_and_the_task_goes_on(tmp_path: Path) -> None:
    async with running(tmp_path, program(tmp_path, "h", HOSTILE, "broken")) as servers:
        made, _ = talking(tmp_path, ["Done.", "Again."], Web(intents="off"), servers=servers)
        await play(made)
        await play(made)
    told = [event.text for event in made.events if isinstance(event, ev.Notice)]
    assert len([text for text in told if "the MCP server h is not there" in text]) == 1


async def test_which_rule_decides_a_call_is_told(tmp_path: Path) -> None:
    async with running(tmp_path, program(tmp_path, "s", SDK, "stdio")) as servers:
        made, _ = talking(tmp_path, [], Web(), servers=servers)
        verdict = await made.workspace.explain("s/add")
    assert (verdict.permission, verdict.rule) == ("ask", "table: mcp = ask")
