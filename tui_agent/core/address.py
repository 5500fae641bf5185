"""Addresses that a person wrote: which lead to a server, and to which; what of one may be shown, and what is secret."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from functools import lru_cache
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

HIDDEN = "[hidden]"
SECRET_NAME = re.compile("auth|cookie|key|token|secret|password", re.IGNORECASE)
"""Names of headers, variables and query values that say that they are secret."""

_LONG = 16
"""Characters from which a query value is a secret whatever its name: a date or a version is shorter."""
_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"[\w.-]+|[0-9a-fA-F:.]+(%[\w.-]+)?")
_SLIPS = re.compile(r"[\s\\\x00-\x1f\x7f]")
_USER = re.compile(r"^([^/?#]*//)?[^/?#]*@")
_QUERY = re.compile(r"([?&][^=&#]*=)[^&#]*|(?<=\?)[^=&#]+(?=&|#|$)")


def parts_of(address: str | None) -> SplitResult | None:
    """The address in its parts; None when it cannot be read: half of a pair of brackets, a port that is no number."""
    try:
        parts = urlsplit(address or "")
        parts.port  # noqa: B018 - only this looks at it
    except ValueError:
        return None
    return parts


def host_of(address: str | None) -> str:
    """The name or number of its host, "" when there is none, or none that can be read."""
    parts = parts_of(address)
    return parts.hostname or "" if parts else ""


def origin(address: str | None) -> str:
    """Scheme, host and port: what may be shown of an address."""
    parts = parts_of(address)
    if parts is None:
        return "an unreadable address"
    host, port = parts.hostname or "", f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}"


def place_of(address: str | None) -> tuple[str, int]:
    """Host and port to connect to, ("", 0) when that is no server, or is asked with a name and a password."""
    parts = parts_of(address)
    if parts is None or not is_server(address) or parts.username is not None:
        return "", 0
    return parts.hostname or "", parts.port or _PORTS[parts.scheme]


def at_number(address: str, number: str, port: int) -> tuple[str, str]:
    """The host as a server is told it, and the address with the number that its name stands for."""
    parts = urlsplit(address)
    place = f"[{number}]:{port}" if ":" in number else f"{number}:{port}"
    return parts.netloc, parts._replace(netloc=place, fragment="").geturl()


def is_encrypted(address: str | None) -> bool:
    """Whether what is sent there can be read by nobody on the way."""
    parts = parts_of(address)
    return parts is not None and parts.scheme == "https"


def is_loopback(address: str | None) -> bool:
    """Whether it leads to this machine, whoever is asked for its name: a name below localhost may lead anywhere."""
    import ipaddress  # noqa: PLC0415 - a start without a profile has no address

    host = host_of(address)
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_own(address: str | None, *, server: bool) -> bool:
    """Whether the machine behind it is the person's own, so that its answers cost nothing.

    This machine is; with `server` (a program that people run themselves) also one of the private network, and the usual
    place where no address is given.
    """
    import ipaddress  # noqa: PLC0415 - see `is_loopback`

    host = host_of(address)
    if parts_of(address) is None:
        return False
    if not address or is_loopback(address):
        return server or bool(address)
    try:
        return server and ipaddress.ip_address(host).is_private
    except ValueError:
        return server and (host.endswith((".localhost", ".local", ".lan", ".internal")) or "." not in host)


def is_public(number: str) -> bool:
    """Whether the number of a host is one of the internet, also where it stands for another one inside."""
    import ipaddress  # noqa: PLC0415 - only who fetches pages asks

    ip = ipaddress.ip_address(number.partition("%")[0])
    inner = getattr(ip, "ipv4_mapped", None) or getattr(ip, "sixtofour", None)
    if inner is None and ip in ipaddress.ip_network("64:ff9b::/96"):  # NAT64
        inner = ipaddress.ip_address(int(ip) & 0xFFFFFFFF)
    return ip.is_global and not ip.is_multicast and (inner is None or (inner.is_global and not inner.is_multicast))


def is_server(address: str | None) -> bool:
    """Whether a server can be reached by it: http or https, a host as hosts are written, no port that does not exist.

    A blank, a control character or a backslash is a slip of the hand wherever it stands.
    """
    parts = parts_of(address)
    if parts is None or parts.scheme not in {"http", "https"} or parts.port == 0 or parts.netloc.endswith(":"):
        return False
    if _SLIPS.search(address or ""):
        return False
    return _HOST.fullmatch(parts.hostname or "") is not None


def root_of(address: str | None) -> str:
    """The address of the server itself, without path and query."""
    parts = parts_of(address)
    return f"{parts.scheme}://{parts.netloc}" if parts else ""


@lru_cache(64)  # asked for every message of every request
def shown(address: str) -> str:
    """The address without user, password and the values of its query; any text may be given."""
    return _QUERY.sub(rf"\g<1>{HIDDEN}", _USER.sub(rf"\g<1>{HIDDEN}@", address))


def secrets_of(address: str | None) -> list[str]:
    """What in an address must never be shown, in every form in which a server may repeat it.

    The password, or the user where there is no password; both as HTTP sends them; and of the query what has
    a secret name or the length of a key, so that `api-version=2026-01-01` tears no text apart.
    """
    parts = parts_of(address)
    if parts is None:
        return []
    user, password = parts.username or "", parts.password or ""
    found = []
    if user or password:
        pair = f"{unquote(user)}:{unquote(password)}"
        own = password or user
        found += [own, unquote(own), pair, base64.b64encode(pair.encode()).decode()]
    for piece in parts.query.split("&"):
        for name, value in parse_qsl(piece) or [("", unquote(piece))]:
            if SECRET_NAME.search(name) or len(value) >= _LONG:
                found += [value, piece.partition("=")[2] or piece]
    return [text for text in dict.fromkeys(found) if text]


def shown_words(words: Sequence[str]) -> list[str]:
    """The words of a command, hidden what a name before it says is secret: `--api-key X`, `TOKEN=X`, `Authorization: X`."""
    found: list[str] = []
    secret = False  # the word before is a flag with such a name
    for word in words:
        name, sign, _ = min((word.partition(sign) for sign in "=:"), key=lambda parts: len(parts[0]))
        named = bool(SECRET_NAME.search(name)) and "/" not in name
        if secret and not word.startswith("-"):
            found.append(HIDDEN)
        else:
            found.append(f"{name}{sign}{HIDDEN}" if named and sign else shown(word) if "://" in word else word)
        secret = named and not sign and word.startswith("-")
    return found


def same_server(one: str | None, other: str | None) -> bool:
    """Whether both are readable and have the same scheme, host and port."""
    first = _origin(one)
    return first is not None and first == _origin(other)


def stays(one: str | None, other: str | None) -> bool:
    """Whether whoever is sent on from one to the other stays with the same host, `www.` or not, and with what was encrypted."""
    a, b = parts_of(one), parts_of(other)
    if a is None or b is None or not is_server(other):
        return False
    hosts = {(parts.hostname or "").removeprefix("www.") for parts in (a, b)}
    return len(hosts) == 1 and (a.scheme, b.scheme) != ("https", "http")


def _origin(address: str | None) -> tuple[str, str, int | None] | None:
    parts = parts_of(address)
    if parts is None or not parts.hostname:
        return None
    return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)
