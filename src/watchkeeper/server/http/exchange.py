"""One request and its answer."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any

from watchkeeper.request.exchange import AnswerBroken
from watchkeeper.server.http import wire
from watchkeeper.server.http.errors import ClientDisconnected

if TYPE_CHECKING:
    from watchkeeper.server.http.connection import Connection
    from watchkeeper.server.http.peer import TlsPeer
    from watchkeeper.server.http.tunnel import Tunnel
    from watchkeeper.server.http.websocket import WebSocket

log = logging.getLogger(__name__)

Message = MutableMapping[str, Any]
Application = Callable[[Any, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]]

GOING_AWAY = 1001
"""What a WebSocket is closed with when the server stops."""
_JOINED = 1 << 14
"""Up to this size (a TLS record) bytes are joined to what goes before them; longer ones are not copied."""
_PIECE = 1 << 18
"""Longer bodies go out in pieces of this size, each waiting until the client has taken enough of the ones before."""


class Exchange:
    """Reads one request's body and writes its answer; the ASGI `receive` and `send` are its methods.

    Its connection feeds it body bytes and tells it when the client is gone. States of the answer: not begun → head
    sent (`started`) → all sent (`complete`). An answer that was begun and cannot be finished closes the connection.
    After `upgrade` the answer is a WebSocket, complete when that is closed.
    """

    __slots__ = (
        "_body",
        "_body_size",
        "_chunked",
        "_connection",
        "_end_delivered",
        "_head_only",
        "_http10",
        "_left",
        "_socket",
        "_waiter",
        "body_complete",
        "broken_at_stop",
        "complete",
        "disconnected",
        "ending",
        "expect_continue",
        "keep_alive",
        "long_running",
        "started",
        "task",
    )

    def __init__(self, connection: Connection, *, head_only: bool, http10: bool, keep_alive: bool) -> None:
        self._connection = connection
        self._head_only = head_only
        self._http10 = http10
        self.keep_alive = keep_alive
        self.expect_continue = False
        self.long_running = False
        self.broken_at_stop = False
        self.task: asyncio.Task[None] | None = None
        self.body_complete = False
        self.started = False
        self.complete = False
        self.disconnected = False
        self.ending = False
        self._body: list[bytes] = []
        self._body_size = 0
        self._end_delivered = False
        self._chunked = False
        self._left = 0
        self._waiter: asyncio.Future[None] | None = None
        """Of whoever waits; one that is done is nobody's any more."""
        self._socket: WebSocket | Tunnel | None = None

    def __repr__(self) -> str:
        state = "complete" if self.complete else "answering" if self.started else "waiting"
        return f"<Exchange {state}{', client gone' if self.disconnected else ''}>"

    def peer_certificate(self) -> TlsPeer | None:
        """The client's certificate, None when there is none. It is judged anew for each request."""
        peer = self._connection.peer
        if peer is not None and peer.has_ended:
            peer = self._connection.peer = peer.refused()
        return peer

    # -- the request's body -------------------------------------------------------------------------------------

    def feed(self, chunk: bytes) -> bool:
        """Take a piece of the body; True when enough waits and reading should pause."""
        self._body.append(chunk)
        self._body_size += len(chunk)
        self._wake()
        return self._body_size > self._connection.limits.body_buffer

    def end_body(self) -> None:
        """The body is complete."""
        self.body_complete = True
        self._wake()

    def disconnect(self) -> None:
        """The client is gone. A stream is cancelled; a request that has not begun its answer runs to its end."""
        if self.complete or self.disconnected:
            return
        self.disconnected = True
        if self._socket is not None:
            self._socket.end()
        self._wake()
        if self.started and self.task is not None:
            self.task.cancel()

    def end_stream(self) -> bool:
        """End a long-running answer at a message boundary. False when it is not such an answer."""
        if not self.long_running or self.complete or self.task is None:
            return False
        self.ending = True
        self.task.cancel()
        return True

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    async def receive(self) -> Message:
        """ASGI: what is there of the body, waiting for more when there is nothing; then that the client is gone."""
        if self.expect_continue:
            self.expect_continue = False
            if not self.started:
                self._connection.write(wire.CONTINUE)
        while not (self._body or self.disconnected or self.complete):
            if self.body_complete and not self._end_delivered:
                break
            self._connection.resume_reading()
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        if self.disconnected or self.complete:
            return {"type": "http.disconnect"}
        chunks, self._body = self._body, []
        self._body_size = 0
        self._end_delivered = self.body_complete
        body = chunks[0] if len(chunks) == 1 else b"".join(chunks)
        return {"type": "http.request", "body": body, "more_body": not self.body_complete}

    # -- the answer ---------------------------------------------------------------------------------------------

    def respond(self, status: int, headers: Sequence[tuple[bytes, bytes]], body: bytes) -> None:
        """Send a whole answer at once. Nothing happens when the client is gone."""
        if self.disconnected:
            return
        if self.started:
            raise RuntimeError("an answer was begun already")
        length = b"\r\n" if status in wire.NO_BODY else b"content-length: %d\r\n\r\n" % len(body)
        head = self._head(status, headers, length)
        if self._head_only or not body or status in wire.NO_BODY:
            self._connection.write(head)
        elif len(body) <= _JOINED:
            self._connection.write(head + body)
        else:
            self._connection.write_lines((head, body))
        self._finish()

    def hijack(self) -> Tunnel:
        """Leave the answer, and all that follows it, to whoever takes the bytes. Raises ClientDisconnected."""
        from watchkeeper.server.http.tunnel import Tunnel

        if self.disconnected:
            raise ClientDisconnected("the client closed the connection")
        if self.started:
            raise RuntimeError("an answer was begun already")
        self.started = self.long_running = True
        self.keep_alive = False
        tunnel = self._socket = Tunnel(self._connection, self)
        self._connection.upgraded(tunnel)
        return tunnel

    def upgrade(self, headers: Sequence[tuple[bytes, bytes]]) -> WebSocket:
        """Answer with 101 and go on as a WebSocket. Raises ClientDisconnected."""
        from watchkeeper.server.http.websocket import WebSocket

        if self.disconnected:
            raise ClientDisconnected("the client closed the connection")
        if self.started:
            raise RuntimeError("an answer was begun already")
        self.started = True
        self.keep_alive = False
        lines = (wire.STATUS_LINES[101], self._connection.date_line(), wire.header_lines(headers), b"\r\n")
        self._connection.write(b"".join(lines))
        socket = self._socket = WebSocket(self._connection, self)
        self._connection.upgraded(socket)
        return socket

    def upgrade_done(self) -> None:
        """The WebSocket, or what is in its place, is closed from this side."""
        if not self.complete:
            self._finish()

    async def send(self, message: Message) -> None:
        """ASGI: begin the answer, or send a piece of it. Raises ClientDisconnected once the client is gone."""
        if self.disconnected:
            raise ClientDisconnected("the client closed the connection")
        if message["type"] == "http.response.body":
            await self._send_body(message.get("body", b""), message.get("more_body", False))
        elif message["type"] == "http.response.start":
            self._begin(message["status"], message.get("headers", ()))
        else:
            raise RuntimeError(f"unexpected ASGI message {message['type']}")

    def send_nowait(self, piece: bytes) -> bool:
        """Send a piece of a stream if that is done at once; False leaves it to `send`."""
        connection = self._connection
        if self.disconnected or self.complete or self._head_only or connection.write_paused or not self._chunked:
            return False
        size = len(piece)
        if size > _PIECE:
            return False
        if size > _JOINED:
            connection.write_lines((b"%x\r\n" % size, piece, b"\r\n"))
        elif size:
            connection.write_chunk(piece)
        return True

    def _begin(self, status: int, headers: Sequence[tuple[bytes, bytes]]) -> None:
        if self.started:
            raise RuntimeError("an answer was begun already")
        ending = b"\r\n"
        self._left = -1
        for name, value in headers:
            if name == b"content-length":
                self._left = int(value)
        if self._left < 0:
            if status in wire.NO_BODY or self._head_only:
                self._left = 0
            elif self._http10:
                self.keep_alive = False
            else:
                self._chunked = True
                ending = wire.CHUNKED + b"\r\n"
        self._connection.write(self._head(status, headers, ending))

    def _head(self, status: int, headers: Sequence[tuple[bytes, bytes]], ending: bytes) -> bytes:
        if not self.body_complete:
            # What is still to come of the body could only be read as a next request.
            self.keep_alive = False
        parts = [wire.STATUS_LINES[status], self._connection.date_line(), wire.header_lines(headers)]
        leave = self._connection.limits.leave_chance
        if leave and random.random() < leave and not self._connection.waits_for_more:
            self.keep_alive = False
        if not self.keep_alive:
            parts.append(wire.CLOSE)
        parts.append(ending)
        self.started = True  # what cannot be written has not begun, and is told as a 500
        return b"".join(parts)

    async def _send_body(self, body: bytes, more: bool) -> None:
        if not self.started or self.complete:
            raise RuntimeError("a body outside of an answer")
        if body and not self._head_only:
            if len(body) > _PIECE:
                view = memoryview(body)
                for start in range(0, len(body), _PIECE):
                    await self._write_piece(view[start : start + _PIECE])
            else:
                await self._write_piece(body)
        if more:
            return
        if self._left > 0 and not self._head_only:
            raise RuntimeError(f"the answer is {self._left} bytes shorter than its content-length")
        if self._chunked:
            self._connection.write(wire.LAST_CHUNK)
        self._finish()

    async def _write_piece(self, piece: bytes | memoryview) -> None:
        connection = self._connection
        if connection.write_paused:
            await connection.drain()
            if self.disconnected:
                raise ClientDisconnected("the client closed the connection")
        if self._chunked:
            if len(piece) <= _JOINED:
                connection.write_chunk(bytes(piece))
            else:
                connection.write_lines((b"%x\r\n" % len(piece), piece, b"\r\n"))
            return
        if self._left >= 0:
            self._left -= len(piece)
            if self._left < 0:
                raise RuntimeError("the answer is longer than its content-length")
        connection.write(piece)

    def _finish(self) -> None:
        self.complete = True
        self._wake()
        self._connection.exchange_done(self)

    # -- running the application ----------------------------------------------------------------------------------

    async def run(self, work: Awaitable[None], scope: Any) -> None:
        """Wait for the application and see to it that the client gets an end of some kind."""
        try:
            await work
        except asyncio.CancelledError:
            self._cancelled()
        except ClientDisconnected:
            pass
        except AnswerBroken as problem:
            log.warning("the answer to %s %s was broken off: %s", scope["method"], scope["path"], problem)
            self._break_off()
        except Exception:
            self.failed(scope)
        else:
            if not self.complete and not self.disconnected:
                log.error("the application ended without an answer to %s %s", scope["method"], scope["path"])
                self._break_off()
        finally:
            self.task = None

    def failed(self, scope: Any) -> None:
        """The application raised what is being handled: tell the log, and the client as far as that is possible."""
        log.exception("the application failed on %s %s", scope["method"], scope["path"])
        self._break_off()

    def _cancelled(self) -> None:
        if self._socket is not None and self.ending and not self.disconnected:
            self._socket.close(GOING_AWAY)
        elif self.ending and self._chunked and not (self.broken_at_stop or self.complete or self.disconnected):
            self.keep_alive = False
            self._connection.write(wire.LAST_CHUNK)
            self._finish()
        else:
            self._break_off()

    def _break_off(self) -> None:
        if self.complete or self.disconnected:
            return
        if self.started:
            self.complete = True
            if self._socket is not None:
                self._socket.end()
            self._connection.abort()
        else:
            self.keep_alive = False
            text = b"Internal Server Error\n"
            self.respond(500, ((b"content-type", b"text/plain; charset=utf-8"),), text)
