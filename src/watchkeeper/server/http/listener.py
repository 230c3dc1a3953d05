"""Sockets that accept connections, and their orderly end."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from watchkeeper.aio.keep_alive import keep_alive
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.server.http.connection import Connection
from watchkeeper.server.http.exchange import Application, Exchange
from watchkeeper.server.http.limits import DEFAULT_LIMITS, HttpLimits
from watchkeeper.server.http.loopback import is_loopback, without_pacing
from watchkeeper.server.http.peer import Authorities
from watchkeeper.server.http.tls_acceptor import TlsAcceptor
from watchkeeper.server.http.wire import DateLine, LastChunk

log = logging.getLogger(__name__)

Begin = Callable[[Any, Any, Any], Awaitable[None] | None]

_SWEEP_SECONDS = 5.0


class Listener:
    """Serves an ASGI application on sockets that are already bound.

    `stop()` closes the sockets, ends long-running answers at a message boundary, lets the others finish, and after
    the grace time cancels what is left.
    """

    def __init__(
        self,
        app: Application,
        *,
        ssl_context: ssl.SSLContext | None = None,
        authorities: Authorities | None = None,
        limits: HttpLimits = DEFAULT_LIMITS,
    ) -> None:
        # An application may answer without a task (`endpoints.app.App.begin`); a plain ASGI one is just called.
        self._begin: Begin = getattr(app, "begin", app)
        self._ssl = ssl_context
        self.authorities = authorities
        self.limits = limits
        self.loop = asyncio.get_running_loop()
        self.date = DateLine()
        self.last_chunk = LastChunk()
        self.connections: set[Connection] = set()
        self._servers: list[asyncio.Server | TlsAcceptor] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._owner = TaskOwner("http")
        self._empty: asyncio.Future[None] | None = None

    def __repr__(self) -> str:
        return f"<Listener on {len(self._servers)} sockets, {len(self.connections)} connections>"

    async def listen(self, sock: socket.socket, *, plain: bool = False) -> None:
        """Accept connections on a bound socket; `plain` leaves TLS out (unix sockets)."""
        server: asyncio.Server | TlsAcceptor
        if self._ssl is None or plain:
            server = await self.loop.create_server(self._connect, sock=sock, backlog=self.limits.backlog)
        else:
            server = TlsAcceptor(sock, self._ssl, self.loop, self._connect)
        self._servers.append(server)
        if len(self._servers) == 1:
            self._owner.start("idle-sweep", self._sweep())

    def use(self, ssl_context: ssl.SSLContext, authorities: Authorities | None = None) -> None:
        """Speak TLS with another certificate from the next connection on, and accept other clients from now on."""
        self.authorities = authorities
        for connection in self.connections:
            if connection.peer is not None:
                connection.peer = authorities.judged(connection.peer) if authorities is not None else None
        for server in self._servers:
            if isinstance(server, TlsAcceptor):
                server.use(ssl_context)

    def _connect(self) -> Connection:
        return Connection(self)

    def start(self, exchange: Exchange, scope: dict[str, Any]) -> None:
        """Run the application on one request: at once as far as it goes without waiting, then as a task of its own."""
        try:
            work = self._begin(scope, exchange.receive, exchange.send)
        except Exception:
            exchange.failed(scope)
            return
        if work is None:
            return
        task = self.loop.create_task(exchange.run(work, scope), name="http/request")
        exchange.task = task
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def connection_gone(self, connection: Connection) -> None:
        """Forget a connection that was lost."""
        self.connections.discard(connection)
        if not self.connections and self._empty is not None and not self._empty.done():
            self._empty.set_result(None)

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            now = self.loop.time()
            for connection in list(self.connections):
                if connection.is_stuck(now):
                    log.info("cutting off a client that takes nothing: %r", connection)
                    connection.abort()
                    continue
                if connection.exchange is not None:
                    continue
                limit = self.limits.head_seconds if connection.reading_head else self.limits.idle_seconds
                if now - connection.quiet_since > limit:
                    connection.close()

    async def stop(self, grace: float) -> None:
        """Accept nothing more, let answers finish for up to `grace` seconds, then cut off what is left."""
        for server in self._servers:
            server.close()
        for connection in list(self.connections):
            connection.stop()
        if self.connections:
            self._empty = self.loop.create_future()
            await asyncio.wait((self._empty,), timeout=grace)
            if self.connections:
                log.warning("cutting off %d connections after %g s", len(self.connections), grace)
        for connection in list(self.connections):
            connection.abort()
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._owner.close()


_NO_IPV6 = frozenset({errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL, errno.ENOPROTOOPT})


def bind_tcp(host: str, port: int, backlog: int = DEFAULT_LIMITS.backlog) -> list[socket.socket]:
    """Sockets for every address that `host` stands for, all on one port (0: a free one). Raises OSError.

    `::` and `0.0.0.0` stand for the addresses of both families, as they do in Go.
    """
    if host == "0.0.0.0":
        try:
            return bind_tcp("::", port, backlog)
        except OSError as error:
            if not isinstance(error, socket.gaierror) and error.errno not in _NO_IPV6:
                raise
    found: list[socket.socket] = []
    infos = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    try:
        for family, kind, protocol, _, address in _unique(infos):
            sock = socket.socket(family, kind, protocol)
            found.append(sock)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            keep_alive(sock)
            if is_loopback(address):
                without_pacing(sock)
            if family == socket.AF_INET6:
                sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(host != "::"))
            if len(found) > 1 and port == 0:
                address = (address[0], found[0].getsockname()[1], *address[2:])
            sock.bind(address)
            sock.listen(backlog)
            sock.setblocking(False)
    except OSError:
        for sock in found:
            sock.close()
        raise
    return found


def _unique(infos: Sequence[Any]) -> list[Any]:
    return list({info[4]: info for info in infos}.values())
