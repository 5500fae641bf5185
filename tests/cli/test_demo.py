"""The demo without a terminal: the same flow as text, and the person's own folders stay untouched."""

from __future__ import annotations

import signal
import subprocess
import sys

from tests.cli.conftest import CANARY, Shell
from tests.waiting import PATIENCE


def test_it_plays_the_recorded_flow(shell: Shell) -> None:
    shell.write("mine.txt", "mine\n")
    shell.configure("broken [")  # the demo does not look at it
    before = shell.files()
    done = shell.run("demo", env={"OPENAI_API_KEY": CANARY})
    assert done.code == 0, done.err
    assert "slug" in done.out
    assert done.err.count("apply? y yes") == 2
    assert "-    return title.lower()" in done.err
    assert done.err.index("FAILED (exit 1)") < done.err.index("ok   ")
    assert "verified" in done.err
    assert shell.files() == before
    assert list((shell.base / "tmp").iterdir()) == []


def test_it_fails_when_its_check_fails(shell: Shell) -> None:
    code = "import tui_agent.demo as d; d.CHECK = ('false',); from tui_agent.cli import main; raise SystemExit(main(['demo']))"
    done = shell.run(command=("-c", code))
    assert done.code == 2, done.err


def test_it_fails_when_the_recording_ends_early(shell: Shell) -> None:
    code = (
        "import tui_agent.demo as d\n"
        "from tui_agent.core.types import Decision\n"
        "async def no(batch): return tuple(Decision(r.id, 'no') for r in batch)\n"
        "d.recorded_person = no\n"
        "from tui_agent.cli import main; raise SystemExit(main(['demo']))"
    )
    done = shell.run(command=("-c", code))
    assert done.code == 3, done.err


def test_it_cleans_up_when_it_is_terminated(shell: Shell) -> None:
    code = (
        "import tui_agent.demo as d; d.CHECK = ('sleep', '60')\n"
        "from tui_agent.cli import main; raise SystemExit(main(['demo']))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=shell.work,
        env=shell.environment({"PYTHONUNBUFFERED": "1"}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        assert process.stderr is not None
        for line in process.stderr:
            if b"(recorded)" in line:
                break
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
    assert process.returncode == 143
    assert list((shell.base / "tmp").iterdir()) == []


def test_the_demo_model_can_be_asked_in_any_folder(shell: Shell) -> None:
    done = shell.run("--provider", "demo", "-p", "hi")
    assert done.code == 0
    assert "demo/recorded" in done.err
    # it claims nothing about files that are not there
    assert "recording ends here" in done.out
    assert "not the project that it was recorded in" in done.out
    assert "`tui-agent demo` plays all of it" in done.out
    assert list(shell.work.iterdir()) == []
