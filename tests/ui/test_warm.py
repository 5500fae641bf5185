"""What the first request needs is imported after the first frame and before the first message, not in its way."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.waiting import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
CODE = """
import asyncio, sys
from pathlib import Path
from tui_agent.config import Settings
from tui_agent.paths import Paths
from tui_agent.providers.scripted import scripted
from tui_agent.session import Terms
from tui_agent.ui.app import AgentApp, Ready, Start

async def main(base):
    paths = Paths(base / "c", base / "d", base / "s")
    ready = Ready(Terms(base, Settings(), paths, trusted=True), scripted([]))
    app = AgentApp(Start(base, paths, paths.config_file, ready=ready))
    async with app.run_test():
        painted = "httpx" in sys.modules
        async with asyncio.timeout(60):
            while "httpx" not in sys.modules:
                await asyncio.sleep(0.05)
        print(painted, len(app.session.terms.network.contacted))

asyncio.run(main(Path(sys.argv[1])))
"""


def test_httpx_is_imported_after_the_first_frame(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.stdout == "False 0\n", done.stderr
