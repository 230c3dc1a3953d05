"""One request on its way to another API server, and the answer on its way back: piece by piece, in both directions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

from watchkeeper.aio.dial import authority
from watchkeeper.aio.http_stream import (
    Body,
    BrokenBody,
    BrokenHead,
    Head,
    HttpStream,
    NoAnswer,
    request_head,
    transport_text,
)
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.aio.tls_dial import DialError
from watchkeeper.endpoints.filters.request_deadline import allowed_seconds
from watchkeeper.endpoints.response import NO_CACHE, TEXT, Response, text_response
from watchkeeper.request.exchange import AnswerBroken, Exchange
from watchkeeper.request.request import ClientGone, Request
from watchkeeper.server.aggregation.forwarding import incoming, outgoing, target
from watchkeeper.server.aggregation.transport import Place, Transport, Unusable

DISCOVERY_SECONDS = 5.0
"""So long a server may take to tell what a version has."""
_IDEMPOTENT = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_REDIRECTED = b"the backend attempted to redirect this request, which is not permitted"


@dataclass(frozen=True, slots=True)
class Limits:
    """What answers are held to."""

    request_timeout: float
    """Seconds from a request's arrival to the end of its answer, unless it is long-running."""
    reject_redirects: bool


class _NoAnswer(Exception):
    """Why there is no answer."""


class Passing:
    """Sends a request and waits for its answer, whose body is then streamed. It ends with the client's request.

    A task sends the body and then waits for the client to go, which ends the connection to the other server.
    """

    def __init__(self, request: Request, transport: Transport, place: Place, tasks: TaskOwner, limits: Limits) -> None:
        self._request = request
        self._transport = transport
        self._place = place
        self._host = authority(*place)
        self._tasks = tasks
        self._limits = limits
        exchange: Exchange | None = request.scope.get("exchange")
        # What the audit log would keep of the body is not wanted: it is not an object of this server's.
        self._receive = exchange.receive if exchange is not None else request.receive
        self._chunked = bool(request.header(b"transfer-encoding"))
        length = request.header(b"content-length")
        self._has_body = self._chunked or length not in ("", "0")
        self._taken = False
        """Whether anything was taken of the body."""
        self._sent = False
        """Whether all of the body was sent."""
        self._client_gone = False
        self._sender: asyncio.Task[None] | None = None
        self._stream: HttpStream | None = None
        self._deadline: float | None = None
        request.on_done(lambda _status: self.close())

    def __repr__(self) -> str:
        return f"<Passing {self._request.method} {self._request.path} to {self._host}>"

    async def response(self) -> Response:
        """The answer. Raises ClientGone."""
        loop = asyncio.get_running_loop()
        info = self._request.info
        if not info.long_running:
            self._deadline = self._request.started + allowed_seconds(self._request, self._limits.request_timeout)
        is_discovery = not info.is_resource and len(self._request.path.strip("/").split("/")) == 3
        seconds = DISCOVERY_SECONDS if is_discovery else None
        if seconds is not None:
            self._deadline = min(loop.time() + seconds, self._deadline or loop.time() + seconds)
        try:
            async with asyncio.timeout(seconds):
                stream, head = await self._answer()
        except TimeoutError:
            return _unreachable("context deadline exceeded")
        except _NoAnswer as problem:
            if self._client_gone:
                raise ClientGone from problem
            return _unreachable(str(problem))
        return self._passed_back(stream, head)

    async def _answer(self) -> tuple[HttpStream, Head]:
        while True:
            try:
                stream = self._stream = await self._transport.open(self._place)
                self._begin(stream)
                return stream, await stream.read_head()
            except NoAnswer as problem:
                stream.close()
                if self._client_gone or not (stream.used and self._may_repeat()):
                    self.close()
                    raise _NoAnswer(transport_text(problem)) from problem
            except (DialError, Unusable, BrokenHead, ValueError) as problem:
                self.close()
                raise _NoAnswer(transport_text(problem)) from problem

    def _may_repeat(self) -> bool:
        """Whether the request can be sent once more where a kept connection turns out to be closed."""
        return not self._taken and (not self._has_body) and self._request.method in _IDEMPOTENT

    def _begin(self, stream: HttpStream) -> None:
        headers = outgoing(self._request, self._host)
        if self._chunked:
            headers.append((b"transfer-encoding", b"chunked"))
        elif self._has_body or self._request.method in ("POST", "PUT", "PATCH"):
            headers.append((b"content-length", self._request.header(b"content-length").encode("latin-1") or b"0"))
        head = request_head(self._request.method, target(self._request), headers)
        stream.ask(head)
        if self._sender is None:
            self._sender = self._tasks.start(f"body of {self._request.method} {self._request.path}", self._send(stream))

    async def _send(self, stream: HttpStream) -> None:
        """Send the body as it comes; then wait until the client is gone, and end what it does not wait for any more."""
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                break
            try:
                await self._send_piece(stream, message)
            except OSError:
                pass  # the answer, if there is one, tells why
        self._client_gone = True
        if self._stream is not None:  # another one, if the first had been closed
            self._stream.close()

    async def _send_piece(self, stream: HttpStream, message: dict[str, object]) -> None:
        piece = message.get("body") or b""
        assert isinstance(piece, bytes)
        more = bool(message.get("more_body", False))
        if piece:
            self._taken = True
            await (stream.send_chunk(piece) if self._chunked else stream.send(piece))
        if not more and not self._sent:
            if self._chunked:
                await stream.send_chunk(b"")
            self._sent = True

    def _passed_back(self, stream: HttpStream, head: Head) -> Response:
        if self._limits.reject_redirects and 300 <= head.status <= 399 and head.first(b"location"):
            self.close()
            return Response(502, _REDIRECTED, (TEXT,))
        if head.status == 101:
            protocol = head.first(b"upgrade").decode("latin-1")
            return self._refused(f'backend tried to switch protocol "{protocol}" when "" was requested')
        has_length = head.status not in (204, 304) and not head.chunked
        try:
            headers = incoming(head.headers, self._host, has_length=has_length)
        except ValueError as problem:
            return self._refused(f"Internal error occurred: error trying to parse Location header: {problem}")
        if head.first(b"cache-control"):
            headers.append(NO_CACHE)  # which stands beside what the other server says
        answer = _Answer(self, stream.body(self._request.method), self._deadline)
        return Response(head.status, headers=headers, stream=answer)

    def _refused(self, why: str) -> Response:
        """What is told in place of an answer that cannot be passed back."""
        self.close()
        return text_response(503, f"{why}\n")

    def finish(self) -> None:
        """The answer was read to its end: somebody else may use the connection."""
        stream, self._stream = self._stream, None
        if self._sender is not None:
            self._sender.cancel()
        if stream is not None:
            if self._sent or not self._has_body:
                self._transport.release(self._place, stream)
            else:
                stream.close()

    def close(self) -> None:
        """End what is still under way. Idempotent."""
        if self._sender is not None:
            self._sender.cancel()
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()


class _Answer:
    """The body of an answer. Implements `endpoints.response.Stream`."""

    def __init__(self, passing: Passing, body: Body, deadline: float | None) -> None:
        self._passing = passing
        self._body = body
        self._deadline = deadline

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            async with asyncio.timeout_at(self._deadline):
                piece = await self._body.piece()
        except TimeoutError:
            raise AnswerBroken("it took too long") from None
        except BrokenBody as problem:
            raise AnswerBroken(str(problem)) from problem
        if not piece:
            self._passing.finish()
            raise StopAsyncIteration
        return piece

    async def aclose(self) -> None:
        """Let go of the connection, which is of no use to others unless all was read."""
        self._passing.close()


def _unreachable(why: str) -> Response:
    return text_response(503, f"error trying to reach service: {why}\n")


__all__ = ["Limits", "Passing"]
