"""On what terms a request is passed on: what the backend is sent, and what the client is told."""

from __future__ import annotations

from typing import Protocol

from watchkeeper.aio.http_stream import Body, Head
from watchkeeper.endpoints.response import Response, Stream
from watchkeeper.server.passing.headers import Headers
from watchkeeper.server.passing.transport import Place


class Refused(Exception):
    """An answer is not passed back; what the client gets is told instead."""

    def __init__(self, response: Response) -> None:
        super().__init__(response.status)
        self.response = response


class Terms(Protocol):
    """Of one request. Where a Response tells what went wrong, an ApiError may be raised just as well."""

    place: Place
    """Where to connect to."""
    method: str
    """With which the backend is asked."""
    with_body: bool
    """Whether the body of the request is sent."""

    def target(self) -> str:
        """What stands behind the method in the first line."""
        ...

    def headers(self) -> Headers:
        """Those of the request, without the ones that tell how its body is sent."""
        ...

    async def answer(self, head: Head, body: Body) -> tuple[int, Headers]:
        """Status and headers of an answer to pass back. Raises Refused, BrokenBody."""
        ...

    def body(self, head: Head, stream: Stream) -> Stream:
        """The body to pass back, made of the one that comes."""
        ...

    def unreachable(self, why: str) -> Response:
        """What is told when no answer comes."""
        ...

    def refused(self, why: str) -> Response:
        """What is told in place of an answer that means nothing."""
        ...


class UpgradeTerms(Protocol):
    """Of a request that asks for another protocol."""

    place: Place
    method: str

    def target(self) -> str:
        """What stands behind the method in the first line."""
        ...

    def headers(self) -> Headers:
        """Those of the request, with the ones that ask for another protocol."""
        ...

    def failed(self, why: str) -> Response:
        """What is told when nothing comes of it."""
        ...
