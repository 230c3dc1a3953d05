"""Accepts connections on a bound socket and has their TLS spoken by `TlsTransport`."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import ssl
from collections.abc import Callable

from watchkeeper.server.http.loopback import is_loopback, without_pacing
from watchkeeper.server.http.tls_transport import TlsTransport

log = logging.getLogger(__name__)

_HANDSHAKE_SECONDS = 15.0
_SHUTDOWN_SECONDS = 5.0
_AT_A_TIME = 64
"""So many connections are accepted before whoever is connected has a turn again."""
_OUT_OF_RESOURCES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_PAUSE_SECONDS = 1.0


class TlsAcceptor:
    """Listens from when it is made. `close()` ends that, and what is still shaking hands."""

    def __init__(
        self,
        sock: socket.socket,
        context: ssl.SSLContext,
        loop: asyncio.AbstractEventLoop,
        factory: Callable[[], asyncio.Protocol],
        *,
        handshake_seconds: float = _HANDSHAKE_SECONDS,
        shutdown_seconds: float = _SHUTDOWN_SECONDS,
    ) -> None:
        """`sock` listens and does not block; it is closed with the acceptor. `factory` makes the protocols."""
        self._socket = sock
        self._context = context
        self._loop = loop
        self._factory = factory
        self._handshake_seconds = handshake_seconds
        self._shutdown_seconds = shutdown_seconds
        self._greeting: set[TlsTransport] = set()  # whose handshakes are not done
        self._pause: asyncio.TimerHandle | None = None
        self._closed = False
        loop.add_reader(sock.fileno(), self._accept)

    def __repr__(self) -> str:
        return f"<TlsAcceptor {'closed' if self._closed else 'open'}, {len(self._greeting)} shaking hands>"

    def _accept(self) -> None:
        for _ in range(_AT_A_TIME):
            try:
                sock, address = self._socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in _OUT_OF_RESOURCES:
                    raise
                log.error("no connection can be accepted for a moment: %s", error)
                self._loop.remove_reader(self._socket.fileno())
                self._pause = self._loop.call_later(_PAUSE_SECONDS, self._go_on)
                return
            if is_loopback(address):
                without_pacing(sock)
            self._begin(sock)

    def _go_on(self) -> None:
        self._pause = None
        self._loop.add_reader(self._socket.fileno(), self._accept)

    def _begin(self, sock: socket.socket) -> None:
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            wrapped = self._context.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
        except (OSError, ValueError) as error:
            log.debug("a client was gone before it was greeted: %s", error)
            sock.close()
            return
        transport = TlsTransport(
            wrapped,
            self._loop,
            self._factory,
            self._greeting.discard,
            handshake_seconds=self._handshake_seconds,
            shutdown_seconds=self._shutdown_seconds,
        )
        self._greeting.add(transport)

    def use(self, context: ssl.SSLContext) -> None:
        """Greet whoever comes from now on with another certificate."""
        self._context = context

    def close(self) -> None:
        """Accept nothing more. Connections that have been made go on. Idempotent."""
        if self._closed:
            return
        self._closed = True
        if self._pause is not None:
            self._pause.cancel()
        else:
            self._loop.remove_reader(self._socket.fileno())
        self._socket.close()
        for transport in list(self._greeting):
            transport.abort()
