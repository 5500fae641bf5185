"""A key is in nothing that a run without a screen writes: not in its answer, its words, its JSON, its log."""

from __future__ import annotations

import base64
import json
import sys
from typing import Any

import pytest

from tests.cli.conftest import CANARY, Shell
from tests.cli.server import Failure, Text, serving
from tests.echoes import anthropic_echo, ollama_echo, openai_echo

ALLOWED = "[permissions]\nallow = [\"echo '[key hidden]'\"]"
REFUSED = Failure(401, f'{{"error": {{"message": "Authorization: Bearer {CANARY} is wrong"}}}}'.encode())


@pytest.mark.parametrize("source", ["env", "cmd"])
@pytest.mark.parametrize(
    "case",
    [
        ("openai", openai_echo, Text(f"So it was {CANARY}."), 0),
        ("openai", openai_echo, REFUSED, 1),
        ("anthropic", anthropic_echo, REFUSED, 1),
        ("ollama", ollama_echo, REFUSED, 1),
    ],
)
def test_no_key_in_any_output(shell: Shell, case: Any, source: str) -> None:
    """The server says the key in reasoning, text and a command that runs, then in an answer or an error."""
    kind, echo, last, code = case
    words = (
        {"openai": ["--json"], "anthropic": ["--stream-json"], "ollama": []}[kind]
        if source == "env"
        else ["--stream-json"]
    )
    key, env = 'api_key_env = "LOCAL_KEY"', {"LOCAL_KEY": CANARY}
    if source == "cmd":
        vault = shell.base / "vault.py"  # the person's own place for keys
        vault.write_text(f"print({CANARY!r})")
        key, env = f"api_key_cmd = {json.dumps([sys.executable, str(vault)])}", {}
    with serving(Failure(200, echo(CANARY), "text/event-stream"), last) as server:
        shell.use(server.url, ALLOWED, profile=f'type = "{kind}"\n{key}')
        assert shell.run("trust").code == 0
        result = shell.run("-p", "hello", "--debug", *words, env=env)
    assert server.headers, result.err
    assert all(CANARY in str(headers) for headers in server.headers)
    assert len(server.bodies) == 2
    assert result.code == code, result.err
    assert CANARY not in result.out + result.err
    assert ("So it was [key hidden]." in result.out) == (code == 0)
    name = shell.sessions()[0].parent.name
    documents = [shell.run("sessions", "export", name), shell.run("sessions", "export", name, "--json")]
    assert all("[key hidden]" in document.out for document in documents)
    others = [shell.run("replay", name, env=env), shell.run("doctor", env=env), shell.run("config", "show", env=env)]
    assert all(CANARY not in done.out + done.err for done in [*documents, *others])
    holding = [name for name, data in shell.files().items() if CANARY.encode() in data]
    assert holding == (["vault.py"] if source == "cmd" else [])
    (log,) = shell.sessions()
    assert log.read_text().count("[key hidden]") > 2
    assert (shell.state / "debug.log").stat().st_size


@pytest.mark.parametrize("source", ["env", "cmd"])
def test_no_key_in_the_report_of_a_crash(shell: Shell, source: str) -> None:
    """The exception itself says the key, as one of a library that was handed it might."""
    bug = (
        "import tui_agent.oneshot as o\n"
        f"def answer(events): raise RuntimeError('sent with ' + {CANARY[:5]!r} + {CANARY[5:]!r})\n"
        "o.answer = answer\n"
        "from tui_agent.cli import entry; entry()"
    )
    key, env = 'api_key_env = "LOCAL_KEY"', {"LOCAL_KEY": CANARY}
    if source == "cmd":
        printed = f"print({CANARY[:5]!r} + {CANARY[5:]!r})"
        key, env = f"api_key_cmd = {json.dumps([sys.executable, '-c', printed])}", {}
    with serving(Text("hi")) as server:
        shell.use(server.url, profile=key)
        done = shell.run("-p", "hi", env=env, command=("-c", bug))
    assert CANARY in str(server.headers)
    assert done.code == 70
    assert "RuntimeError: sent with [key hidden]" in done.err
    assert "RuntimeError: sent with [key hidden]" in (shell.state / "crash.log").read_text()
    assert [name for name, data in shell.files().items() if CANARY.encode() in data] == []


@pytest.mark.parametrize("kind", ["openai", "anthropic", "groq"])
def test_a_vendors_key_goes_to_no_other_server(shell: Shell, kind: str) -> None:
    """The variable of the vendor is set, and the profile names another server and no key: it needs none, and gets none."""
    names = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GROQ_API_KEY")
    with serving(REFUSED) as server:
        shell.use(server.url, profile=f'type = "{kind}"')
        refused = shell.run("-p", "hello", env=dict.fromkeys(names, CANARY))
        keyless = shell.run("-p", "hello")
    assert len(server.headers) == 2
    assert CANARY not in str(server.headers)
    assert [refused.code, keyless.code] == [1, 1]
    assert "no key was sent" in refused.err
    assert "_API_KEY" not in refused.err + keyless.err


def test_no_secret_of_an_address_in_any_output(shell: Shell) -> None:
    """Password and query of the endpoint: the server repeats them as they are and as HTTP sends them."""
    basic = base64.b64encode(f"me:{CANARY}".encode()).decode()
    query = "0123456789abcdef-query"
    said = f"Basic {basic} and {CANARY} and {query}"
    calls = Failure(200, openai_echo(said), "text/event-stream")
    with serving(calls, Failure(401, json.dumps({"error": {"message": said}}).encode())) as server:
        shell.use(server.url.replace("//", f"//me:{CANARY}@") + f"?v={query}", ALLOWED, profile='type = "openai"')
        shell.run("trust")
        done = [
            shell.run("-p", "hello", "--debug", "--stream-json"),
            shell.run("-p", "x"),
            shell.run("-p", "x", "--json"),
        ]
    assert server.headers[0]["authorization"] == f"Basic {basic}"
    name = shell.sessions()[0].parent.name
    done += [shell.run("sessions", "export", name, "--json"), shell.run("replay", name), shell.run("doctor")]
    done.append(shell.run("-p", "x", "--dry-run"))
    shell.config_file.unlink()
    for secret in (CANARY, basic, query):
        assert [one for one in done if secret in one.out + one.err] == []
        assert [file for file, data in shell.files().items() if secret.encode() in data] == []
    assert any("[hidden]@" in log.read_text() for log in shell.sessions())
