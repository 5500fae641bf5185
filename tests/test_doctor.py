"""The doctor with fakes: what is said of a machine, and that nothing secret is in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tui_agent.ask_terminal import read
from tui_agent.config import load
from tui_agent.core.profile import ModelInfo
from tui_agent.doctor import Answers, Facts, Finding, findings, report, tmux
from tui_agent.paths import Paths
from tui_agent.workspace.sandbox import Sandbox

CANARY = "sk-CANARY-b41d7c3e5f9a"
GOOD = {
    "TERM": "xterm-256color",
    "COLORTERM": "truecolor",
    "LANG": "en_GB.UTF-8",
    "EDITOR": "sh",
    "PATH": "/usr/bin:/bin",
    "CLOUD_KEY": CANARY,
}
CLOUD = f"""[profiles.cloud]
endpoint = "https://me:{CANARY}@api.invalid/v1"
model = "m"
api_key_env = "CLOUD_KEY"
headers = {{ x-token = "{CANARY}" }}
"""


def facts(tmp_path: Path, *, config: str = CLOUD, env: dict[str, str] | None = None, **more: Any) -> Facts:
    paths = Paths(*(tmp_path / part for part in ("config", "data", "state")))
    paths.config.mkdir(exist_ok=True)
    paths.config_file.write_text(config, encoding="utf-8")
    paths.config_file.chmod(0o600)
    known: dict[str, Any] = {
        "size": (120, 40),
        "answers": Answers(heard=True, keys=True, synchronised=True),
        "sandbox": Sandbox("bwrap", "/usr/bin/bwrap"),
        "git": "git version 2.50.0",
        "model": ModelInfo("m", window=32_768, tools=True),
        "programs": frozenset({"rg"}),
        "trusted": True,
    }
    environment = {**GOOD, "HOME": str(tmp_path), **(env or {})}
    return Facts(environment, tmp_path, paths.config_file, paths, load(paths.config_file, env={}), **{**known, **more})


def test_a_machine_where_all_is_well(tmp_path: Path) -> None:
    found = findings(facts(tmp_path))
    assert {finding.state for finding in found} == {"ok"}
    assert [finding.area for finding in found] == [
        *("terminal", "colours", "keys", "drawing", "clipboard", "config", "key", "provider", "window"),
        *("sandbox", "git", "editor", "folder"),
    ]


def named(value: object) -> str:
    """The same name in every process, whatever the order of a set."""
    items = value.items() if isinstance(value, dict) else ()
    return str({k: sorted(v) if isinstance(v, frozenset) else v for k, v in items} or value)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"size": None}, ("terminal", "note", "no terminal")),
        ({"size": (39, 40)}, ("terminal", "fault", "39 by 40")),
        ({"env": {"TERM": "dumb"}}, ("terminal", "fault", "TERM is 'dumb'")),
        ({"env": {"NO_COLOR": "1"}}, ("colours", "ok", "NO_COLOR")),
        ({"env": {"COLORTERM": ""}}, ("colours", "note", "256")),
        ({"env": {"LANG": "C"}}, ("letters", "note", "the locale is C")),
        ({"answers": Answers()}, ("keys", "note", "answers no question")),
        ({"answers": Answers(heard=True)}, ("keys", "note", "Shift+Enter arrives as Enter")),
        ({"tmux": {"escape-time": "500"}}, ("tmux", "note", "Esc waits 500 ms")),
        ({"env": {"TERM_PROGRAM": "Apple_Terminal"}}, ("clipboard", "note", "into a file")),
        ({"env": {"SSH_TTY": "/dev/pts/1"}}, ("clipboard", "ok", "OSC 52")),
        ({"env": {"DISPLAY": ":0"}, "programs": frozenset({"rg", "xsel"})}, ("clipboard", "ok", "by xsel")),
        ({"config": "[limits]\nmax_step = 1\n"}, ("config", "note", "config.toml:2:1: limits.max_step")),
        ({"config": "[limits\n"}, ("config", "fault", "is not valid TOML")),
        ({"config": ""}, ("provider", "fault", "no model is configured")),
        ({"config": "[profiles.x]\nmodel = 'm'\n"}, ("provider", "fault", "endpoint missing")),
        ({"env": {"CLOUD_KEY": ""}}, ("key", "fault", "CLOUD_KEY is not set")),
        ({"model": "https://api.invalid refused the key"}, ("provider", "fault", "refused the key")),
        ({"model": None}, ("provider", "ok", "it was not asked")),
        ({"model": ModelInfo("m")}, ("window", "note", "unknown")),
        ({"model": ModelInfo("m", window=4096)}, ("window", "note", "4,096 tokens are few")),
        ({"model": ModelInfo("m", window=32_768, tools=False)}, ("protocol", "note", "takes no tool calls")),
        ({"sandbox": Sandbox("none", reason="bwrap is not there")}, ("sandbox", "note", "bwrap is not there")),
        (
            {"sandbox": Sandbox("landlock")},
            ("sandbox", "note", "less than bubblewrap; it does not stop reading files outside"),
        ),
        (
            {"sandbox": Sandbox("bwrap")},
            ("sandbox", "ok", "does not stop reading files outside the workspace, sockets"),
        ),
        ({"git": ""}, ("git", "note", "not found")),
        ({"programs": frozenset()}, ("search", "note", "ripgrep")),
        ({"env": {"EDITOR": "no-such-editor"}}, ("editor", "fault", "no such program")),
        ({"env": {"EDITOR": "'"}}, ("editor", "fault", "no such program")),
        ({"env": {"EDITOR": ""}}, ("editor", "note", "neither VISUAL nor EDITOR")),
        ({"trusted": False}, ("folder", "ok", "not trusted")),
    ],
    ids=named,
)
def test_what_is_not_well_is_said(tmp_path: Path, change: dict[str, Any], expected: tuple[str, str, str]) -> None:
    area, state, words = expected
    found = [f for f in findings(facts(tmp_path, **change)) if (f.area, f.state) == (area, state) and words in f.text]
    assert len(found) == 1
    assert found[0].fix or state == "ok" or area in {"terminal", "keys", "provider"}


def test_a_config_that_others_may_write_to_is_a_fault(tmp_path: Path) -> None:
    world = facts(tmp_path)
    world.user_file.chmod(0o666)
    (found,) = [f for f in findings(world) if f.state == "fault"]
    assert found.fix == f"chmod go-w {world.user_file}"


def test_folders_that_cannot_be_written_to(tmp_path: Path) -> None:
    world = facts(tmp_path)
    world.paths.data.touch()
    (found,) = [f for f in findings(world) if f.state == "fault"]
    assert (found.area, "no session and no answer is kept" in found.text) == ("folders", True)


@pytest.mark.parametrize(
    ("options", "areas"),
    [
        ({}, []),
        (
            {
                "escape-time": "10",
                "set-clipboard": "on",
                "focus-events": "on",
                "extended-keys": "on",
                "default-terminal": "tmux-256color",
            },
            ["ok"],
        ),
        ({"escape-time": "500", "focus-events": "off", "default-terminal": "screen"}, ["note"] * 3),
        ({"escape-time": "no number"}, ["note"]),
    ],
    ids=str,
)
def test_options_of_tmux(options: dict[str, str], areas: list[str]) -> None:
    found = list(tmux(options))
    assert [f.state for f in found] == areas
    assert all(f.fix.startswith("~/.tmux.conf: set ") for f in found if f.state == "note")


def test_the_report_can_be_copied_it_holds_no_secret_and_no_name_of_the_home(tmp_path: Path) -> None:
    world = facts(tmp_path, model=f"it said {CANARY}", trusted=False)
    text = report([*findings(world), Finding("x", "note", f"told {CANARY}")], world)
    assert CANARY not in text
    assert str(tmp_path) + "/" not in text
    assert "~/config/config.toml" in text
    assert text.splitlines()[0].startswith("tui-agent ")


@pytest.mark.parametrize(
    ("data", "answers"),
    [
        (b"", Answers()),
        (b"y\n", Answers()),
        (b"\x1b[?62;4c", Answers(heard=True)),
        (b"\x1b[?0u\x1b[?2026;2$y\x1b[?62;c", Answers(heard=True, keys=True, synchronised=True)),
        (b"\x1b[?2026;0$y\x1b[?6c", Answers(heard=True)),
        (b"\x1b[?1u", Answers(keys=True)),
    ],
)
def test_what_a_terminal_answers(data: bytes, answers: Answers) -> None:
    assert read(data) == answers
