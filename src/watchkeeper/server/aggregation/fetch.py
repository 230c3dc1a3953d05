"""Asks the server behind an APIService for a document, as the aggregator itself."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from watchkeeper.aio.http_client import ResolveError
from watchkeeper.aio.http_stream import Head, HttpStream, Malformed, request_head
from watchkeeper.aio.tls_dial import DialError, os_text
from watchkeeper.request.user import SYSTEM_MASTERS, User
from watchkeeper.server.aggregation.forwarding import Header, user_headers
from watchkeeper.server.aggregation.remote import Remote
from watchkeeper.server.aggregation.transport import Place, Unusable, authority

AGGREGATOR = User("system:kube-aggregator", groups=(SYSTEM_MASTERS,))
MAX_BYTES = 64 * 1024 * 1024


class FetchError(Exception):
    """No answer came; the message tells why."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """An answer."""

    head: Head
    body: bytes

    def header(self, name: bytes) -> str:
        """The first value of a header."""
        return self.head.first(name).decode("latin-1")


async def ask(
    remote: Remote, path: str, *, user: User, accept: str, etag: str = "", seconds: float, max_bytes: int
) -> Fetched:
    """Find the server and `fetch`; a 304 may come where `etag` is known. Raises FetchError, TimeoutError."""
    headers = [(b"accept", accept.encode())]
    if etag:
        headers.append((b"if-none-match", etag.encode("latin-1")))
    try:
        async with asyncio.timeout(seconds):
            return await fetch(remote, await remote.locate(), path, user=user, headers=headers, max_bytes=max_bytes)
    except (ResolveError, Unusable) as problem:
        raise FetchError(str(problem)) from problem


async def fetch(
    remote: Remote,
    place: Place,
    path: str,
    *,
    user: User = AGGREGATOR,
    headers: Sequence[Header] = (),
    max_bytes: int = MAX_BYTES,
) -> Fetched:
    """The answer to a GET; of a longer body than `max_bytes` nothing. Raises FetchError, Unusable."""
    transport = remote.transport
    request = request_head("GET", path, [(b"host", authority(place).encode()), *user_headers(user), *headers])
    while True:
        try:
            stream = await transport.open(place)
        except DialError as problem:
            raise FetchError(str(problem)) from problem
        try:
            await stream.send(request)
            answer = await _answer(stream, max_bytes)
        except (OSError, EOFError) as problem:
            stream.abort()
            if not stream.used:
                raise FetchError(os_text(problem) if isinstance(problem, OSError) else "EOF") from problem
        except Malformed as problem:
            stream.abort()
            raise FetchError(str(problem)) from problem
        except BaseException:
            stream.abort()
            raise
        else:
            transport.release(place, stream)
            return answer


async def _answer(stream: HttpStream, max_bytes: int) -> Fetched:
    head = await stream.read_head()
    pieces: list[bytes] = []
    left = max_bytes
    async for piece in stream.body(head, "GET"):
        left -= len(piece)
        if left < 0:
            return Fetched(head, b"")
        pieces.append(piece)
    return Fetched(head, b"".join(pieces))


__all__ = ["AGGREGATOR", "FetchError", "Fetched", "Unusable", "ask", "fetch"]
