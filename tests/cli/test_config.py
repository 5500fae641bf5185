"""`tui-agent config`, and the layers of a configuration as a process sees them."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable
from typing import Any

import pytest
import tomli_w

from tests.cli.conftest import CANARY, ROOT, Shell
from tests.cli.server import Text, call, serving
from tui_agent.config import load

HARNESS = {
    "default_provider": "fireworks",
    "quiet": True,
    "search": {"engine": "brave", "enabled": False},
    "providers": {
        "fireworks": {
            "type": "openai",
            "endpoint": "https://api.fireworks.ai/inference/v1/chat/completions",
            "api_key_env": "FIREWORKS_API_KEY",
            "model": "big",
            "generation": {"temperature": 0.6, "max_tokens": 32768, "think": False},
            "pricing": {"input": 0.14, "cached_input": 0.028, "output": 0.28, "note": "as of May"},
        },
        "local": {
            "type": "OMLX",
            "endpoint": "http://localhost:8000/v1/chat/completions",
            "model": "m",
            "api_key_env": "",
        },
        "bare": {"model": "m"},
        "odd": 3,
    },
}


def test_check_marks_the_place(shell: Shell) -> None:
    shell.configure("[permissions]\nwrite = 'alow'\nmaxx = 1\n")
    done = shell.run("config", "check")
    assert (done.code, done.out) == (5, "")
    assert done.err == (
        f"error: {shell.config_file}:2:1: permissions.write: must be one of allow, ask, deny, not 'alow'; "
        "did you mean allow?\n    write = 'alow'\n    ^\n"
        f"warning: {shell.config_file}:3:1: permissions.maxx: unknown key\n    maxx = 1\n    ^\n"
    )
    shell.configure("[limits]\nmax_steps = 3\n")
    assert shell.run("config", "check").out == f"{shell.config_file}: no fault\n"
    shell.config_file.unlink()
    done = shell.run("config", "check")
    assert (done.code, done.out) == (0, f"{shell.config_file} does not exist; tui-agent config edit makes it\n")


def test_path(shell: Shell) -> None:
    assert shell.run("config", "path").out == f"{shell.config_file}\n"
    other = shell.write("other.toml", "")
    assert shell.run("config", "path", env={"TUI_AGENT_CONFIG": str(other)}).out == f"{other}\n"
    assert shell.run("config", "--config", "/no/such/file", "path").code == 5
    assert shell.run("config", "path", env={"TUI_AGENT_CONFIG": "/no/such/file"}).code == 5
    assert shell.run("config").code == 5


def test_edit_keeps_comments_and_checks(shell: Shell) -> None:
    shell.configure("# mine\n[limits]  # bounds\nmax_steps = 9\n")
    editor = shell.base / "editor"
    editor.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > "$0.args"\nsed -i s/9/ten/ "$1"\n')
    editor.chmod(0o700)
    done = shell.run("config", "edit", env={"EDITOR": str(editor)})
    assert done.code == 5
    assert ":3:13: is not valid TOML" in done.err
    assert shell.config_file.read_text() == "# mine\n[limits]  # bounds\nmax_steps = ten\n"
    assert shell.run("config", "edit", env={"EDITOR": "false"}).code == 1
    assert shell.run("config", "edit", env={"EDITOR": "/no/such/editor"}).code == 1


def test_edit_begins_with_the_example_commented_out(shell: Shell) -> None:
    done = shell.run("config", "edit", env={"EDITOR": "true"})
    assert (done.code, done.out) == (0, f"{shell.config_file}: no fault\n")
    text = shell.config_file.read_text(encoding="utf-8")
    assert all(line.startswith("#") for line in text.splitlines() if line)
    assert "# [profiles.local]" in text
    assert shell.config_file.stat().st_mode & 0o777 == 0o600


def test_without_a_terminal_no_editor_is_looked_for(shell: Shell) -> None:
    found = shell.write("bin/vi", "#!/bin/sh\ntouch started\n")
    found.chmod(0o700)
    done = shell.run("config", "edit", env={"EDITOR": None, "VISUAL": " ", "PATH": str(found.parent)})
    assert (done.code, done.out) == (5, "")
    assert f"there is no terminal to edit {shell.config_file} on; set EDITOR" in done.err
    assert not (shell.work / "started").exists()


def test_show_names_the_source_of_each_value_and_hides_what_is_secret(shell: Shell) -> None:
    shell.configure(
        f"""[profiles.cloud]
type = "openai"
endpoint = "https://me:{CANARY}@api.invalid/v1?key={CANARY}"
model = "m"
headers = {{ Authorization = "Bearer {CANARY}" }}
[profiles.vendor]
type = "openai"
[profiles.cloud.generation]
note = "{CANARY}"
[limits]
max_steps = 7
[network]
proxy = "http://me:{CANARY}@127.0.0.1:3128"
[web.endpoints]
brave = "https://me:{CANARY}@search.invalid/v1"
[mcp_servers.files]
env = {{ TOKEN = "{CANARY}" }}
command = "sh"
args = ["--api-key", "{CANARY}", "-v", "X_TOKEN={CANARY}", "https://me:{CANARY}@h.invalid/x", "--header", "Authorization: Bearer {CANARY}", "/monkey"]
"""
    )
    shell.write(".tui_agent/config.toml", '[profiles.cloud]\nmodel = "cheap"\n[permissions]\nwrite = "deny"\n')
    shell.run("trust")
    done = shell.run("config", "show", env={"OPENAI_API_KEY": CANARY, "TUI_AGENT_MODEL": "env"})
    assert done.code == 0, done.err
    assert CANARY not in done.out + done.err
    assert CANARY not in shell.run("doctor", "--offline").out
    lines = dict(line.split("   # ") for line in done.out.splitlines())
    found = {key.strip(): source for key, source in lines.items()}
    home = "~/.config/tui_agent/config.toml"
    assert found["limits.max_steps = 7"] == home
    assert found["limits.max_invalid = 3"] == "built in"
    assert found['profiles.cloud.model = "env"'] == "TUI_AGENT_MODEL"
    assert found['profiles.vendor.api_key_env = "OPENAI_API_KEY"'] == "preset openai"
    assert "profiles.cloud.api_key_env" not in done.out  # another server than the vendor's
    assert found['profiles.cloud.endpoint = "https://[hidden]@api.invalid/v1?key=[hidden]"'] == home
    assert found["profiles.cloud.headers.Authorization = [hidden]"] == home
    assert found['permissions.write = "deny"'] == str(shell.work / ".tui_agent/config.toml")
    assert shell.run("config", "show", "--cwd", "/no/such/folder").code == 5


@pytest.mark.parametrize(
    "text",
    [
        '[profiles.p]\napi_key = "{}"\nmodel = 3',
        '[profiles.p]\napi_key_env = "{} "',
        '[profiles.p]\napi_key_cmd = "{}"',
        '[profiles.p]\nheaders = {{ x = "{}", y = 3 }}',
        '[profiles.p]\nheaders = "{}"',
        '[profiles.p.headers]\nx = ["{}"]',
        '[profiles.p]\nmodle = "{}"\nmodel = "{}',
        '[profiles.p]\napi_key = "{}',
        "[profiles.p]\napi_key = {}",
        '[mcp_servers.s.env]\nX = {{ a = "{}" }}',
        '[network]\nproxy = "http://me:{}@host\n',
    ],
)
def test_a_key_where_its_name_belongs_is_not_printed(shell: Shell, text: str) -> None:
    shell.configure(text.format(*[CANARY] * 2))
    for words in (("config", "check"), ("doctor", "--offline"), ("-p", "hi")):
        done = shell.run(*words)
        assert CANARY not in done.out + done.err, words
        assert "config.toml:" in done.out + done.err


def test_show_has_what_counts_when_nobody_says_anything(shell: Shell) -> None:
    shown = shell.run("config", "show").out
    for line in ("context.compact = true", 'web.search = "off"', 'web.intents = "auto"', 'ui.esc_stops = "double"'):
        assert re.search(rf"^{re.escape(line)} +# built in$", shown, re.MULTILINE), line
    assert 'web.endpoints.exa = "https://api.exa.ai/search"' in shown


def test_the_layers_in_their_order(shell: Shell) -> None:
    with serving(Text("ok")) as server:
        shell.use(server.url)
        shell.write(".tui_agent/config.toml", '[profiles.local]\nmodel = "project"\n')
        models = []
        shell.run("-p", "hi")
        shell.run("trust")
        for words, env in (
            ((), {}),
            ((), {"TUI_AGENT_MODEL": "env"}),
            (("--model", "flag"), {"TUI_AGENT_MODEL": "env"}),
        ):
            assert shell.run(*words, "-p", "hi", env=env).code == 0
        models = [body["model"] for body in server.bodies]
        assert models == ["m", "project", "env", "flag"]
        done = shell.run("-p", "hi", env={"TUI_AGENT_PROVIDER": "nobody"})
    assert done.code == 5
    assert done.err == "tui-agent: environment: TUI_AGENT_PROVIDER: there is no profile 'nobody'; there are local\n"


def test_the_files_of_a_racket_harness_are_taken_over(shell: Shell) -> None:
    (shell.home / ".coding_harness.json").write_text(json.dumps(HARNESS))
    shell.configure('# mine\n[profiles.bare]\nmodel = "kept"  # kept\n')
    assert shell.run("config", "import", "--dry-run").out.startswith("would take fireworks: ")
    assert "fireworks" not in shell.config_file.read_text()
    done = shell.run("config", "import")
    assert done.code == 0, done.err
    assert done.out.splitlines() == [
        "took fireworks: endpoint, model, api_key_env, generation, pricing",
        "took local: type, endpoint, model",
        "bare answers as before",
        "left bare: you have a profile of that name; --replace takes the other one",
        "left quiet: there is no place for it here",
        "left search: there is no place for it here",
        "left providers.fireworks.pricing.note: there is no place for it here",
        "left providers.odd: there is no place for it here",
    ]
    text = shell.config_file.read_text()
    assert text.startswith("# mine\n")
    assert 'model = "kept"  # kept' in text
    loaded = load(shell.config_file, env={})
    assert loaded.faults == ()
    fireworks, local = loaded.settings.profiles["fireworks"], loaded.settings.profiles["local"]
    assert loaded.settings.active() == loaded.settings.profiles["bare"]
    assert (fireworks.endpoint, fireworks.api_key_env, fireworks.wire, fireworks.local) == (
        "https://api.fireworks.ai/inference/v1",
        "FIREWORKS_API_KEY",
        "openai-chat",
        False,
    )
    assert fireworks.generation == {"temperature": 0.6, "max_tokens": 32768, "think": False}
    assert fireworks.pricing is not None
    assert fireworks.pricing.cached_input == 0.028
    assert (local.endpoint, local.wire, local.local, local.api_key_env) == (
        "http://localhost:8000/v1",
        "openai-chat",
        True,
        None,
    )


def test_taken_into_nothing_their_default_is_taken_too(shell: Shell) -> None:
    (shell.home / ".coding_harness.json").write_text(json.dumps(HARNESS))
    assert "\ntook default_provider: fireworks\n" in shell.run("config", "import").out
    assert load(shell.config_file, env={}).settings.default_provider == "fireworks"


def test_the_file_of_a_folder_is_taken_only_when_it_is_named_and_goes_over_the_other(shell: Shell) -> None:
    mine = shell.home / ".coding_harness.json"
    mine.write_text(json.dumps(HARNESS))
    local = shell.write(".local_coding_harness.json", '{"providers": {"fireworks": {"model": "small"}}}')
    shell.run("config", "import")
    assert tomllib.loads(shell.config_file.read_text())["profiles"]["fireworks"]["model"] == "big"
    assert shell.run("config", "import", "--replace", str(mine), str(local)).code == 0
    taken = tomllib.loads(shell.config_file.read_text())["profiles"]["fireworks"]
    assert (taken["model"], taken["api_key_env"]) == ("small", "FIREWORKS_API_KEY")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "cannot be read"),
        ("{", "is no JSON"),
        ("[]", "is no JSON object"),
        ('{"providers": {"x": {"model": 3}}}', "profiles.x.model: must be a string"),
        ('{"providers": {"x": {"api_key_env": "sk-a-key"}}}', "profiles.x.api_key_env"),
    ],
)
def test_what_cannot_be_taken_over_changes_nothing(shell: Shell, text: str | None, says: str) -> None:
    shell.configure("# mine\n")
    file = shell.home / ".coding_harness.json"
    if text is not None:
        file.write_text(text)
    done = shell.run("config", "import")
    assert (done.code, done.out) == (5, "")
    assert says in done.err
    assert shell.config_file.read_text() == "# mine\n"


def test_a_broken_file_is_not_written_to(shell: Shell) -> None:
    (shell.home / ".coding_harness.json").write_text(json.dumps(HARNESS))
    shell.configure("[profiles\n")
    assert shell.run("config", "import").code == 5
    assert shell.config_file.read_text() == "[profiles\n"


@pytest.mark.parametrize("kind", ["pipe", "device", "huge"])
def test_what_no_person_wrote_is_not_read_to_its_end(shell: Shell, kind: str) -> None:
    file = shell.base / "given.toml"
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "device":
        file.symlink_to("/dev/zero")
    else:
        file.write_bytes(b"#" * 16_000_001)
    for words in (("--config", str(file), "-p", "x"), ("config", "--config", str(file), "check")):
        done = shell.run(*words)
        assert done.code == 5
        why = "it holds more than 16,000,000 bytes" if kind == "huge" else "it is no ordinary file"
        assert f"cannot be read: {why}" in done.err


def whole(value: Any) -> Any:
    """The same table with each number as a whole one, as a person writes it."""
    if isinstance(value, dict):
        return {name: whole(item) for name, item in value.items()}
    return int(value) if isinstance(value, float) and value >= 1 else value


@pytest.mark.parametrize("change", [dict, whole], ids=["as they stand", "all whole"])
def test_the_numbers_of_the_example_carry_a_command(shell: Shell, change: Callable[[Any], Any]) -> None:
    example = tomllib.loads((ROOT / "config.example.toml").read_text(encoding="utf-8"))
    limits = tomli_w.dumps({"limits": change(example["limits"])})
    times = change(example["profiles"]["local"]["timeouts"])
    shell.write("seen.txt", "")
    with serving(call("run_command", argv=["ls"]), Text("Looked.")) as server:
        shell.use(server.url, limits, f"timeouts = {{ {', '.join(f'{k} = {v}' for k, v in times.items())} }}")
        done = shell.run("-p", "look")
    assert done.code == 0, done.err
    assert "seen.txt" in server.told()[0]


def test_a_null_of_a_racket_harness_is_left_out_and_a_file_without_profiles_is_named(shell: Shell) -> None:
    file = shell.home / ".coding_harness.json"
    mine = {"endpoint": "http://127.0.0.1:9/v1", "model": "m", "generation": {"stop": None, "temperature": 0.1}}
    file.write_text(json.dumps({"providers": {"mine": mine}}))
    done = shell.run("config", "import")
    assert (done.code, done.out.splitlines()[1]) == (
        0,
        "left providers.mine.generation.stop: there is no place for it here",
    )
    assert load(shell.config_file, env={}).settings.profiles["mine"].generation == {"temperature": 0.1}
    file.write_text('{"providers": {}}')
    done = shell.run("config", "import")
    assert (done.code, done.err) == (5, f"tui-agent: there is no profile in {file}: nothing was taken\n")
