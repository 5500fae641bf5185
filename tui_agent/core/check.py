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

UNSEEN = "it would run code of this folder that nobody has seen"
"""Why the check asks where an edit was approved by a flag or a rule."""


@dataclass(frozen=True, slots=True)
class Check:
    """The command that decides whether edits work; `timeout` in seconds.

    `run` carries it out, and leaves a receipt to which the gate adds who approved. `asks` says when the person is
    asked first: "unseen" when an edit was approved by a flag or a rule, so that code nobody saw would run. `why` is
    what the question says. A `proposed` check was found in the folder and is not the person's yet: it is asked for
    once. `answered` hears the answer. `where` says how it will be confined. It runs once behind what was approved
    together, with `each_edit` behind each call that changed a file.
    """

    argv: tuple[str, ...]
    run: Callable[[Emit], Awaitable[ev.CheckDone]]
    timeout: float = 600.0
    asks: Literal["always", "unseen", "never"] = "unseen"
    why: str = UNSEEN
    proposed: bool = False
    answered: Callable[[Decision], None] = lambda _: None
    where: str = ""
    each_edit: bool = False


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


async def gate(
    check: Check, ask: Ask | None, number: int, record: Callable[[ev.CheckDone], ev.CheckDone]
) -> AsyncGenerator[ev.Event, None]:
    """Run the check, asking first when `ask` is given; the last event is CheckDone unless it was not run.

    That one is given to `record` at once, also when the run is interrupted: what the check changed has a receipt.
    """
    command, by = shlex.join(check.argv), "rule: your check for this folder"
    if ask is not None:
        request = check_request(check, number)
        yield ev.Asked(request.id, request.call.id, "check", request.summary, digest_of(request.effect))
        (answer,) = await ask((request,))
        check.answered(answer)
        yield ev.Answered(answer.request_id, answer.answer, answer.reason, answer.by)
        if answer.answer != "yes":
            because = f" (user: {answer.reason})" if answer.reason else ""
            yield ev.Notice(f"the check was not run: {command}{because}", "model")
            return
        by = answer.by
    yield ev.Phase("checking", command)
    stage, done = Stage(check.run), None
    try:
        async for piece in stage.output():
            yield ev.CommandOutput("check", piece)
    finally:
        stage.cancel()
        if (result := await stage.settle()) is not None:
            done = record(replace(result, receipt=result.receipt and replace(result.receipt, by=by)))
    if done is not None:
        yield done
