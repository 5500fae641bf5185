"""A real MCP server, written with the SDK: `sdk_server.py stdio` or `sdk_server.py http PORT [plain]`, which prints its port."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from pathlib import Path

import uvicorn
from mcp.server.mcpserver import Context, Image, MCPServer

server = MCPServer("sdk-server", version="1.0")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def variable(key: str) -> str:
    """A variable of the environment of the server."""
    return os.environ.get(key, "not there")


@server.tool()
def write(path: str, text: str) -> str:
    """Write a file."""
    Path(path).write_text(text)
    return "written"


@server.tool()
async def wait(file: str) -> str:
    """Wait for a minute; names in a file what became of it."""
    write(file, "begun")
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        write(file, "cancelled")
        raise
    return "waited"


@server.tool(structured_output=False)
def picture() -> list[object]:
    """Words and a picture."""
    return ["here it is", Image(data=b"\x89PNG" + b"0" * 296, format="png")]


@server.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("the sea is rough")


@server.tool()
async def grow(ctx: Context) -> str:
    """Offer one more tool."""

    def late() -> str:
        """It came later."""
        return "late"

    server.add_tool(late)
    await ctx.session.send_tool_list_changed()
    return "grown"


def main() -> None:
    if sys.argv[1] == "stdio":
        server.run("stdio")
        return
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.bind(("127.0.0.1", int(sys.argv[2])))
    bound.listen()  # from here on a connection waits
    print(bound.getsockname()[1], flush=True)
    plain = "plain" in sys.argv
    app = server.streamable_http_app(json_response=plain)
    config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1)
    asyncio.run(uvicorn.Server(config).serve(sockets=[bound]))


if __name__ == "__main__":
    main()
