"""One request on its way to a backend, and the answer on its way back: piece by piece, in both directions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

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
from watchkeeper.endpoints.response import NO_CACHE, Response
from watchkeeper.request.exchange import AnswerBroken, Exchange
from watchkeeper.request.request import ClientGone, Request
from watchkeeper.server.passing.terms import Refused, Terms
from watchkeeper.server.passing.transport import Transport, Unusable

_IDEMPOTENT = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_WITH_LENGTH = frozenset({"POST", "PUT", "PATCH"})
"""What Go's client says the length of even where there is no body."""


class _NoAnswer(Exception):
    """Why there is no answer."""


class Passing:
    """Sends a request and waits for its answer, whose body is then streamed. It ends with the client's request.

    A task sends the body and then waits for the client to go, which ends the connection to the backend.
    """

    def __init__(
        self,
        request: Request,
        transport: Transport,
        terms: Terms,
        tasks: TaskOwner,
        *,
        seconds: float | None = None,
        deadline: float | None = None,
    ) -> None:
        """`seconds` are how long the answer may take to begin, `deadline` the loop time by which it has to be over."""
        self._request = request
        self._transport = transport
        self._terms = terms
        self._tasks = tasks
        self._seconds = seconds
        self._deadline = deadline
        exchange: Exchange | None = request.scope.get("exchange")
        # What the audit log would keep of the body is not wanted: it is not an object of this server's.
        self._receive = exchange.receive if exchange is not None else request.receive
        self._chunked = terms.with_body and bool(request.header(b"transfer-encoding"))
        length = request.header(b"content-length")
        self._has_body = terms.with_body and (self._chunked or length not in ("", "0"))
        self._taken = False
        """Whether anything was taken of the body."""
        self._sent = False
        """Whether all of the body was sent."""
        self._client_gone = False
        self._sender: asyncio.Task[None] | None = None
        self._stream: HttpStream | None = None
        request.on_done(lambda _status: self.close())

    def __repr__(self) -> str:
        return f"<Passing {self._request.method} {self._request.path} to {self._terms.place}>"

    async def response(self) -> Response:
        """The answer. Raises ClientGone, and ApiError where the terms do."""
        try:
            async with asyncio.timeout(self._seconds):
                stream, head = await self._answer()
        except TimeoutError:
            return self._terms.unreachable("context deadline exceeded")
        except _NoAnswer as problem:
            if self._client_gone:
                raise ClientGone from problem
            return self._terms.unreachable(str(problem))
        try:
            return await self._passed_back(stream, head)
        except BaseException:
            self.close()
            raise

    async def _answer(self) -> tuple[HttpStream, Head]:
        while True:
            try:
                stream = self._stream = await self._transport.open(self._terms.place)
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
        return not self._taken and (not self._has_body) and self._terms.method in _IDEMPOTENT

    def _begin(self, stream: HttpStream) -> None:
        headers = self._terms.headers()
        if self._chunked:
            headers.append((b"transfer-encoding", b"chunked"))
        elif self._has_body or self._terms.method in _WITH_LENGTH:
            headers.append((b"content-length", self._request.header(b"content-length").encode("latin-1") or b"0"))
        stream.ask(request_head(self._terms.method, self._terms.target(), headers))
        if self._sender is None:
            self._sender = self._tasks.start(f"body of {self._request.method} {self._request.path}", self._send(stream))

    async def _send(self, stream: HttpStream) -> None:
        """Send the body as it comes; then wait until the client is gone, and end what it does not wait for any more."""
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                break
            if not self._terms.with_body:
                continue
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

    async def _passed_back(self, stream: HttpStream, head: Head) -> Response:
        if head.status == 101:
            protocol = head.first(b"upgrade").decode("latin-1")
            self.close()
            return self._terms.refused(f'backend tried to switch protocol "{protocol}" when "" was requested')
        body = stream.body(self._terms.method)
        try:
            status, headers = await self._terms.answer(head, body)
        except Refused as refused:
            self.close()
            return refused.response
        if head.first(b"cache-control"):
            headers.append(NO_CACHE)  # which stands beside what the backend says
        return Response(status, headers=headers, stream=self._terms.body(head, _Answer(self, body, self._deadline)))

    def finish(self) -> None:
        """The answer was read to its end: somebody else may use the connection."""
        stream, self._stream = self._stream, None
        if self._sender is not None:
            self._sender.cancel()
        if stream is not None:
            if self._sent or not self._has_body:
                self._transport.release(self._terms.place, stream)
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


__all__ = ["Passing"]
