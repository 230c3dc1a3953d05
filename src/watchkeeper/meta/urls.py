"""URLs as Go's net/url reads them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from ipaddress import IPv4Address
from urllib.parse import quote, unquote_to_bytes

from watchkeeper.meta.addresses import AddressError, parse_address
from watchkeeper.meta.field import go_quote

_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_SOUND_PATH = re.compile(r"[A-Za-z0-9\-_.~$&+,/:;=@!'()*%\[\]]*")
_USER = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_PORT = re.compile(r":[0-9]*")
_HOST = re.compile(r"[A-Za-z0-9\-._~!$&'()*+,;=:\[\]<>\"]|[^\x00-\x7f]")
"""A character that may stand in a host."""


class URLError(ValueError):
    """A text that is no URL; the message is Go's."""

    def __init__(self, text: str, what: str) -> None:
        super().__init__(f"parse {go_quote(text)}: {what}")


@dataclass(frozen=True, slots=True)
class URL:
    """The parts of a URL, escaped as they were written but for the host."""

    text: str
    scheme: str
    host: str
    path: str
    query: str
    user: str | None = None
    """None where there is none, not even an empty one."""
    fragment: str = ""

    @property
    def hostname(self) -> str:
        """The host without its port and without brackets."""
        host = self.host
        if host.startswith("["):
            return host[1 : host.find("]")]
        return host.rpartition(":")[0] if ":" in host else host

    @property
    def escaped_path(self) -> str:
        """The path as it was written where that is sound, else escaped anew."""
        if _SOUND_PATH.fullmatch(self.path):
            return self.path
        return quote(unquote_to_bytes(self.path), safe="$&+,/:;=@")

    @property
    def port(self) -> str:
        """The port, "" when none was given."""
        rest = self.host.rpartition("]")[2] if self.host.startswith("[") else self.host
        return rest.rpartition(":")[2] if ":" in rest else ""


def parse_url(text: str) -> URL:
    """Read a URL or a relative reference, as `url.Parse` does. Raises URLError."""
    base, _, fragment = text.partition("#")
    url = _parse(base, as_request=False)
    _check_escapes(text, fragment)
    return replace(url, text=text, fragment=fragment)


def parse_request_uri(text: str) -> URL:
    """Read a URL that is absolute, or an absolute path, and has no fragment. Raises URLError."""
    return _parse(text, as_request=True)


def _parse(text: str, *, as_request: bool) -> URL:
    if any(ord(ch) < 0x20 or ord(ch) == 0x7F for ch in text):
        raise URLError(text, "net/url: invalid control character in URL")
    if not text and as_request:
        raise URLError(text, "empty url")
    if text == "*":
        return URL(text, "", "", "*", "")
    scheme, rest = _split_scheme(text)
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return URL(text, scheme, "", "", query)
        if as_request:
            raise URLError(text, "invalid URI for request")
        if ":" in rest.partition("/")[0]:
            raise URLError(text, "first path segment in URL cannot contain colon")
    user: str | None = None
    host = ""
    if rest.startswith("//") and (scheme or not (as_request or rest.startswith("///"))):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
        user, host = _authority(text, scheme, authority)
    _check_escapes(text, rest)
    return URL(text, scheme, host, rest, query, user)


def _split_scheme(text: str) -> tuple[str, str]:
    """(scheme in lower case, the rest); no scheme where the text begins with something else."""
    head, colon, rest = text.partition(":")
    if text.startswith(":"):
        raise URLError(text, "missing protocol scheme")
    if not colon or not _SCHEME.fullmatch(head):
        return "", text
    return head.lower(), rest


def _authority(text: str, scheme: str, authority: str) -> tuple[str | None, str]:
    """(user as it was written, host)."""
    user, at, host = authority.rpartition("@")
    host = _host(text, scheme, host)
    if at and not _USER.fullmatch(user):
        raise URLError(text, "net/url: invalid userinfo")
    _check_escapes(text, user)
    return (user if at else None), host


def _host(text: str, scheme: str, host: str) -> str:
    bracket = host.rfind("[")
    if bracket > 0:
        raise URLError(text, "invalid IP-literal")
    if bracket == 0:
        return _literal(text, host)
    # Only of other schemes there may be several hosts, each with a port.
    colon = host.find(":") if scheme in ("http", "https") else host.rfind(":")
    if colon >= 0:
        _check_port(text, host[colon:])
    return _unescaped_host(text, host)


def _literal(text: str, host: str) -> str:
    """A host in brackets, which is an IPv6 address, and its port."""
    closing = host.rfind("]")
    if closing < 0:
        raise URLError(text, "missing ']' in host")
    port = host[closing + 1 :]
    _check_port(text, port)
    name, percent, zone = host[1:closing].partition("%25")
    literal = _unescaped_host(text, name) + (_unescaped_zone(text, percent + zone) if percent else "")
    try:
        address, _ = parse_address(literal)
    except AddressError as problem:
        raise URLError(text, f"invalid host: {problem}") from None
    if isinstance(address, IPv4Address):
        raise URLError(text, "invalid IP-literal")
    return f"[{literal}]{port}"


def _check_port(text: str, port: str) -> None:
    if port and not _PORT.fullmatch(port):
        raise URLError(text, f"invalid port {go_quote(port)} after host")


def _check_escapes(text: str, part: str) -> None:
    bad = _BAD_ESCAPE.search(part)
    if bad:
        raise URLError(text, f"invalid URL escape {go_quote(part[bad.start() : bad.start() + 3])}")


def _unescaped_host(text: str, host: str) -> str:
    """Only what is not ASCII may be escaped in a host, and the sign that escapes."""
    return _unescaped(text, host, lambda code: code >= 0x80 or code == 0x25)


def _unescaped_zone(text: str, zone: str) -> str:
    """In a zone what may stand there unescaped may be escaped, and a blank."""
    return _unescaped(text, zone, lambda code: code in (0x20, 0x25) or _HOST.fullmatch(chr(code)) is not None)


def _unescaped(text: str, part: str, may_be_escaped: Callable[[int], bool]) -> str:
    for at, ch in enumerate(part):
        if ch == "%":
            escape = part[at : at + 3]
            if _BAD_ESCAPE.match(escape) or not may_be_escaped(int(escape[1:], 16)):
                raise URLError(text, f"invalid URL escape {go_quote(escape)}")
        elif not _HOST.fullmatch(ch):
            raise URLError(text, f"invalid character {go_quote(ch)} in host name")
    return unquote_to_bytes(part).decode("utf-8", "replace") if "%" in part else part
