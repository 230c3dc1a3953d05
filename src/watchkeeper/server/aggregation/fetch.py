"""Asks the server behind an APIService for a document, as the aggregator itself."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from watchkeeper.aio.dial import authority
from watchkeeper.aio.http_client import ResolveError
from watchkeeper.aio.http_stream import BrokenBody, BrokenHead, Head, HttpStream, NoAnswer, request_head, transport_text
from watchkeeper.aio.tls_dial import DialError
from watchkeeper.request.user import SYSTEM_MASTERS, User
from watchkeeper.server.aggregation.forwarding import user_headers
from watchkeeper.server.aggregation.remote import Remote
from watchkeeper.server.passing.headers import Header
from watchkeeper.server.passing.transport import Place, Unusable

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
    request = request_head("GET", path, [(b"host", authority(*place).encode()), *user_headers(user), *headers])
    while True:
        try:
            stream = await transport.open(place)
        except DialError as problem:
            raise FetchError(str(problem)) from problem
        try:
            answer = await _answer(stream, request, max_bytes)
        except NoAnswer as problem:
            stream.close()
            # A kept connection may have been closed meanwhile.
            if not stream.used:
                raise FetchError(transport_text(problem)) from problem
        except (BrokenHead, BrokenBody) as problem:
            stream.close()
            raise FetchError(transport_text(problem)) from problem
        except BaseException:
            stream.close()
            raise
        else:
            transport.release(place, stream)
            return answer


async def _answer(stream: HttpStream, request: bytes, max_bytes: int) -> Fetched:
    stream.ask(request)
    head = await stream.read_head()
    return Fetched(head, await stream.body("GET").whole(max_bytes) or b"")


__all__ = ["AGGREGATOR", "FetchError", "Fetched", "Unusable", "ask", "fetch"]
