"""One client's connection: bytes in, requests out, answers back in order."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from urllib.parse import unquote

import httptools

from watchkeeper.server.http import wire
from watchkeeper.server.http.exchange import Exchange
from watchkeeper.server.http.known_head import HeadMemory, KnownRequest
from watchkeeper.server.http.peer import TlsPeer, tls_peer
from watchkeeper.server.http.unsent import unacknowledged
from watchkeeper.server.http.upgrade_body import body_parser, framing_of

if TYPE_CHECKING:
    from watchkeeper.server.http.listener import Listener
    from watchkeeper.server.http.tunnel import Tunnel
    from watchkeeper.server.http.websocket import WebSocket

_LINGER_SECONDS = 1.0
_VERSIONS = frozenset(("1.0", "1.1"))
_other_method = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+(?= )").match
_may_be_host = re.compile(rb"[A-Za-z0-9!$%&'()*+,\-.:;=\[\]_~]*").fullmatch
_bad_escape = re.compile(rb"%(?![0-9A-Fa-f]{2})").search
_STAND_IN = b"REPORT"
"""A method without meaning here that the parser knows, for those that it does not know: HTTP lets them be any token."""
_ASGI = {"version": "3.0", "spec_version": "2.4"}


class _Refusal(NamedTuple):
    """How an answer begins that refuses a request, and its body. Of several the one of the lowest rank is told."""

    rank: int
    status: str
    body: str


def _bad_request(rank: int, status: str) -> _Refusal:
    return _Refusal(rank, status, status)


_BAD_REQUEST = _bad_request(0, "400 Bad Request")
_NOT_IMPLEMENTED = _Refusal(1, "501 Not Implemented", "Unsupported transfer encoding")
_NO_HOST = _bad_request(2, "400 Bad Request: missing required Host header")
_NO_HOST_NAME = _bad_request(2, "400 Bad Request: malformed Host header")
_EXPECTATION_FAILED = _Refusal(3, "417 Expectation Failed", "")
_HEAD_TOO_LARGE = _bad_request(0, "431 Request Header Fields Too Large")


class Connection(asyncio.Protocol):
    """Parses requests and runs the application on them, one at a time; pipelined ones wait their turn unread.

    A request whose body comes in the same bytes is started with the body complete, so that reading it never waits.
    """

    # Thousands of connections do nothing but wait: they hold no more than they have to.
    __slots__ = (
        "_asks_upgrade",
        "_client",
        "_closing",
        "_current",
        "_drain_waiter",
        "_expect_continue",
        "_framing",
        "_head_size",
        "_headers",
        "_heads",
        "_hosts",
        "_in_head",
        "_joins",
        "_listener",
        "_loop",
        "_other_method",
        "_parser",
        "_pipeline",
        "_reading_paused",
        "_receiving",
        "_refusal",
        "_scheme",
        "_server",
        "_socket",
        "_to_start",
        "_transport",
        "_unsent",
        "_unsent_since",
        "_url",
        "limits",
        "peer",
        "quiet_since",
        "write_paused",
    )

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._loop = listener.loop
        self.limits = listener.limits
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport | None = None
        self._client: tuple[str, int] | None = None
        self._server: tuple[str, int | None] | None = None
        self._scheme = "http"
        self._joins = False
        self.peer: TlsPeer | None = None
        self.write_paused = False
        self._reading_paused = False
        self._drain_waiter: asyncio.Future[None] | None = None
        self._url = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._head_size = 0
        self._heads: HeadMemory | None = None
        """There from the second request on: the first may be all that comes."""
        self._expect_continue = False
        self._asks_upgrade = False
        self._framing = b""
        """How the body is framed of a request that asks for another protocol, until that is parsed."""
        self._hosts = 0
        self._other_method = ""
        self._refusal: _Refusal | None = None
        self._unsent = 0
        self._unsent_since = 0.0
        self._in_head = True
        self._closing = False
        self._current: Exchange | None = None
        self._receiving: Exchange | None = None
        self._to_start: tuple[Exchange, dict[str, Any]] | None = None
        self._pipeline: deque[tuple[Exchange, dict[str, Any]]] | None = None
        self._socket: WebSocket | Tunnel | None = None
        self.quiet_since: float = self._loop.time()
        """When the last request ended or the first bytes of the present one came."""

    @property
    def waits_for_more(self) -> bool:
        """Whether requests have come that wait for the present one to be answered."""
        return bool(self._pipeline)

    def __repr__(self) -> str:
        return f"<Connection from {self._client}: {self._current or 'idle'}>"

    @property
    def exchange(self) -> Exchange | None:
        """The request being answered."""
        return self._current

    @property
    def reading_head(self) -> bool:
        """Whether a request has begun to arrive and its headers are not complete."""
        return self._in_head and self._head_size > 0

    # -- transport callbacks --------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take over a connection whose TLS handshake, if any, is done."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=self.limits.write_buffer)
        # `writelines` of asyncio's own transports does not tell the protocol to pause (Python 3.12 and 3.13 at least).
        self._joins = type(transport).__module__ == "asyncio.selector_events"
        peername = transport.get_extra_info("peername")
        if isinstance(peername, (tuple, list)) and len(peername) >= 2:
            self._client = (str(peername[0]), int(peername[1]))
        sockname = transport.get_extra_info("sockname")
        if isinstance(sockname, (tuple, list)) and len(sockname) >= 2:
            self._server = (str(sockname[0]), int(sockname[1]))
        ssl_object = transport.get_extra_info("ssl_object")
        if ssl_object is not None:
            self._scheme = "https"
            if self._listener.authorities is not None:
                self.peer = tls_peer(ssl_object, self._listener.authorities)
        self._listener.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """The client is gone, or we closed."""
        self._closing = True
        self._listener.connection_gone(self)
        self._release_drain()
        self._to_start = None
        for exchange in (self._current, *(item[0] for item in self._pipeline or ())):
            if exchange is not None:
                exchange.disconnect()
        self._pipeline = None
        self._transport = None

    def data_received(self, data: bytes) -> None:
        """Parse what came and start the request that it completes."""
        if self._socket is not None:
            self._socket.feed(data)
            return
        begins = self._in_head and not self._head_size
        if begins and self._heads is not None and self._current is None and not self._closing:
            known = self._heads.read(data)
            if known is not None:
                self._start_known(known)
                return
        if self._in_head:
            if begins:
                self.quiet_since = self._loop.time()
            self._head_size += len(data)
        if not self._parse(data):
            self._refuse_nonsense()
            return
        if begins and self._in_head:
            self._remember_head(data)
        elif self._heads is not None:
            self._heads.noted = ()  # it came in pieces, and would be held for as long as nothing follows
        if self._in_head and self._head_size > self.limits.head_size:
            self._refuse(_HEAD_TOO_LARGE)
            self.close()
            return
        if self._to_start is not None:
            self._start_waiting()

    def _parse(self, data: bytes) -> bool:
        """Hand bytes to the parser; False when they are no HTTP."""
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            # The request is handed on like any other; nothing may follow it before it is answered.
            if self._framing:
                self._parser, self._framing = body_parser(self, self._framing), b""
                return self._parse(data[upgrade.args[0] :])
        except httptools.HttpParserInvalidMethodError:
            method = _other_method(data)
            # Only of what begins a request it is known where in the bytes the method is.
            if method is None or self._other_method or not self._in_head or self._head_size != len(data):
                return False
            self._other_method = method[0].decode("ascii")
            self._parser = httptools.HttpRequestParser(self)
            return self._parse(_STAND_IN + data[method.end() :])
        except httptools.HttpParserError:
            return False
        return True

    def _refuse_nonsense(self) -> None:
        """What came is no HTTP, or none that is served. A request that was complete before it still gets its answer.

        What follows is read on and dropped, as the client's end has to be noticed while an answer takes long.
        """
        current = self._current
        if current is not None and current.body_complete and self._to_start is None:
            self._closing = True
            current.keep_alive = False
            return
        if current is None or self._to_start is not None:
            self._refuse(self._refusal or _BAD_REQUEST)
        self.close()

    def _refuse(self, refusal: _Refusal) -> None:
        self.write(wire.plain_answer(refusal.status, refusal.body))

    def pause_writing(self) -> None:
        """The client takes less than we send."""
        self.write_paused = True

    def resume_writing(self) -> None:
        """The client has caught up."""
        if self._socket is not None:
            self._socket.alive()
        self._release_drain()

    def _release_drain(self) -> None:
        self.write_paused = False
        waiter = self._drain_waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    # -- parser callbacks -----------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """A request begins."""
        self._head_size = self._head_size or 1  # behind another one in the same bytes it has not been counted
        self._url = b""
        self._headers = []
        self._expect_continue = False
        self._hosts = 0

    def on_url(self, url: bytes) -> None:
        """A piece of the request target."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header."""
        name = name.lower()
        if name == b"host":
            self._hosts += 1
            if _may_be_host(value) is None:
                self._note(_NO_HOST_NAME)
        elif name == b"expect":
            self._expect_continue = value.lower() == b"100-continue"
            if not self._expect_continue:
                self._note(_EXPECTATION_FAILED)
        elif name == b"upgrade":
            self._asks_upgrade = True
        elif name == b"transfer-encoding" and value.lower() != b"chunked":
            self._note(_NOT_IMPLEMENTED)
        self._headers.append((name, value))

    def _note(self, refusal: _Refusal) -> None:
        if self._refusal is None or refusal.rank < self._refusal.rank:
            self._refusal = refusal

    def on_headers_complete(self) -> None:
        """Everything but the body is known."""
        self._in_head = False
        self._head_size = 0
        if self._closing:
            return  # the last answer said so: what comes after it is not a request any more
        parser = self._parser
        method, self._other_method = self._other_method or parser.get_method().decode("ascii"), ""
        version = parser.get_http_version()
        if (fault := self._fault_of_head(version)) is not None:
            self._note(fault)
        if self._refusal is not None:
            raise ValueError(self._refusal)
        exchange = Exchange(
            self,
            head_only=method == "HEAD",
            http10=version == "1.0",
            keep_alive=parser.should_keep_alive(),
        )
        exchange.expect_continue = self._expect_continue
        self._receiving = exchange
        if self._asks_upgrade:
            self._asks_upgrade = False
            if parser.should_upgrade() and (framing := framing_of(self._headers)):
                self._framing = framing
                exchange.keep_alive = False
        if self._heads is not None and exchange.keep_alive:
            self._heads.noted = tuple(self._headers)
        scope = self._scope(method, version, exchange)
        # The head is the request's from now on; what comes behind a chunked body is not.
        self._url, self._headers = b"", []
        if self._current is None and not self._pipeline:
            self._current = exchange
            self._to_start = (exchange, scope)
        else:
            if self._pipeline is None:
                self._pipeline = deque()
            self._pipeline.append((exchange, scope))
            self.pause_reading()

    def _fault_of_head(self, version: str) -> _Refusal | None:
        if version not in _VERSIONS or self._hosts > 1:
            return _BAD_REQUEST
        if b"%" in self._url and _bad_escape(self._url.partition(b"?")[0]):
            return _BAD_REQUEST
        return _NO_HOST if version == "1.1" and not self._hosts else None

    def _remember_head(self, data: bytes) -> None:
        """A request is complete that came in `data`: the next may have the same head."""
        current = self._current
        if current is not None and current.long_running:
            self._heads = None  # nothing else comes for long
        elif self._heads is None:
            self._heads = HeadMemory()
        else:
            self._heads.keep(data)

    def _start_known(self, known: KnownRequest) -> None:
        """Start a request that needs no parsing."""
        exchange = self._current = Exchange(self, head_only=False, http10=False, keep_alive=True)
        self._url, self._headers = known.target, list(known.headers)
        scope = self._scope(known.method, "1.1", exchange)
        self._url, self._headers = b"", []
        if known.body:
            exchange.feed(known.body)
        exchange.end_body()
        self._listener.start(exchange, scope)
        if exchange.long_running:
            self._heads = None

    def _scope(self, method: str, version: str, exchange: Exchange) -> dict[str, Any]:
        target = self._url
        if not target.startswith(b"/"):
            parsed = httptools.parse_url(target) if target != b"*" else None
            raw_path, query = (parsed.path or b"/", parsed.query or b"") if parsed else (b"*", b"")
        else:
            raw_path, _, query = target.partition(b"?")
        path = raw_path.decode("latin-1")
        if "%" in path:
            path = unquote(path)
        return {
            "type": "http",
            "asgi": _ASGI,
            "http_version": version,
            "method": method,
            "scheme": self._scheme,
            "path": path,
            "raw_path": raw_path,
            "query_string": query,
            "root_path": "",
            "headers": self._headers,
            "client": self._client,
            "server": self._server,
            "exchange": exchange,
        }

    def on_body(self, body: bytes) -> None:
        """A piece of the body; dropped when the answer is out already."""
        exchange = self._receiving
        if exchange is not None and not exchange.complete and exchange.feed(body):
            if self._to_start is not None:
                self._start_waiting()
            self.pause_reading()

    def on_message_complete(self) -> None:
        """The request is complete."""
        if self._framing:
            return  # its head is
        self._in_head = True
        exchange, self._receiving = self._receiving, None
        if exchange is not None:
            exchange.end_body()
            if exchange.complete:
                self.close()
        if self._to_start is not None:
            self._start_waiting()

    # -- requests in order ----------------------------------------------------------------------------------------

    def _start_waiting(self) -> None:
        assert self._to_start is not None
        (exchange, scope), self._to_start = self._to_start, None
        self._listener.start(exchange, scope)

    def exchange_done(self, exchange: Exchange) -> None:
        """An answer is complete: close, or go on with the next request."""
        self._current = None
        if not exchange.body_complete and self._transport is not None:
            self._linger()
            return
        if not exchange.keep_alive or self._closing:
            self.close()
            return
        self.quiet_since = self._loop.time()
        if self._pipeline:
            following, scope = self._pipeline.popleft()
            self._current = following
            self._listener.start(following, scope)
        if not self._pipeline:
            self.resume_reading()

    def _linger(self) -> None:
        """Read on for a moment and drop it: closing on unread bytes would make the client lose the answer."""
        self._closing = True
        self.resume_reading()
        self._loop.call_later(_LINGER_SECONDS, self.close)

    def upgraded(self, socket: WebSocket | Tunnel) -> None:
        """What comes from now on belongs to a WebSocket, or to somebody else altogether."""
        self._socket = socket
        self.resume_reading()

    # -- for exchanges ----------------------------------------------------------------------------------------------

    def date_line(self) -> bytes:
        """The `date` header."""
        return self._listener.date.at(self._loop.time())

    def write_chunk(self, piece: bytes) -> None:
        """Send a piece of a chunked body."""
        if self._transport is not None:
            self._transport.write(self._listener.last_chunk.of(piece))

    def write(self, data: bytes | memoryview) -> None:
        """Send bytes, if the client is still there."""
        if self._transport is not None:
            self._transport.write(data)

    def write_lines(self, pieces: tuple[bytes | memoryview, ...]) -> None:
        """Send several pieces, without joining them first where the transport can do that."""
        if self._transport is None:
            return
        if self._joins:
            self._transport.write(b"".join(pieces))
        else:
            self._transport.writelines(pieces)

    async def drain(self) -> None:
        """Wait until the client has taken enough, or is gone. One exchange waits at a time."""
        while self.write_paused and self._transport is not None:
            self._drain_waiter = self._loop.create_future()
            await self._drain_waiter

    def is_stuck(self, now: float) -> bool:
        """Whether the client has taken nothing of what waits for it for too long. To be asked now and then."""
        transport = self._transport
        waiting = transport.get_write_buffer_size() if transport is not None else 0
        if not waiting or transport is None:
            self._unsent = 0
            return False
        # The transport is called when a third of the kernel's buffer is free, which may be a mebibyte and more.
        sock = transport.get_extra_info("socket")
        size = waiting + (unacknowledged(sock.fileno()) if sock is not None else 0)
        if size != self._unsent:
            self._unsent, self._unsent_since = size, now
            return False
        return now - self._unsent_since > self.limits.write_seconds

    def pause_reading(self) -> None:
        """Take no more bytes from the client for now."""
        if not self._reading_paused and self._transport is not None and not self._transport.is_closing():
            self._reading_paused = True
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Take more bytes from the client."""
        if self._reading_paused:
            self._reading_paused = False
            if self._transport is not None and not self._transport.is_closing():
                self._transport.resume_reading()

    # -- the end ----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close once everything written has gone out."""
        self._closing = True
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Close so that the client sees a broken answer, not a complete one."""
        self._closing = True
        if self._transport is not None:
            self._transport.abort()

    def stop(self) -> None:
        """Take no further request: close now when idle, else after the answer. Streams are ended."""
        self._closing = True
        current = self._current
        if current is None:
            # Nothing is lost, and a client that does not read could hold up an orderly TLS shutdown.
            if self._transport is not None and not self._transport.get_write_buffer_size():
                self.abort()
            else:
                self.close()
        else:
            current.keep_alive = False
            current.end_stream()
