"""Requests to an API server: JSON there and back, errors as `ApiError`, patience when it is busy."""

from __future__ import annotations

import asyncio
import base64
from collections import deque
from collections.abc import Coroutine, Iterable
from typing import Any, Protocol, TypeVar
from urllib.parse import quote, urlencode

import orjson

from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock
from watchkeeper.client.config import ClientConfig
from watchkeeper.client.errors import ClientError, error_of
from watchkeeper.client.transport import Body, Response, Transport

Json = Any
T = TypeVar("T")
Query = Iterable[tuple[str, str]]

JSON = "application/json"
_MAX_ATTEMPTS = 10
_MAX_WAIT_SECONDS = 60.0
"""Who is asked to stay away for longer is told at once: waiting would look as if nothing happened."""


class Requests(Protocol):
    """Who sends requests and has their answers read: what clients of resources are made of."""

    async def request(
        self, method: str, path: str, *, query: Query = (), body: Json = None, content_type: str = JSON
    ) -> Json:
        """The JSON of the answer. Raises ApiError for what the server refuses, ClientError when it does not answer."""
        ...

    async def lines(self, path: str, *, query: Query = ()) -> Lines:
        """The lines of an answer as they come. Raises ApiError, ClientError. Close it."""
        ...


class Pieces(Protocol):
    """The body of an answer as it comes."""

    async def __anext__(self) -> bytes:
        """The next piece. Raises ClientError when it breaks."""
        ...

    def close(self) -> None:
        """Stop. Synchronous and idempotent."""
        ...


class RestClient:
    """One server as one user sees it. Close it when it is not needed any more, or use it with `async with`."""

    def __init__(self, config: ClientConfig, *, clock: Clock = SYSTEM_CLOCK) -> None:
        """Raises ConfigError, or ValueError for a URL that is none."""
        self.config = config
        self._clock = clock
        self._transport = Transport(config.url, tls=config.tls, server_name=config.server_name)

    def __repr__(self) -> str:
        return f"<RestClient of {self.config.url}>"

    async def __aenter__(self) -> RestClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close its connections. Idempotent."""
        self._transport.close()

    async def request(
        self, method: str, path: str, *, query: Query = (), body: Json = None, content_type: str = JSON
    ) -> Json:
        """The JSON of the answer. Raises ApiError for what the server refuses, ClientError when it does not answer.

        When the server asks to come again later (Retry-After with 429 or 5xx) that is done, ten times at most, and not
        when it is to be later than in a minute.
        """
        target = _target(path, query)
        data = b"" if body is None else body if isinstance(body, bytes) else orjson.dumps(body)
        for attempt in range(_MAX_ATTEMPTS):
            headers = self._headers(content_type if data else "")
            response = await self._in_time(self._transport.request(method, target, headers, data))
            wait = _retry_after(response)
            if wait is None or attempt == _MAX_ATTEMPTS - 1:
                break
            await self._clock.sleep(wait)
        return self._result(response)

    def _result(self, response: Response) -> Json:
        text = response.body
        is_json = response.headers.get("content-type", "").startswith(JSON)
        try:
            found = orjson.loads(text) if is_json and text else None
        except orjson.JSONDecodeError as problem:
            raise ClientError(f"{self.config.url}: the answer is not JSON: {problem}") from problem
        if response.status >= 400:
            raise error_of(response.status, found, text.decode("utf-8", "replace"))
        return found if is_json else text.decode("utf-8", "replace")

    async def lines(self, path: str, *, query: Query = ()) -> Lines:
        """The lines of an answer as they come, as a watch gives them. Raises ApiError, ClientError. Close it."""
        body = await self._in_time(self._transport.open("GET", _target(path, query), self._headers("")))
        if body.status >= 400:
            self._result(Response(body.status, body.headers, await self._in_time(_whole(body))))
        return Lines(body)

    async def _in_time(self, answer: Coroutine[Any, Any, T]) -> T:
        """What comes, if it comes in time. Raises ClientError if it does not."""
        seconds = self.config.timeout
        try:
            async with asyncio.timeout(seconds or None):
                return await answer
        except TimeoutError:
            raise ClientError(f"{self.config.url}: no answer within {seconds:g} s") from None

    def _headers(self, content_type: str) -> dict[str, str]:
        config = self.config
        headers = {"Accept": JSON, "User-Agent": config.user_agent, **config.headers}
        if content_type:
            headers["Content-Type"] = content_type
        try:
            token = config.bearer_token()
        except OSError as problem:
            raise ClientError(f"{config.token_file}: {problem.strerror}") from problem
        if token:
            headers["Authorization"] = f"Bearer {token}"
        elif config.basic is not None:
            headers["Authorization"] = "Basic " + base64.b64encode(":".join(config.basic).encode()).decode()
        return headers


def _target(path: str, query: Query) -> str:
    encoded = urlencode(list(query), quote_via=quote)
    return f"{quote(path, safe='/:@!$&()*+,;=~')}?{encoded}" if encoded else quote(path, safe="/:@!$&()*+,;=~")


def _retry_after(response: Response) -> float | None:
    if response.status != 429 and response.status < 500:
        return None
    text = response.headers.get("retry-after", "")
    wait = float(text) if text.isascii() and text.isdigit() else None
    return wait if wait is not None and wait <= _MAX_WAIT_SECONDS else None


async def _whole(body: Body) -> bytes:
    return b"".join([piece async for piece in body])


class Lines:
    """Lines as they come: `async for line in lines`. Raises ClientError."""

    def __init__(self, body: Pieces) -> None:
        self._body = body
        self._ready: deque[bytes] = deque()
        self._rest: list[bytes] = []

    def __aiter__(self) -> Lines:
        return self

    async def __anext__(self) -> bytes:
        while not self._ready:
            self._take(await anext(self._body))
        return self._ready.popleft()

    def _take(self, piece: bytes) -> None:
        first, *more = piece.split(b"\n")
        self._rest.append(first)
        for start in more:
            if line := b"".join(self._rest):
                self._ready.append(line)
            self._rest = [start]

    def close(self) -> None:
        """Stop. Synchronous and idempotent."""
        self._body.close()
