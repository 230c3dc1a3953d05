"""What becomes of the headers of a request that is passed on, and of its answer's, as in Go's reverse proxy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from urllib.parse import quote

from watchkeeper.authn.websocket_token import is_token
from watchkeeper.request.request import Request

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
_PROTOCOLS = b"sec-websocket-protocol"
GO_CLIENT: Header = (b"user-agent", b"Go-http-client/1.1")


def is_upgrade(request: Request) -> bool:
    """Whether a request asks to go on in another protocol."""
    return any(name == b"connection" and b"upgrade" in value.lower() for name, value in request.scope["headers"])


def target_of(path: str, query: str = "") -> str:
    """What is asked for: a path that is not escaped, and a query that is."""
    return f"{escaped_path(path)}?{query}" if query else escaped_path(path)


def escaped_path(path: str) -> str:
    """A path as it stands in a URL that Go writes, be it UTF-8 or, as surrogates, not."""
    return quote(path, safe=_IN_PATH, errors="surrogateescape")


def for_one_hop(request: Request) -> Headers:
    """The headers of a request that go on to the next hop, without who the client is and how its body is sent."""
    named = {part.strip() for value in values_of(request, b"connection") for part in value.lower().split(b",")}
    headers = list(_kept(request, _HOP_BY_HOP | named | _FRAMING))
    if any(b"trailers" in value.lower() for value in values_of(request, b"te")):
        headers.append((b"te", b"trailers"))
    return headers


def for_upgrade(request: Request) -> Headers:
    """The headers of a request that asks for another protocol, without who the client is."""
    headers = list(_kept(request, frozenset()))
    return headers if request.header(b"user-agent") else [*headers, GO_CLIENT]


def _kept(request: Request, dropped: frozenset[bytes] | set[bytes]) -> Iterator[Header]:
    for name, value in request.scope["headers"]:
        if name in _OF_CLIENT or name in dropped or name.startswith(_PREFIXES):
            continue
        if name == _PROTOCOLS:
            asked = [part.strip() for part in value.decode("latin-1").split(",")]
            value = ", ".join(part for part in asked if not is_token(part)).encode("latin-1")
        yield name, value


def forwarded_for(request: Request) -> Headers:
    """Through whom the request came, this server's client being the last; nothing where that is not known."""
    client = request.scope.get("client")
    if not client:
        return []
    return [(b"x-forwarded-for", b", ".join([*values_of(request, b"x-forwarded-for"), str(client[0]).encode()]))]


def of_answer(given: Iterable[Header], *, has_length: bool) -> Headers:
    """The headers of an answer that go on to the client. Whoever writes it out adds the date."""
    given = list(given)
    named = {part.strip() for name, value in given if name == b"connection" for part in value.lower().split(b",")}
    dropped = _HOP_BY_HOP | _CORS | named | {b"date"} | (set() if has_length else {b"content-length"})
    return [(name, value) for name, value in given if name not in dropped]


def values_of(request: Request, wanted: bytes) -> list[bytes]:
    """All values of a header."""
    return [value for name, value in request.scope["headers"] if name == wanted]
