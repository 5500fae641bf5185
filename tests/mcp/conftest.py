from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from tests.waiting import PATIENCE
from tui_agent.core.servers import CallServer, ServerConfig
from tui_agent.mcp.pins import Pins
from tui_agent.mcp.servers import Ground, Server, Servers
from tui_agent.workspace.runner import child_environment

HERE = Path(__file__).parent
SDK, HOSTILE = HERE / "sdk_server.py", HERE / "hostile.py"


def ground(base: Path, **more: Any) -> Ground:
    (base / "work").mkdir(exist_ok=True)
    env = {"PATH": "/usr/bin:/bin", "HOME": str(base)}
    return Ground(base / "work", base, Pins(base / "data" / "mcp.toml"), child=child_environment(env), **more)


def program(base: Path, name: str, file: Path, *words: str, **more: Any) -> ServerConfig:
    return ServerConfig(
        name, base / "config.toml", (sys.executable, str(file), *words), **{"start_timeout": PATIENCE, **more}
    )


@asynccontextmanager
async def running(
    base: Path, *configs: ServerConfig, patience: float = PATIENCE, **more: Any
) -> AsyncIterator[Servers]:
    """Servers that were started; none of them is left afterwards."""
    servers = Servers(patience)
    servers.use(ground(base, **more), {config.name: config for config in configs})
    try:
        await servers.ready()
        yield servers
    finally:
        await servers.close()


def one(servers: Servers) -> Server:
    (server,) = servers.all
    return server


def request(servers: Servers, name: str, **arguments: Any) -> CallServer:
    """The effect that a call of this tool prepares."""
    effect = servers.tools[name].prepare(arguments, Any)
    assert isinstance(effect, CallServer)
    return effect


@contextmanager
def at_an_address(*words: str, port: int = 0) -> Iterator[str]:
    """The server of the SDK behind a socket; gives its address."""
    process = subprocess.Popen([sys.executable, str(SDK), "http", str(port), *words], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/mcp"
    finally:
        process.kill()
        process.communicate()
