"""`tui-agent demo`: the recorded session, on the screen or as text."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys

from tui_agent import demo as recorded
from tui_agent.background import asking
from tui_agent.core.display import plain
from tui_agent.core.types import ApprovalRequest, Decision
from tui_agent.subcommands.parsing import Parser, no_screen


def parser() -> Parser:
    """It has no flags."""
    return Parser(prog="tui-agent demo", description="A recorded session: no key, no server, no network.")


def run(_: argparse.Namespace) -> int:
    """Play the demo: on the screen, or as text without a terminal."""
    if not no_screen(os.environ):
        with asking(os.environ) as answer:
            from tui_agent.ui import app  # noqa: PLC0415 - Textual is heavy

            told = answer()
        with recorded.prepared(delay=0.03) as played:
            at = played.terms
            ready = app.Ready(at, played.model, recorded.PROFILE, recorded.TASK, recorded.NOTE)
            return app.run(app.Start(at.root, at.paths, at.paths.config_file, ready=ready, light=told.light)).code
    from tui_agent import oneshot, questions  # noqa: PLC0415
    from tui_agent.session import Session  # noqa: PLC0415

    with recorded.prepared() as played:

        async def answers(batch: tuple[ApprovalRequest, ...]) -> tuple[Decision, ...]:
            for request in batch:
                oneshot.say(f"\n  {plain(request.summary, 'title')}")
                print(questions.view(request.effect).printed(), file=sys.stderr)
                oneshot.say("  apply? y yes   n no   s skip   q stop > y  (recorded)\n")
            return await recorded.recorded_person(batch)

        session = Session(played.terms, answers)
        session.use(played.model, recorded.PROFILE)
        return asyncio.run(oneshot.run_once(session, recorded.TASK))
