"""A real MCP server, written with the SDK: `sdk_server.py stdio` or `sdk_server.py http PORT [plain|polled]`.

At an address it prints its port. `polled`: it keeps its events, and so may close a stream before its answer.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from pathlib import Path

import uvicorn
from mcp.server.mcpserver import Context, Image, MCPServer
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.types import JSONRPCMessage

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


@server.tool()
async def polled(ctx: Context, text: str) -> str:
    """Close the stream of this call, and answer after that."""
    await ctx.close_sse_stream()
    return text


class Kept(EventStore):
    """Every event of every stream, in order."""

    def __init__(self) -> None:
        self.events: list[tuple[str, JSONRPCMessage | None]] = []

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        self.events.append((stream_id, message))
        return str(len(self.events))

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        stream = self.events[int(last_event_id) - 1][0]
        for number, (of, message) in enumerate(self.events, 1):
            if number > int(last_event_id) and of == stream and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream


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
    app = server.streamable_http_app(
        json_response=plain, event_store=Kept() if "polled" in sys.argv else None, retry_interval=200
    )
    config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1)
    asyncio.run(uvicorn.Server(config).serve(sockets=[bound]))


if __name__ == "__main__":
    main()
