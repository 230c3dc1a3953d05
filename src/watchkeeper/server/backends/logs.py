"""The logs of containers, which kubelets have."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator

from watchkeeper.aio.http_stream import Body, BrokenBody, Head
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.endpoints.response import Response, Stream, text_response
from watchkeeper.endpoints.websocket import handshake, is_websocket, spoken_protocols
from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.registry.backends import LogBackend
from watchkeeper.request.exchange import AnswerBroken, Exchange
from watchkeeper.request.request import Request
from watchkeeper.server.passing.headers import GO_CLIENT, Headers, target_of
from watchkeeper.server.passing.passing import Passing
from watchkeeper.server.passing.transport import Transport
from watchkeeper.webhook.status import reason_of, words_of

_MAX_ERROR = 50_000
"""So many bytes are read of what a kubelet says is wrong."""
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_RESOURCE = "pods/log"
_BINARY, _BASE64 = "binary.k8s.io", "base64.binary.k8s.io"


async def log_of(request: Request, backend: LogBackend, transport: Transport, tasks: TaskOwner) -> Response:
    """The log, as it comes. Raises ApiError for what the kubelet says is wrong, ClientGone."""
    answer = await Passing(request, transport, LogTerms(backend), tasks).response()
    if answer.stream is None or not is_websocket(request) or "exchange" not in request.scope:
        return answer
    protocols = spoken_protocols(request)
    spoken = next((each for each in protocols if each in (_BINARY, _BASE64)), "")
    accepted = handshake(request, spoken=spoken) if spoken or not protocols else text_response(403, "")
    if isinstance(accepted, Response):
        await answer.stream.aclose()
        return accepted
    return _Messages(101, headers=accepted, stream=answer.stream, binary=spoken != _BASE64)


class LogTerms:
    """Implements `passing.terms.Terms`: the kubelet is asked by this server itself."""

    method = "GET"
    with_body = False

    def __init__(self, backend: LogBackend) -> None:
        self.place = backend.place
        self._backend = backend

    def target(self) -> str:
        """See `Terms`."""
        return target_of(self._backend.path, self._backend.query)

    def headers(self) -> Headers:
        """See `Terms`."""
        return [(b"host", self._backend.authority.encode()), GO_CLIENT]

    async def answer(self, head: Head, body: Body) -> tuple[int, Headers]:
        """See `Terms`."""
        if head.status in _REDIRECTS and (location := head.first(b"location")):
            raise ApiError(500, "", f'Get "{location.decode("latin-1")}": redirects forbidden')
        if not 200 <= head.status <= 206:
            raise await _problem(head, body, self._backend.pod)
        return 200, [(b"content-type", b"text/plain")]

    def body(self, head: Head, stream: Stream) -> Stream:
        """See `Terms`."""
        return _UntilItBreaks(stream)

    def unreachable(self, why: str) -> Response:
        """See `Terms`."""
        raise ApiError(500, "", f'Get "https://{self._backend.authority}{self.target()}": {why}')

    def refused(self, why: str) -> Response:
        """See `Terms`."""
        return self.unreachable(why)


async def _problem(head: Head, body: Body, pod: str) -> ApiError:
    """The error that an answer of the kubelet stands for."""
    try:
        text = (await body.beginning(_MAX_ERROR)).decode(errors="replace")
    except BrokenBody as problem:
        return errors.internal_error(str(problem))
    if head.status == 500:
        return errors.internal_error(text)
    if head.status == 400:
        return errors.bad_request(text)
    reason = "Conflict" if head.status == 409 else reason_of(head.status)
    message = f"{words_of(head.status, text)} ( {_RESOURCE} {pod})"
    return ApiError(head.status, reason, message, details={"name": pod, "kind": _RESOURCE})


class _UntilItBreaks:
    """A log ends where the kubelet is gone, without a word of it: clients know it from kube-apiserver so."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._pieces = aiter(stream)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            return await anext(self._pieces)
        except AnswerBroken:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        """See `endpoints.response.Stream`."""
        await self._stream.aclose()


class _Messages(Response):
    """A log as messages of a WebSocket, the first of which is empty."""

    __slots__ = ()

    async def send(self, request: Request) -> None:
        """See `Response`."""
        assert self.stream is not None
        exchange: Exchange = request.scope["exchange"]
        try:
            socket = exchange.upgrade(self.headers)
            await (socket.send_binary(b"") if self.binary else socket.send_text(b""))
            async for piece in self.stream:
                await (socket.send_binary(piece) if self.binary else socket.send_text(base64.b64encode(piece)))
            socket.close()
        finally:
            await self.stream.aclose()
