"""Connections that wait for the next request."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from tests.aio.fake_transport import FakeTransport, wire_of

from watchkeeper.aio.http_stream import HttpStream
from watchkeeper.aio.kept_streams import KeptStreams

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(test)


async def answered(data: bytes = OK) -> tuple[HttpStream, FakeTransport]:
    """A connection on which an answer was read."""
    wire, transport = wire_of(data)
    stream = HttpStream(wire)
    stream.ask(b"")
    await stream.read_head()
    stream.body("GET")
    return stream, transport


def test_the_connection_that_was_used_last_is_used_next() -> None:
    async def scenario() -> None:
        kept, (old, _), (new, _) = KeptStreams(2), await answered(), await answered()
        assert kept.take() is None
        kept.keep(old)
        kept.keep(new)
        assert [kept.take(), kept.take(), kept.take()] == [new, old, None]

    run(scenario())


def test_what_cannot_be_used_again_is_closed() -> None:
    async def scenario() -> None:
        kept = KeptStreams(1)
        for data in (OK.replace(b": 0", b": 1"), OK + b"HTTP"):
            stream, transport = await answered(data)
            kept.keep(stream)
            assert (len(kept), transport.closed) == (0, True)
        first, stale = await answered()
        second, more_than_enough = await answered()
        kept.keep(first)
        kept.keep(second)
        assert (len(kept), stale.closed, more_than_enough.closed) == (1, False, True)
        stale.closed = True
        assert kept.take() is None

    run(scenario())


def test_nothing_is_kept_any_more_after_the_end() -> None:
    async def scenario() -> None:
        kept, (idle, first), (used, second) = KeptStreams(2), await answered(), await answered()
        kept.keep(idle)
        kept.close()
        kept.close()
        kept.keep(used)
        assert (len(kept), first.closed, second.closed) == (0, True, True)

    run(scenario())
