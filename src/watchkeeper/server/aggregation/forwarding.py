"""What becomes of the headers of a request that is passed on, and of its answer's, as in Go's reverse proxy."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator
from urllib.parse import parse_qsl, quote, quote_plus, urlsplit, urlunsplit

from watchkeeper.authn.websocket_token import is_token
from watchkeeper.request.request import Request, well_formed
from watchkeeper.request.user import User

Header = tuple[bytes, bytes]
Headers = list[Header]

_HOP_BY_HOP = frozenset(
    {
        b"connection",
        b"proxy-connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
_FRAMING = frozenset({b"content-length", b"transfer-encoding"})
_OF_CLIENT = frozenset(
    {
        b"host",
        b"authorization",
        b"audit-id",
        b"x-remote-user",
        b"x-remote-uid",
        b"x-remote-group",
        b"x-forwarded-for",
        b"impersonate-user",
        b"impersonate-group",
        b"impersonate-uid",
    }
)
"""What says who the client is, or is said anew."""
_PREFIXES = (b"x-remote-extra-", b"impersonate-extra-")
_CORS = frozenset(
    b"access-control-" + name for name in (b"allow-credentials", b"allow-headers", b"allow-methods", b"allow-origin")
)
_IN_PATH = "/$&+,:;=@"
_TOKEN = "!#$&'*+-.^_`|~"
"""What may stand in the name of a header besides letters and digits, but for the sign that escapes the rest."""
_PROTOCOLS = b"sec-websocket-protocol"


def is_upgrade(request: Request) -> bool:
    """Whether a request asks to go on in another protocol."""
    return any(name == b"connection" and b"upgrade" in value.lower() for name, value in request.scope["headers"])


def escaped_path(path: str) -> str:
    """A path as it stands in a URL that Go writes."""
    return quote(path, safe=_IN_PATH)


def target(request: Request) -> str:
    """What is asked for, the query sorted by its keys; what of it is malformed is left out."""
    pairs = sorted(parse_qsl(well_formed(request.query), keep_blank_values=True), key=lambda pair: pair[0])
    query = "&".join(f"{quote_plus(key)}={quote_plus(value)}" for key, value in pairs)
    path = escaped_path(request.path)
    return f"{path}?{query}" if query else path


def user_headers(user: User) -> Headers:
    """The headers that tell another API server who asks."""
    found = [(b"x-remote-user", user.name.encode())]
    if user.uid:
        found.append((b"x-remote-uid", user.uid.encode()))
    found += [(b"x-remote-group", group.encode()) for group in user.groups]
    for key, values in user.extra.items():
        name = b"x-remote-extra-" + escaped_key(key)
        found += [(name, value.encode()) for value in values]
    return found


def escaped_key(key: str) -> bytes:
    """A key as it may stand in the name of a header."""
    return quote(key, safe=_TOKEN).encode()


def outgoing(request: Request, host: str) -> Headers:
    """The headers of a request that is passed on to `host`."""
    named = {part.strip() for value in _values(request, b"connection") for part in value.lower().split(b",")}
    dropped = _HOP_BY_HOP | named
    path = posixpath.join("/", posixpath.normpath(escaped_path(request.path)))
    headers = [(b"host", host.encode()), *_kept(request, dropped | _FRAMING)]
    if any(b"trailers" in value.lower() for value in _values(request, b"te")):
        headers.append((b"te", b"trailers"))
    mine = (
        (b"x-forwarded-uri", (f"{path}/" if request.path.endswith("/") else path).encode()),
        (b"x-forwarded-host", host.encode()),
        (b"x-forwarded-proto", b"https"),
    )
    names = {name for name, _ in mine}
    headers = [pair for pair in headers if pair[0] not in names]
    return [*headers, *mine, *_added(request)]


def upgrading(request: Request, host: str) -> Headers:
    """The headers of a request that asks for another protocol, which are passed on with those that ask for it."""
    headers = [(b"host", host.encode()), *_kept(request, frozenset()), *_added(request)]
    if not request.header(b"user-agent"):
        headers.append((b"user-agent", b"Go-http-client/1.1"))
    return headers


def _kept(request: Request, dropped: frozenset[bytes] | set[bytes]) -> Iterator[Header]:
    for name, value in request.scope["headers"]:
        if name in _OF_CLIENT or name in dropped or name.startswith(_PREFIXES):
            continue
        if name == _PROTOCOLS:
            asked = [part.strip() for part in value.decode("latin-1").split(",")]
            value = ", ".join(part for part in asked if not is_token(part)).encode("latin-1")
        yield name, value


def _added(request: Request) -> Headers:
    headers = user_headers(request.user)
    client = request.scope.get("client")
    if client:
        hops = [*_values(request, b"x-forwarded-for"), str(client[0]).encode()]
        headers.append((b"x-forwarded-for", b", ".join(hops)))
    headers.append((b"audit-id", request.audit_id.encode("latin-1", "replace")))
    return headers


def _values(request: Request, wanted: bytes) -> list[bytes]:
    return [value for name, value in request.scope["headers"] if name == wanted]


def incoming(headers: Iterable[Header], host: str, *, has_length: bool) -> Headers:
    """The headers of an answer of `host` for the client. Whoever writes it out adds the date.

    Raises ValueError for a place that is none.
    """
    given = list(headers)
    named = {part.strip() for name, value in given if name == b"connection" for part in value.lower().split(b",")}
    dropped = _HOP_BY_HOP | _CORS | named | {b"date"} | (set() if has_length else {b"content-length"})
    kept = [(name, value) for name, value in given if name not in dropped]
    return [(name, _moved(value, host)) if name == b"location" else (name, value) for name, value in kept]


def _moved(location: bytes, host: str) -> bytes:
    """Where an answer points to: a path of that server, with its address before it."""
    try:
        parts = urlsplit(location.decode("latin-1"))
    except ValueError as problem:
        raise ValueError(f'parse "{location.decode("latin-1")}": {problem}') from problem
    if parts.netloc not in ("", host) or not parts.path.startswith("/"):
        return location
    return urlunsplit(("https", host, *parts[2:])).encode("latin-1", "replace")
