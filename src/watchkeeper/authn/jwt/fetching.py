"""Gets documents from an issuer, or from whom it refers to."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from urllib.parse import urlsplit

from watchkeeper.aio.http_client import HttpAnswer, HttpError, JsonPoster, trusting
from watchkeeper.aio.redirects import follow
from watchkeeper.meta.field import go_quote
from watchkeeper.runtime.x509 import authorities

_TIMEOUT_SECONDS = 30.0
_MAX_BODY = 4 * 1024 * 1024


class FetchError(Exception):
    """No answer came; the message tells why."""


class Fetcher:
    """Asks by GET, trusts one authority, and goes where answers lead."""

    def __init__(self, authority: str) -> None:
        """`authority` in PEM; "" for those of the system."""
        given = b"".join(authorities(authority.encode())) if authority else b""
        self._context = trusting(given) if given else ssl.create_default_context()

    async def fetch(self, url: str, headers: Mapping[str, str] | None = None) -> HttpAnswer:
        """The answer, whatever its status; `headers` go to the host of `url` alone. Raises FetchError."""
        try:
            first = urlsplit(url).hostname
        except ValueError as error:
            raise FetchError(f"parse {go_quote(url)}: {error}") from error

        async def ask(elsewhere: str, _status: int = 0) -> HttpAnswer:
            return await self._ask(elsewhere, headers if urlsplit(elsewhere).hostname == first else None)

        try:
            return await follow("Get", url, await ask(url), ask)
        except HttpError as error:
            raise FetchError(str(error)) from error

    async def _ask(self, url: str, headers: Mapping[str, str] | None) -> HttpAnswer:
        try:
            poster = JsonPoster(
                url, ssl_context=self._context, max_body=_MAX_BODY, headers=(lambda: headers) if headers else None
            )
        except ValueError as error:
            scheme = urlsplit(url).scheme
            why = str(error) if scheme in ("http", "https") else f"unsupported protocol scheme {go_quote(scheme)}"
            raise HttpError(f"Get {go_quote(url)}: {why}") from error
        try:
            return await poster.get(timeout=_TIMEOUT_SECONDS)
        finally:
            poster.close()
