"""MCP servers on the screen: started after the first picture; `/mcp` lists them, looks at their tools, switches and restarts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tui_agent.core.display import label
from tui_agent.core.types import AgentError
from tui_agent.mcp.said import Offer
from tui_agent.mcp.servers import Server, Servers
from tui_agent.ui.diff_view import DiffView
from tui_agent.ui.palette import Palette, PaletteItem
from tui_agent.ui.viewer import Viewer

if TYPE_CHECKING:
    from tui_agent.ui.app import AgentApp
    from tui_agent.ui.main import Handler

STATES = {"off": "off", "waiting": "not running", "starting": "starting…", "ready": "ready", "failed": "failed"}


class ServerList:
    """The handlers of these actions, and the servers of this process."""

    def __init__(self, app: AgentApp) -> None:
        self._app = app
        self.servers = Servers()
        """Those of this process, which each session is given."""

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """By the id of their action."""
        return {"servers.list": self.show}

    def begin(self) -> None:
        """Start them, once what is there now has been drawn; say when one fails."""
        servers = self._app.session.terms.servers
        servers.told = self._changed
        self._app.call_after_refresh(servers.begin)

    def renew(self) -> None:
        """The configuration was read again: those that are named otherwise end, and those that are named now start."""
        self._app.terms()
        self.begin()

    def _changed(self) -> None:
        for remark in self._app.session.terms.servers.remarks():
            if not remark.endswith("when it is there"):  # that one is starting is no news
                self._tell(remark)

    async def end_all(self) -> None:
        """The app ends."""
        await self.servers.close()

    def _tell(self, text: str) -> None:
        self._app.notify(label(text, 400), markup=False)

    # -------------------------------------------------------------- the list

    def show(self, word: str) -> None:
        """All servers, or at once the one of this name."""
        known = self._app.session.terms.servers.all if self._app.main.conversation is not None else ()
        if not known:
            self._tell("There are no MCP servers. [mcp_servers.NAME] of your configuration names one.")
            return
        named = next((server for server in known if server.config.name == word), None)
        self._app.run_worker(self._show(known, named), name="servers", exclusive=True, group="servers")

    async def _show(self, known: tuple[Server, ...], server: Server | None) -> None:
        if server is None:
            items = [item(number, one) for number, one in enumerate(known)]
            choice = await self._app.push_screen_wait(Palette(items, title="MCP servers"))
            if choice is None:
                return
            server = known[int(choice)]
        title = f"{server.config.name}: {state_of(server)}"
        answer = await self._app.push_screen_wait(Palette(answers(server), title=label(title, 60)))
        if answer is not None:
            await self._do(server, answer)

    async def _do(self, server: Server, answer: str) -> None:
        name = server.config.name
        if answer == "facts":
            self._app.talk.note(facts(server), f"MCP server {name}")
        elif answer == "changes":
            await self._changes(server)
        elif answer == "off":
            await server.stop()
            self._tell(f"{name} is off.")
        elif answer == "restart":
            await server.restart()
            self._tell(f"{name}: {state_of(server)}")

    async def _changes(self, server: Server) -> None:
        """Show each tool that is new or changed, then ask whether they count."""
        shown = server.pending
        for offer in shown:
            word = "new" if server.before(offer.name) is None else "changed"
            view = DiffView(server.before(offer.name), offer.data)
            await self._app.push_screen_wait(Viewer(f"{word}: {server.config.name}/{offer.name}", view, self._app.keys))
        choices = [PaletteItem("off", "Leave them off"), PaletteItem("take", f"Take {named(shown)} as shown")]
        if await self._app.push_screen_wait(Palette(choices, title="New and changed tools")) != "take":
            return
        try:
            server.take(shown)
        except AgentError as error:
            self._tell(str(error))
            return
        self._app.talk.note(f"counts from here on, as shown: {named(shown)}", f"MCP server {server.config.name}")


def state_of(server: Server) -> str:
    """How it stands, in a few words; not yet sanitised."""
    count = len(server.taken)
    parts = [STATES[server.state]]
    parts += [f"{count} tool{'s' * (count != 1)}"] if server.state == "ready" else []
    parts += [f"{len(server.pending)} off until you look"] if server.pending else []
    parts += [server.fault] if server.fault else []
    return ", ".join(parts)


def item(number: int, server: Server) -> PaletteItem:
    """One line of the list."""
    return PaletteItem(str(number), label(server.config.name, 40), label(state_of(server), 60))


def answers(server: Server) -> list[PaletteItem]:
    """What can be done about it now."""
    items = [PaletteItem("facts", "Its tools and faults")]
    if server.pending:
        items.insert(0, PaletteItem("changes", f"Look at {named(server.pending)}: new or changed, and off"))
    if not server.config.fault:
        off = server.state == "off"
        items.append(PaletteItem("restart", "Switch it on" if off else "Restart it"))
        items += [] if off else [PaletteItem("off", "Switch it off")]
    return items


def named(offers: tuple[Offer, ...], most: int = 3) -> str:
    """A few tools by name."""
    more = f" and {len(offers) - most} more" if len(offers) > most else ""
    return ", ".join(offer.name for offer in offers[:most]) + more


def facts(server: Server) -> str:
    """All that is known of a server; not yet sanitised."""
    config = server.config
    lines = [f"{config.what}", f"named in {config.source}", f"state: {state_of(server)}"]
    lines += [f"calls itself {server.title}"] if server.title else []
    for name, offer in server.offers.items():
        mark = "" if name in server.taken else "  (off: new or changed)"
        lines.append(f"  {config.name}/{name}{mark}  {offer.description.partition(chr(10))[0]}")
    if server.said:
        lines.append(f"it wrote last:\n{server.said}")
    return "\n".join(lines)
