"""The keys of an issuer: found by discovery, kept, and fetched again when a token names one that is not known."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import math

from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock
from watchkeeper.aio.http_client import HttpAnswer
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.authn.jwt.fetching import Fetcher, FetchError
from watchkeeper.authn.jwt.freshness import fresh_seconds
from watchkeeper.authn.jwt.go_values import field_of
from watchkeeper.authn.jwt.issuer import Issuer
from watchkeeper.authn.jwt.key_set import Key, KeySetError, read_key_set
from watchkeeper.meta.field import go_quote
from watchkeeper.runtime.json_text import JsonError, read_json

log = logging.getLogger(__name__)

RETRY_SECONDS = 10.0
"""How long after an attempt to find an issuer's keys the next one comes."""
_REFETCH_SECONDS = 1.0
"""So long it takes at least until keys are fetched again, whatever tokens name: anybody can name anything."""
_SKEW_SECONDS = 30.0
"""So long before the keys expire there may be others already."""
_WELL_KNOWN = "/.well-known/openid-configuration"
_SHOWN_BYTES = 512


class KeysUnavailable(Exception):
    """The keys cannot be fetched; the message tells why."""


class KeySet:
    """The keys of one issuer."""

    def __init__(self, issuer: Issuer, tasks: TaskOwner, clock: Clock = SYSTEM_CLOCK) -> None:
        """`tasks` own what fetches the keys: nobody who asks for them can break that off."""
        self._issuer = issuer
        self._tasks = tasks
        self._clock = clock
        self._fetcher = Fetcher(issuer.authority)
        self._where = ""
        self._keys: list[Key] = []
        self._fetching: asyncio.Task[str] | None = None
        self._fetched_at: float | None = None
        self._fresh_until = -math.inf
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
        answer = await self._get(issuer.discovery_url or issuer.url.removesuffix("/") + _WELL_KNOWN)
        try:
            found = read_json(answer.body)
            if not isinstance(found, dict):
                raise JsonError("json: it is no object")
        except JsonError as error:
            told = _undecoded(answer, error)
            raise KeysUnavailable(f"oidc: failed to decode provider discovery object: {told}") from error
        told = field_of(found, "issuer") or ""
        if told != issuer.url:
            raise KeysUnavailable(
                "oidc: issuer did not match the issuer returned by provider,"
                f" expected {go_quote(issuer.url)} got {go_quote(str(told))}"
            )
        url = field_of(found, "jwks_uri")
        if not isinstance(url, str) or not url:
            raise KeysUnavailable("provider did not return JWKS URL")
        self._where = url
        self.problem = ""

    def find(self, name: str) -> list[Key]:
        """The known keys of a name; all where a token names none."""
        return [key for key in self._keys if not name or key.name == name]

    def are_fresh(self) -> bool:
        """Whether the issuer has said that the keys will hold for a while yet, so that there can be no others."""
        return self._clock.monotonic() + _SKEW_SECONDS <= self._fresh_until

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
            answer = await self._get(self._where)
            try:
                keys = read_key_set(answer.body)
            except KeySetError as error:
                told = _undecoded(answer, error)
                raise KeysUnavailable(f"oidc: failed to decode keys: {told} {_shown(answer.body)}") from error
        except KeysUnavailable as error:
            self.fetches["failure"] = self._clock.time()
            return str(error) if str(error).startswith("oidc: ") else f"oidc: get keys failed {error}"
        else:
            self.fetches["success"] = self._clock.time()
            self.digest = hashlib.sha256(answer.body).hexdigest()
            self._keys = keys
            self._fresh_until = self._clock.monotonic() + fresh_seconds(answer.headers, self._clock.time())
            return ""
        finally:
            self._fetched_at = self._clock.monotonic()
            self._fetching = None

    async def _get(self, url: str) -> HttpAnswer:
        """What stands at a URL, or where that leads to."""
        try:
            answer = await self._fetcher.fetch(url)
        except FetchError as error:
            raise KeysUnavailable(str(error)) from error
        if answer.status != 200:
            raise KeysUnavailable(f"{answer.status}: {_shown(answer.body)}")
        return answer


def _undecoded(answer: HttpAnswer, error: Exception) -> str:
    kind = answer.headers.get("content-type", "")
    if kind.partition(";")[0].strip().lower() == "application/json":
        return f"got Content-Type = application/json, but could not unmarshal as JSON: {error}"
    return f"expected Content-Type = application/json, got {go_quote(kind)}: {error}"


def _shown(body: bytes) -> str:
    return body[:_SHOWN_BYTES].decode(errors="replace")
