"""A person at a shell: a home, a folder to work in, and the program as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
CANARY = "sk-CANARY-b41d7c3e5f9a"


@dataclass(frozen=True)
class Result:
    """How a process ended and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.out)


def began(log: Path) -> float:
    """When the first event of a session came."""
    return float(json.loads(log.read_bytes().partition(b"\n")[0])["t"])


@dataclass(frozen=True)
class Shell:
    """The person's home and folder. Nothing outside `base` is theirs."""

    base: Path

    @property
    def home(self) -> Path:
        return self.base / "home"

    @property
    def work(self) -> Path:
        return self.base / "work"

    @property
    def config_file(self) -> Path:
        return self.home / ".config/tui_agent/config.toml"

    @property
    def data(self) -> Path:
        return self.home / ".local/share/tui_agent"

    @property
    def state(self) -> Path:
        return self.home / ".local/state/tui_agent"

    def environment(self, extra: Mapping[str, str | None]) -> dict[str, str]:
        """Variables of the process; None in `extra` removes one."""
        base = {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(ROOT),
            "TERM": "xterm-256color",
            "TMPDIR": str(self.base / "tmp"),
        }
        return {name: value for name, value in {**base, **extra}.items() if value is not None}

    def configure(self, text: str) -> None:
        self.config_file.parent.mkdir(parents=True, exist_ok=True)
        self.config_file.write_text(text, encoding="utf-8")

    def use(self, url: str, more: str = "", profile: str = "") -> None:
        """Configure one profile, `local`, without retries."""
        self.configure(
            f'{more}\n[profiles.local]\nendpoint = "{url}"\nmodel = "m"\n{profile}\noptions = {{ retries = 0 }}\n'
        )

    def write(self, name: str, text: str) -> Path:
        file = self.work / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def run(
        self,
        *words: str,
        env: Mapping[str, str | None] | None = None,
        stdin: str | int = subprocess.DEVNULL,
        command: Sequence[str] = ("-m", "tui_agent"),
        cwd: Path | None = None,
    ) -> Result:
        """Run the program to its end without a terminal."""
        done = subprocess.run(
            [sys.executable, *command, *words],
            cwd=cwd or self.work,
            env=self.environment(env or {}),
            **({"input": stdin.encode()} if isinstance(stdin, str) else {"stdin": stdin}),
            capture_output=True,
            timeout=2 * PATIENCE,
            check=False,
            start_new_session=True,
        )
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    def sessions(self) -> list[Path]:
        """The logs of all sessions, the oldest first: two names of one second sort by chance."""
        return sorted((self.data / "sessions").glob("*/log.jsonl"), key=began)

    def files(self) -> dict[str, bytes]:
        """Every file of the person, with its bytes."""
        return {str(p.relative_to(self.base)): p.read_bytes() for p in sorted(self.base.rglob("*")) if p.is_file()}


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    made = Shell(tmp_path.resolve())
    for folder in (made.home, made.work, made.base / "tmp"):
        folder.mkdir()
    return made
