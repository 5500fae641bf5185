"""The check of a session, ready to run: when it runs by itself, and when it waits for the person."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

from tui_agent.checks import TIMEOUT, detect
from tui_agent.core import events as ev
from tui_agent.core.check import UNSEEN, Check
from tui_agent.core.fold import CHECK_HEAD, CHECK_TAIL
from tui_agent.core.types import AgentError, Decision, Emit
from tui_agent.terms import Terms, accepted_check, checks_of
from tui_agent.workspace import Workspace, git
from tui_agent.workspace.blocking import to_the_end
from tui_agent.workspace.running import Commands


def check_of(
    terms: Terms, workspace: Workspace, commands: Commands, unseen: Callable[[], bool], told: Callable[[str], None]
) -> Check | None:
    """The check of the folder: configured, accepted before, or found there and not asked yet.

    `unseen` says whether the folder holds bytes that no person saw; `told` takes what the person has to know.
    """
    each = terms.settings.check_after == "edit"
    if (accepted := accepted_check(terms)) is not None:
        argv = git.argv(accepted)
        asks = _asks(terms, commands.confines(argv), unseen)
        why = UNSEEN if terms.trusted else "this folder is restricted: its check asks each time"
        return Check(
            argv, partial(run_check, workspace, argv), TIMEOUT, asks, why, where=commands.where(argv), each_edit=each
        )
    store, root = checks_of(terms), terms.root.resolve()
    may_ask = terms.trusted and terms.interactive
    if not may_ask or store.look(root) is not None or (found := detect(root)) is None:
        return None

    def answered(decision: Decision) -> None:
        if decision.by == "key" and decision.answer in {"yes", "no"}:
            try:
                store.answer(root, found.argv, accepted=decision.answer == "yes")
            except AgentError as error:
                told(str(error))

    why = f"found in {found.source}; yes also keeps it as the check of this folder, no does not ask again"
    run, where = partial(run_check, workspace, found.argv), commands.where(found.argv)
    return Check(found.argv, run, TIMEOUT, "always", why, True, answered, where, each)


def _asks(terms: Terms, confined: bool, unseen: Callable[[], bool]) -> Literal["always", "unseen", "never"]:
    """Whether the check waits for the person: what nobody saw runs unasked in a working sandbox only."""
    if terms.allow_check:
        return "never"
    if not terms.trusted:
        return "always"
    if confined:
        return "never"
    return "always" if unseen() else "unseen"


async def run_check(workspace: Workspace, argv: tuple[str, ...], emit: Emit) -> ev.CheckDone:
    """Run a check and see what it changed itself."""
    result, receipt = await workspace.check(argv, TIMEOUT, emit)
    if result is None:
        return ev.CheckDone(argv, None, "interrupted by the person", receipt.duration, receipt=receipt)
    limit = [f"stopped after the time limit of {TIMEOUT:g} s"] if result.timed_out else []
    output = "\n".join([result.error or result.output, *(f"({remark})" for remark in (*limit, *result.remarks))])
    long = result.exit_code != 0 and len(output) > CHECK_HEAD + CHECK_TAIL
    kept = await to_the_end(lambda: workspace.outputs.keep(output)) if long else ""
    ran, sandbox = result.error is None, result.sandbox
    return ev.CheckDone(
        argv, result.exit_code, output, result.duration, sandbox, receipt, kept, ran, tuple(result.warnings)
    )
