"""Addresses: nothing secret is shown, and a key is for one server."""

from __future__ import annotations

import base64

import pytest

from tui_agent.core.address import (
    at_number,
    host_of,
    is_encrypted,
    is_loopback,
    is_own,
    is_public,
    is_server,
    origin,
    parts_of,
    place_of,
    root_of,
    same_server,
    secrets_of,
    shown,
    stays,
)


@pytest.mark.parametrize(
    ("address", "what"),
    [
        ("https://api.example/v1", "https://api.example/v1"),
        (
            "https://me:pass-word@api.example/v1?key=abc&v=1#x",
            "https://[hidden]@api.example/v1?key=[hidden]&v=[hidden]#x",
        ),
        ("http://a:b:c@d@host/", "http://[hidden]@host/"),
        ("me:pass@host/v1", "[hidden]@host/v1"),
        ("https://host/v1?bare-key", "https://host/v1?[hidden]"),
        ("https://host/a@b", "https://host/a@b"),
        ("https://host/?a=b=c", "https://host/?a=[hidden]"),
        ("", ""),
        ("/home/me/script.json", "/home/me/script.json"),
    ],
)
def test_what_is_shown(address: str, what: str) -> None:
    assert shown(address) == what
    assert shown(what) == what


def test_what_is_secret() -> None:
    basic = base64.b64encode(b"me:p@ss word").decode()
    assert secrets_of("https://me:p%40ss%20word@h/v1?api-version=2026-01-01&token=s%2Bg&k=0123456789abcdef") == [
        "p%40ss%20word", "p@ss word", "me:p@ss word", basic, "s+g", "s%2Bg", "0123456789abcdef",
    ]  # fmt: skip
    assert secrets_of("https://only-a-token@h/") == [
        "only-a-token", "only-a-token:", base64.b64encode(b"only-a-token:").decode(),
    ]  # fmt: skip
    assert secrets_of("https://h/v1?0123456789abcdefg") == ["0123456789abcdefg"]
    for nothing in ("https://h:1/v1?page=2", "http://[bad", "", None):
        assert secrets_of(nothing) == []


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("https://api.openai.com/v1", "https://API.openai.com:443", True),
        ("https://api.openai.com/v1", "http://api.openai.com/v1", False),
        ("https://api.openai.com/v1", "https://api.openai.com:8443/v1", False),
        ("https://api.openai.com/v1", "https://eu.api.openai.com/v1", False),
        ("https://api.openai.com/v1", "https://api.openai.com@evil.example/v1", False),
        ("https://api.openai.com/v1", "https://api.openai.com.evil.example/v1", False),
        ("https://api.openai.com/v1", "api.openai.com/v1", False),
        ("https://h:x", "https://h:x", False),
        (None, None, False),
    ],
)
def test_the_same_server(one: str | None, other: str | None, same: bool) -> None:
    assert same_server(one, other) is same


@pytest.mark.parametrize(
    "address", ["http://h", "https://h.example:8443/v1?x=1", "http://[::1]:8080", "http://[fe80::1%eth0]/"]
)
def test_what_leads_to_a_server(address: str) -> None:
    assert is_server(address)
    assert address.startswith(root_of(address))


@pytest.mark.parametrize(
    "address",
    [
        "",
        "h:8080",
        "ftp://h",
        "http://",
        "http://:80",
        "http://a b/",
        "http://h:0",
        "http://h:x",
        "http://h:99999",
        "http://[::1",
        "http://htp:/ \\nonsense",
        "http://h/v1 ",
        "http://h/a\\b",
        "http://h:/v1",
        None,
    ],
)
def test_what_leads_to_none(address: str | None) -> None:
    assert not is_server(address)


@pytest.mark.parametrize("address", ["http://h:x", "http://[::1", "http://h:99999"])
def test_what_cannot_be_read_has_no_parts(address: str) -> None:
    assert (parts_of(address), host_of(address), root_of(address)) == (None, "", "")


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("https://h/v1", ("h", 443)),
        ("HTTP://H:8080", ("h", 8080)),
        ("http://[::1]/x", ("::1", 80)),
        ("http://me:pw@h/", ("", 0)),
        ("ftp://h/", ("", 0)),
        ("http://[::1", ("", 0)),
    ],
)
def test_where_to_connect(address: str, place: tuple[str, int]) -> None:
    assert place_of(address) == place


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ("https://www.h.example/b", True),
        ("https://h.example:8443/b", True),
        ("http://h.example/b", False),
        ("https://evil.example/b", False),
        ("https://h.example.evil.example/b", False),
        ("file:///etc/passwd", False),
        ("https://[::1", False),
    ],
)
def test_who_is_sent_on_stays_or_not(other: str, same: bool) -> None:
    assert stays("https://h.example/a", other) is same


def test_what_is_a_number_of_the_internet() -> None:
    for number in ("8.8.8.8", "2606:4700::1111", "64:ff9b::808:808"):
        assert is_public(number)
    for number in ("10.0.0.1", "169.254.169.254", "224.0.0.1", "::1", "fe80::1%eth0"):
        assert not is_public(number)
    for inside in ("::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:a00:1::"):
        assert not is_public(inside)


def test_whose_machine_it_is() -> None:
    for here in ("http://localhost:1", "http://127.0.0.9/v1", "http://[::1]:8080"):
        assert is_loopback(here)
        assert is_own(here, server=False)
    for near in ("http://10.0.0.7:11434", "http://box:1", "http://box.local", None):
        assert not is_loopback(near)
        assert is_own(near, server=True)
        assert not is_own(near, server=False)
    for away in ("https://api.example/v1", "http://8.8.8.8", "http://localhost.example", "http://[::1"):
        assert not is_loopback(away)
        assert not is_own(away, server=True)


def test_what_is_shown_and_what_is_read_by_nobody_on_the_way() -> None:
    assert origin("https://me:pw@H.example:8443/v1?key=x") == "https://h.example:8443"
    assert origin("http://[::1") == "an unreadable address"
    assert origin("http://me@[::1]:8080/v1") == "http://[::1]:8080"
    assert is_encrypted("HTTPS://h")
    assert not is_encrypted("http://h")
    assert at_number("https://h.example/a?b#c", "::1", 443) == ("h.example", "https://[::1]:443/a?b")
