"""The app at its first start, with made-up servers and a guard: what is asked, and what is written, before a choice."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from tests.waiting import PATIENCE, until
from tui_agent.paths import Paths
from tui_agent.providers.network import Network
from tui_agent.ui.app import AgentApp, Start
from tui_agent.ui.first_run import FirstRun
from tui_agent.ui.found import Found
from tui_agent.ui.trust_card import TrustCard

CANARY = "sk-CANARY-7d1e5a"


def text_of(app: AgentApp) -> str:
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())


def offered(app: AgentApp) -> bool:
    """Whether a line above the message offers a model."""
    return app.screen is app.main and bool(app.main.query("Offer"))


async def nothing(environment: Mapping[str, str], network: Network, seconds: float) -> Sequence[Found]:
    """Finds nothing."""
    return ()


@dataclass
class Fake:
    """A server: `answers` by path, each a status and a JSON value; `delay` seconds before each."""

    answers: dict[str, tuple[int, Any]]
    delay: float = 0.0
    asked: list[tuple[str, str, Any]] = field(default_factory=list)
    """(path, authorization, body) of each request."""
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def serving(fake: Fake) -> Iterator[Fake]:
    """Serve it until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            key = self.headers.get("authorization") or self.headers.get("x-api-key") or ""
            fake.asked.append((self.path, key, body))
            stop.wait(fake.delay)
            status, value = fake.answers.get(self.path, (404, {"error": {"message": "not found"}}))
            data = value if isinstance(value, bytes) else json.dumps(value).encode()
            try:
                self.send_response(status)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
            except ConnectionError:
                return

        do_GET = do_POST  # noqa: N815 - the names that the standard library looks for

        def log_message(self, *_: Any) -> None:
            pass

    stop = threading.Event()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    fake.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        stop.set()
        server.shutdown()
        server.server_close()
        thread.join()


@asynccontextmanager
async def first_run(
    tmp_path: Path,
    look: Any,
    environment: Mapping[str, str] | None = None,
    size: tuple[int, int] = (120, 40),
    patience: float = PATIENCE,
    *,
    settled: bool = True,
) -> AsyncIterator[tuple[AgentApp, Pilot[int], Path]]:
    """The app where it asks for a model, or offers one; gives the config file that a choice would write.

    It looks for `patience` seconds at least: a busy machine is no server that does not answer. With `settled` it has
    looked to the end.
    """

    async def patient(environment: Any, network: Any, seconds: float) -> Any:
        return await look(environment, network, max(seconds, patience))

    root, base = tmp_path / "work", tmp_path / "user"
    root.mkdir(exist_ok=True)
    paths = Paths(base / "config", base / "data", base / "state")
    app = AgentApp(Start(root, paths, paths.config_file, environment=environment or {}, look=patient))
    async with app.run_test(size=size) as pilot:
        await until(lambda: isinstance(app.screen, TrustCard) and app.screen.armed)
        await pilot.press("r")
        await until(lambda: isinstance(app.screen, FirstRun) or offered(app))
        await until(lambda: not (settled and isinstance(app.screen, FirstRun) and app.screen._looking))
        await pilot.pause()
        yield app, pilot, paths.config_file
