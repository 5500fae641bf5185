"""What went wrong on the way to a server, as one sentence: the table of causes.

What httpx says of them may hold headers and is never repeated; httpx itself is not needed to read it.
"""

from __future__ import annotations

import importlib
import re
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from tui_agent.core.address import is_loopback, origin, parts_of
from tui_agent.core.late import late
from tui_agent.core.types import ErrorKind, ProviderError

_NO_ADDRESS = "{0.where} is no address that can be reached: check the endpoint of this profile"
NO_PROXY = "proxy is no http:// or https:// address"
PACKED = "packed as "
"""How a body is said to be packed that cannot be unpacked."""
_NO_HTTP = late("illegal|malformed|too long|content-length|continuation line|no response line", re.IGNORECASE)
"""What httpx says of bytes that are no HTTP, and not of a connection that ended."""
_WANTED = late("CERTIFICATE_REQUIRED|ALERT_BAD_CERTIFICATE$")
"""How OpenSSL says that the other side does not go on without a certificate of this one."""
_BUSY = late(r"50[234]\b")
"""How a proxy says that it could not reach the server just now."""
_OWN_AUTHORITY = "set ca_file in [network], or SSL_CERT_FILE, to your own authority"
_TRUST_WAYS = {
    **dict.fromkeys((62, 64), "use the name in endpoint that the certificate was made for"),
    **dict.fromkeys((9, 10), "the server needs another one, or the clock of this machine is wrong"),
}
"""What helps where it is not the authority, by OpenSSL's number of the reason: another name or address, too early, expired."""


class UnusableBundleError(OSError):
    """Certificate authorities that cannot be loaded; the text names whose setting it is."""


class Cause(NamedTuple):
    """One cause and its sentence. `name` is a class of the exception, `within` also of one behind it.

    What is in braces is a fact of the request, see `_Facts`.
    """

    name: str
    sentence: str
    kind: ErrorKind = "network"
    retryable: bool = False
    sent: bool = True
    within: bool = False


CAUSES = (
    Cause("ImportError", NO_PROXY, "bad_request", sent=False),  # a library that is not there: for SOCKS
    Cause("UnusableBundleError", "{0.error}", "bad_request", sent=False),
    Cause("SSLCertVerificationError", "{0.there} is not trusted: {0.distrust}", sent=False, within=True),
    Cause("Certificate", "{0.there} wants a certificate of yours, and there is none to show", sent=False, within=True),
    Cause("SSLError", "the encrypted connection to {0.there} broke", retryable=True),
    Cause(
        "Alert",
        "{0.there} broke off TLS: it may want a certificate of yours, or another version of TLS",
        sent=False,
        within=True,
    ),
    Cause("SSLError", "TLS with {0.there} failed: is it really https?", sent=False, within=True),
    Cause("gaierror", "the name of {0.hop} cannot be resolved{0.missed}", retryable=True, sent=False, within=True),
    Cause(
        "ConnectionRefusedError",
        "{0.hop} refuses connections: is {0.it} running?{0.hint}",
        retryable=True,
        sent=False,
        within=True,
    ),
    Cause("ConnectTimeout", "cannot connect to {0.hop}{0.missed}", retryable=True, sent=False),
    Cause("ConnectError", "cannot connect to {0.hop}{0.missed}", retryable=True, sent=False),
    Cause("TimeoutException", "{0.there} does not answer in time", retryable=True),
    Cause("BusyProxy", "{0.refuser} refused the connection{0.refusal}", retryable=True, sent=False),
    Cause("ProxyError", "{0.refuser} refused the connection{0.refusal}", sent=False),
    Cause("Packed", "{0.there} sent a body {0.error}: nobody asked for that", "protocol"),
    Cause("DecodingError", "{0.there} sent a damaged compressed body", "protocol", retryable=True),
    Cause("NoHttp", "{0.there} does not speak HTTP: is it the right address?", "protocol", retryable=True),
    Cause("NetworkError", "{0.there} closed the connection", retryable=True),
    Cause("RemoteProtocolError", "{0.there} closed the connection", retryable=True),
    Cause("InvalidURL", _NO_ADDRESS, "bad_request", sent=False),
    Cause("UnicodeError", _NO_ADDRESS, "bad_request", sent=False),
    Cause("Exception", "the request to {0.where} could not be sent ({0.name})", "protocol"),
)
"""The first that fits counts."""


def transport_error(
    error: Exception, url: str, start: str = "", proxy: str | None = None, issuer: str = ""
) -> ProviderError:
    """One sentence for what `connection.failures` names.

    `start` is the command that starts the server. With a `proxy` nobody else is connected to. `issuer`: who signed a
    certificate that is not trusted, as far as that is known.
    """
    facts = _Facts(error, url, start, proxy, issuer)
    own, behind = _names(error), {name for cause in causes(error) for name in _names(cause)}
    found = next(cause for cause in CAUSES if cause.name in (behind if cause.within else own))
    return ProviderError(found.kind, found.sentence.format(facts), found.retryable, sent=found.sent)


def distrusted(error: Exception) -> ssl.SSLCertVerificationError | None:
    """The certificate's fault that is behind an exception, None when it is another one."""
    return next((cause for cause in causes(error) if isinstance(cause, ssl.SSLCertVerificationError)), None)


def wants_authority(error: Exception) -> bool:
    """Whether a certificate was refused because nobody here knows who signed it."""
    refused = distrusted(error)
    return refused is not None and refused.verify_code not in _TRUST_WAYS


def environment_proxy(url: str) -> str | None:
    """The proxy that the environment names for an address: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, and NO_PROXY for none."""
    library: Any = importlib.import_module("urllib.request")  # 20 ms, for few
    parts, named = parts_of(url), library.getproxies_environment()
    if parts is None or library.proxy_bypass_environment(parts.netloc.rpartition("@")[2], named):
        return None
    found = named.get(parts.scheme) or named.get("all")
    return f"http://{found}" if found and "://" not in found else found


@dataclass(frozen=True, slots=True)
class _Facts:
    """What the sentences may name."""

    error: Exception
    url: str
    start: str
    proxy: str | None
    issuer: str

    @property
    def name(self) -> str:
        return type(self.error).__name__

    @property
    def where(self) -> str:
        return origin(self.url)

    @property
    def hop(self) -> str:
        """Whom a connection is made to."""
        return f"the proxy {origin(self.proxy)}" if self.proxy else self.where

    @property
    def there(self) -> str:
        return f"{self.where} (by way of {self.hop})" if self.proxy else self.where

    @property
    def it(self) -> str:
        return "it" if self.proxy else "the server"

    @property
    def hint(self) -> str:
        return f" Start it: {self.start}" if self.start and not self.proxy else ""

    @property
    def missed(self) -> str:
        """What helps where only a proxy leads out, and the environment names one that does not count."""
        if self.proxy or is_loopback(self.url) or environment_proxy(self.url) is None:
            return ""
        return (
            " (the proxy of the environment is not used: name it as [network] proxy in your config, "
            "or set trust_env = true in the options of the profile)"
        )

    @property
    def distrust(self) -> str:
        refused = distrusted(self.error)
        code, reason = (refused.verify_code, refused.verify_message.rstrip(".")) if refused else (0, "")
        by = f", issued by {self.issuer}" if self.issuer else ""
        return f"{reason}{by} ({_TRUST_WAYS.get(code, _OWN_AUTHORITY)})"

    @property
    def refuser(self) -> str:
        return self.hop if self.proxy else "the proxy"

    @property
    def refusal(self) -> str:
        status = re.match(r"\d{3}\b", str(self.error))  # all of its text that is no header
        why = ": it wants another user and password" if status and status[0] == "407" else ""
        return f" (HTTP {status[0]}){why}" if status else ""


def _names(error: BaseException) -> set[str]:
    """The names of its classes, and of what only its text tells apart."""
    names = {kind.__name__ for kind in type(error).__mro__}
    reason = getattr(error, "reason", None) if isinstance(error, ssl.SSLError) else None
    if reason and "ALERT" in reason:
        names.add("Certificate" if _WANTED.search(reason) else "Alert")
    if "ProxyError" in names and _BUSY.match(str(error)):
        names.add("BusyProxy")
    if "RemoteProtocolError" in names and _NO_HTTP.search(str(error)):
        names.add("NoHttp")
    if "DecodingError" in names and str(error).startswith(PACKED):
        names.add("Packed")
    return names


def causes(error: BaseException) -> list[BaseException]:
    """The exceptions behind an exception, groups opened."""
    found: list[BaseException] = []
    todo: list[BaseException | None] = [error]
    while todo and len(found) < 50:
        cause = todo.pop()
        if cause is None or cause in found:
            continue
        found.append(cause)
        todo.extend([cause.__cause__, cause.__context__])
        if isinstance(cause, BaseExceptionGroup):
            todo.extend(cause.exceptions)
    return found


# ------------------------------------------------------------------ who signed a certificate

_COMMON_NAME, _ORGANISATION = b"\x55\x04\x03", b"\x55\x04\x0a"
_VERSION, _UTF_16 = 0xA0, 0x1E
_LONGEST = 80


def issuer_in(certificate: bytes) -> str:
    """Who signed a certificate (DER), by name; nothing where that cannot be read."""
    try:
        whole = next(_values(next(_values(certificate))[1]))[1]
        fields = [value for tag, value in _values(whole) if tag != _VERSION]  # number, algorithm, issuer, …
        named = {}
        for _, group in _values(fields[2]):
            for _, pair in _values(group):
                (_, kind), (tag, text) = _values(pair)
                named[kind] = text.decode("utf-16-be" if tag == _UTF_16 else "utf-8", "replace")
    except (ValueError, IndexError, StopIteration):
        return ""
    said = named.get(_COMMON_NAME) or named.get(_ORGANISATION) or ""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in said).split())[:_LONGEST]


def _values(der: bytes) -> Iterator[tuple[int, bytes]]:
    """The values that stand one behind the other: tag and content."""
    at = 0
    while at < len(der):
        tag, length, at = der[at], der[at + 1], at + 2
        if length & 0x80:
            size = length & 0x7F
            length, at = int.from_bytes(der[at : at + size], "big"), at + size
        yield tag, der[at : at + length]
        at += length
