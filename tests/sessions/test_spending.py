"""What a day has cost, from the logs of all sessions."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from pathlib import Path

from tui_agent.core import events as ev
from tui_agent.core.log import FileLog
from tui_agent.core.types import AssistantMessage, Author, Usage
from tui_agent.sessions import LOG, fork
from tui_agent.spending import Spent, midnight, spent

AUTHOR = Author("openai-chat", "http://h/v1", "m")
DAY = 1_000_000.0


def said(cost: float | None, text: str = "x") -> ev.AssistantSaid:
    return ev.AssistantSaid(AssistantMessage(text, author=AUTHOR), usage=Usage(1, 1), cost=cost)


def session(folder: Path, name: str, *calls: tuple[float, ev.Durable]) -> Path:
    """A session whose events came so many seconds after the day began."""
    times = iter([DAY, *(DAY + after for after, _ in calls)])
    (folder / name).mkdir(parents=True)
    log = FileLog(folder / name / LOG, now=lambda: next(times, DAY))
    log.append(ev.SessionStarted(name, "/w", DAY, "1"))
    for _, event in calls:
        log.append(event)
    log.save()
    return folder / name


def test_the_day_begins_where_the_person_is() -> None:
    begun = datetime.fromtimestamp(midnight()).astimezone()
    now = datetime.now().astimezone()
    assert (begun.hour, begun.minute, begun.second) == (0, 0, 0)
    assert timedelta(0) <= now - begun < timedelta(hours=26)


def test_replies_summaries_and_questions_of_all_sessions_since_then(tmp_path: Path) -> None:
    session(tmp_path, "a", (-50, said(100.0)), (5, ev.UserSaid("go")), (6, said(0.5)))
    session(tmp_path, "b", (7, ev.Compacted("s", cost=0.25, usage=Usage(1, 1))), (8, said(0.25)))
    session(tmp_path, "c", (9, ev.UserSaid("nothing yet")))
    old = session(tmp_path, "d", (10, said(8.0)))
    os.utime(old / LOG, (DAY - 9, DAY - 9))
    assert spent(tmp_path, DAY) == Spent(1.0, 2)


def test_one_unknown_makes_the_day_unknown_and_no_session_is_nothing(tmp_path: Path) -> None:
    assert spent(tmp_path / "none", DAY) == Spent(0.0, 0)
    session(tmp_path, "a", (1, said(0.5)), (2, said(None)))
    assert spent(tmp_path, DAY) == Spent(None, 1)


def test_what_a_fork_copied_is_not_spent_twice(tmp_path: Path) -> None:
    source = session(tmp_path, "a", (1, said(0.5)), (2, said(0.5)))
    with_copy = fork(source, tmp_path, tmp_path)
    with_copy.log.append(said(0.25, "new"))
    with_copy.log.save()
    with_copy.close()
    assert spent(tmp_path, DAY) == Spent(1.25, 2)


def test_damage_is_not_counted(tmp_path: Path) -> None:
    log = session(tmp_path, "a", (1, said(0.5))) / LOG
    log.write_bytes(log.read_bytes() + b'{"seq":9,"t":1,"type":"assistant"}\n{"type":"assistant","t"')
    assert spent(tmp_path, DAY) == Spent(0.5, 1)
