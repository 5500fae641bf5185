"""What may go wrong on the way to a server, whom TLS trusts, and which way is taken."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.providers.conftest import (
    ANSWER,
    KEY,
    TLS,
    Peer,
    error_of,
    link,
    profile,
    run,
    text_of,
)
from tests.waiting import until
from tui_agent.core.profile import Timeouts
from tui_agent.core.types import AgentError
from tui_agent.providers import list_models, transport

ROOT = Path(__file__).resolve().parents[2]


async def test_failures_of_the_connection_are_one_sentence() -> None:
    async def plain(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(plain, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{unused.getsockname()[1]}"
        once = {"options": {"retries": 0}}
        refused = error_of(await run(profile(closed, **once)))
    assert (refused.kind, refused.retryable) == ("network", True)
    assert refused.message == f"{closed} refuses connections: is the server running?"
    no_tls = error_of(await run(profile(f"https://127.0.0.1:{port}", **once)))
    server.close()
    assert (no_tls.kind, no_tls.retryable) == ("network", False)
    assert "really https" in no_tls.message
    bad_ca = error_of(await run(profile("https://127.0.0.1:9", options={"ca_file": "/nowhere.pem"})))
    assert bad_ca.kind == "bad_request"
    assert "ca_file" in bad_ca.message


def raised(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


def test_every_failure_of_the_transport_is_one_sentence() -> None:
    """What httpx says may hold headers, so nothing of it is repeated; a group of causes is looked into."""
    import httpx

    refused = ExceptionGroup("all", [OSError("x"), ConnectionRefusedError(f"Bearer {KEY}")])
    cases = [
        (raised(httpx.ConnectError(KEY), socket.gaierror(-2, KEY)), "cannot be resolved", True),
        (raised(httpx.ConnectError(KEY), refused), "refuses connections: is the server running? Start it: serve", True),
        (raised(httpx.ConnectError(KEY), ssl.SSLError(1, KEY)), "is it really https", False),
        (httpx.ConnectTimeout(KEY), "cannot connect to", True),
        (httpx.ReadTimeout(KEY), "does not answer in time", True),
        (httpx.ProxyError(KEY), "the proxy refused", False),
        (httpx.ProxyError("502 Bad Gateway"), "the proxy refused the connection (HTTP 502)", True),
        (httpx.ProxyError("403 Forbidden"), "the proxy refused the connection (HTTP 403)", False),
        (httpx.DecodingError(KEY), "damaged compressed body", True),
        (httpx.RemoteProtocolError(KEY), "closed the connection", True),
        (httpx.RemoteProtocolError(f"illegal status line: {KEY}"), "does not speak HTTP", True),
        (httpx.ReadError(KEY), "closed the connection", True),
        (httpx.TooManyRedirects(KEY), "could not be sent (TooManyRedirects)", False),
    ]
    for error, said, retryable in cases:
        told = transport.transport_error(error, f"http://me:{KEY}@host:1/v1?key={KEY}", "serve")
        assert said in told.message
        assert told.retryable is retryable
        assert KEY not in told.message


def test_a_proxy_of_the_environment_that_is_not_used_is_told_where_nothing_else_leads_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import httpx

    monkeypatch.setenv("HTTPS_PROXY", f"http://me:{KEY}@proxy:3128")
    monkeypatch.setenv("NO_PROXY", "inside.test")
    for error in (raised(httpx.ConnectError(KEY), socket.gaierror(-2, KEY)), httpx.ConnectTimeout(KEY)):
        told = transport.transport_error(error, "https://host/v1").message
        assert "the proxy of the environment is not used: name it as [network] proxy" in told
        assert KEY not in told
        for url in ("https://inside.test/v1", "https://127.0.0.1/v1"):
            assert "proxy" not in transport.transport_error(error, url).message
        assert "environment" not in transport.transport_error(error, "https://host/v1", proxy="http://other:1").message


def test_a_proxy_that_fails_is_named_and_not_the_server() -> None:
    import httpx

    proxy = f"http://me:{KEY}@proxy:3128"
    down = raised(httpx.ConnectError(KEY), ConnectionRefusedError(KEY))
    lost = raised(httpx.ConnectError(KEY), socket.gaierror(-2, KEY))
    cases: list[tuple[Exception, str]] = [
        (down, "the proxy http://proxy:3128 refuses connections: is it running?"),
        (lost, "the name of the proxy http://proxy:3128 cannot be resolved"),
        (httpx.ConnectTimeout(KEY), "cannot connect to the proxy http://proxy:3128"),
        (
            httpx.ProxyError(f"407 {KEY}"),
            "the proxy http://proxy:3128 refused the connection (HTTP 407): it wants another user and password",
        ),
        (httpx.ProxyError("403 Forbidden"), "the proxy http://proxy:3128 refused the connection (HTTP 403)"),
        (httpx.ReadError(KEY), "https://host (by way of the proxy http://proxy:3128) closed the connection"),
        (
            raised(httpx.ConnectError(KEY), ssl.SSLError(KEY)),
            "TLS with https://host (by way of the proxy http://proxy:3128) failed: is it really https?",
        ),
    ]
    for error, said in cases:
        assert transport.transport_error(error, "https://host/v1", "serve", proxy).message == said


@pytest.mark.parametrize(
    "said", [b"SSH-2.0-OpenSSH_9.2\r\n\r\n", b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 50_000], ids=["ssh", "head"]
)
async def test_whoever_speaks_something_else_is_told_from_a_connection_that_ended(loopback: Any, said: bytes) -> None:
    async def script(peer: Peer) -> None:
        await peer.send(said)

    server = await loopback(script)
    error = error_of(await run(profile(server.url, options={"retries": 0})))
    assert (error.kind, error.message) == (
        "protocol",
        f"http://127.0.0.1:{server.port} does not speak HTTP: is it the right address?",
    )


async def test_a_proxy_that_wants_a_password_for_a_plain_request_is_named_too(loopback: Any) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer(407, b"<html>who are you</html>")

    proxy = await loopback(script)
    used = profile(
        "http://host.example/v1", api_key_env=None, options={"proxy": f"http://me:{KEY}@127.0.0.1:{proxy.port}"}
    )
    error = error_of(await run(used))
    assert error.message == (
        f"the proxy http://127.0.0.1:{proxy.port} refused the request (HTTP 407): it wants another user and password"
    )
    assert (error.kind, error.retryable, error.free) == ("network", False, True)


async def test_an_own_authority_is_trusted_when_it_is_named(loopback: Any, tmp_path: Path) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer()

    server = await loopback(script, tls=True)
    named = {"ca_file": str(TLS / "authority.pem")}
    assert text_of(await run(profile(server.url, options=named))) == "ok"
    unknown = error_of(await run(profile(server.url)))
    assert (unknown.kind, unknown.retryable) == ("network", False)
    assert unknown.message.startswith(f"{server.url.removesuffix('/v1')} is not trusted: ")
    assert ", issued by An authority for tests (" in unknown.message
    assert unknown.message.endswith("(set ca_file in [network], or SSL_CERT_FILE, to your own authority)")
    elsewhere = error_of(await run(profile(server.url.replace("127.0.0.1", "localhost"), options=named)))
    assert "is not trusted" in elsewhere.message  # the certificate is for another name
    assert elsewhere.message.endswith("(use the name in endpoint that the certificate was made for)")
    empty = tmp_path / "empty.pem"
    empty.write_text("nothing\n")
    assert "ca_file" in error_of(await run(profile(server.url, options={"ca_file": str(empty)}))).message
    assert len(server.peers) == 1


async def test_the_issuer_is_named_through_a_proxy_too_and_nothing_is_sent_to_who_is_not_trusted(
    loopback: Any,
) -> None:
    """What a company's own authority signs is what most people meet; its name says whose it is."""

    async def script(peer: Peer) -> None:
        await peer.answer()

    server, through, ended = await loopback(script, tls=True), list[bytes](), list[asyncio.StreamWriter]()

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        through.append((await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[0])
        inward, outward = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")

        async def copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            with contextlib.suppress(ConnectionError):
                while data := await source.read(4096):
                    sink.write(data)
            outward.close()
            writer.close()

        await asyncio.gather(copy(reader, outward), copy(inward, writer))
        ended.append(outward)

    between = await asyncio.start_server(proxy, "127.0.0.1", 0)
    way = f"http://127.0.0.1:{between.sockets[0].getsockname()[1]}"
    endpoint = server.url.replace("127.0.0.1", "api.example")
    error = error_of(await run(profile(endpoint, options={"proxy": way})))
    between.close()
    await until(lambda: len(ended) == len(through))
    assert f"(by way of the proxy {way}) is not trusted: " in error.message
    assert ", issued by An authority for tests (" in error.message
    assert set(through) == {f"CONNECT api.example:{server.port} HTTP/1.1".encode()}
    assert server.peers == []


async def test_tls_that_breaks_behind_its_beginning_is_a_sentence_too(loopback: Any) -> None:
    """httpx hands on what OpenSSL says there as it is: an alert, as of a server that wants a certificate, or bytes changed on the way."""
    broken, ended = asyncio.Event(), list[asyncio.StreamWriter]()

    async def script(peer: Peer) -> None:
        broken.set()
        await peer.until_gone()

    server = await loopback(script, tls=True)

    async def between(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inward, outward = await asyncio.open_connection("127.0.0.1", server.port)

        async def copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            with contextlib.suppress(ConnectionError):
                while data := await source.read(4096):
                    sink.write(data)
            outward.close()
            writer.close()

        async def spoil() -> None:
            await broken.wait()
            writer.write(b"\x17\x03\x03\x00\x20" + bytes(32))

        await asyncio.gather(copy(reader, outward), copy(inward, writer), spoil())
        ended.append(outward)

    relay = await asyncio.start_server(between, "127.0.0.1", 0)
    where = f"https://127.0.0.1:{relay.sockets[0].getsockname()[1]}"
    used = profile(f"{where}/v1", options={"ca_file": str(TLS / "authority.pem"), "retries": 0})
    error = error_of(await run(used))
    assert (error.kind, error.retryable, error.sent) == ("network", True, True)
    assert error.message == f"the encrypted connection to {where} broke"
    broken.clear()
    with pytest.raises(AgentError, match="the encrypted connection to .* broke"):
        await list_models(used, env={"SOME_KEY": KEY})
    relay.close()
    await until(lambda: len(ended) == 2)


@pytest.mark.parametrize("host", ["xn--", "xn--a", "256.1.1.1", "a" * 64 + ".invalid", "a..b"])
async def test_a_host_that_cannot_be_written_is_a_sentence(host: str) -> None:
    """The libraries raise their own kinds for these."""
    used = profile(f"http://{host}/v1", api_key_env=None, options={"retries": 0})
    error = error_of(await run(used))
    assert error.free
    assert f"http://{host}" in error.message
    with pytest.raises(AgentError, match=f"http://{host}"):
        await list_models(used, env={})


def test_a_certificate_of_ones_own_that_is_wanted_is_told_as_that() -> None:
    wanted = ssl.SSLError(1, "x")
    wanted.reason = "TLSV13_ALERT_CERTIFICATE_REQUIRED"
    error = transport.transport_error(wanted, "https://h/v1")
    assert error.message == "https://h wants a certificate of yours, and there is none to show"
    assert (error.retryable, error.free) == (False, True)
    wanted.reason = "SSLV3_ALERT_HANDSHAKE_FAILURE"  # older TLS does not say what is missing
    import httpx

    error = transport.transport_error(raised(httpx.ConnectError(""), wanted), "https://h/v1")
    assert error.message == "https://h broke off TLS: it may want a certificate of yours, or another version of TLS"


@given(st.binary(max_size=300), st.integers(0, 2000), st.binary(max_size=3))
def test_a_certificate_that_cannot_be_read_has_no_issuer(noise: bytes, at: int, other: bytes) -> None:
    der = ssl.PEM_cert_to_DER_cert((TLS / "authority.pem").read_text())
    assert isinstance(transport.issuer_in(noise), str)
    assert transport.issuer_in(der)
    assert isinstance(transport.issuer_in(der[:at] + other + der[at + len(other) :]), str)
    assert isinstance(transport.issuer_in(der[:at]), str)


async def test_a_file_of_ones_own_is_named_from_home_and_never_from_where_one_works(
    loopback: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that brings a file of that name would else say whom to trust."""

    async def script(peer: Peer) -> None:
        await peer.answer()

    server = await loopback(script, tls=True)
    (tmp_path / "ca.pem").write_bytes((TLS / "authority.pem").read_bytes())
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert text_of(await run(profile(server.url, options={"ca_file": "~/ca.pem"}))) == "ok"
    refused = error_of(await run(profile(server.url, options={"ca_file": "ca.pem"})))
    assert refused.message == "ca_file must be a whole path, or begin with ~/: ca.pem"
    gone = error_of(await run(profile(server.url, options={"ca_file": "~/gone.pem"})))
    assert gone.message.endswith(f"holds no certificates: {tmp_path}/gone.pem")
    assert len(server.peers) == 1


def test_a_certificate_that_is_too_old_is_no_question_of_the_authority() -> None:
    refused = ssl.SSLCertVerificationError()
    refused.verify_code, refused.verify_message = 10, "certificate has expired"
    error = transport.transport_error(refused, "https://h/v1")
    assert error.message == (
        "https://h is not trusted: certificate has expired "
        "(the server needs another one, or the clock of this machine is wrong)"
    )
    assert error.free


@pytest.mark.parametrize("kind", ["self-signed", "no-authority"])
async def test_a_certificate_that_signed_itself_is_its_own_authority(kind: str) -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = b"HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
        writer.write(head + ANSWER)
        writer.close()

    own = TLS / f"{kind}.pem"
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own)
    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=context)
    async with server:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        assert text_of(await run(profile(url, options={"ca_file": str(own), "retries": 0}))) == "ok"
        assert "is not trusted: self-signed certificate" in error_of(await run(profile(url))).message


async def test_an_authority_of_the_environment_counts(loopback: Any) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer()

    server = await loopback(script, tls=True)
    code = (
        "import asyncio, sys; from tui_agent.providers import verify; from tui_agent.core.profile import Profile; "
        "asyncio.run(verify(Profile('p', endpoint=sys.argv[1], model='m'), env={}))"
    )
    for file, code_of in ((str(TLS / "authority.pem"), 0), ("/nowhere.pem", 1)):
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", code, server.url), env={"SSL_CERT_FILE": file}, cwd=ROOT, stderr=subprocess.DEVNULL
        )
        assert await child.wait() == code_of


async def test_an_authority_of_requests_bundle_counts_and_a_wrong_one_is_named(loopback: Any, tmp_path: Path) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer()

    server = await loopback(script, tls=True)
    used = profile(server.url, options={"retries": 0})
    folder = tmp_path / "authorities"
    folder.mkdir()
    (folder / "a3ae9c3b.0").write_text((TLS / "authority.pem").read_text())  # named by the hash of its subject
    for bundle in (TLS / "authority.pem", folder):
        env = {"SOME_KEY": KEY, "REQUESTS_CA_BUNDLE": str(bundle)}
        assert text_of(await run(used, link(env=env))) == "ok"
    for wrong in (tmp_path / "missing.pem", Path("/dev/null")):
        error = error_of(await run(used, link(env={"SOME_KEY": KEY, "REQUESTS_CA_BUNDLE": str(wrong)})))
        assert (error.kind, error.message) == (
            "bad_request",
            f"REQUESTS_CA_BUNDLE cannot be read, or holds no certificates: {wrong}",
        )
    plain = profile(server.url.replace("https", "http"), options={"retries": 0})
    unread = error_of(await run(plain, link(env={"SOME_KEY": KEY, "REQUESTS_CA_BUNDLE": "/nowhere"})))
    assert "REQUESTS_CA_BUNDLE" not in unread.message
    assert len(server.peers) == 2


async def test_loopback_never_goes_through_a_proxy(loopback: Any, monkeypatch: Any) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer()

    async def proxy_script(peer: Peer) -> None:
        await peer.answer(502, b"")

    server, proxy = await loopback(script), await loopback(proxy_script)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
    for options in ({}, {"trust_env": True}, {"proxy": f"http://127.0.0.1:{proxy.port}"}):
        assert text_of(await run(profile(server.url, options=options))) == "ok"
    assert proxy.peers == []


async def test_a_proxy_is_used_only_when_the_profile_says_so(loopback: Any, monkeypatch: Any) -> None:
    async def proxy_script(peer: Peer) -> None:
        await peer.answer()

    proxy = await loopback(proxy_script)
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    away = {"api_key_env": None, "timeouts": Timeouts(connect=0.2)}
    silent = await run(profile("http://192.0.2.1/v1", options={"retries": 0}, **away))
    assert error_of(silent).kind == "network"
    assert proxy.peers == []
    for options in ({"trust_env": True}, {"proxy": f"http://127.0.0.1:{proxy.port}"}):
        assert text_of(await run(profile("http://192.0.2.1/v1", options=options, **away))) == "ok"
    assert [peer.path for peer in proxy.peers] == ["http://192.0.2.1/v1/chat/completions"] * 2


async def test_a_proxy_of_the_environment_is_named_and_left_out_where_it_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in (
        "http_proxy",
        "https_proxy",
        "all_proxy",
        "no_proxy",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "NO_PROXY",
    ):
        monkeypatch.delenv(name, raising=False)
    used = profile("https://192.0.2.1/v1", options={"retries": 0, "trust_env": True}, timeouts=Timeouts(connect=0.2))
    for name, proxy in (("HTTPS_PROXY", "http://127.0.0.1:9"), ("ALL_PROXY", "127.0.0.1:9")):
        monkeypatch.setenv(name, proxy)
        through = link()
        assert error_of(await run(used, through)).message.startswith("the proxy http://127.0.0.1:9 refuses connections")
        assert "http://127.0.0.1:9" in through.network.contacted
        monkeypatch.setenv("NO_PROXY", "192.0.2.1")
        assert "proxy" not in error_of(await run(used)).message
        monkeypatch.delenv("NO_PROXY")
        monkeypatch.delenv(name)


@pytest.mark.parametrize("options", [{"proxy": "socks5://127.0.0.1:9"}, {"trust_env": True}, {"proxy": "127.0.0.1:9"}])
async def test_a_proxy_that_cannot_be_used_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    for name in ("https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    used = profile("https://192.0.2.1/v1", options={"retries": 0, **options})
    error = error_of(await run(used))
    assert (error.kind, error.message) == ("bad_request", "proxy is no http:// or https:// address")
    with pytest.raises(AgentError, match="proxy is no"):
        await list_models(used, env={"SOME_KEY": KEY})


async def test_no_certificates_are_loaded_for_http(loopback: Any, monkeypatch: Any) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer()

    def never(*_: Any, **__: Any) -> None:
        pytest.fail("certificates were loaded")

    monkeypatch.setattr(ssl, "create_default_context", never)
    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", never)
    server = await loopback(script)
    assert text_of(await run(profile(server.url))) == "ok"


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import tui_agent.providers.openai_chat, tui_agent.providers.anthropic, tui_agent.providers.ollama", "httpx"),
        ("from tui_agent.providers import connection as c; c.load_httpx()", "rich"),
        ("from tui_agent.providers import connection as c; c.load_httpx()", "click"),
        ("import tui_agent.core.reply", "asyncio"),
    ],
)
def test_imports_stay_light(statement: str, absent: str) -> None:
    code = f"import sys; {statement}; sys.exit({absent!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
