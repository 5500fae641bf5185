from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tui_agent.core import events as ev
from tui_agent.core.endings import StopReason
from tui_agent.core.log import DAMAGED, FileLog, decode, digest_of, encode, load
from tui_agent.core.receipt import Receipt
from tui_agent.core.secrets import Secrets
from tui_agent.core.types import (
    AssistantMessage,
    Author,
    ProviderError,
    ToolCall,
    Usage,
    WriteBytes,
)

CALL = ToolCall("c1", "edit_file", {"path": "a.py", "old": "x", "new": "\u2028y"}, raw='{"path":"a.py"}')
SAMPLES = [
    ev.SessionStarted("s1", "/w", 12.5, "0.1.0"),
    ev.UserSaid("fix it\nplease \u2028 \x1b[31m"),
    ev.ModelChosen("local", "m", local=True),
    ev.AssistantSaid(
        AssistantMessage("text", "why", (CALL,), Author("w", "e", "m"), {"sig": ["x"]}),
        finish="tool_calls",
        usage=Usage(3, 4, None, None, 0),
        cost=0.0,
    ),
    ev.AssistantSaid(AssistantMessage(""), complete=False),
    ev.Checkpoint("piece"),
    ev.Asked("r1", "c1", "edit_file", "edit  a.py", "ab12"),
    ev.Answered("r1", "no", "why not"),
    ev.ToolDone(
        CALL,
        "applied",
        "ok",
        "+1 -1",
        "edit  a.py",
        Receipt("r1", "c1", "edit_file", {"path": "a.py"}, "a.py", "aa", None, None, 0.25, "key", 1, 1),
        0.5,
    ),
    ev.ToolDone(ToolCall("c2", "x", None, "not JSON", "{"), "error", "error: not JSON", denied="policy"),
    ev.CheckDone(("make", "check"), None, "late", 600.0),
    ev.CheckDone(
        ("make", "check"), 0, "", 1.5, receipt=Receipt("r2", "check", "check", {"argv": ["make"]}, exit_code=0)
    ),
    ev.Undone(2, (Receipt("r3", "r3", "undo", {"path": "a"}, "a", "bb", "aa"),), ("a", "b"), ("c",), redo=True),
    ev.ModeChosen("plan", "only looks"),
    ev.Named("a name"),
    ev.Rewound(2, ("a.py",)),
    ev.Instructed("ab" * 32, 1800, 900),
    ev.Marked((3, 5), "short", "room", 1200),
    ev.Compacted("- did this", (1, 7), "tests", "room", 9000, 800, Usage(9000, 300), 0.02),
    ev.Expanded(12, 9000),
    ev.Overflowed(40_000),
    ev.BudgetSet(50_000),
    ev.SearchSet("ddg"),
    ev.Notice("word", "model"),
    ev.Spent(Usage(700), None),
    ev.ProviderFailed(ProviderError("rate_limit", "slow down", retryable=True, retry_after=18.0, status=429)),
    ev.RunEnded(StopReason.VERIFIED, "the check passed", 7, "passed"),
]


@pytest.mark.parametrize("event", SAMPLES, ids=lambda e: type(e).__name__)
def test_every_event_survives_its_record(event: ev.Durable) -> None:
    assert decode(json.loads(json.dumps(encode(event)))) == event


def write(path: Path) -> FileLog:
    log = FileLog(path, now=lambda: 1.0)
    for event in SAMPLES:
        log.append(event)
    return log


def test_format_on_disk(tmp_path: Path) -> None:
    write(tmp_path / "s" / "log.jsonl")
    lines = (tmp_path / "s" / "log.jsonl").read_text(encoding="ascii").splitlines()
    assert json.loads(lines[0]) == {
        "v": 1,
        "t": 1.0,
        "type": "session",
        "id": "s1",
        "cwd": "/w",
        "created": 12.5,
        "version": "0.1.0",
    }
    assert [json.loads(line)["seq"] for line in lines[1:]] == list(range(1, len(SAMPLES)))
    assert (tmp_path / "s" / "log.jsonl").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "s").stat().st_mode & 0o777 == 0o700


def test_reopened_log_goes_on_where_it_stopped(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    write(path)
    again = FileLog(path)
    assert again.events == SAMPLES
    again.append(ev.UserSaid("more"))
    assert load(path).events == (*SAMPLES, ev.UserSaid("more"))
    assert json.loads(path.read_bytes().splitlines()[-1])["seq"] == len(SAMPLES)


def test_cut_at_every_byte_loads_every_earlier_event(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    write(path)
    data = path.read_bytes()
    ends = [i + 1 for i, b in enumerate(data) if b == 10]
    for cut in range(len(data) + 1):
        path.write_bytes(data[:cut])
        loaded = load(path)
        whole = sum(end <= cut for end in ends)
        assert loaded.events == tuple(SAMPLES[:whole])
        torn = cut not in (0, *ends)
        assert bool(loaded.problems) is torn


def test_torn_tail_is_set_aside_and_never_fuses(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    write(path)
    for _ in range(3):
        with path.open("ab") as f:
            f.write(b'{"seq":99,"type":"user","te')
        log = FileLog(path)
        assert log.damage == "1 incomplete record at the end was dropped"
        log.append(ev.UserSaid("on"))
    assert all(json.loads(line) for line in path.read_bytes().splitlines())
    assert path.with_suffix(".rej").read_bytes().count(b'"te\n') == 3


def test_damage_in_the_middle_is_skipped_and_reported(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    write(path)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[3] = b"\0" * 300 + b"\n"
    lines[5] = b'{"seq":5,"type":"checkpoint","text":7}\n'
    path.write_bytes(b"".join(lines))
    loaded = load(path)
    kept = [DAMAGED if number in {3, 5} else event for number, event in enumerate(SAMPLES)]
    assert loaded.events == tuple(kept), "decisions name messages by the numbers of their events"
    assert loaded.problems[0] == "line 4 is damaged and was skipped"
    assert loaded.problems[1] == "line 6 is damaged and was skipped (text: expected str, not int)"


def test_empty_file_and_unknown_records(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"")
    assert load(path).events == ()
    path.write_bytes(
        b'{"v":1,"type":"session","id":"s","cwd":"/","created":0.0,"version":"9"}\n{"seq":1,"type":"hologram","x":[1]}\n'
    )
    assert load(path).events[1] == ev.Unknown("hologram", {"x": [1]})


def test_a_newer_format_opens_read_only(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"v":2,"type":"session","id":"s","cwd":"/","created":0.0,"version":"9"}\n')
    before = path.read_bytes()
    log = FileLog(path)
    assert log.read_only
    log.append(ev.UserSaid("x"))
    assert path.read_bytes() == before


def test_a_disk_that_refuses_keeps_records_and_writes_them_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = write(tmp_path / "log.jsonl")
    real = os.write

    def full(fd: int, data: bytes) -> int:
        if real(fd, data[:3]):
            return 3
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    log.append(ev.UserSaid("one"))
    log.append(ev.UserSaid("two"))
    assert log.fault is not None
    assert "goes on in memory" in log.fault
    monkeypatch.setattr(os, "write", real)
    log.append(ev.UserSaid("three"))
    assert log.fault is None
    assert load(log.path).events == (*SAMPLES, *(ev.UserSaid(w) for w in ("one", "two", "three")))
    assert load(log.path).problems == ()


@given(st.text(), st.text())
@examples(50)
def test_digest_tells_requests_apart(a: str, b: str) -> None:
    def effect(t: str) -> WriteBytes:
        return WriteBytes("p", None, t.encode("utf-8", "surrogatepass"))

    assert (digest_of(effect(a)) == digest_of(effect(b))) is (a == b)


KEY = 'sk-"quoted"\\é-1234567890'


def test_a_key_is_never_written_wherever_it_came_from(tmp_path: Path) -> None:
    log = FileLog(tmp_path / "log.jsonl", hidden=Secrets((KEY, "short", "", f"{KEY}-longer")))
    done = ev.ToolDone(
        ToolCall("c1", "read_file", {"path": KEY, KEY: [KEY]}, raw=KEY), "applied", f"A={KEY}\nB={KEY}-longer"
    )
    log.append(done)
    log.append(ev.UserSaid(f"short {KEY}"))
    text = log.path.read_text(encoding="utf-8")
    assert "1234567890" not in text
    assert "longer" not in text
    assert log.events == [done, ev.UserSaid(f"short {KEY}")]  # in memory, for the model, it is what it was
    read = load(log.path)
    assert read.problems == ()
    assert read.events[1] == ev.UserSaid("short [key hidden]")
    assert isinstance(read.events[0], ev.ToolDone)
    assert read.events[0].text == "A=[key hidden]\nB=[key hidden]"
