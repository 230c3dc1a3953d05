"""Where pages and answers behind a proxy point to, as seen from before it."""

from __future__ import annotations

import posixpath
import re
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from watchkeeper.meta.field import go_quote

_control = re.compile(r"[\x00-\x1f\x7f]").search
_bad_escape = re.compile(r"%(?![0-9A-Fa-f]{2})").search
_scheme = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):").match
_port = re.compile(r"(:[0-9]*)?").fullmatch
_bad_in_host = re.compile(r"[ \\^`{|}/?#@]").search
_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~")
_IN_PATH = _PLAIN | frozenset(b"$&+,/:;=@")
_IN_FRAGMENT = _IN_PATH | frozenset(b"?!()*")
_AS_SENT = frozenset(b"!'()*[]%")
"""What is left as it was sent besides these, though it is escaped where a URL is made."""


class _Url(NamedTuple):
    """A URL in parts, as Go's net/url reads it."""

    scheme: str
    opaque: str
    """What follows a scheme and is no path."""
    user: str
    host: str
    """With the port."""
    sent_path: bytes
    """As it was sent."""
    path: bytes
    query: str | None
    fragment: bytes


class Links:
    """Leads what stands for a path on the backend through the proxy."""

    def __init__(self, prefix: str, backend: str, asked: str) -> None:
        """`prefix` is the path of the proxy, not escaped.

        `backend` is whom the request is passed on to, `asked` whom the client asked: hosts, with a port if it is told.
        """
        self._prefix = prefix.encode("utf-8", "surrogateescape")
        self._backend = backend
        self._asked = asked

    def __repr__(self) -> str:
        return f"<Links to {self._backend} by {self._prefix!r}>"

    def moved(self, link: str) -> str:
        """A link as it has to be for the client. Raises ValueError for one that Go's net/url does not read."""
        url = _parsed(link)
        if not url.path.startswith(b"/") or url.host not in ("", self._backend, self._asked):
            return _written(url)
        if not url.host or url.host != self._asked:
            url = url._replace(scheme="", host="")
        if url.path.startswith(self._prefix):
            return _written(url)
        there = b"/" + posixpath.normpath(self._prefix + b"/" + url.path).lstrip(b"/")
        if url.path.endswith(b"/") and not there.endswith(b"/"):
            there += b"/"
        return _written(url._replace(path=there, sent_path=b""))


def _parsed(link: str) -> _Url:
    rest, _, fragment = link.partition("#")
    if _control(rest):
        raise _unreadable(rest, "net/url: invalid control character in URL")
    if (bad := _bad_escape(fragment)) is not None:
        raise _unreadable(link, f"invalid URL escape {go_quote(fragment[bad.start() : bad.start() + 3])}")
    whole, scheme, user, host = rest, "", "", ""
    if (found := _scheme(rest)) is not None:
        scheme, rest = found[1].lower(), rest[found.end() :]
    elif rest.startswith(":"):
        raise _unreadable(whole, "missing protocol scheme")
    query: str | None
    rest, sign, query = rest.partition("?")
    query = query if sign else None
    last = unquote_to_bytes(_bytes(fragment))
    if not rest.startswith("/"):
        if scheme:
            return _Url(scheme, rest, "", "", b"", b"", query, last)
        if ":" in rest.partition("/")[0]:
            raise _unreadable(whole, "first path segment in URL cannot contain colon")
    elif rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, path = rest[2:].partition("/")
        user, _, host = authority.rpartition("@")
        _check_host(whole, host)
        rest = slash + path
    if (bad := _bad_escape(rest)) is not None:
        raise _unreadable(whole, f"invalid URL escape {go_quote(rest[bad.start() : bad.start() + 3])}")
    sent = _bytes(rest)
    return _Url(scheme, "", user, host, sent, unquote_to_bytes(sent), query, last)


def _check_host(url: str, host: str) -> None:
    if (bad := _bad_in_host(host)) is not None:
        raise _unreadable(url, f"invalid character {go_quote(bad[0])} in host name")
    port = host[host.rfind("]") + 1 :] if host.startswith("[") else host[host.find(":") :] if ":" in host else ""
    if _port(port) is None:
        raise _unreadable(url, f"invalid port {go_quote(port)} after host")


def _unreadable(url: str, why: str) -> ValueError:
    return ValueError(f"parse {go_quote(url)}: {why}")


def _written(url: _Url) -> str:
    parts = [f"{url.scheme}:" if url.scheme else ""]
    if url.opaque:
        parts.append(url.opaque)
    else:
        path = _escaped(url.path, url.sent_path, _IN_PATH)
        if url.host or url.user:
            parts += ("//", f"{url.user}@" if url.user else "", url.host)
        elif not url.scheme and ":" in path.partition("/")[0]:
            parts.append("./")
        parts.append(path)
    if url.query is not None:
        parts.append(f"?{url.query}")
    if url.fragment:
        parts += ("#", _escaped(url.fragment, url.fragment, _IN_FRAGMENT))
    return "".join(parts)


def _escaped(text: bytes, sent: bytes, plain: frozenset[int]) -> str:
    """A text as it stands in a URL: as it was sent, if that is how it may stand there."""
    if sent and all(each in plain or each in _AS_SENT for each in sent) and unquote_to_bytes(sent) == text:
        return sent.decode("ascii")
    return "".join(chr(each) if each in plain else f"%{each:02X}" for each in text)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
