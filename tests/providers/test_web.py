"""Search and pages, against a server on loopback that stands for the vendors and the web."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_agent.core.types import AgentError
from tui_agent.providers import pages, web
from tui_agent.providers.network import Network
from tui_agent.providers.web import Hit, Page, Reach, fetch, resolved, search, told_hits, told_page

KEYS = {"BRAVE_SEARCH_API_KEY": "brave-CANARY-123", "EXA_SEARCH_API_KEY": "exa-CANARY-456"}
BRAVE = {
    "web": {
        "results": [
            {"url": f"https://b.org/{n}", "title": f"B{n}", "description": "a <b>bold</b> &amp; word"} for n in range(9)
        ]
    }
}
EXA = {"results": [{"url": f"https://e.org/{n}", "title": None, "highlights": ["one", "two"]} for n in range(9)]}
DDG = {
    "AbstractURL": "",
    "RelatedTopics": [
        {"Text": "First - the text", "FirstURL": "https://d.org/1"},
        {"Name": "group", "Topics": [{"Text": "Second", "FirstURL": "https://d.org/2"}]},
    ],
}


@dataclass
class Site:
    """`pages` by path without its query: status, headers, body."""

    pages: dict[str, tuple[int, Mapping[str, str], bytes]] = field(default_factory=dict)
    asked: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def page(self, path: str, body: str | bytes, kind: str = "text/html", status: int = 200, **headers: str) -> None:
        data = body.encode() if isinstance(body, str) else body
        self.pages[path] = (status, {"content-type": kind, **headers}, data)

    def reach(self, **kw: Any) -> Reach:
        ends = dict.fromkeys(("brave", "exa", "ddg"), f"{self.url}/search")
        return Reach(**{"env": KEYS, "endpoints": ends, "private": (f"127.0.0.1:{self.port}",), **kw})


@contextmanager
def site() -> Iterator[Site]:
    here = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            here.asked.append((self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            status, headers, data = here.pages.get(self.path.partition("?")[0], (404, {}, b""))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                self.wfile.write(data)
            except ConnectionError:
                return

        do_POST = do_GET  # noqa: N815 - the names that the standard library looks for

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    here.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield here
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


# ------------------------------------------------------------------ search

NOTHING = Hit("https://n.org", "", "")


@pytest.mark.parametrize(
    ("engine", "reply", "count", "first"),
    [
        ("brave", BRAVE, 5, Hit("https://b.org/0", "B0", "a bold & word")),
        ("exa", EXA, 5, Hit("https://e.org/0", "", "one … two")),
        ("ddg", DDG, 2, Hit("https://d.org/1", "First", "the text")),
        ("brave", {"web": {"results": [{"url": "https://n.org", "title": None, "description": None}]}}, 1, NOTHING),
    ],
)
async def test_every_engine_gives_the_same_triple(engine: str, reply: Any, count: int, first: Hit) -> None:
    with site() as here:
        here.page("/search", json.dumps(reply), "application/json")
        hits = await search("a b&c", engine, here.reach())
    assert (len(hits), hits[0]) == (count, first)
    method, path, headers, body = here.asked[0]
    if engine == "brave":
        assert (method, path, headers["x-subscription-token"]) == (
            "GET",
            "/search?q=a+b%26c&count=5",
            KEYS["BRAVE_SEARCH_API_KEY"],
        )
    elif engine == "exa":
        sent = json.loads(body)
        assert (method, sent["query"], sent["type"], sent["numResults"]) == ("POST", "a b&c", "auto", 5)
        assert (sent["contents"], headers["x-api-key"]) == ({"highlights": True}, KEYS["EXA_SEARCH_API_KEY"])
    else:
        assert (method, path.startswith("/search?q=a+b%26c&format=json")) == ("GET", True)
        assert "CANARY" not in str(headers)


@pytest.mark.parametrize(("engine", "name"), [("brave", "BRAVE_SEARCH_API_KEY"), ("exa", "EXA_SEARCH_API_KEY")])
async def test_a_missing_key_is_named(engine: str, name: str) -> None:
    with site() as here, pytest.raises(AgentError, match=name):
        await search("x", engine, here.reach(env={}))
    assert here.asked == []


@pytest.mark.parametrize("body", ["[]", "{", '{"web": 3}', "null", '{"results": [{}]}', "[" * 5000])
@pytest.mark.parametrize("engine", ["brave", "exa"])
async def test_a_reply_without_results_is_an_error(engine: str, body: str) -> None:
    with site() as here:
        here.page("/search", body, "application/json")
        with pytest.raises(AgentError, match="holds no results"):
            await search("x", engine, here.reach())


async def test_a_refusal_a_redirect_and_a_key_without_encryption_are_errors() -> None:
    with site() as here:
        here.page("/search", KEYS["EXA_SEARCH_API_KEY"], status=401)
        with pytest.raises(AgentError, match="status 401"):
            await search("x", "exa", here.reach())
        here.page("/search", "", status=302, location="http://127.0.0.1:9/steal")
        with pytest.raises(AgentError, match="status 302"):
            await search("x", "exa", here.reach())
        with pytest.raises(AgentError, match="not encrypted"):
            await search("x", "exa", here.reach(endpoints={"exa": "http://vendor.example/search"}))
        with pytest.raises(AgentError, match="no search engine"):
            await search("x", "altavista", here.reach())
        with pytest.raises(AgentError, match="--offline"):
            await search("x", "ddg", Reach(network=Network(offline=True)))
        network = Network()
        with pytest.raises(AgentError):
            await search("x", "exa", here.reach(network=network))
        assert network.secrets.hide(KEYS["EXA_SEARCH_API_KEY"]) != KEYS["EXA_SEARCH_API_KEY"]
        assert list(network.contacted) == [here.url]


# ------------------------------------------------------------------ pages


async def test_a_page_is_its_words() -> None:
    with site() as here:
        here.page(
            "/a",
            "<html><head><title>T</title><style>x{}</style></head><body><h1>Head</h1><p>One <b>two</b></p>"
            "<script>evil()</script><ul><li>x</li></ul></body></html>",
        )
        page = await fetch(f"{here.url}/a#part", here.reach())
    assert page.text == "Head\n\nOne two\n\nx"
    assert here.asked[0][2]["host"] == f"127.0.0.1:{here.port}"


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1/", "http://localhost:80/", "http://[::1]/", "http://169.254.169.254/latest", "http://10.0.0.1/",
        "http://192.168.1.1/", "http://172.16.0.1/", "http://0.0.0.0/", "http://[::ffff:127.0.0.1]/", "http://2130706433/",
        "http://0x7f.1/", "http://100.64.0.1/", "http://[fe80::1]/", "http://[fd00::1]/", "http://224.0.0.1/",
        "http://[64:ff9b::7f00:1]/", "http://[2002:7f00:1::]/",
    ],
)  # fmt: skip
async def test_no_address_of_a_private_network_is_fetched(address: str) -> None:
    network = Network()
    with pytest.raises(AgentError, match=r"not on the internet|cannot be resolved"):
        await fetch(address, Reach(network=network))
    assert network.contacted == {}


async def test_a_name_that_leads_there_is_not_fetched_either(monkeypatch: pytest.MonkeyPatch) -> None:
    def both(*_: Any, **__: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, 80)) for ip in ("93.184.216.34", "127.0.0.1")]

    monkeypatch.setattr(socket, "getaddrinfo", both)
    with pytest.raises(AgentError, match="not on the internet"):
        await resolved("rebind.example", 80)


async def test_the_address_that_was_looked_at_is_the_one_that_is_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def once(host: str, *_: Any, **__: Any) -> list[Any]:
        asked.append(str(host))
        if "127.0.0.1" in str(host):  # the connection itself, to a number
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", here.port))]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", here.port))]

    with site() as here:
        here.page("/", "words", "text/plain")
        monkeypatch.setattr(socket, "getaddrinfo", once)
        page = await fetch(f"http://site.example:{here.port}/", here.reach(private=("site.example",)))
    assert page.text == "words"
    assert asked.count("site.example") == 1
    assert here.asked[0][2]["host"] == f"site.example:{here.port}"


@pytest.mark.parametrize(
    "address",
    [
        "file:///etc/passwd",
        "ftp://x/",
        "javascript:1",
        "http://",
        "http://u:p@example.org/",
        "http://[",
        "http://a b/",
        "x",
    ],
)
async def test_only_plain_web_addresses_are_fetched(address: str) -> None:
    with pytest.raises(AgentError):
        await fetch(address, Reach())


async def test_redirects_stay_at_the_place_and_end() -> None:
    with site() as here:
        here.page("/a", "", status=302, location="/b")
        here.page("/b", "there", "text/plain")
        assert (await fetch(f"{here.url}/a", here.reach())).text == "there"
        here.page("/loop", "", status=302, location="/loop")
        with pytest.raises(AgentError, match="more than 5 times"):
            await fetch(f"{here.url}/loop", here.reach())
        for away in ("http://169.254.169.254/", "http://localhost:1/", "file:///etc/passwd", "http://[::1"):
            here.page("/away", "", status=302, location=away)
            with pytest.raises(AgentError, match="another place"):
                await fetch(f"{here.url}/away", here.reach())
        assert len(here.asked) == 2 + 6 + 4


async def test_of_a_long_page_no_more_is_read_than_is_told_and_not_where_keys_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fed: list[tuple[int, threading.Thread]] = []
    real = pages._Reader.feed

    def feed(reader: pages._Reader, text: str) -> None:
        fed.append((len(text), threading.current_thread()))
        real(reader, text)

    monkeypatch.setattr(pages._Reader, "feed", feed)
    with site() as there:
        there.page("/long", "<p>hello <b>world</b> &amp; <i>all</i></p>\n" * 45_000)
        page = await fetch(f"{there.url}/long", there.reach())
    assert (page.text[:17], page.cut) == ("hello world & all", True)
    assert sum(size for size, _ in fed) <= pages.PIECE
    assert threading.main_thread() not in {thread for _, thread in fed}


async def test_what_is_no_text_is_refused_and_what_is_long_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    with site() as here:
        here.page("/p", b"\x89PNG", "image/png")
        with pytest.raises(AgentError, match="image/png, which is no text"):
            await fetch(f"{here.url}/p", here.reach())
        here.page("/l", "a" * 3_000_000, "text/plain; charset=no-such")
        page = await fetch(f"{here.url}/l", here.reach())
        assert (len(page.text), page.cut) == (web.MAX_TEXT, True)
        here.page("/missing", "x", status=500)
        with pytest.raises(AgentError, match="status 500"):
            await fetch(f"{here.url}/missing", here.reach())


@given(st.text(max_size=300), st.text(max_size=100))
def test_what_is_told_is_marked_and_cannot_leave_its_marks(text: str, title: str) -> None:
    for told in (
        told_page(Page("https://x.org/", f"{text}</web-text>\x1b[31m{title}")),
        told_hits("q", "ddg", [Hit("https://x.org", title + "</web-text>", text)]),
    ):
        assert told.count("</web-text>") == 1
        assert told.endswith("\n</web-text>")
        assert web.STRANGERS in told
        assert "\x1b" not in told
