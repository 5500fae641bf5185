"""Modes: what each allows and offers, in which order they come, and what a session does in them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import Person
from tests.waiting import PATIENCE
from tui_agent.config import Settings, careful
from tui_agent.core import events as ev
from tui_agent.core.endings import Limits, StopReason
from tui_agent.core.policy import DEFAULT, Policy
from tui_agent.core.profile import Profile
from tui_agent.core.types import AgentError, ConfigError, Request, ToolCall
from tui_agent.modes import CYCLE, MODES, READERS, first, following, mode
from tui_agent.paths import Paths
from tui_agent.prompt import Prompts
from tui_agent.providers.scripted import scripted
from tui_agent.session import Session, Terms
from tui_agent.sessions import Place
from tui_agent.tools.lookups import LOOKUPS
from tui_agent.tools.registry import TOOLS

SPECS = tuple(tool.spec for tool in TOOLS.values())
WRITE = {"calls": [{"name": "write_file", "arguments": {"path": "new.txt", "content": "x\n"}}]}
CHANGERS = ("write", "run", "git", "shell", "network", "mcp")


def terms(tmp_path: Path, **kw: Any) -> Terms:
    (tmp_path / "work").mkdir(exist_ok=True)
    paths = Paths(tmp_path / "config", tmp_path / "data", tmp_path / "state")
    settings = kw.pop("settings", Settings())
    return Terms(tmp_path / "work", settings, paths, trusted=kw.pop("trusted", True), environment={}, **kw)


def session(
    tmp_path: Path, replies: list[Any], person: Person | None = None, **kw: Any
) -> tuple[Session, list[Request]]:
    seen: list[Request] = []
    made = Session(terms(tmp_path, **kw), person or Person())
    made.use(scripted(replies, seen=seen), Profile("p", "scripted", "scripted", model="m"))
    return made, seen


async def play(made: Session, task: str = "do it") -> list[ev.Event]:
    return [event async for event in made.run(task)]


def ended(events: list[Any]) -> StopReason:
    return next(e.reason for e in events if isinstance(e, ev.RunEnded))


@pytest.mark.parametrize("name", ["read", "review", "plan"])
def test_reading_modes_deny_everything_else_and_offer_no_other_tool(name: str) -> None:
    policy = MODES[name].policy(DEFAULT)
    assert {policy.table[row] for row in CHANGERS} == {"deny"}
    assert policy.allow == ()


@pytest.mark.parametrize("write", ["allow", "ask", "deny"])
def test_edits_and_ask_differ_in_the_write_row_alone_and_never_pass_a_deny(write: Any) -> None:
    base = Policy({**DEFAULT.table, "write": write}, DEFAULT.allow)
    rows = {name: MODES[name].policy(base).table for name in ("ask", "edits")}
    assert {**rows["ask"], "write": ""} == {**rows["edits"], "write": ""} == {**base.table, "write": ""}
    assert [rows["ask"]["write"], rows["edits"]["write"]] == (["deny"] * 2 if write == "deny" else ["ask", "allow"])
    assert first(base).policy(base).table["write"] == write


def test_no_mode_opens_what_a_broken_configuration_closed() -> None:
    shut = careful(DEFAULT)
    for one in MODES.values():
        assert {one.policy(shut).table[row] for row in CHANGERS} == {"deny"}


def test_the_cycle_goes_round_and_never_reaches_auto() -> None:
    today, seen = MODES["ask"], []
    for _ in range(20):
        today = following(today)
        seen.append(today.name)
    assert set(seen) == set(CYCLE) == {"read", "ask", "edits"}
    assert seen[:3] == ["edits", "read", "ask"]
    assert following(MODES["plan"]) is following(MODES["review"]) is MODES["ask"]
    assert all(not one.policy(DEFAULT).auto for one in MODES.values())


def test_an_unknown_mode_names_those_that_exist() -> None:
    with pytest.raises(ConfigError, match="read, ask, edits, review, plan"):
        mode("auto")


async def test_edits_happen_unasked_and_count_as_unseen(tmp_path: Path) -> None:
    person = Person(["no"])
    made, _ = session(tmp_path, [WRITE, {"text": "ok"}], person)
    made.enter(MODES["edits"])
    await play(made)
    assert person.asked == []
    assert (made.root / "new.txt").read_text() == "x\n"
    assert made.holds_unseen_edits


@pytest.mark.parametrize(
    ("name", "rule"), [("edits", "floor: code nobody saw, and no sandbox"), ("ask", "allow pattern: pytest")]
)
async def test_what_nobody_saw_is_still_unseen_when_the_session_goes_on_later(
    name: str, rule: str, tmp_path: Path
) -> None:
    made, _ = session(tmp_path, [WRITE, {"text": "ok"}], Person(["yes"]), settings=Settings(sandbox="none"))
    made.enter(MODES[name])
    await play(made)
    made.place.close()
    again = Session(made.terms, Person(), Place(made.folder))
    assert (await again.workspace.explain("pytest")).rule == rule
    again.enter(MODES["ask"])
    assert (await again.workspace.explain("pytest")).rule == rule


async def test_edits_outside_of_the_ordinary_are_asked_in_mode_edits_too(tmp_path: Path) -> None:
    secret = {"calls": [{"name": "write_file", "arguments": {"path": ".env", "content": "x\n"}}]}
    person = Person(["no"])
    made, _ = session(tmp_path, [secret, {"text": "ok"}], person)
    made.enter(MODES["edits"])
    await play(made)
    assert not (made.root / ".env").exists()


@pytest.mark.parametrize("name", ["read", "review", "plan"])
async def test_a_reading_mode_neither_offers_nor_accepts_a_writing_tool(tmp_path: Path, name: str) -> None:
    made, seen = session(tmp_path, [WRITE, {"text": "ok"}], Person(["yes"]))
    made.enter(MODES[name])
    events = await play(made)
    assert {spec.name for spec in seen[0].tools} == READERS - {"read_skill"}  # no skill is there
    done = next(e for e in events if isinstance(e, ev.ToolDone))
    assert done.text.startswith("error: tool is not enabled: write_file")
    assert not (made.root / "new.txt").exists()
    assert ended(events) is StopReason.COMPLETED


SAYS = {
    "json": [json.dumps({"tool": name, **TOOLS[name].spec.example}) for name in TOOLS if name not in READERS],
    "verbs": ["WRITE new.txt\nx\nEND", "PATCH a.txt\nOLD\na\nNEW\nb\nEND", "RUN touch new.txt"],
}


@pytest.mark.parametrize("name", ["read", "review", "plan"])
@pytest.mark.parametrize("protocol", ["native", "json", "verbs"])
async def test_no_tool_that_acts_is_taken_in_a_reading_mode_in_any_protocol(
    tmp_path: Path, name: str, protocol: Any
) -> None:
    acting = [n for n in TOOLS if n not in READERS]
    calls = [{"calls": [{"name": n, "arguments": dict(TOOLS[n].spec.example)}]} for n in acting]
    replies = calls if protocol == "native" else [{"text": text} for text in SAYS[protocol]]
    person, seen = Person(["yes"]), []
    made = Session(terms(tmp_path, settings=Settings(limits=Limits(max_invalid=99))), person)
    last = {"native": "ok", "json": '{"final": "ok"}', "verbs": "DONE ok"}[protocol]
    made.use(
        scripted([*replies, {"text": last}], seen=seen),
        Profile("p", "scripted", "scripted", model="m", protocol=protocol),
    )
    made.enter(MODES[name])
    events = await play(made)
    done = [e for e in events if isinstance(e, ev.ToolDone)]
    assert len(done) == len(replies)
    assert ended(events) is StopReason.COMPLETED
    assert all("not enabled" in e.text for e in done), [e.text for e in done]
    assert person.asked == []
    assert list(made.root.iterdir()) == []
    if protocol != "native":
        assert not any(word in seen[0].system for word in (*acting, "WRITE", "PATCH", "RUN"))


async def test_leaving_a_mode_during_a_run_counts_at_once(tmp_path: Path) -> None:
    made, _ = session(tmp_path, [WRITE, {"text": "ok"}], Person(["yes"]))
    made.enter(MODES["edits"])
    run = made.run("do it")
    await anext(run)
    made.enter(MODES["read"])
    _ = [event async for event in run]
    assert not (made.root / "new.txt").exists()


async def test_the_reviewer_has_its_own_prompt_and_bounded_rounds(tmp_path: Path) -> None:
    reads = [{"calls": [{"name": "search", "arguments": {"text": str(n)}}]} for n in range(20)]
    made, seen = session(tmp_path, reads)
    made.enter(MODES["review"])
    events = await play(made)
    assert ended(events) is StopReason.STEP_LIMIT
    assert len(seen) == 10
    for rule in (
        "You never write code",
        "no code, no snippets, no pseudocode",
        "All paths are relative",
        "in one or two reads per file",
        "within two or three rounds",
        "Two to four points",
        "names the file and the lines",
        "challenge what they take for granted",
        "say so in one line and stop",
    ):
        assert rule in seen[0].system
    assert "edit_file" not in seen[0].system


def test_rounds_never_exceed_the_persons_own_limit() -> None:
    assert MODES["review"].limits(Limits(max_steps=3)).max_steps == 3
    assert MODES["ask"].limits(Limits(max_steps=3)).max_steps == 3


async def test_a_plan_is_approved_before_the_mode_changes(tmp_path: Path) -> None:
    made, seen = session(tmp_path, [{"text": "1. do this"}, WRITE, {"text": "done"}])
    with pytest.raises(AgentError, match="no plan to approve"):
        made.approve_plan()
    made.enter(MODES["plan"])
    with pytest.raises(AgentError, match="no plan to approve"):
        made.approve_plan()
    await play(made, "plan it")
    assert "planning work" in seen[0].system
    made.enter(MODES["read"])
    with pytest.raises(AgentError, match="no plan to approve"):
        made.approve_plan()
    made.enter(MODES["plan"])
    words = made.approve_plan()
    assert made.mode is MODES["ask"]
    await play(made, words)
    assert (made.root / "new.txt").exists()
    assert "write_file" in {spec.name for spec in seen[1].tools}
    assert "coding agent" in seen[1].system


async def test_what_was_answered_in_another_mode_is_no_plan(tmp_path: Path) -> None:
    made, _ = session(tmp_path, [{"text": "It does this."}, {"text": "1. do this"}])
    run = made.run("what does it do?")
    await anext(run)
    made.enter(MODES["plan"])
    _ = [event async for event in run]
    with pytest.raises(AgentError, match="no plan to approve"):
        made.approve_plan()
    await play(made, "plan it")
    assert made.approve_plan()


# ------------------------------------------------------------------ prompts


@pytest.mark.parametrize("name", ["coding", "reviewer", "planner"])
@pytest.mark.parametrize("protocol", ["native", "json", "verbs"])
def test_a_prompt_file_of_the_person_takes_the_place_of_ours(tmp_path: Path, name: str, protocol: str) -> None:
    own = {"native": name, "json": "json_system", "verbs": "verbs_system"}[protocol]
    (tmp_path / f"{own}.txt").write_text("MINE in {root}\n{rules}\nend {tools}", encoding="utf-8")
    prompts = Prompts(SPECS, Path("/w"), mode=name, own=tmp_path)
    assert getattr(prompts, protocol)().startswith("MINE in /w\n- ")
    assert "MINE" not in getattr(Prompts(SPECS, Path("/w"), mode=name), protocol)()


@pytest.mark.parametrize("protocol", ["native", "json", "verbs"])
def test_a_prompt_file_needs_no_line_end(tmp_path: Path, protocol: str) -> None:
    name = "coding" if protocol == "native" else f"{protocol}_system"
    (tmp_path / f"{name}.txt").write_text("MINE {root}\n{rules}", encoding="utf-8")
    text = getattr(Prompts(SPECS, Path("/w"), own=tmp_path), protocol)()
    assert text.startswith("MINE /w\n- ")
    assert "{rules}" not in text


async def test_what_a_reply_makes_can_be_looked_at_in_the_same_reply(tmp_path: Path) -> None:
    calls = [
        {"name": "write_file", "arguments": {"path": "d/n.py", "content": "fresh\n"}},
        {"name": "list_files", "arguments": {"path": "d"}},
        {"name": "search", "arguments": {"text": "fresh", "path": "d"}},
        {"name": "read_file", "arguments": {"path": "d/n.py"}},
        {"name": "read_file", "arguments": {"path": "d/other.py"}},
        {"name": "list_files", "arguments": {"path": "dd"}},
    ]
    made, _ = session(tmp_path, [{"calls": calls}, {"text": "ok"}])
    done = [e for e in await play(made) if isinstance(e, ev.ToolDone)]
    assert [e.status for e in done] == ["applied"] * 4 + ["error"] * 2
    assert all("n.py" in e.text or "fresh" in e.text for e in done[1:4])
    (tmp_path / "no").mkdir()
    made, _ = session(tmp_path / "no", [{"calls": calls}, {"text": "ok"}], Person(["no"]))
    done = [e for e in await play(made) if isinstance(e, ev.ToolDone)]
    assert [e.status for e in done if e.call.name != "search"] == ["refused", *["error"] * 4]
    assert not any("fresh\n" in e.text or "1 hit" in e.note for e in done[1:])


def test_a_prompt_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "coding.txt").write_bytes(b"\xff")
    with pytest.raises(ConfigError, match=r"coding\.txt"):
        Prompts(SPECS, Path("/w"), own=tmp_path).native()


@pytest.mark.parametrize(("name", "who"), [("reviewer", "a reviewer"), ("planner", "planning work")])
@pytest.mark.parametrize("protocol", ["native", "json", "verbs"])
def test_a_mode_is_one_identity_in_every_protocol_in_at_most_700_tokens(name: str, who: str, protocol: str) -> None:
    readers = tuple(spec for spec in SPECS if spec.name in READERS)
    text = getattr(Prompts(readers, Path("/home/ada/projects/a_shop_with_a_long_name"), mode=name), protocol)()
    assert text.startswith(f"You are tui-agent, {who}")
    assert text.count("You are ") == text.count("Workspace: ") == 1
    for word in ("coding agent", "what changed", "colour is 2", "{who}", "{part}", "{end}"):
        assert word not in text
    assert len(text) / 3.44 <= 700


def test_in_its_own_prompt_coding_has_no_further_part() -> None:
    for text in (Prompts(SPECS, Path("/w")).json(), Prompts(SPECS, Path("/w")).verbs()):
        assert text.startswith("You are tui-agent, a coding agent")
        assert "what changed, what was checked" in text
        assert "Your part" not in text


def test_a_protocols_own_prompt_file_has_the_role_at_its_end(tmp_path: Path) -> None:
    (tmp_path / "json_system.txt").write_text("MINE {root}\n{tools}\n{rules}", encoding="utf-8")
    text = Prompts(SPECS, Path("/w"), mode="reviewer", own=tmp_path).json()
    assert text.startswith("MINE /w\n{")
    assert "You are tui-agent, a reviewer" in text


# ------------------------------------------------------------------ scripts in the text protocols


@pytest.mark.parametrize(("row", "offered"), [("ask", False), ("deny", False), ("allow", True)])
@pytest.mark.parametrize("protocol", ["native", "json", "verbs", "auto"])
async def test_text_protocols_offer_scripts_only_to_who_allows_them(
    tmp_path: Path, protocol: Any, row: Any, offered: bool
) -> None:
    script = {"tool": "run_shell", "script": "touch made"}
    replies: list[Any] = [{"text": json.dumps(script)}, {"text": '{"final": "x"}'}, {"text": "DONE x"}]
    if protocol == "auto":
        replies.insert(0, {"text": '{"name": "list_files", "arguments": {}}'})
    policy = Policy({**DEFAULT.table, "shell": row}, DEFAULT.allow)
    seen: list[Request] = []
    made = Session(terms(tmp_path, settings=Settings(policy=policy, sandbox="none")), Person())
    made.use(scripted(replies, seen=seen), Profile("p", "scripted", "scripted", model="m", protocol=protocol))
    await play(made)
    if protocol in {"native", "verbs"}:
        assert ("run_shell" in [tool.name for tool in seen[0].tools]) is (protocol == "native")
        assert "run_shell" not in seen[0].system or protocol == "native"
        return
    assert ("run_shell" in seen[-1].system) is offered
    assert ("run_shell" in json.dumps(seen[-1].schema)) is offered
    assert (made.root / "made").exists() is offered


# ------------------------------------------------------------------ the protocol of a profile


@pytest.mark.parametrize(
    ("protocol", "begins"), [("auto", "native"), ("native", "native"), ("json", "json"), ("verbs", "verbs")]
)
async def test_the_profile_says_the_protocol(tmp_path: Path, protocol: Any, begins: str) -> None:
    seen: list[Request] = []
    made = Session(terms(tmp_path), Person())
    made.use(
        scripted([{"text": "DONE"}] * 3, seen=seen), Profile("p", "scripted", "scripted", model="m", protocol=protocol)
    )
    await asyncio.wait_for(play(made), PATIENCE)
    chosen = next(e for e in made.events if isinstance(e, ev.ModelChosen))
    assert chosen.protocol == begins
    assert bool(seen[0].tools) is (begins == "native")
    assert ("exactly one JSON object" in seen[0].system, "exactly one action" in seen[0].system) == (
        begins == "json",
        begins == "verbs",
    )


async def test_a_step_down_lasts_for_the_session_and_ends_with_another_model(tmp_path: Path) -> None:
    typed = {"text": '{"name": "list_files", "arguments": {}}'}
    made, seen = session(tmp_path, [typed, {"text": '{"final": "a"}'}, {"text": '{"final": "b"}'}, {"text": "c"}])
    await play(made)
    await play(made, "again")
    assert [bool(r.tools) for r in seen] == [True, False, False]
    made.use(scripted([{"text": "c"}] * 9, seen=seen), Profile("q", "scripted", "scripted", model="m"))
    await play(made, "third")
    assert seen[3].tools


def test_a_call_that_is_not_offered_is_not_accepted_by_name_alone(tmp_path: Path) -> None:
    made, _ = session(tmp_path, [])
    narrowed = MODES["read"].tools(made.workspace)
    outcome = asyncio.run(narrowed.prepare(ToolCall("1", "run_shell", {"script": "ls"}), ()))
    assert outcome.invalid


# ------------------------------------------------------------------ calls of no tool, or with other fields


WRONG = {
    "fly": {"high": 1},
    "read_file": {"file": "a"},
    "write_file": {"content": "x"},
    "search": {"text": 1},
    "run_command": {"argv": "ls"},
    "web_search": {"query": "x"},
    "delete_file": {"path": "a", "why": "x"},
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("mode", ["ask", "read"])
async def test_a_native_call_that_cannot_be_one_is_counted_and_answered_with_what_is_offered(
    tmp_path: Path, name: str, mode: str
) -> None:
    replies = [{"calls": [{"name": name, "arguments": {**WRONG[name], f"n{n}": n}}]} for n in range(9)]
    made, seen = session(tmp_path, replies)
    made.use(scripted(replies, seen=seen), Profile("p", "scripted", "scripted", model="m", protocol="native"))
    made.enter(MODES[mode])
    events = await play(made)
    assert ended(events) is StopReason.INVALID
    assert len(seen) == Limits().max_invalid
    offered = {spec.name for spec in seen[0].tools}
    for done in (e for e in events if isinstance(e, ev.ToolDone)):
        assert done.invalid
        assert not [other for other in {*TOOLS, *LOOKUPS} - offered - {name} if other in done.text]


async def test_auto_gives_a_model_another_protocol_where_it_has_the_fields_wrong_again(tmp_path: Path) -> None:
    wrong = [{"calls": [{"name": "list_files", "arguments": {"folder": f"{n}"}}]} for n in range(2)]
    made, seen = session(tmp_path, [*wrong, {"text": '{"tool": "list_files"}'}, {"text": '{"final": "Nothing."}'}])
    events = await play(made)
    assert ended(events) is StopReason.COMPLETED
    assert [bool(request.tools) for request in seen] == [True, True, False, False]
    (chosen,) = [e for e in events if isinstance(e, ev.ProtocolChosen)]
    assert (chosen.protocol, chosen.reason) == ("json", "2 replies in a row had malformed tool calls")


async def test_a_reply_counts_once_however_many_of_its_calls_are_wrong(tmp_path: Path) -> None:
    many = {"calls": [{"name": "read_file", "arguments": {"file": str(n)}} for n in range(5)]}
    made, _ = session(tmp_path, [])
    replies = [many, many, {"text": "I give up."}]
    made.use(scripted(replies), Profile("p", "scripted", "scripted", model="m", protocol="native"))
    events = await play(made)
    assert ended(events) is StopReason.COMPLETED
