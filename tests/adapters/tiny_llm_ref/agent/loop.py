"""Day 1: the product's loop and JSON protocol, synchronous and with plain dicts."""

import asyncio
from dataclasses import asdict, dataclass, make_dataclass, replace
from typing import Any

from tui_agent.core import agent, endings, events, loop, types
from tui_agent.protocols import action, dialect, json_object, prompts
from tui_agent.tools.registry import TOOLS

VOCABULARY = ("list_files", "read_file", "write_file", "edit_file", "run_command")
REASONS = {"completed": "completed", "context_limit": "context_limit", "repeated": "repeated_action_limit"}


AgentError = type("AgentError", (ValueError,), {})
FinalAction = make_dataclass("FinalAction", ["final"], frozen=True)
ToolAction = make_dataclass("ToolAction", ["tool", "arguments"], frozen=True)
AgentEvent = make_dataclass("AgentEvent", ["step", "response", "action", "result"], frozen=True)
_RUN = ["completed", "reason", "final", "events", ("modified_files", tuple, ())]
AgentRun = make_dataclass("AgentRun", _RUN, frozen=True)


@dataclass(frozen=True)
class AgentLimits:
    max_steps: int = 8
    max_context_chars: int = 48000
    max_invalid_actions: int = 3
    max_identical_actions: int = 2

    def __post_init__(self) -> None:
        if min(asdict(self).values()) <= 0:
            raise ValueError("all limits must be positive")


def initial_messages(task: str, system_prompt: str) -> list[dict[str, str]]:
    if not task.strip():
        raise ValueError("task must not be empty")
    return [{"role": "system", "content": system_prompt}, {"role": "user", "content": task}]


def parse_action(response: str, available_tools: frozenset[str] | None = None) -> Any:
    read = json_object.parse(response, frozenset(VOCABULARY) if available_tools is None else available_tools)
    if isinstance(read, action.ParseError):
        raise AgentError(read.message)
    return (
        FinalAction(read.text) if isinstance(read, action.Final) else ToolAction(read.name, dict(read.arguments or {}))
    )


def _specs(workspace: Any) -> tuple[types.ToolSpec, ...]:
    return tuple(TOOLS[name].spec for name in VOCABULARY if name in workspace.available_tools)


def build_system_prompt(workspace: Any) -> str:
    return prompts.json_prompt(_specs(workspace), workspace.policy.root, None)


def _append_tool_result(messages: list[dict[str, str]], response: str, result: str) -> None:
    observed = prompts.json_observation(result)
    messages += [{"role": "assistant", "content": response}, {"role": "user", "content": observed}]


class _Dialect(agent.Plain):
    decode = staticmethod(dialect.json_codec("").decode)

    def encode(self, request: types.Request) -> types.Request:
        raw = {c.id: c.raw for m in request.messages if isinstance(m, types.AssistantMessage) for c in m.calls}
        said: list[dict[str, str]] = []
        for message in request.messages:
            if isinstance(message, types.ToolMessage):
                _append_tool_result(said, raw[message.call_id], message.text)
        kinds = {"assistant": types.AssistantMessage, "user": types.UserMessage}
        messages = (request.messages[0], *(kinds[m["role"]](m["content"]) for m in said))
        return replace(request, messages=messages, tools=())


class _Tools:
    def __init__(self, work: Any) -> None:
        self.work, self.specs, self.decide = work, _specs(work), lambda _: types.Verdict("allow", "", "none")

    async def prepare(self, call: types.ToolCall, _: Any) -> types.ApprovalRequest:
        return types.ApprovalRequest(
            call.id, call, types.SetPlan(()), types.PolicyRequest(call.name, "none"), call.name
        )

    async def commit(self, request: types.ApprovalRequest, *_: Any) -> types.Outcome:
        return types.Outcome("applied", self.work.execute(ToolAction(request.call.name, request.call.arguments)))


def run_agent(task: str, generate: Any, workspace: Any, limits: Any = None, on_event: Any = None) -> Any:
    limits, replies, told = limits or AgentLimits(), [], []
    system, _ = initial_messages(task, build_system_prompt(workspace))

    async def stream(request: types.Request) -> Any:
        if len(replies) < limits.max_steps:  # the product's last step is for a summary, and one more
            role = {types.AssistantMessage: "assistant", types.UserMessage: "user"}
            replies.append(generate([system, *({"role": role[type(m)], "content": m.text} for m in request.messages)]))
            yield types.TextDelta(replies[-1])
        yield types.ReplyEnd("stop")

    def tell(what: Any, result: str | None) -> None:
        told.append(AgentEvent(len(replies), replies[-1], what, result))
        (on_event or id)(told[-1])

    async def play() -> events.RunEnded:
        model = types.Model(types.Author("tiny-llm", "", ""), stream)
        repeats = {"max_identical": limits.max_identical_actions + 1, "repeat_window": 1}
        bounds = endings.Limits(limits.max_steps + 1, limits.max_invalid_actions, limits.max_context_chars, **repeats)
        given = loop.Agent(model, _Tools(workspace), limits=bounds, system=system["content"], dialect=_Dialect())
        async for event in loop.run(task, replace(given, warn_repeats=False, forgives=False)):
            if isinstance(event, events.ToolDone):
                call = event.call
                tell(ToolAction(call.name, dict(call.arguments)) if call.arguments is not None else None, event.text)
        return given.log.events[-1]

    end = asyncio.run(play())
    reason = "step_limit" if end.steps > limits.max_steps else REASONS.get(end.reason, end.reason)
    final = parse_action(replies[-1], workspace.available_tools).final if reason == "completed" else None
    if reason == "completed":
        tell(FinalAction(final), None)
    return AgentRun(final is not None, reason, final, tuple(told), tuple(workspace.modified_files))
