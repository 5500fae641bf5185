"""The floor for `bench/screen.py`: a stock `TextArea` and a view of plain lines, fed by httpx and `json.loads`.

No Markdown, no agent, no session. Started by it with the server's address as its only word.
"""

from __future__ import annotations

import json
import sys
from typing import ClassVar

import httpx
from rich.segment import Segment
from textual import events
from textual.app import App, ComposeResult
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import TextArea


class Tail(Widget):
    """The last lines of what came, drawn twenty times a second at most."""

    def __init__(self) -> None:
        super().__init__()
        self.lines = [""]
        self.news = ["Enter send\n"]

    def on_mount(self) -> None:
        self.set_interval(1 / 20, self.flush)

    def flush(self) -> None:
        if not self.news:
            return
        first, *rest = "".join(self.news).split("\n")
        self.news.clear()
        self.lines[-1] += first
        self.lines += rest
        self.refresh()

    def render_line(self, y: int) -> Strip:
        row = max(0, len(self.lines) - self.size.height) + y
        text = self.lines[row] if row < len(self.lines) else ""
        return Strip([Segment(text)]).adjust_cell_length(self.size.width)


class Area(TextArea):
    async def _on_key(self, event: events.Key) -> None:
        assert isinstance(self.app, Floor)
        if event.key == "enter":
            event.prevent_default()
            self.app.run_worker(self.app.ask(self.text))
            self.text = ""
        else:
            await super()._on_key(event)


class Floor(App[None]):
    CSS = "Tail { height: 1fr } TextArea { height: 5 }"
    BINDINGS: ClassVar = [("ctrl+c", "stop", "Stop")]

    def compose(self) -> ComposeResult:
        yield Tail()
        yield Area()

    def on_mount(self) -> None:
        area = self.query_one(Area)
        area.cursor_blink = False
        area.focus()

    def action_stop(self) -> None:
        self.workers.cancel_all()

    async def ask(self, text: str) -> None:
        news = self.query_one(Tail).news
        body = {"messages": [{"role": "user", "content": text}]}
        async with (
            httpx.AsyncClient(timeout=60) as client,
            client.stream("POST", f"{sys.argv[1]}/chat/completions", json=body) as response,
        ):
            async for line in response.aiter_lines():
                if line.startswith("data: {"):
                    news.append(json.loads(line[6:])["choices"][0]["delta"].get("content", ""))
        news.append("\n")


if __name__ == "__main__":
    Floor().run()
