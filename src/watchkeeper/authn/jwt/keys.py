"""The keys of an issuer: found by discovery, kept, and fetched again when a token names one that is not known."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import ssl
from typing import TYPE_CHECKING, Any

import orjson

from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock
from watchkeeper.aio.http_client import HttpError, JsonPoster
from watchkeeper.authn.jwt.issuer import Issuer
from watchkeeper.meta.field import go_quote
from watchkeeper.runtime.x509 import authorities

if TYPE_CHECKING:
    from jwt import PyJWK

log = logging.getLogger(__name__)

RETRY_SECONDS = 10.0
"""How long after an attempt to find an issuer's keys the next one comes."""
_TIMEOUT_SECONDS = 30.0
_REFETCH_SECONDS = 1.0
"""So long keys are not fetched again, whatever tokens name: anybody can name anything."""
_MAX_BODY = 4 * 1024 * 1024
_WELL_KNOWN = "/.well-known/openid-configuration"


class KeysUnavailable(Exception):
    """The keys cannot be fetched; the message tells why."""


class KeySet:
    """The keys of one issuer."""

    def __init__(self, issuer: Issuer, clock: Clock = SYSTEM_CLOCK) -> None:
        self._issuer = issuer
        self._clock = clock
        self._context = _context(issuer.authority)
        self._where: JsonPoster | None = None
        self._keys: list[PyJWK] = []
        self._fetching: asyncio.Future[None] | None = None
        self._fetched_at: float | None = None
        self.fetches: dict[str, float] = {}
        """When keys were last fetched, in seconds since 1970, by whether that was a `success` or a `failure`."""
        self.digest = ""
        """SHA-256 of the key set that was fetched last, "" for none."""
        self.problem = f"oidc: authenticator for issuer {go_quote(issuer.url)} is not initialized"
        """Why tokens of the issuer are not recognized yet, "" once they are."""

    def __repr__(self) -> str:
        return f"<KeySet of {self._issuer.url}: {len(self._keys)} keys>"

    async def discover(self) -> None:
        """Find out where the keys are; returns when that is known, after however many attempts."""
        while self.problem:
            try:
                await self._discover()
            except KeysUnavailable as error:
                self.problem = str(error)
                log.error("oidc authenticator: initializing plugin: %s", error)
                await self._clock.sleep(RETRY_SECONDS)

    async def _discover(self) -> None:
        issuer = self._issuer
        found, _ = await self._get(self._poster(issuer.discovery_url or issuer.url.removesuffix("/") + _WELL_KNOWN))
        if found.get("issuer") != issuer.url:
            told = go_quote(str(found.get("issuer") or ""))
            raise KeysUnavailable(
                "oidc: issuer did not match the issuer returned by provider,"
                f" expected {go_quote(issuer.url)} got {told}"
            )
        url = found.get("jwks_uri")
        if not isinstance(url, str) or not url:
            raise KeysUnavailable("provider did not return JWKS URL")
        self._where = self._poster(url)
        self.problem = ""

    def find(self, key_id: str) -> list[PyJWK]:
        """The known keys of a name; all where a token names none."""
        return [key for key in self._keys if not key_id or key.key_id == key_id]

    async def fetch(self) -> None:
        """Fetch the keys, unless that was done just now; several who ask wait together. Raises KeysUnavailable."""
        if self._fetching is not None:
            await asyncio.shield(self._fetching)
            return
        if self._fetched_at is not None and self._clock.monotonic() - self._fetched_at < _REFETCH_SECONDS:
            return
        self._fetching = done = asyncio.get_running_loop().create_future()
        try:
            await self._fetch()
            done.set_result(None)
        except BaseException as error:
            done.set_exception(error if isinstance(error, KeysUnavailable) else KeysUnavailable(str(error)))
            done.exception()  # perhaps nobody else waits
            raise
        finally:
            self._fetched_at = self._clock.monotonic()
            self._fetching = None

    async def _fetch(self) -> None:
        assert self._where is not None
        from jwt import PyJWK, PyJWTError

        try:
            found, body = await self._get(self._where)
        except KeysUnavailable:
            self.fetches["failure"] = self._clock.time()
            raise
        self.fetches["success"] = self._clock.time()
        self.digest = hashlib.sha256(body).hexdigest()
        keys: list[PyJWK] = []
        for each in found.get("keys") or ():
            try:
                keys.append(PyJWK(each))
            except (PyJWTError, ValueError, TypeError, KeyError) as error:
                log.warning("a key of %s cannot be used: %s", self._issuer.url, type(error).__name__)
        self._keys = [key for key in keys if key.key_type in ("RSA", "EC")]

    def _poster(self, url: str) -> JsonPoster:
        try:
            return JsonPoster(url, ssl_context=self._context, max_body=_MAX_BODY)
        except ValueError as error:
            raise KeysUnavailable(str(error)) from error

    async def _get(self, poster: JsonPoster) -> tuple[dict[str, Any], bytes]:
        """An object, and the text that it stands in."""
        try:
            answer = await poster.get(timeout=_TIMEOUT_SECONDS)
        except HttpError as error:
            raise KeysUnavailable(str(error)) from error
        finally:
            poster.close()
        if answer.status != 200:
            raise KeysUnavailable(f"{answer.status}: {answer.body[:512].decode(errors='replace')}")
        try:
            found = orjson.loads(answer.body)
        except ValueError as error:
            raise KeysUnavailable(f"oidc: failed to decode what {poster.url} answers: {error}") from error
        if not isinstance(found, dict):
            raise KeysUnavailable(f"oidc: failed to decode what {poster.url} answers: it is no object")
        return found, answer.body


def _context(authority: str) -> ssl.SSLContext:
    if not authority:
        return ssl.create_default_context()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # Whatever certificate is given is trusted, be it an intermediate authority's or the issuer's own.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(cadata=b"".join(authorities(authority.encode())))
    return context
