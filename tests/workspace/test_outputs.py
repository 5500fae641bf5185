"""Long outputs: kept whole under the hash of their bytes, told with head and tail, read in parts by name and bytes."""

from __future__ import annotations

import asyncio
import contextlib
import re
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes import Person
from tests.test_routing import play
from tests.waiting import PATIENCE
from tui_agent.config import Settings
from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.lookup import ReadOutput
from tui_agent.core.profile import Profile
from tui_agent.core.secrets import HIDDEN
from tui_agent.core.types import Request, ToolMessage
from tui_agent.paths import Paths
from tui_agent.providers.scripted import from_function, scripted
from tui_agent.session import Session, Terms
from tui_agent.sessions import Place, fork
from tui_agent.workspace.outputs import Outputs
from tui_agent.workspace.receipts import Blobs

KEY = "hunter2-hunter2-hunter2"
LONG = "import sys; [print(f'line {n:05}') for n in range(9000)]; print('{key}'); sys.exit(3)"


def outputs(folder: Path | None = None, **kw: Any) -> Outputs:
    return Outputs(Blobs(folder, **kw))


# ------------------------------------------------------------------ parts


@given(st.text(min_size=1, max_size=60), st.integers(1, 9))
def test_the_parts_of_a_text_are_the_text_whatever_their_size(text: str, limit: int) -> None:
    kept = outputs()
    name = kept.keep(text)
    data, start, parts = text.encode("utf-8", "replace"), 0, b""
    while start < len(data):
        outcome = kept.read(ReadOutput(name, start, limit))
        assert outcome.status == "applied"
        head, rest = outcome.text.split("\n", 1)
        found = re.fullmatch(r"\[output [0-9a-f]{16}: bytes (\d+)-(\d+) of (\d+)\]", head)
        assert found is not None
        first, end, whole = map(int, found.groups())
        assert (first, whole) == (start, len(data))
        assert rest.rpartition("\n")[0].encode() == data[first:end]
        assert end > start
        parts, start = parts + data[first:end], end
    assert parts == data


def test_a_start_inside_of_a_character_begins_with_it() -> None:
    kept = outputs()
    text = kept.read(ReadOutput(kept.keep("aä€𝄞z"), 2, 3)).text
    assert text.startswith("[output")
    assert ": bytes 1-3 of 11]\nä\n" in text


@pytest.mark.parametrize(
    ("name", "start", "said"),
    [
        ("0" * 16, 0, "there is no output"),
        ("../../log.jsonl", 0, "there is no output"),
        ("", 0, "there is no output"),
        ("state.json", 0, "there is no output"),
        (None, 4, "has 4 bytes, so none from 4 on"),
        (None, 10**30, "has 4 bytes"),
    ],
)
def test_what_is_not_there_is_said(tmp_path: Path, name: str | None, start: int, said: str) -> None:
    kept = outputs(tmp_path / "blobs" / "outputs")
    (tmp_path / "log.jsonl").write_text("{}")
    there = kept.keep("text")
    outcome = kept.read(ReadOutput(there if name is None else name, start, 10))
    assert outcome.status == "error"
    assert said in outcome.text


def test_one_that_was_changed_on_the_disk_is_none(tmp_path: Path) -> None:
    kept = outputs(tmp_path / "o")
    name = kept.keep("text")
    (tmp_path / "o" / name).write_text("other")
    assert kept.read(ReadOutput(name, 0, 10)).status == "error"


def test_without_room_nothing_is_promised(tmp_path: Path) -> None:
    assert outputs(tmp_path / "o", limit=10).keep("x" * 11) == ""
    (tmp_path / "file").write_text("")
    assert outputs(tmp_path / "file" / "o").keep("x") == ""


def test_the_same_text_is_kept_once(tmp_path: Path) -> None:
    kept = outputs(tmp_path / "o")
    assert kept.keep("x" * 100) == kept.keep("x" * 100)
    assert len(list((tmp_path / "o").iterdir())) == 1


# ------------------------------------------------------------------ in a session


def session(
    base: Path, replies: list[Any], place: Place | None = None, settings: Settings | None = None
) -> tuple[Session, list[Request]]:
    (base / "work").mkdir(exist_ok=True)
    seen: list[Request] = []
    paths = Paths(base / "config", base / "data", base / "state")
    terms = Terms(base / "work", settings or Settings(), paths, trusted=True, environment={}, interactive=True)
    terms.network.secrets.add(KEY)
    made = Session(terms, Person(), place)
    made.use(scripted(replies, seen=seen), Profile("p", "scripted", "scripted", model="m"))
    return made, seen


def call(name: str, /, **arguments: Any) -> dict[str, Any]:
    return {"calls": [{"name": name, "arguments": arguments}]}


def told(request: Request) -> str:
    last = [m for m in request.messages if isinstance(m, ToolMessage)][-1]
    return last.text


async def test_a_long_output_is_read_in_parts_also_after_a_resume_and_in_a_copy(tmp_path: Path) -> None:
    run = call("run_command", argv=[sys.executable, "-c", LONG.replace("{key}", KEY)])
    made, seen = session(tmp_path, [run, {"text": "ok"}])
    await play(made, "count")
    text = told(seen[1])
    found = re.search(r"read_output with the name ([0-9a-f]{16}) shows any part", text)
    assert found is not None
    assert len(text) < 16_200
    assert text.startswith("line 00000")
    name = found[1]
    on_disk = b"".join(file.read_bytes() for file in made.folder.rglob("*") if file.is_file())
    assert KEY.encode() not in on_disk
    made.place.close()
    copy = fork(made.folder, tmp_path / "copies", made.root)
    for place in (Place(made.folder), copy):
        wants = call("read_output", name=name, start=55_000, limit=24)
        after, seen = session(tmp_path, [{}, {}, wants, {"text": "ok"}], place)
        await play(after, "go on")
        assert told(seen[-1]).startswith(f"[output {name}: bytes 55000-55024 of 99")
        assert "line 05000\nline 05001" in told(seen[-1])
        place.close()


async def test_it_is_read_in_the_verbs_as_their_prompt_says(tmp_path: Path) -> None:
    script = tmp_path / "work" / "long"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\nseq 9000\n")
    script.chmod(0o755)
    seen: list[Request] = []

    def answer(request: Request) -> str:
        seen.append(request)
        said = "".join(message.text for message in request.messages)
        cut = re.search(r"read_output with the name ([0-9a-f]{16})", said)
        if cut is None:
            return "RUN ./long"
        parts = re.findall(r"Use start=(\d+) to continue", said)
        return (
            "DONE ok"
            if "[the end of it]" in said
            else "\n".join([f"READ {cut[1]}", *(f"FROM {n}" for n in parts[-1:])])
        )

    made, _ = session(tmp_path, [])
    made.use(from_function(answer), Profile("p", "scripted", "scripted", model="m", protocol="verbs"))
    events = await play(made, "count")
    done = [event for event in events if isinstance(event, ev.ToolDone)]
    assert [event.call.name for event in done] == ["run_command", *["read_output"] * 3]
    assert [event.status for event in done] == ["applied"] * 4
    assert "".join(event.text for event in done[1:]).count("\n500") == 11
    assert "send READ <name>" in seen[0].system


async def test_it_is_asked_for_where_reading_is_and_the_hidden_is_hidden(tmp_path: Path) -> None:
    made, _ = session(tmp_path, [{"text": "ok"}])
    name = made.workspace.outputs.keep(f"a {KEY} b" * 3)
    outcome = await made.workspace.call("read_output", {"name": f" {name.upper()} "})
    assert outcome.status == "applied"
    assert f"a {HIDDEN} b" in outcome.text
    for wrong in ({"name": name, "start": -1}, {"name": name, "limit": 0}, {"name": name, "path": "x"}, {}):
        assert (await made.workspace.call("read_output", wrong)).status == "error"


def test_a_failed_check_says_where_the_rest_is() -> None:
    check = ev.CheckDone(("make",), 1, "x" * 9_000, 1.0, kept="ab" * 8)
    assert "read_output with the name abababababababab shows any part" in fold.check_text(check)
    assert "read_output" not in fold.check_text(ev.CheckDone(("make",), 1, "x" * 9_000, 1.0))


@pytest.mark.parametrize("what", ["command", "check"])
async def test_a_stop_while_it_is_kept_loses_no_receipt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    writing, go_on = threading.Event(), threading.Event()
    keep = Outputs.keep

    def slow(self: Outputs, text: str) -> str:
        writing.set()
        assert go_on.wait(PATIENCE)
        return keep(self, text)

    monkeypatch.setattr(Outputs, "keep", slow)
    script = "import pathlib, sys; pathlib.Path('made').write_text('x'); print('y' * 20_000); sys.exit(1)"
    argv = [sys.executable, "-c", script]
    steps = {"command": call("run_command", argv=argv), "check": call("write_file", path="a.py", content="x\n")}
    checks = {str(tmp_path / "work"): tuple(argv)} if what == "check" else {}
    made, _ = session(tmp_path, [steps[what], {"text": "ok"}], settings=Settings(checks=checks))
    task = asyncio.create_task(play(made, "go"))
    await asyncio.to_thread(writing.wait, PATIENCE)
    task.cancel()
    await asyncio.wait({task}, timeout=0.05)
    go_on.set()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    kind = ev.ToolDone if what == "command" else ev.CheckDone
    done = [event for event in made.events if isinstance(event, kind)]
    assert [change.path for change in (done[-1].receipt.changed if done[-1].receipt else ())] == ["made"]
