"""Connections to those that requests are passed on to, kept and used again."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable

from watchkeeper.aio.dial import authority
from watchkeeper.aio.http_stream import HttpStream
from watchkeeper.aio.tls_dial import DialError, connect

DIAL_SECONDS = 30.0
IDLE_SECONDS = 90.0
MAX_IDLE = 25
"""How many connections that do nothing are kept, and for how long, as client-go does."""

Place = tuple[str, int]


class Unusable(ValueError):
    """There cannot be connections; the message is what clients are told."""


class Transport:
    """Makes connections, and keeps those that can be used again, by where they lead to."""

    def __init__(self, make_context: Callable[[], ssl.SSLContext | None], server_name: str = "") -> None:
        """`make_context` is called in a thread before the first connection; None is for connections without TLS.

        It may raise OSError, ValueError, which connections then fail with. `server_name` is whom certificates must
        name, if not the host that is connected to.
        """
        self._make_context = make_context
        self._server_name = server_name
        self._context: ssl.SSLContext | None = None
        self._prepared = False
        self._idle: dict[Place, list[tuple[HttpStream, asyncio.TimerHandle]]] = {}
        self._closed = False

    def __repr__(self) -> str:
        return f"<Transport to {self._server_name or 'anybody'}: {sum(map(len, self._idle.values()))} idle>"

    async def prepare(self) -> ssl.SSLContext | None:
        """Have all that connections take. Raises Unusable."""
        if not self._prepared:
            try:
                # Reading the authorities of the system takes long.
                self._context = await asyncio.to_thread(self._make_context)
            except (ValueError, OSError) as problem:
                raise Unusable(str(problem)) from problem
            self._prepared = True
        return self._context

    async def open(self, place: Place) -> HttpStream:
        """A connection, an idle one if there is one. Raises DialError, Unusable."""
        while (stream := self._take(place)) is not None:
            if not stream.is_stale:
                return stream
            stream.close()
        return await self.dial(place)

    def _take(self, place: Place) -> HttpStream | None:
        """The idle connection that was used last; a place without any is forgotten, of which there may be many."""
        kept = self._idle.get(place)
        if kept is None:
            return None
        stream, timer = kept.pop()
        timer.cancel()
        if not kept:
            del self._idle[place]
        return stream

    async def dial(self, place: Place) -> HttpStream:
        """A new connection. Raises DialError, Unusable."""
        context = await self.prepare()
        host, port = place
        server_name = None if context is None else self._server_name or host
        try:
            async with asyncio.timeout(DIAL_SECONDS):
                return HttpStream(await connect(host, port, context, server_name))
        except TimeoutError:
            raise DialError(f"dial tcp {authority(host, port)}: i/o timeout") from None

    def release(self, place: Place, stream: HttpStream) -> None:
        """Take back a connection whose answer is over."""
        if self._closed or not stream.is_reusable or len(self._idle.get(place, ())) >= MAX_IDLE:
            stream.close()
            return
        timer = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._expire, place, stream)
        self._idle.setdefault(place, []).append((stream, timer))

    def _expire(self, place: Place, stream: HttpStream) -> None:
        self._idle[place] = [each for each in self._idle[place] if each[0] is not stream]
        if not self._idle[place]:
            del self._idle[place]
        stream.close()

    def close_idle(self) -> None:
        """Close what is idle."""
        for kept in self._idle.values():
            for stream, timer in kept:
                timer.cancel()
                stream.close()
        self._idle.clear()

    def close(self) -> None:
        """Close what is idle, and from now on each connection after its answer."""
        self._closed = True
        self.close_idle()
