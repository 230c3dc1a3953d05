"""Posts reviews to one webhook."""

from __future__ import annotations

import asyncio
import functools
import math
from urllib.parse import urlsplit

from watchkeeper.aio.http_client import BrokenAnswer, HttpAnswer, HttpError, JsonPoster
from watchkeeper.aio.redirects import follow
from watchkeeper.runtime.client_tls import context_trusting
from watchkeeper.webhook.client_config import ClientConfig
from watchkeeper.webhook.credentials import Credential
from watchkeeper.webhook.services import ServiceResolver
from watchkeeper.webhook.status import error_of

_RETRIES = 10
_KEEP_BODY = frozenset({307, 308})
"""What leads elsewhere with all that was sent; others are followed by a GET."""


class WebhookError(Exception):
    """A webhook that gave no usable answer. The message is what Go's client says."""

    def __init__(self, message: str, code: int = 503) -> None:
        super().__init__(message)
        self.code = code
        """The HTTP code that stands for the failure in metrics; not that of any response."""


class Client:
    """A webhook. Connections are kept and used again."""

    def __init__(
        self,
        config: ClientConfig,
        services: ServiceResolver | None = None,
        credential: Credential | None = None,
    ) -> None:
        """Raises WebhookError for a configuration that nobody can be called by."""
        self.config = config
        try:
            context = context_trusting(config.ca_bundle)
        except ValueError as problem:
            raise WebhookError(str(problem), 500) from problem
        if credential is not None:
            try:
                credential.show(context)
            except OSError as problem:
                raise WebhookError(f"unable to load client certificates: {problem}", 500) from problem
        service = config.service
        if service is None and not config.url:
            raise WebhookError("webhook configuration must have either service or URL", 500)
        resolver = services or ServiceResolver(None)
        self._elsewhere = functools.partial(
            JsonPoster, ssl_context=context, server_name=service.host if service is not None else None
        )
        self._here = functools.partial(
            self._elsewhere,
            headers=credential.request_headers if credential is not None else None,
            resolve=None if service is None else lambda: resolver.resolve(service),
        )
        try:
            self._poster = self._here(config.address)
        except ValueError as problem:
            raise WebhookError(f"Unparsable URL: {problem}", 500) from problem

    def __repr__(self) -> str:
        return f"<Client of {self.config.address}>"

    async def post(self, body: bytes, *, timeout: float) -> bytes:
        """The body of the answer to a review; `timeout` in seconds, which the webhook is told in whole ones.

        A webhook that asks for it is asked again later, as long as there is time. Raises WebhookError.
        """
        query = f"timeout={math.ceil(timeout)}s"
        loop = asyncio.get_running_loop()
        end = loop.time() + timeout
        for _ in range(_RETRIES):
            answer = await self._send(body, query, end - loop.time())
            wait = _wait_asked(answer)
            if wait is None:
                break
            left = end - loop.time()
            await asyncio.sleep(min(wait, left))
            if wait >= left:
                raise WebhookError(str(self._poster.out_of_time(query)))
        else:
            answer = await self._send(body, query, end - loop.time())
        return _content(answer)

    async def _send(self, body: bytes, query: str, seconds: float) -> HttpAnswer:
        try:
            return await self._answered(body, query, seconds)
        except BrokenAnswer as problem:
            text = f"unexpected error when reading response body. Please retry. Original error: {problem}"
            raise WebhookError(text) from problem
        except (HttpError, OSError) as problem:
            raise WebhookError(str(problem)) from problem

    async def _answered(self, body: bytes, query: str, seconds: float) -> HttpAnswer:
        """The answer of the webhook, or of where it leads to. Raises HttpError, OSError."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        sent: bytes | None = body

        async def ask(url: str, status: int) -> HttpAnswer:
            nonlocal sent
            sent = sent if status in _KEEP_BODY else None
            poster = self._poster_for(url)
            try:
                return await poster.post(sent, timeout=max(end - loop.time(), 0.0))
            finally:
                poster.close()

        answer = await self._poster.post(body, timeout=seconds, query=query)
        return await follow("Post", f"{self._poster.url}?{query}", answer, ask)

    def _poster_for(self, url: str) -> JsonPoster:
        """Posts to where the webhook leads, showing only its own server who asks. Raises HttpError."""
        parts = urlsplit(url)
        make = self._here if parts[:2] == urlsplit(self._poster.url)[:2] else self._elsewhere
        try:
            return make(url)
        except ValueError as problem:
            told = parts.scheme in ("http", "https")
            why = str(problem) if told else f'unsupported protocol scheme "{parts.scheme}"'
            raise HttpError(f'Post "{url}": {why}') from problem

    def close(self) -> None:
        """Close idle connections. What is being posted goes on."""
        self._poster.close()


def _wait_asked(answer: HttpAnswer) -> float | None:
    """After how many seconds a webhook that is overloaded or broken wants to be asked again, None for not at all."""
    if answer.status != 429 and answer.status < 500:
        return None
    text = answer.headers.get("retry-after", "")
    return float(text) if text.isascii() and text.isdigit() else None


def _content(answer: HttpAnswer) -> bytes:
    if not 200 <= answer.status <= 206:
        failure = error_of(answer)
        raise WebhookError(failure.message, failure.code)
    if not answer.body:
        kind = answer.headers.get("content-type", "application/json")
        raise WebhookError(f"0-length response with status code: {answer.status} and content type: {kind}")
    return answer.body
