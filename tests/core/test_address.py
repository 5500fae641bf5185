"""Addresses: nothing secret is shown, and a key is for one server."""

from __future__ import annotations

import base64

import pytest

from tui_agent.core.address import host_of, is_server, parts_of, root_of, same_server, secrets_of, shown


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
