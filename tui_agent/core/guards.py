"""Guards of the loop as pure functions: repeats, refusals, and what may be called done."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

from tui_agent.core.endings import StopReason
from tui_agent.core.types import (
    ApprovalRequest,
    Decision,
    Outcome,
    PermissionClass,
    ReadFile,
    RunArgv,
    RunScript,
    ToolCall,
    Verdict,
    WriteBytes,
)

Denied: TypeAlias = Literal["", "person", "skip", "policy", "nobody"]
"""Who said no to an action; empty when nobody did."""

CheckState: TypeAlias = Literal["none", "passed", "failed", "not run"]
"""How the person's check stands after the last edit."""

Key: TypeAlias = tuple[str, int]
"""A batch's signature and the workspace revision it was asked at."""


def signature(action: ToolCall) -> str:
    """The same string for two calls that ask for the same thing: name and arguments, order of keys ignored."""
    arguments = action.raw if action.arguments is None else json.dumps(action.arguments, sort_keys=True)
    return f"{action.name}|{arguments}"


def batch_signature(calls: Iterable[ToolCall]) -> str:
    """The signature of all calls of one reply, as a set."""
    return "\n".join(sorted(signature(call) for call in calls))


def repeat_verdict(
    window: tuple[Key, ...], key: Key, limit: int = 3, newest: int = 5, *, warn: bool = True
) -> Literal["go", "warn", "stop"]:
    """Judge a batch against the newest earlier ones (`window`, oldest first).

    With the defaults the second in a row is a warning, the third a stop; so is the third among the newest
    five, which catches alternation. A key holds the workspace revision, so a repeat after a change is none.

    Args:
        window: the earlier batches.
        key: the batch to judge.
        limit: the how-manieth identical batch is a stop.
        newest: among so many batches, this one included; 1 leaves out all but those in a row.
        warn: whether an earlier one in a row is a warning.
    """
    in_a_row = 0
    while in_a_row < len(window) and window[-1 - in_a_row] == key:
        in_a_row += 1
    recent = window[-(newest - 1) :] if newest > 1 else ()
    if in_a_row >= limit - 1 or recent.count(key) >= limit - 1:
        return "stop"
    return "warn" if in_a_row and warn else "go"


TOO_OFTEN = 3
"""The how-manieth denial of the same action ends a run, whatever the settings."""
INSTEAD = " Commands that need no approval: "


def refusal(request: ApprovalRequest, verdict: Verdict, decision: Decision) -> tuple[Outcome | None, Denied]:
    """The outcome of a request that must not be carried out, and who said no; (None, "") when it may be.

    The outcome's note is the reason alone: the rule of the policy, or the person's own words.
    """
    if verdict.permission == "deny":
        text = f"denied by the policy ({verdict.rule}). Do not try it again."
        if verdict.instead:
            text += f"{INSTEAD}{', '.join(verdict.instead)}."
        return Outcome("refused", text, note=verdict.rule), "nobody" if "nobody" in verdict.rule else "policy"
    if decision.by == "nobody":
        because = f": {decision.reason}" if decision.reason else ""
        return Outcome("refused", f"denied{because}. Do not try it again.", note=decision.reason), "nobody"
    if decision.answer == "yes":
        return None, ""
    who: Denied = "skip" if decision.answer == "skip" else "person"
    return Outcome("refused", rejected(request, decision), note=decision.reason), who


_NOUNS: Mapping[type, str] = {WriteBytes: "change", ReadFile: "read", RunArgv: "command", RunScript: "command"}


def rejected(request: ApprovalRequest, decision: Decision) -> str:
    """What the model is told when a person said no, or not now, with what was special about the file and their reason."""
    because = f": {decision.reason}" if decision.reason else ""
    if decision.answer == "skip":
        return f"user skipped{because}"
    floors = f" ({request.policy.path}: {request.policy.floors[0]})" if request.policy.floors else ""
    return f"user rejected the {_NOUNS.get(type(request.effect), 'action')}{floors}{because}"


def floor_of(note: str, text: str) -> tuple[str, str]:
    """The file of a rejected request and what was special about it, from what `refusal` made of it; "" for nothing."""
    said = text.removesuffix(f": {note}") if note else text
    found = re.fullmatch(r"user rejected the \w+ \((.+?): (.+)\)", said, re.DOTALL)
    return (found[1], found[2]) if found else ("", "")


def denial(note: str, text: str, permission: PermissionClass) -> Verdict:
    """The verdict behind a denial, from what `refusal` made of it: its note and its text."""
    named = text.partition(INSTEAD)[2].removesuffix(".")
    return Verdict("deny", note, permission, tuple(named.split(", ")) if named else ())


NOT_SHOWN = "NOT VERIFIED: {}. Do what is missing, or say why it is not needed."
PASSED_BUT = "the check passed, but {}"


def verdict_on_done(
    command: str | None, check: CheckState, *, edited: bool, rounds_left: int, missing: str = "", ran: bool = True
) -> tuple[StopReason | None, str]:
    """Judge a final answer: the ending with a sentence for the person, or None with what the model is told.

    Args:
        command: the configured check as text, None when there is none.
        check: how it stands after the last edit.
        edited: whether this run changed a file.
        rounds_left: how often the model may still be told that its work is not verified.
        missing: what the task names and the receipts do not show, in words; see `evidence.task_evidence`.
        ran: whether the check could be started; that it could not is nothing that the model could mend.
    """
    if not edited:
        return StopReason.COMPLETED, ""
    if command is None:
        return StopReason.UNVERIFIED, "no check is configured for this folder"
    if check == "passed" and not missing:
        return StopReason.VERIFIED, "the check passed after the last edit"
    if check == "passed":
        if rounds_left > 0:
            return None, NOT_SHOWN.format(missing)
        return StopReason.UNVERIFIED, PASSED_BUT.format(missing)
    if check != "failed":
        return StopReason.UNVERIFIED, "the check was not run after the last edit"
    if not ran:
        return StopReason.UNVERIFIED, "the check could not be run"
    if rounds_left > 0:
        return None, f"NOT VERIFIED: `{command}` failed after your last edit. Fix it, or say why it cannot pass."
    return StopReason.UNVERIFIED, "the check still fails"
