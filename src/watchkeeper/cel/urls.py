"""URLs as Go's net/url.ParseRequestURI reads them: absolute, or an absolute path."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote_to_bytes

from watchkeeper.meta.field import go_quote

_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_SOUND_PATH = re.compile(r"[A-Za-z0-9\-_.~$&+,/:;=@!'()*%\[\]]*")
_USER = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_PORT = re.compile(r":[0-9]*")
_HOST = re.compile(r"(?:[A-Za-z0-9\-._~!$&'()*+,;=:%\[\]<>\"]|[^\x00-\x7f])*")


class URLError(ValueError):
    """A text that is no URL; the message is Go's."""

    def __init__(self, text: str, what: str) -> None:
        super().__init__(f"parse {go_quote(text)}: {what}")


@dataclass(frozen=True, slots=True)
class URL:
    """The parts of a URL, escaped as they were written."""

    text: str
    scheme: str
    host: str
    path: str
    query: str

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


def parse_request_uri(text: str) -> URL:
    """Read a URL. Raises URLError."""
    if any(ord(ch) < 0x20 or ord(ch) == 0x7F for ch in text):
        raise URLError(text, "net/url: invalid control character in URL")
    if not text:
        raise URLError(text, "empty url")
    if text == "*":
        return URL(text, "", "", "*", "")
    scheme, rest = _split_scheme(text)
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return URL(text, scheme, "", "", query)
        raise URLError(text, "invalid URI for request")
    host = ""
    if scheme and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
        host = _host(text, authority)
    bad = _BAD_ESCAPE.search(rest)
    if bad:
        raise URLError(text, f"invalid URL escape {go_quote(rest[bad.start() : bad.start() + 3])}")
    return URL(text, scheme, host, rest, query)


def _split_scheme(text: str) -> tuple[str, str]:
    head, colon, rest = text.partition(":")
    if not colon or "/" in head or "?" in head:
        return "", text
    if not head:
        raise URLError(text, "missing protocol scheme")
    if not _SCHEME.fullmatch(head):
        if head[0].isascii() and (head[0].isdigit() or head[0] in "+-."):
            raise (
                URLError(text, "first path segment in URL cannot contain colon")
                if not rest.startswith("/")
                else URLError(text, "invalid URI for request")
            )
        return "", text
    return head.lower(), rest


def _host(text: str, authority: str) -> str:
    user, at, host = authority.rpartition("@")
    if at and not _USER.fullmatch(user):
        raise URLError(text, "net/url: invalid userinfo")
    if host.startswith("["):
        closing = host.rfind("]")
        if closing < 0:
            raise URLError(text, "missing ']' in host")
        tail = host[closing + 1 :]
    else:
        tail = host[host.rfind(":") :] if ":" in host else ""
    if tail and not _PORT.fullmatch(tail):
        raise URLError(text, f"invalid port {go_quote(tail)} after host")
    found = _HOST.match(host)
    assert found is not None
    if found.end() < len(host):
        raise URLError(text, f"invalid character {go_quote(host[found.end()])} in host name")
    return host
