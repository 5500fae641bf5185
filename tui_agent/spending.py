"""What the model calls of a day have cost, over all sessions: read from their logs, in which each record has its time."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from pathlib import Path
from typing import Any

from tui_agent.core import fold
from tui_agent.core.disk import is_folder
from tui_agent.core.log import decode
from tui_agent.sessions import LARGEST, LOG

_CALLS = (b'"type":"assistant"', b'"type":"compacted"', b'"type":"routed"', b'"type":"spent"')
"""Where a record stands that can hold what a call took: the others are not looked at."""


@dataclass(frozen=True, slots=True)
class Spent:
    """USD of the calls of some time, None when the cost of one of them is unknown, and in how many sessions they were."""

    cost: float | None = 0.0
    sessions: int = 0


def midnight(now: float | None = None) -> float:
    """When the day of this moment began where the person is; wall clock, seconds."""
    moment = datetime.fromtimestamp(time.time() if now is None else now).astimezone()
    return moment.replace(hour=0, minute=0, second=0, microsecond=0).timestamp()


def spent(sessions: Path, since: float) -> Spent:
    """What was spent since a time on the wall clock. What a fork copied counts for the session that it came from.

    Blocks on the disk: reads the logs that changed since then. One that cannot be read, or is too large, is not counted.
    """
    costs: list[float | None] = []
    used = 0
    for folder in sessions.iterdir() if is_folder(sessions) else ():
        if _changed(folder / LOG) < since:
            continue
        parent, calls = _read(folder / LOG)
        source = _read(sessions / parent / LOG)[1] if parent and Path(parent).name == parent else []
        copied = sum(1 for _ in takewhile(lambda pair: pair[0][1] == pair[1][1], zip(calls, source, strict=False)))
        today = [event.cost for at, event in calls[copied:] if at >= since]
        costs += today
        used += bool(today)
    known = [cost for cost in costs if cost is not None]
    return Spent(sum(known) if len(known) == len(costs) else None, used)


def _changed(log: Path) -> float:
    try:
        state = log.stat()
    except OSError:
        return 0.0
    return state.st_mtime if state.st_size <= LARGEST else 0.0


def _read(log: Path) -> tuple[str, list[tuple[float, fold.Call]]]:
    """(the session that this is a fork of, the model calls with their times)."""
    parent, calls = "", []
    try:
        with log.open("rb") as lines:
            for number, line in enumerate(lines):
                if number and not any(kind in line for kind in _CALLS):
                    continue
                record = _record(line)
                if number == 0:
                    parent = str(record.get("parent") or "")
                calls += list(_call(record))
    except OSError:
        return "", []
    return parent, calls


def _record(line: bytes) -> Mapping[str, Any]:
    try:
        record = json.loads(line)
    except ValueError:  # a torn tail, or damage
        return {}
    return record if isinstance(record, dict) else {}


def _call(record: Mapping[str, Any]) -> Iterator[tuple[float, fold.Call]]:
    at = record.get("t")
    try:
        event = decode(dict(record))
    except ValueError:
        return
    if isinstance(at, int | float) and fold.asked_a_model(event):
        yield float(at), event
