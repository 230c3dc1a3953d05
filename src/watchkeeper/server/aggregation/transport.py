"""Connections to the server behind one APIService, kept and used again."""

from __future__ import annotations

import asyncio
import ssl
from base64 import b64decode
from dataclasses import dataclass

from watchkeeper.aio.dial import authority
from watchkeeper.aio.http_stream import HttpStream
from watchkeeper.aio.tls_dial import DialError, connect
from watchkeeper.runtime.client_tls import context_trusting
from watchkeeper.server.aggregation.client_certificate import ClientCertificate

DIAL_SECONDS = 30.0
IDLE_SECONDS = 90.0
MAX_IDLE = 25
"""How many connections that do nothing are kept, and for how long, as client-go does."""

Place = tuple[str, int]


class Unusable(ValueError):
    """There cannot be connections; the message is what clients are told."""


@dataclass(frozen=True, slots=True)
class Trust:
    """Whom to believe that they are the server that is meant."""

    server_name: str
    ca_bundle: str = ""
    """In base64, as it stands in the object; "" for the authorities of the system."""
    insecure: bool = False


class Transport:
    """Makes connections, and keeps those that can be used again, by where they lead to."""

    def __init__(self, trust: Trust, certificate: ClientCertificate | None) -> None:
        self.trust = trust
        self._certificate = certificate
        self._context: ssl.SSLContext | None = None
        self._idle: dict[Place, list[tuple[HttpStream, asyncio.TimerHandle]]] = {}
        self._closed = False

    def __repr__(self) -> str:
        return f"<Transport to {self.trust.server_name}: {sum(map(len, self._idle.values()))} idle>"

    async def prepare(self) -> ssl.SSLContext:
        """Have all that connections take. Raises Unusable."""
        if self._context is None:
            # Reading the authorities of the system takes long.
            self._context = await asyncio.to_thread(self._make_context)
        return self._context

    def _make_context(self) -> ssl.SSLContext:
        try:
            if self.trust.insecure:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            else:
                context = context_trusting(b64decode(self.trust.ca_bundle))
            if self._certificate is not None:
                self._certificate.show(context)
        except (ValueError, OSError) as problem:
            raise Unusable(str(problem)) from problem
        return context

    async def open(self, place: Place) -> HttpStream:
        """A connection, an idle one if there is one. Raises DialError, Unusable."""
        kept = self._idle.get(place, [])
        while kept:
            stream, timer = kept.pop()
            timer.cancel()
            if not stream.is_stale:
                return stream
            stream.close()
        return await self.dial(place)

    async def dial(self, place: Place) -> HttpStream:
        """A new connection. Raises DialError, Unusable."""
        context = await self.prepare()
        host, port = place
        try:
            async with asyncio.timeout(DIAL_SECONDS):
                return HttpStream(await connect(host, port, context, self.trust.server_name))
        except TimeoutError:
            raise DialError(f"dial tcp {authority(host, port)}: i/o timeout") from None

    def release(self, place: Place, stream: HttpStream) -> None:
        """Take back a connection whose answer is over."""
        kept = self._idle.setdefault(place, [])
        if self._closed or not stream.is_reusable or len(kept) >= MAX_IDLE:
            stream.close()
            return
        timer = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._expire, place, stream)
        kept.append((stream, timer))

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
