"""The keys of an issuer: found by discovery, kept, and fetched again when a token names one that is not known."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import ssl
from dataclasses import dataclass
from typing import Any

import orjson

from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock
from watchkeeper.aio.http_client import MAX_REDIRECTS, HttpAnswer, HttpError, JsonPoster, redirected, trusting
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.authn.jwt.issuer import Issuer
from watchkeeper.meta.field import go_quote
from watchkeeper.runtime.x509 import authorities

log = logging.getLogger(__name__)

RETRY_SECONDS = 10.0
"""How long after an attempt to find an issuer's keys the next one comes."""
_TIMEOUT_SECONDS = 30.0
_REFETCH_SECONDS = 1.0
"""So long it takes at least until keys are fetched again, whatever tokens name: anybody can name anything."""
_MAX_BODY = 4 * 1024 * 1024
_WELL_KNOWN = "/.well-known/openid-configuration"


class KeysUnavailable(Exception):
    """The keys cannot be fetched; the message tells why."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key that tokens may be signed with."""

    name: str
    public: Any
    """What `cryptography` calls an RSAPublicKey or an EllipticCurvePublicKey."""


class KeySet:
    """The keys of one issuer."""

    def __init__(self, issuer: Issuer, tasks: TaskOwner, clock: Clock = SYSTEM_CLOCK) -> None:
        """`tasks` own what fetches the keys: nobody who asks for them can break that off."""
        self._issuer = issuer
        self._tasks = tasks
        self._clock = clock
        authority = issuer.authority.encode()
        self._context = trusting(b"".join(authorities(authority))) if authority else ssl.create_default_context()
        self._where = ""
        self._keys: list[Key] = []
        self._fetching: asyncio.Task[str] | None = None
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
        found, _ = await self._get(issuer.discovery_url or issuer.url.removesuffix("/") + _WELL_KNOWN)
        if found.get("issuer") != issuer.url:
            told = go_quote(str(found.get("issuer") or ""))
            raise KeysUnavailable(
                "oidc: issuer did not match the issuer returned by provider,"
                f" expected {go_quote(issuer.url)} got {told}"
            )
        url = found.get("jwks_uri")
        if not isinstance(url, str) or not url:
            raise KeysUnavailable("provider did not return JWKS URL")
        self._where = url
        self.problem = ""

    def find(self, name: str) -> list[Key]:
        """The known keys of a name; all where a token names none."""
        return [key for key in self._keys if not name or key.name == name]

    async def fetch(self) -> None:
        """Fetch the keys, after a while if that was done just now; several wait together. Raises KeysUnavailable."""
        if self._fetching is None:
            try:
                self._fetching = self._tasks.start("keys", self._fetched())
            except RuntimeError as error:
                raise KeysUnavailable("context canceled") from error
        fetching = self._fetching
        await asyncio.wait([fetching])
        if problem := "context canceled" if fetching.cancelled() else fetching.result():
            raise KeysUnavailable(problem)

    async def _fetched(self) -> str:
        """Fetch the keys; what kept them from that, "" for nothing."""
        try:
            if self._fetched_at is not None:
                await self._clock.sleep(max(0.0, self._fetched_at + _REFETCH_SECONDS - self._clock.monotonic()))
            found, body = await self._get(self._where)
            given = found.get("keys") or []
            if not isinstance(given, list):
                raise KeysUnavailable("oidc: failed to decode keys: they are no list")
        except KeysUnavailable as error:
            self.fetches["failure"] = self._clock.time()
            return str(error) if str(error).startswith("oidc: ") else f"oidc: get keys failed {error}"
        else:
            self.fetches["success"] = self._clock.time()
            self.digest = hashlib.sha256(body).hexdigest()
            self._keys = [key for key in map(_key, given) if key is not None]
            return ""
        finally:
            self._fetched_at = self._clock.monotonic()
            self._fetching = None

    async def _get(self, url: str) -> tuple[dict[str, Any], bytes]:
        """The object at a URL, or where that leads to, and the text that it stands in."""
        answer = await self._answer(url)
        for _ in range(MAX_REDIRECTS - 1):
            if (elsewhere := redirected(answer, url)) is None:
                break
            url = elsewhere
            answer = await self._answer(url)
        if answer.status != 200:
            raise KeysUnavailable(f"{answer.status}: {answer.body[:512].decode(errors='replace')}")
        try:
            found = orjson.loads(answer.body)
        except ValueError as error:
            raise KeysUnavailable(f"oidc: failed to decode what {url} answers: {error}") from error
        if not isinstance(found, dict):
            raise KeysUnavailable(f"oidc: failed to decode what {url} answers: it is no object")
        return found, answer.body

    async def _answer(self, url: str) -> HttpAnswer:
        try:
            poster = JsonPoster(url, ssl_context=self._context, max_body=_MAX_BODY)
        except ValueError as error:
            raise KeysUnavailable(str(error)) from error
        try:
            return await poster.get(timeout=_TIMEOUT_SECONDS)
        except HttpError as error:
            raise KeysUnavailable(str(error)) from error
        finally:
            poster.close()


def _key(given: Any) -> Key | None:
    """A key of a set; None for what is not for signatures of tokens, or no key at all."""
    from jwt import PyJWTError
    from jwt.algorithms import ECAlgorithm, RSAAlgorithm

    if not isinstance(given, dict) or given.get("kty") not in ("RSA", "EC") or given.get("d") is not None:
        return None
    name = given.get("kid") or ""
    read = RSAAlgorithm.from_jwk if given["kty"] == "RSA" else ECAlgorithm.from_jwk
    try:
        return Key(name, read(given)) if isinstance(name, str) else None
    except (PyJWTError, ValueError, TypeError) as error:
        log.debug("a key cannot be used: %s", type(error).__name__)
        return None
