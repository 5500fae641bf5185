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


def _origin(address: str | None) -> tuple[str, str, int | None] | None:
    parts = parts_of(address)
    if parts is None or not parts.hostname:
        return None
    return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)
