"""The check gate: after edits the person's own command decides whether they work."""

from __future__ import annotations

import shlex
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Literal

from tui_agent.core import events as ev
from tui_agent.core.log import digest_of
from tui_agent.core.stage import Stage
from tui_agent.core.types import ApprovalRequest, Ask, Decision, Emit, PolicyRequest, RunArgv, ToolCall


@dataclass(frozen=True, slots=True)
class Check:
    """The command that decides whether edits work; `timeout` in seconds.

    `run` carries it out, and leaves a receipt to which the gate adds who approved. `asks` says when the person is
    asked first: "unseen" when an edit was approved by a flag or a rule, so that code nobody saw would run. `why` is
    what the question says. A `proposed` check was found in the folder and is not the person's yet: it is asked for
    once. `answered` hears the answer. `where` says how it will be confined.
    """

    argv: tuple[str, ...]
    run: Callable[[Emit], Awaitable[ev.CheckDone]]
    timeout: float = 600.0
    asks: Literal["always", "unseen", "never"] = "unseen"
    why: str = "it would run code of this folder that nobody has seen"
    proposed: bool = False
    answered: Callable[[Decision], None] = lambda _: None
    where: str = ""


def check_request(check: Check, number: int) -> ApprovalRequest:
    """The question whether the check may run code that nobody saw; `number` makes its id unique in the run."""
    call = ToolCall(f"check-{number}", "check", {"argv": list(check.argv)})
    return ApprovalRequest(
        f"check-{number}",
        call,
        RunArgv(check.argv, check.timeout),
        PolicyRequest("check", "run", argv=check.argv),
        f"check  {shlex.join(check.argv)}",
        caution=check.why,
        where=check.where,
    )


async def gate(check: Check, ask: Ask | None, number: int) -> AsyncGenerator[ev.Event, None]:
    """Run the check, asking first when `ask` is given; the last event is CheckDone unless it was not run."""
    command, by = shlex.join(check.argv), "rule: your check for this folder"
    if ask is not None:
        request = check_request(check, number)
        yield ev.Asked(request.id, request.call.id, "check", request.summary, digest_of(request.effect))
        (answer,) = await ask((request,))
        check.answered(answer)
        yield ev.Answered(answer.request_id, answer.answer, answer.reason, answer.by)
        if answer.answer != "yes":
            yield ev.Notice(f"the check was not run: {command}", "model")
            return
        by = answer.by
    yield ev.Phase("checking", command)
    stage = Stage(check.run)
    try:
        async for piece in stage.output():
            yield ev.CommandOutput("check", piece)
    finally:
        stage.cancel()
        result = await stage.settle()
    if result is not None:
        yield replace(result, receipt=result.receipt and replace(result.receipt, by=by))
