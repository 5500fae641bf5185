"""--stream-json: one object a line, every one of them as the published schema says."""

from __future__ import annotations

import json
import sys
from typing import Any

import jsonschema
import pytest

from tests.cli.conftest import CANARY, Shell
from tests.cli.server import Calls, Failure, Text, call, serving
from tests.cli.stream_schema import PUBLISHED, schema
from tui_agent.core import events as ev
from tui_agent.core.log import encode, load

OPEN = json.loads(PUBLISHED.read_text(encoding="utf-8"))


def lines(out: str) -> list[dict[str, Any]]:
    """The objects of a stream, each held against the published schema and the closed one."""
    found = [json.loads(line) for line in out.splitlines()]
    for line in found:
        jsonschema.validate(line, OPEN)
        jsonschema.validate(line, schema(closed=True))
    return found


@pytest.mark.parametrize(
    "line",
    [
        {"type": "text", "transient": True},
        {"type": "text", "transient": True, "text": 3},
        {"type": "text", "text": "not marked"},
        {"type": "nothing of that name"},
        {"type": "run_ended", "reason": "tired"},
        {"type": "stream", "v": 2, "session": "x"},
    ],
    ids=str,
)
def test_the_schema_refuses(line: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(line, OPEN)


def test_a_run_with_an_edit_a_command_and_a_check(shell: Shell) -> None:
    check = f"[checks]\n'{shell.work}' = ['{sys.executable}', '-c', 'print(1)']\n[permissions]\nrun = 'allow'\n"
    steps = (
        call("write_file", "I write.", path="a.txt", content="a\n"),
        Calls((("run_command", {"argv": ["echo", "hi"]}), ("read_file", {"path": "none"}))),
        Text("Done: ä."),
    )
    with serving(*steps) as server:
        shell.use(server.url, check)
        shell.run("trust")
        done = shell.run("--yes", "--allow", "check", "--stream-json", "-p", "write")
    assert done.code == 0, done.err
    found = lines(done.out)
    assert found[0] == {"type": "stream", "v": 1, "session": shell.sessions()[0].parent.name}
    result = found[-1]
    assert (result["type"], result["status"], result["answer"], result["exit_code"]) == (
        "result",
        "verified",
        "Done: ä.",
        0,
    )
    assert [f["path"] for f in result["failed"]] == ["none"]
    kinds = [line["type"] for line in found]
    assert {"phase", "text", "started", "tool", "check", "assistant", "run_ended"} <= set(kinds)
    said = "".join(line["text"] for line in found[: kinds.index("tool")] if line["type"] == "text")
    assert said == "I write."
    # the durable ones are the log from the task on
    events = load(shell.sessions()[0]).events
    logged = [encode(event) for event in events if not isinstance(event, ev.Begun)]  # for the log only
    durable = [line for line in found[1:-1] if "transient" not in line]
    assert durable == logged[[record["type"] for record in logged].index("user") :]


def test_refusals_failures_and_retries(shell: Shell) -> None:
    with serving(call("write_file", path="a.txt", content="a\n"), Text("I could not.")) as server:
        shell.use(server.url)
        done = shell.run("--stream-json", "-p", "write")
    assert done.code == 3
    assert lines(done.out)[-1]["refused"][0]["by"] == "nobody"
    with serving(Failure(503), Failure(400, b'{"error": {"message": "no"}}')) as server:
        shell.configure(f'[profiles.local]\nendpoint = "{server.url}"\nmodel = "m"\n')
        done = shell.run("--stream-json", "-p", "hi")
    assert done.code == 1
    assert {"retry", "provider_failed"} <= {line["type"] for line in lines(done.out)}


def test_no_key_in_the_stream(shell: Shell) -> None:
    with serving(Text(f"your key is {CANARY}")) as server:
        shell.use(server.url, profile='api_key_env = "MY_KEY"\n')
        done = shell.run("--stream-json", "-p", "hi", env={"MY_KEY": CANARY})
    assert done.code == 0, done.err
    assert CANARY not in done.out
    assert lines(done.out)[-1]["answer"] == "your key is [key hidden]"
