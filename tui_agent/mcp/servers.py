"""The MCP servers of this process: started late, asked through one door, ended with it.

A server is one of five things at a time (`State`). One that has ended is started again when it is next needed, at most
`MOST_DEATHS` times in `MEMORY` seconds; then it waits for the person. Whatever a server does, a call to it has an end.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from tui_agent.core.address import origin
from tui_agent.core.display import label
from tui_agent.core.servers import Answer, CallServer, ServerConfig
from tui_agent.core.types import AgentError, ConfigError, Forgotten
from tui_agent.mcp.client import Client, Ended, Link, Refused, TooSlow, Unasked
from tui_agent.mcp.pins import Pins
from tui_agent.mcp.pipe import PipeLink
from tui_agent.mcp.said import Offer, answer, marked, offers
from tui_agent.providers.keys import secret_values
from tui_agent.providers.network import Network
from tui_agent.tools.registry import Tool
from tui_agent.tools.remote import remote_tool

State: TypeAlias = Literal["off", "waiting", "starting", "ready", "failed"]
"""off: by the person. waiting: not started yet, or ended by itself and started again when needed. failed: not without the person."""

MOST_DEATHS, MEMORY = 3, 600.0
PATIENCE = 10.0
"""Seconds that a task waits for servers that are being started; those that take longer join it later."""
RELIST = 1.0
"""Seconds between two looks at a list of tools that changes."""


@dataclass(frozen=True, slots=True)
class Ground:
    """Where servers run and what they may know.

    `child` is the environment of a program, `env` the person's own, of which only what a server's table names is passed on.
    """

    root: Path
    home: Path
    pins: Pins
    trusted: bool = False
    child: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    network: Network = field(default_factory=Network)
    proxy: str | None = None
    ca_file: str | None = None


class Server:
    """One server."""

    def __init__(self, config: ServerConfig, ground: Ground, changed: Callable[[], None]) -> None:
        """`changed` is called after each change of what is told of it."""
        self.config, self._ground, self._changed = config, ground, changed
        self.state: State = "failed" if config.fault else "waiting" if config.enabled else "off"
        self.fault = config.fault
        """Why it is not there, or what of its tools cannot be used."""
        self.offers: Mapping[str, Offer] = {}
        self.taken: frozenset[str] = frozenset()
        """The names of the tools that count as they are described now."""
        self._client: Client | None = None
        self._link: Link | None = None
        self._deaths: deque[float] = deque(maxlen=MOST_DEATHS)
        self._work: asyncio.Task[None] | None = None
        self._looking: asyncio.Task[None] | None = None
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def pending(self) -> tuple[Offer, ...]:
        """Tools that are off until the person takes them: new ones and changed ones."""
        return tuple(offer for name, offer in self.offers.items() if name not in self.taken)

    @property
    def said(self) -> str:
        """What it wrote to standard error, the newest."""
        return self._link.said if self._link is not None else ""

    @property
    def title(self) -> str:
        """What it calls itself, "" while it is not there."""
        return self._client.title if self._client is not None else ""

    # -------------------------------------------------------------- start

    def begin(self) -> None:
        """Start it, unless it runs, is off, or has failed for good."""
        if self.state == "waiting":
            self.state = "starting"
            self._work = asyncio.ensure_future(self._start())
            self._changed()

    async def _start(self) -> None:
        seconds = self.config.start_timeout
        try:
            async with asyncio.timeout(seconds):
                link = self._open()
                self._link = link
                self._client = Client(link, self._look_again, self._gone)
                listed = await self._client.start()
            await self._listed(listed)
        except TimeoutError:
            await self._failed(f"it did not start within {seconds:g} s")
        except AgentError as error:
            await self._failed(str(error))
        else:
            self.state = "ready"
            if self._client.fault:  # it ended while its tools were looked at
                self._gone()
        self._changed()

    def _open(self) -> Link:
        """The way to it. Raises `AgentError`."""
        config, ground = self.config, self._ground
        values = {name: ground.env.get(name, "") for name in (*config.passed, *filter(None, [config.key_env]))}
        if missing := [name for name, value in values.items() if not value]:
            raise ConfigError(f"the variable {missing[0]} is empty: export {missing[0]}=... first")
        named = {**values, **config.env, **config.headers}
        ground.network.secrets.add(*secret_values(named), values.get(config.key_env))
        if config.url:
            from tui_agent.providers.mcp_http import HttpLink  # noqa: PLC0415 - few have one

            return HttpLink(
                config.url,
                config.headers,
                values.get(config.key_env, ""),
                ground.network,
                env=ground.env,
                proxy=ground.proxy,
                ca_file=ground.ca_file,
            )
        # programs like npx look into the folder that they start in: not into one that is not trusted
        base = ground.root if ground.trusted else ground.home
        passed = {name: values[name] for name in config.passed}
        return PipeLink(config.command, base / config.cwd, {**ground.child, **passed, **config.env})

    async def _listed(self, listed: Iterable[object]) -> None:
        """Take a list of tools: those that count are told to models. Raises `AgentError`."""
        found, faults = offers(listed)
        try:
            taken = await asyncio.to_thread(self._ground.pins.taken, self.config.key, found)
        except AgentError:
            self.offers, self.taken = found, frozenset()
            raise
        self.offers, self.taken, self.fault = found, taken, "; ".join(faults)

    async def _failed(self, why: str) -> None:
        """Its start came to nothing."""
        said = self.said.rpartition("\n")[2]
        await self._close()
        self.fault = f"{why} ({label(said, 200)})" if said else why
        self.state = "failed"

    def _gone(self) -> None:
        """It ended, or has to."""
        client = self._client
        if client is None or self.state != "ready":
            return
        said = self.said.rpartition("\n")[2]
        self.fault = f"{client.fault} ({label(said, 200)})" if said else client.fault
        self._deaths.append(time.monotonic())
        often = len(self._deaths) == MOST_DEATHS and self._deaths[-1] - self._deaths[0] < MEMORY
        self.state = "failed" if often else "waiting"
        if often:
            self.fault += f"; that was the third time in {MEMORY / 60:g} minutes, so it is not started again by itself"
        self._later(self._close())
        self._changed()

    # -------------------------------------------------------------- its tools may change

    def _look_again(self) -> None:
        """Its list of tools has changed."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.ensure_future(self._look())

    async def _look(self) -> None:
        await asyncio.sleep(RELIST)
        client = self._client
        if client is None or self.state != "ready":
            return
        try:
            async with asyncio.timeout(self.config.start_timeout):
                await self._listed(await client.tools())
        except TimeoutError:
            self._unlisted("no answer in time")
        except AgentError as error:
            self._unlisted(str(error))
        self._changed()

    def _unlisted(self, why: str) -> None:
        self.offers, self.taken = {}, frozenset()
        self.fault = f"its tools could not be listed again: {why}"

    def take(self, shown: Iterable[Offer]) -> None:
        """The person takes these tools as they were shown; one that is another by now stays off.

        Raises:
            AgentError: that cannot be kept.
        """
        same = [offer for offer in shown if self.offers.get(offer.name) == offer]
        self._ground.pins.take(self.config.key, same)
        self.taken |= {offer.name for offer in same}
        self._changed()

    def before(self, name: str) -> bytes | None:
        """How a tool was described when the person took it, None when it is new."""
        return self._ground.pins.before(self.config.key, name)

    # -------------------------------------------------------------- calls

    async def ready(self) -> None:
        """Start it if need be, and wait until it is there or has failed; bounded by its time to start."""
        self.begin()
        if self._work is not None and not self._work.done():
            await asyncio.wait({self._work})

    async def call(self, effect: CallServer) -> Answer:
        """Ask it. Never raises but for a cancellation, which the server is told of."""
        try:
            return await self._asked(effect)
        except Forgotten:  # it was started anew behind its address: the protocol wants it greeted again at once
            pass
        try:
            return await self._asked(effect)
        except Forgotten as error:
            return _error(f"{effect.name} was not called: {error}.", "not called")

    async def _asked(self, effect: CallServer) -> Answer:
        """Ask it once. Raises `Forgotten`."""
        name, seconds = effect.name, self.config.timeout
        await self.ready()
        client = self._client
        if self.state != "ready" or client is None:
            why = "the person switched it off" if self.state == "off" else self.fault
            return _error(f"the MCP server {effect.server} is not there ({why}). Go on without it.", "not there")
        offer = self.offers.get(effect.tool)
        if offer is None or offer.pin != effect.pin or effect.tool not in self.taken:
            return _error(f"{name} is not as it was when it was offered, so it was not called.", "changed")
        try:
            said = answer(name, await client.call(effect.tool, effect.arguments, seconds))
        except TooSlow:
            text = f"{name} gave no answer within {seconds:g} s and was told to stop. What it did by then is not known."
            return _error(text, "no answer in time")
        except Refused as error:
            return Answer(marked(f"error: {name} was refused by its server: {error}", name), "refused", failed=True)
        except Unasked as error:
            return _error(f"{name} gave no answer: {_stop(error)} What it did by then is not known.", "no answer")
        except Ended as error:
            text = f"the MCP server {effect.server} ended during the call: {_stop(error)} What it did by then is not known."
            return _error(text, "the server ended")
        return Answer(marked(said.text, name), said.note, failed=said.failed)

    # -------------------------------------------------------------- the person, the end

    async def restart(self) -> None:
        """End it if it runs, forget its deaths, and start it."""
        await self.stop()
        self._deaths.clear()
        if not self.config.fault:
            self.state = "waiting"
            await self.ready()

    async def stop(self) -> None:
        """Switch it off, and wait until nothing of it is left."""
        self.state, self.fault = ("failed", self.config.fault) if self.config.fault else ("off", "")
        tasks = {task for task in (self._work, self._looking, *self._closing) if task is not None}
        for task in tasks - self._closing:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        await self._close()
        self.offers, self.taken = {}, frozenset()
        self._changed()

    async def _close(self) -> None:
        client, self._client, self._link = self._client, None, None
        if client is not None:
            await client.close()

    def _later(self, work: object) -> None:
        task = asyncio.ensure_future(work)  # type: ignore[call-overload]
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


def _stop(error: AgentError) -> str:
    """What it says as a sentence with an end."""
    text = str(error)
    return text if text.endswith((".", "?")) else f"{text}."


def _error(text: str, note: str) -> Answer:
    return Answer(f"error: {text}", note, failed=True)


class Servers:
    """All of them; implements `tools.remote.Remote`. `told` is called after each change of what there is to see."""

    def __init__(self, patience: float = PATIENCE, *, listed: bool = True) -> None:
        """`patience`: seconds that a task waits for servers that are being started, once. `listed`: `/mcp` is there."""
        self.told: Callable[[], None] = lambda: None
        self._patience, self._listed = patience, listed
        self._ground: Ground | None = None
        self._all: dict[str, Server] = {}
        self._leaving: list[Server] = []
        self._remarked: dict[str, str] = {}
        self._until: float | None = None
        self._ending: set[asyncio.Future[None]] = set()

    @property
    def all(self) -> tuple[Server, ...]:
        """Every server that is named, in order."""
        return tuple(self._all.values())

    def use(self, ground: Ground, configs: Mapping[str, ServerConfig]) -> None:
        """These are the servers from now on; what runs and is named as before runs on. Starts nothing."""
        same = ground == self._ground
        old, self._all, self._ground = self._all, {}, ground
        for name, config in configs.items():
            known = old.get(name)
            if known is not None and same and known.config == config:
                self._all[name] = old.pop(name)
            else:
                self._all[name] = Server(config, ground, self._changed)
                self._until = None
        self._leaving += old.values()

    def _changed(self) -> None:
        self.told()

    def begin(self) -> None:
        """Start all that are on, and end those that are named no more; needs a running loop."""
        self._end_left()
        for server in self._all.values():
            server.begin()

    async def ready(self) -> None:
        """Start all that are on, and wait until each is there or has failed, but only so long, and once."""
        self.begin()
        starting = [asyncio.ensure_future(server.ready()) for server in self.all if server.state == "starting"]
        if self._until is None:
            self._until = time.monotonic() + self._patience
        if starting:
            await asyncio.wait(starting, timeout=max(0.0, self._until - time.monotonic()))
        for task in starting:
            task.cancel()

    @property
    def starting(self) -> tuple[str, ...]:
        """The names of those for which the next task would wait."""
        patient = self._until is None or time.monotonic() < self._until
        return tuple(one.config.name for one in self.all if patient and one.state in {"waiting", "starting"})

    def remarks(self) -> list[str]:
        """What the person should hear of servers that are not as they were, each once."""
        now = {server.config.name: _remark(server, listed=self._listed) for server in self.all}
        fresh = [text for name, text in now.items() if text and self._remarked.get(name) != text]
        self._remarked = now
        return fresh

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools that are offered now. Those of a server that has ended still are: it is started again for a call."""
        return {
            f"{server.config.name}/{name}": remote_tool(
                server.config.name, name, offer.description, offer.schema, offer.pin
            )
            for server in self.all
            if server.state != "off"
            for name, offer in server.offers.items()
            if name in server.taken
        }

    def where(self, effect: CallServer) -> str:
        """Whom it is asked of; a program of a server runs in no sandbox."""
        server = self._all.get(effect.server)
        if server is None:
            return ""
        return f"asks {origin(server.config.url)}" if server.config.url else "a program of yours, not sandboxed"

    async def call(self, effect: CallServer) -> Answer:
        """Ask the server."""
        server = self._all.get(effect.server)
        if server is None:
            return _error(f"there is no MCP server {effect.server} any more.", "no such server")
        return await server.call(effect)

    def _end_left(self) -> None:
        """Begin to end those that are named no more."""
        leaving, self._leaving = self._leaving, []
        if leaving:
            self._ending |= {asyncio.ensure_future(server.stop()) for server in leaving}

    async def close(self) -> None:
        """End all of them; comes back when nothing of them is left, which is bounded in time."""
        self.told = lambda: None
        self._leaving += self._all.values()
        self._all = {}
        self._end_left()
        await asyncio.gather(*self._ending)


def _remark(server: Server, *, listed: bool) -> str:
    name = server.config.name
    if server.state == "starting":
        return f"the MCP server {name} is still being started; its tools join when it is there"
    if server.state in {"failed", "waiting"} and server.fault:
        how = " (/mcp starts it again)" if listed and not server.config.fault else ""
        if server.state == "waiting":
            how = " (it is started again when it is needed)"
        return f"the MCP server {name} is not there: {server.fault}{how}"
    if pending := server.pending:
        names = ", ".join(offer.name for offer in pending[:5]) + (f" and {len(pending) - 5} more" * (len(pending) > 5))
        where = "in /mcp" if listed else "on the screen, in /mcp"
        return f"the MCP server {name} describes tools anew, so they are off: {names}. Look at them {where}"
    return f"the MCP server {name}: {server.fault}" if server.fault else ""
