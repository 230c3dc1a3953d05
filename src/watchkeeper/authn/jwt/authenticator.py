"""Recognizes the tokens of issuers elsewhere."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass

from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock
from watchkeeper.aio.histogram import Histogram
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.authn.interface import InvalidToken
from watchkeeper.authn.jwt.claims import claimed_user
from watchkeeper.authn.jwt.distributed import ClaimResolver
from watchkeeper.authn.jwt.issuer import Issuer
from watchkeeper.authn.jwt.keys import KeySet, KeysUnavailable
from watchkeeper.authn.jwt.verification import Unverified, issuer_of, verified
from watchkeeper.request.user import User

_HEALTHY_SECONDS = 60.0
_LATENCY_BUCKETS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class _Known:
    """An issuer, its keys, and what fetches the claims that its tokens do not hold themselves."""

    issuer: Issuer
    keys: KeySet
    resolver: ClaimResolver


class JwtAuthenticator:
    """A TokenAuthenticator for the issuers that are configured at the time."""

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
        self._clock = clock
        self._issuers: dict[str, _Known] = {}
        self._tasks = TaskOwner("jwt")
        self.latencies: dict[tuple[str, str], Histogram] = {}
        """How long it took to judge a token, in seconds, by the issuer's URL and whether that was a `success`."""

    def __repr__(self) -> str:
        return f"<JwtAuthenticator of {', '.join(self._issuers) or 'nobody'}>"

    def start(self, issuers: Sequence[Issuer]) -> None:
        """Recognize tokens of these; their keys are looked for from now on."""
        self._issuers = self._made(issuers, self._tasks)
        for url, known in self._issuers.items():
            self._tasks.start(url, known.keys.discover())

    async def replace(self, issuers: Sequence[Issuer]) -> None:
        """Recognize tokens of these instead, once the keys of all can be had. Raises KeysUnavailable if they cannot."""
        tasks = TaskOwner("jwt")
        made = self._made(issuers, tasks)
        try:
            async with asyncio.timeout(_HEALTHY_SECONDS):
                await asyncio.gather(*(known.keys.discover() for known in made.values()))
        except TimeoutError:
            problems = [known.keys.problem for known in made.values() if known.keys.problem]
            raise KeysUnavailable("; ".join(problems)) from None
        before, self._tasks = self._tasks, tasks
        self._issuers = made
        await before.close()

    async def close(self) -> None:
        """Look for no keys any more."""
        await self._tasks.close()

    def key_sets(self) -> dict[str, KeySet]:
        """Those of all issuers, by their URLs."""
        return {url: known.keys for url, known in self._issuers.items()}

    def _made(self, issuers: Sequence[Issuer], tasks: TaskOwner) -> dict[str, _Known]:
        return {
            each.url: _Known(each, KeySet(each, tasks, self._clock), ClaimResolver(each, tasks, self._clock))
            for each in issuers
        }

    def authenticate_token(self, token: str) -> Awaitable[User | None] | None:
        """The user, None when no issuer is known that the token names. Raises InvalidToken when awaited."""
        if token.count(".") != 2:
            return None
        try:
            found = self._issuers.get(issuer_of(token))
        except Unverified:
            return None
        return None if found is None else self._recognized(token, found)

    async def _recognized(self, token: str, known: _Known) -> User:
        started = time.perf_counter()
        result = "failure"
        try:
            user = await _user(token, known)
            result = "success"
            return user
        finally:
            key = known.issuer.url, result
            self.latencies.setdefault(key, Histogram(_LATENCY_BUCKETS)).observe(time.perf_counter() - started)


async def _user(token: str, known: _Known) -> User:
    if known.keys.problem:
        raise InvalidToken("oidc: authenticator not initialized")
    try:
        claims = await verified(token, known.issuer, known.keys)
    except Unverified as error:
        raise InvalidToken(f"oidc: verify token: {error}") from error
    try:
        claims = await known.resolver.expand(claims)
    except Unverified as error:
        raise InvalidToken(f"oidc: could not expand distributed claims: {error}") from error
    return claimed_user(known.issuer, claims)
