"""The three sets of names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_agent.tools.names import caution, fold, noise, protected, secret


@pytest.mark.parametrize(
    "path",
    [
        ".git/config",
        "sub/.git",
        ".GIT/hooks/x",
        ".Git /x",
        ".git./x",
        ".g\u200cit/config",
        "\uff0egit/config",
        ".gi\ufeff\ufe0ft/x",
        "GIT~1/config",
        ".git::$INDEX_ALLOCATION/x",
        ".tui_agent/config.toml",
        ".TUI_AGENT",
        "\u2024git/x",
    ],
)
def test_protected(path: str) -> None:
    assert protected(tuple(path.split("/")))


@pytest.mark.parametrize(
    "path", [".github/x.yml", ".gitignore", "git/x", "a.git", "tui_agent/core.py", ".gitattributes"]
)
def test_not_protected(path: str) -> None:
    assert protected(tuple(path.split("/"))) is None


@pytest.mark.parametrize(
    "path",
    [
        ".env",
        "web/.env.production",
        ".ENV",
        ".envrc",
        "id_rsa",
        "id_ed25519",
        "deploy/server.pem",
        "tls.KEY",
        "x.p12",
        "x.pfx",
        ".netrc",
        ".npmrc",
        ".pypirc",
        "credentials",
        ".aws/config",
        ".ssh/known_hosts",
    ],
)
def test_secret(path: str) -> None:
    assert secret(tuple(path.split("/")))


@pytest.mark.parametrize(
    "path",
    [".env.example", ".env.sample", "web/.env.template", "environment.py", "id_rsa.pub", "keys.py", "pem.txt", "env"],
)
def test_not_secret(path: str) -> None:
    assert secret(tuple(path.split("/"))) is None


def test_noise() -> None:
    assert [
        n for n in ("a.py~", "#a#", ".git", ".GIT", ".tui-agent-1-ab.tmp", "a.py", ".env", "#", "#a") if noise(n)
    ] == [
        "a.py~",
        "#a#",
        ".git",
        ".GIT",
        ".tui-agent-1-ab.tmp",
    ]


def test_cautions() -> None:
    assert "instructions" in caution(("docs", "AGENTS.md"))
    assert "instructions" in caution((".claude", "skills", "x", "SKILL.md"))
    assert "executed" in caution(("Makefile",))
    assert "executed" in caution((".github", "workflows", "ci.yml"))
    assert "executed" in caution(("sub", ".vscode", "tasks.json"))
    assert "executed" in caution((".HUSKY", "pre-commit"))
    assert "instructions" in caution((".github", "copilot-instructions.md"))
    assert caution(("src", "a.py")) == caution((".vscode",)) == caution(()) == ""


@given(st.text(min_size=1))
def test_folding_once_is_enough(name: str) -> None:
    assert fold(fold(name)) == fold(name)
