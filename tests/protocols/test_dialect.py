"""Any history in any protocol, any reply to calls, and a session that changes its protocol on the way."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes import FakeTools, Person
from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.endings import BROKEN_OFF, Limits, StopReason
from tui_agent.core.log import MemoryLog, is_durable
from tui_agent.core.loop import Agent, run
from tui_agent.core.reply import identified
from tui_agent.core.types import (
    AssistantMessage,
    Author,
    Model,
    ProviderError,
    Reply,
    ReplyEnd,
    Request,
    TextDelta,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from tui_agent.protocols.dialect import Native, Speech
from tui_agent.protocols.native import StepDown
from tui_agent.providers.scripted import scripted
from tui_agent.tools.registry import TOOLS

OFFERED = tuple(tool.spec for tool in TOOLS.values())
READ = '{"tool": "read_file", "path": "a.py"}'
CALL = ToolCall("c1", "read_file", {"path": "a.py"}, raw='{"path": "a.py"}')


def speech(protocol: str = "native", *, auto: bool = False) -> Speech:
    return Speech("JSON SYSTEM", "VERBS SYSTEM", StepDown(protocol), auto=auto)


def model(answers: Callable[[Request, int], str | Reply], seen: list[Request]) -> Model:
    """Answers with a text, or with the error of a reply."""

    async def stream(request: Request):
        seen.append(request)
        answer = answers(request, len(seen) - 1)
        if isinstance(answer, Reply):
            yield ReplyEnd(answer.finish, error=answer.error)
        else:
            yield TextDelta(answer)
            yield ReplyEnd("stop")

    return Model(Author("x", "y", "z"), stream)


async def play(dialect: Speech, *replies: str | Reply, tools: FakeTools | None = None, **kw: Any):
    seen: list[Request] = []
    agent = Agent(
        model(lambda _, n: replies[n], seen),
        tools or FakeTools({"a.py": b"hi"}),
        Person(),
        system="NATIVE SYSTEM",
        dialect=dialect,
        **kw,
    )
    async with aclosing(run("do it", agent)) as stream:
        return [event async for event in stream], seen


def end(events: list[Any]) -> ev.RunEnded:
    (ended,) = [e for e in events if isinstance(e, ev.RunEnded)]
    return ended


# ------------------------------------------------------------------ one run in one protocol


async def test_a_run_in_json_says_its_system_prompt_its_calls_and_their_results_as_text() -> None:
    events, seen = await play(speech("json"), READ, '{"final": "It says hi."}')
    assert seen[1] == Request(
        "JSON SYSTEM",
        (UserMessage("do it"), AssistantMessage(READ), UserMessage("Tool result:\nhi")),
        (),
        seen[0].schema,
    )
    assert seen[0].schema is not None
    assert end(events).reason is StopReason.COMPLETED
    said = [e.message for e in events if isinstance(e, ev.AssistantSaid)]
    assert [m.text for m in said] == ["", "It says hi."]
    assert said[0].calls[0].id


async def test_a_run_in_verbs() -> None:
    tools = FakeTools({"a.py": b"hi"})
    events, seen = await play(speech("verbs"), "READ a.py", "WRITE b.py\nnew\nEND", "DONE wrote it", tools=tools)
    assert tools.files["b.py"] == b"new\n"
    assert seen[2].system == "VERBS SYSTEM"
    assert [m.text for m in seen[2].messages] == [
        "do it",
        "READ a.py",
        "OBSERVATION:\nhi",
        "WRITE b.py\nnew\nEND",
        "OBSERVATION:\nwrote b.py",
    ]
    assert seen[2].schema is None
    assert end(events).reason is StopReason.UNVERIFIED


async def test_text_that_is_an_action_is_not_streamed_to_the_person() -> None:
    events, _ = await play(speech("json"), READ, '{"final": "x"}')
    assert not [e for e in events if isinstance(e, TextDelta)]
    assert [e.name for e in events if isinstance(e, ev.ArgumentsDelta)] == ["reply"] * 2


async def test_ids_of_calls_from_text_are_unique_in_the_session() -> None:
    events, _ = await play(
        speech("json"),
        READ,
        '{"tool": "read_file", "path": "b"}',
        '{"tool": "read_file", "path": "c"}',
        '{"final": "x"}',
    )
    ids = [call.id for e in events if isinstance(e, ev.AssistantSaid) for call in e.message.calls]
    assert len(set(ids)) == 3
    assert all(ids)


BROKEN = '{"tool": "read_file"'


async def test_a_malformed_reply_is_told_as_a_result_and_limited() -> None:
    events, seen = await play(speech("json"), BROKEN, f"Sure: {BROKEN}", BROKEN)
    assert end(events).reason is StopReason.INVALID
    first, told = seen[1].messages[-2:]
    assert first == AssistantMessage(BROKEN)
    assert told.text.startswith("Tool result:\nerror: the reply is not valid JSON")
    done = [e for e in events if isinstance(e, ev.ToolDone)]
    assert all(d.invalid and d.call.name == "" for d in done)


@pytest.mark.parametrize(("protocol", "broken"), [("json", BROKEN), ("verbs", "WRITE a.py\nx")])
async def test_the_same_unusable_reply_is_told_its_fault_each_time_and_is_no_repeat(protocol: str, broken: str) -> None:
    events, _ = await play(speech(protocol), *[broken] * 5, limits=Limits(max_invalid=5))
    assert end(events).reason is StopReason.INVALID
    assert end(events).steps == 5
    told = [e.text for e in events if isinstance(e, ev.ToolDone)]
    assert len(set(told)) == 1
    assert "REPEATED" not in told[0]


async def test_an_unusable_reply_between_breaks_a_row_but_hides_no_alternation() -> None:
    events, _ = await play(speech("json"), READ, BROKEN, READ, BROKEN, READ, limits=Limits(max_invalid=9))
    assert [e.text for e in events if isinstance(e, ev.ToolDone)][2] == "hi"
    assert end(events).reason is StopReason.REPEATED


async def test_a_reply_that_was_cut_is_never_parsed_and_run() -> None:
    tools = FakeTools()

    async def stream(request: Request):
        if len(request.messages) == 1:
            yield TextDelta('{"tool": "write_file", "path": "b.py", "content": "x"}')
            yield ReplyEnd("length")
        else:
            yield TextDelta('{"final": "short"}')
            yield ReplyEnd("stop")

    agent = Agent(Model(Author("x", "y", "z"), stream), tools, Person(), dialect=speech("json"))
    events = [e async for e in run("do it", agent)]
    assert tools.files == {}
    (told,) = [e for e in events if isinstance(e, ev.ToolDone)]
    assert told.invalid
    assert "cut by the length limit" in told.text
    said = [e.message for e in events if isinstance(e, ev.AssistantSaid)]
    assert [call.name for call in said[0].calls] == [""]  # so that nothing takes it for an answer


@pytest.mark.parametrize("finish", BROKEN_OFF)
def test_an_action_that_was_broken_off_is_none(finish: Any) -> None:
    read = speech("json").decode(Reply(READ, finish=finish), OFFERED)
    assert [call.name for call in read.calls] == [""]
    assert BROKEN_OFF[finish] in (read.calls[0].error or "")
    assert speech("json").decode(Reply('{"final": "x"}', finish=finish), OFFERED).text != "x"


@pytest.mark.parametrize("protocol", ["json", "verbs"])
def test_a_native_call_is_none_in_a_text_protocol(protocol: str) -> None:
    """Only the words count: the next request could not say the call again as it came."""
    dialect, reply = speech(protocol), Reply("I look.", calls=(CALL,), finish="tool_calls")
    assert dialect.loose(reply, OFFERED) == "I look."
    read = dialect.decode(reply, OFFERED)
    assert ([call.name for call in read.calls], read.finish) == ([""], "stop")


async def test_the_limit_of_context_counts_what_is_sent() -> None:
    events, seen = await play(speech("json"), READ, limits=Limits(max_context=len("JSON SYSTEM") + len("do it") - 1))
    assert end(events).reason is StopReason.CONTEXT_LIMIT
    assert seen == []


async def test_the_last_reply_without_tools_may_only_be_final() -> None:
    _, seen = await play(speech("json"), READ, '{"final": "sum"}', limits=Limits(max_steps=2))
    assert [len(r.schema["anyOf"]) for r in seen if r.schema] == [4, 1]


@pytest.mark.parametrize(
    ("protocol", "reply", "text"),
    [
        ("json", "Read one file.", "Read one file."),
        ("json", '{"final": "Read."}', "Read."),
        ("json", '{"tool": "read_file", "path": "b"}', ""),
        ("verbs", "Read one file.", "Read one file."),
        ("verbs", "DONE Read.", "Read."),
        ("verbs", "READ b", ""),
    ],
)
async def test_a_summary_may_come_in_any_form(protocol: str, reply: str, text: str) -> None:
    first = READ if protocol == "json" else "READ a.py"
    events, _ = await play(speech(protocol), first, reply, limits=Limits(max_steps=2))
    said = [e.message for e in events if isinstance(e, ev.AssistantSaid)][-1]
    assert (said.text, said.calls) == (text, ())
    assert end(events).detail == ("all 2 steps used" if text else "(no summary from model)")


# ------------------------------------------------------------------ auto


async def test_auto_steps_down_when_the_server_refuses_tools_and_the_task_goes_on() -> None:
    refused = Reply(error=ProviderError("bad_request", "this model does not support tools"))
    events, seen = await play(speech(auto=True), refused, READ, '{"final": "hi"}')
    assert end(events).reason is StopReason.COMPLETED
    assert not [e for e in events if isinstance(e, ev.ProviderFailed)]
    chosen = [e for e in events if isinstance(e, ev.ProtocolChosen)]
    assert [c.protocol for c in chosen] == ["json"]
    assert "no native tool calls" in chosen[0].reason
    assert [bool(r.tools) for r in seen] == [True, False, False]
    assert fold.protocol(events) == "json"


async def test_auto_takes_a_call_written_as_text_and_goes_on_in_json() -> None:
    events, seen = await play(
        speech(auto=True), '```json\n{"name": "read_file", "arguments": {"path": "a.py"}}\n```', '{"final": "hi"}'
    )
    assert [e.text for e in events if isinstance(e, ev.ToolDone)] == ["hi"]
    assert seen[1].messages[1:] == (
        AssistantMessage('{"tool":"read_file","path":"a.py"}'),
        UserMessage("Tool result:\nhi"),
    )
    assert [e.protocol for e in events if isinstance(e, ev.ProtocolChosen)] == ["json"]


@pytest.mark.parametrize("text", ["I read it.", "", '{"name": "fly", "arguments": {}}'])
def test_a_native_reply_that_is_no_call_keeps_its_words(text: str) -> None:
    assert Native().decode(Reply(text, finish="stop"), OFFERED) == Reply(text, finish="stop")


@pytest.mark.parametrize(
    ("protocol", "text"), [("json", READ), ("verbs", "READ a.py"), ("json", "words"), ("verbs", "")]
)
def test_a_reply_that_failed_or_was_refused_is_no_action_in_any_form(protocol: str, text: str) -> None:
    for failed in (Reply(text, error=ProviderError("server", "502")), Reply(text, refusal="no", finish="stop")):
        assert speech(protocol).decode(failed, OFFERED) == failed


def test_a_last_reply_without_tools_says_nothing_about_the_protocol() -> None:
    dialect = speech("json", auto=True)
    for _ in range(3):
        dialect, why = dialect.after(Reply(BROKEN, finish="stop"), ())
        assert (dialect.name, why) == ("json", "")


def test_a_server_that_refuses_tools_says_so_for_the_last_reply_too() -> None:
    refused = Reply(error=ProviderError("bad_request", "this model does not support tools"))
    dialect, why = speech(auto=True).after(refused, ())
    assert (dialect.name, why) == ("json", "the server takes no native tool calls")


@pytest.mark.parametrize("tool", ["read_file", "nobody_has_this"])
def test_a_call_where_no_tool_is_offered_leaves_no_words(tool: str) -> None:
    reply = Reply(json.dumps({"tool": tool, "path": "a.py"}), finish="stop")
    assert speech("json").decode(reply, ()) == replace(reply, text="")


def test_a_native_call_without_a_name_keeps_its_result() -> None:
    call = ToolCall("c1", "", None, "the call names no tool", "{}")
    history = (UserMessage("t"), AssistantMessage("I look.", calls=(call,)), ToolMessage("c1", "", "error"))
    assert speech().encode(Request("s", history, OFFERED)).messages == history


def test_an_action_that_was_cut_is_said_again_as_it_came() -> None:
    cut = '{"tool": "read_file", "pa'
    sent = speech("json").encode(Request("s", (UserMessage("t"), AssistantMessage(cut)), OFFERED))
    assert sent.messages[1] == AssistantMessage(cut)


async def test_a_native_profile_takes_the_call_and_stays_native() -> None:
    events, seen = await play(speech(), '{"name": "read_file", "arguments": {"path": "a.py"}}', "It says hi.")
    assert end(events).reason is StopReason.COMPLETED
    assert not [e for e in events if isinstance(e, ev.ProtocolChosen)]
    assert seen[1].tools


async def test_auto_goes_down_to_verbs_after_broken_actions_and_forgets_the_repeats() -> None:
    events, seen = await play(
        speech("json", auto=True), BROKEN, BROKEN, "READ a.py", "DONE hi", limits=Limits(max_invalid=9)
    )
    assert [e.protocol for e in events if isinstance(e, ev.ProtocolChosen)] == ["verbs"]
    assert [e.text for e in events if isinstance(e, ev.ToolDone)][-1] == "hi"
    assert seen[2].messages[-2] == AssistantMessage(BROKEN)


async def test_a_fixed_protocol_never_changes() -> None:
    events, _ = await play(speech("json"), *[f"{BROKEN} {n}" for n in range(5)], limits=Limits(max_invalid=5))
    assert not [e for e in events if isinstance(e, ev.ProtocolChosen)]


async def test_a_refusal_without_auto_fails_the_run() -> None:
    refused = Reply(error=ProviderError("bad_request", "this model does not support tools"))
    events, _ = await play(speech(), refused)
    assert end(events).reason is StopReason.FAILED


# ------------------------------------------------------------------ any history in any protocol

ARGUMENTS = st.one_of(
    st.builds(lambda p: {"path": p}, st.text(max_size=8)),
    st.dictionaries(st.text(max_size=5), st.text(max_size=5) | st.integers(), max_size=2),
)
CALLS = st.builds(
    lambda name, arguments, fault: ToolCall(
        "", name, None if fault else arguments, fault or None, "raw" if fault else ""
    ),
    st.sampled_from(["read_file", "write_file", "list_files", "run_command", "git__log", ""]),
    ARGUMENTS,
    st.sampled_from(["", "", "", "not JSON"]),
)


@st.composite
def histories(draw: Any) -> tuple[Any, ...]:
    messages: list[Any] = [UserMessage("task")]
    for number, (text, calls) in enumerate(
        draw(st.lists(st.tuples(st.text(max_size=12), st.lists(CALLS, max_size=2)), max_size=4))
    ):
        known = {c.id for m in messages if isinstance(m, AssistantMessage) for c in m.calls}
        reply = identified(Reply(text, calls=tuple(calls)), known)
        messages.append(AssistantMessage(text, calls=reply.calls))
        messages += [ToolMessage(call.id, call.name, f"result {number}") for call in reply.calls]
    return tuple(messages)


@given(histories(), st.sampled_from(["native", "json", "verbs"]))
def test_any_history_is_said_with_each_result_behind_its_call(history: Any, protocol: str) -> None:
    sent = speech(protocol).encode(Request("s", history, OFFERED))
    results = [m for m in history if isinstance(m, ToolMessage)]
    assert sent.messages[0] == UserMessage("task")
    if protocol == "native":
        calls = [c.id for m in sent.messages if isinstance(m, AssistantMessage) for c in m.calls]
        assert calls == [m.call_id for m in sent.messages if isinstance(m, ToolMessage)]
        assert len(sent.messages) == len(history)
        return
    assert not any(isinstance(m, ToolMessage) or getattr(m, "calls", ()) for m in sent.messages)
    told = [m.text for m in sent.messages if isinstance(m, UserMessage)][1:]
    assert [t.partition("\n")[2] for t in told] == [m.text for m in results]
    assert all(
        isinstance(a, AssistantMessage)
        for a, b in zip(sent.messages, sent.messages[1:], strict=False)
        if isinstance(b, UserMessage)
    )


@given(st.text() | st.builds(json.dumps, ARGUMENTS), st.sampled_from(["native", "json", "verbs"]))
def test_any_reply_is_read_and_said_again_in_the_same_protocol(text: str, protocol: str) -> None:
    dialect = speech(protocol)
    read = identified(dialect.decode(Reply(text, finish="stop"), OFFERED), set())
    results = tuple(ToolMessage(call.id, call.name, "r") for call in read.calls)
    sent = dialect.encode(Request("s", (AssistantMessage(read.text, calls=read.calls), *results), OFFERED))
    again = dialect.decode(Reply(sent.messages[0].text, finish="stop"), OFFERED)
    if protocol != "native":
        assert [c.arguments for c in again.calls] == [c.arguments for c in read.calls]
        assert not read.calls or sent.messages[0].text == text
        assert read.calls or again.text == read.text or again.calls  # a final text may hold what looks like an action


@given(st.text(), st.sampled_from(["native", "json", "verbs"]), st.sampled_from(["length", "stop", None]))
def test_any_reply_leaves_a_dialect(text: str, protocol: str, finish: Any) -> None:
    after, why = speech(protocol, auto=True).after(Reply(text, finish=finish), OFFERED)
    assert (after.name != protocol) == bool(why)


async def test_a_session_goes_on_in_another_protocol_with_what_was_said_before() -> None:
    first, _ = await play(speech("json"), READ, "prose", '{"final": "hi"}')
    seen: list[Request] = []
    before = [event for event in first if is_durable(event)]
    agent = Agent(scripted([{"text": "again"}] * 9, seen=seen), FakeTools(), log=MemoryLog([*before]), dialect=speech())
    _ = [e async for e in run("and now?", agent)]
    kinds = [type(m).__name__ for m in seen[0].messages]
    assert kinds == [
        "UserMessage",
        "AssistantMessage",
        "ToolMessage",
        "AssistantMessage",
        "UserMessage",
        "AssistantMessage",
        "UserMessage",
    ]
    verbs: list[Request] = []
    agent = Agent(model(lambda *_: "DONE ok", verbs), FakeTools(), log=MemoryLog([*before]), dialect=speech("verbs"))
    _ = [e async for e in run("and now?", agent)]
    assert [m.text for m in verbs[0].messages][1:3] == ["READ a.py", "OBSERVATION:\nhi"]
    assert verbs[0].messages[-2] == AssistantMessage("DONE hi")


def test_native_tools_carry_a_short_description_and_an_example_each() -> None:
    sent = speech().encode(Request("s", (UserMessage("t"),), OFFERED))
    for spec, own in zip(sent.tools, OFFERED, strict=True):
        said, _, example = spec.description.partition(" Example: ")
        assert said == own.description
        assert json.loads(example) == own.example
        assert replace(spec, description=own.description) == own


def test_a_call_that_a_protocol_cannot_carry_is_said_in_words() -> None:
    call = ToolCall("1", "list_files", {"path": "src"})
    history = (UserMessage("t"), AssistantMessage("", calls=(call,)), ToolMessage("1", "list_files", "[F] a"))
    sent = speech("verbs").encode(Request("s", history, OFFERED))
    assert sent.messages[1] == AssistantMessage('(list_files {"path": "src"})')


@pytest.mark.parametrize("protocol", ["json", "verbs"])
def test_several_native_calls_become_one_action_a_reply(protocol: str) -> None:
    two = (CALL, ToolCall("c2", "read_file", {"path": "b.py"}))
    history = (
        UserMessage("t"),
        AssistantMessage("Both.", calls=two),
        ToolMessage("c1", "read_file", "1"),
        ToolMessage("c2", "read_file", "2"),
    )
    sent = speech(protocol).encode(Request("s", history, OFFERED))
    assert [type(m) for m in sent.messages] == [
        UserMessage,
        AssistantMessage,
        UserMessage,
        AssistantMessage,
        UserMessage,
    ]


SAID = st.sampled_from(
    [
        READ,
        '{"name": "read_file", "arguments": {"path": "a.py"}}',
        '{"tool": "write_file", "path": "b.py", "content": "x"}',
        '{"tool": "nosuch"}',
        '{"final": "done"}',
        "READ a.py",
        "WRITE b.py\nx\nEND",
        "DONE done",
        "I think so.",
        "",
    ]
)


@given(
    st.lists(SAID, max_size=8),
    st.sampled_from(["native", "json", "verbs"]),
    st.booleans(),
    st.sampled_from(["yes", "no", "skip", "stop"]),
)
def test_whatever_a_model_says_a_run_ends_once_with_a_history_that_can_go_on(
    replies: list[str], protocol: str, auto: bool, answer: str
) -> None:
    async def go() -> list[Any]:
        said = [*replies, *["enough"] * 20]
        agent = Agent(
            model(lambda _, n: said[n], []),
            FakeTools({"a.py": b"hi"}),
            Person([answer]),
            Limits(max_steps=10),
            dialect=speech(protocol, auto=auto),
        )
        return [event async for event in run("do it", agent)]

    events = asyncio.run(go())
    assert end(events).reason in StopReason
    history = fold.history(events)
    for number, message in enumerate(history):
        if isinstance(message, AssistantMessage):
            answers = history[number + 1 : number + 1 + len(message.calls)]
            assert [a.call_id for a in answers] == [c.id for c in message.calls]
    ids = [c.id for m in history if isinstance(m, AssistantMessage) for c in m.calls]
    assert len(set(ids)) == len(ids)
    edited = any(isinstance(e, ev.ToolDone) and e.receipt is not None and e.receipt.path for e in events)
    assert end(events).reason is not StopReason.VERIFIED
    assert not edited or end(events).reason is not StopReason.COMPLETED
