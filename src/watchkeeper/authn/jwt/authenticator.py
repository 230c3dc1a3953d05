"""Recognizes the tokens of issuers elsewhere."""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import logging
import time
from collections.abc import Awaitable, Sequence
from typing import Any

from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.authn.interface import InvalidToken
from watchkeeper.authn.jwt.claims import Claims, claimed_user
from watchkeeper.authn.jwt.issuer import Issuer
from watchkeeper.authn.jwt.keys import KeySet, KeysUnavailable
from watchkeeper.meta.field import go_quote
from watchkeeper.request.user import User

log = logging.getLogger(__name__)

_LEEWAY_SECONDS = 300.0
"""By so much the clock of an issuer may be ahead."""
_LAST_SECOND = 253402300799.0
"""The end of the year 9999, after which times have no common form."""
_HEALTHY_SECONDS = 60.0
_GOOGLE = "accounts.google.com"


class JwtAuthenticator:
    """A TokenAuthenticator for the issuers that are configured at the time."""

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
        self._clock = clock
        self._issuers: dict[str, tuple[Issuer, KeySet]] = {}
        self._tasks = TaskOwner("jwt")

    def __repr__(self) -> str:
        return f"<JwtAuthenticator of {', '.join(self._issuers) or 'nobody'}>"

    def start(self, issuers: Sequence[Issuer]) -> None:
        """Recognize tokens of these; their keys are looked for from now on."""
        made = self._made(issuers)
        self._use(made, self._tasks)

    async def replace(self, issuers: Sequence[Issuer]) -> None:
        """Recognize tokens of these instead, once the keys of all can be had. Raises KeysUnavailable if they cannot."""
        made = self._made(issuers)
        tasks = TaskOwner("jwt")
        try:
            async with asyncio.timeout(_HEALTHY_SECONDS):
                await asyncio.gather(*(keys.discover() for _, keys in made.values()))
        except TimeoutError:
            problems = [keys.problem for _, keys in made.values() if keys.problem]
            raise KeysUnavailable("; ".join(problems)) from None
        before, self._tasks = self._tasks, tasks
        self._issuers = made
        await before.close()

    async def close(self) -> None:
        """Look for no keys any more."""
        await self._tasks.close()

    def key_sets(self) -> dict[str, KeySet]:
        """Those of all issuers, by their URLs."""
        return {url: keys for url, (_, keys) in self._issuers.items()}

    def _made(self, issuers: Sequence[Issuer]) -> dict[str, tuple[Issuer, KeySet]]:
        return {issuer.url: (issuer, KeySet(issuer, self._clock)) for issuer in issuers}

    def _use(self, made: dict[str, tuple[Issuer, KeySet]], tasks: TaskOwner) -> None:
        self._issuers = made
        for url, (_, keys) in made.items():
            tasks.start(url, keys.discover())

    def authenticate_token(self, token: str) -> Awaitable[User | None] | None:
        """The user, None when no issuer is known that the token names. Raises InvalidToken when awaited."""
        if token.count(".") != 2:
            return None
        found = self._issuers.get(_issuer_of(token))
        return None if found is None else _recognized(token, *found)


def _issuer_of(token: str) -> str:
    """Whom a token names, unverified; "" for nobody."""
    try:
        claims = json.loads(_decoded(token.split(".")[1]))
    except (ValueError, RecursionError):
        return ""
    issuer = claims.get("iss") if isinstance(claims, dict) else None
    if not isinstance(issuer, str):
        return ""
    return f"https://{issuer}" if issuer == _GOOGLE else issuer


async def _recognized(token: str, issuer: Issuer, keys: KeySet) -> User:
    if keys.problem:
        raise InvalidToken("oidc: authenticator not initialized")
    header, claims = _parts(token)
    _check(issuer, header, claims)
    await _verify(token, header, keys)
    return claimed_user(issuer, claims)


def _parts(token: str) -> tuple[dict[str, Any], Claims]:
    encoded_header, encoded_claims, _ = token.split(".")
    try:
        header = json.loads(_decoded(encoded_header))
        claims = json.loads(_decoded(encoded_claims), parse_int=_number)
    except (ValueError, RecursionError) as error:
        raise InvalidToken(f"oidc: verify token: oidc: malformed jwt: {error}") from error
    if not isinstance(header, dict) or not isinstance(claims, dict):
        raise InvalidToken("oidc: verify token: oidc: malformed jwt: no object")
    return header, claims


def _number(digits: str) -> float:
    """Numbers of claims are floats, as Go reads them where nobody says otherwise."""
    return float(digits)


def _check(issuer: Issuer, header: dict[str, Any], claims: Claims) -> None:
    """Whether a token is for this server, and holds now. Raises InvalidToken."""
    given = claims.get("aud")
    several = given if isinstance(given, list) else [given]
    audiences = [each for each in several if isinstance(each, str)]
    if set(issuer.audiences).isdisjoint(audiences):
        told = f"[{' '.join(map(go_quote, audiences))}]"
        if len(issuer.audiences) == 1:
            wanted = go_quote(issuer.audiences[0])
            raise InvalidToken(f"oidc: verify token: oidc: expected audience {wanted} got {told}")
        wanted = f"[{' '.join(map(go_quote, sorted(issuer.audiences)))}]"
        raise InvalidToken(f"oidc: verify token: oidc: expected audience in {wanted} got {told}")
    now = time.time()
    until, since = _time(claims.get("exp")), _time(claims.get("nbf"))
    if until < now:
        raise InvalidToken(f"oidc: verify token: oidc: token is expired (Token Expiry: {_shown(until)})")
    if since > now + _LEEWAY_SECONDS:
        raise InvalidToken(
            f"oidc: verify token: oidc: current time {_shown(now)} before the nbf (not before) time: {_shown(since)}"
        )
    algorithm = header.get("alg")
    if algorithm not in issuer.algorithms:
        wanted = f"[{' '.join(map(go_quote, issuer.algorithms))}]"
        raise InvalidToken(
            "oidc: verify token: oidc: id token signed with unsupported algorithm,"
            f" expected {wanted} got {go_quote(str(algorithm))}"
        )


async def _verify(token: str, header: dict[str, Any], keys: KeySet) -> None:
    """Look for a key that the token is signed with, first among those that are known. Raises InvalidToken."""
    algorithm, key_id = header["alg"], header.get("kid")
    key_id = key_id if isinstance(key_id, str) else ""
    if _is_signed(token, algorithm, keys.find(key_id)):
        return
    try:
        await keys.fetch()
    except KeysUnavailable as error:
        raise InvalidToken(
            f"oidc: verify token: failed to verify signature: fetching keys oidc: get keys failed: {error}"
        ) from error
    if not _is_signed(token, algorithm, keys.find(key_id)):
        raise InvalidToken("oidc: verify token: failed to verify signature: failed to verify id token signature")


def _is_signed(token: str, algorithm: str, keys: Sequence[Any]) -> bool:
    import jwt

    only: Any = {f"verify_{claim}": False for claim in ("exp", "nbf", "iat", "aud", "iss", "sub", "jti")}
    for key in keys:
        try:
            jwt.decode(token, key.key, algorithms=[algorithm], options=only)
        except (jwt.PyJWTError, ValueError, TypeError):
            continue
        return True
    return False


def _decoded(part: str) -> bytes:
    try:
        return base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from error


def _time(claim: Any) -> float:
    return min(max(claim, 0.0), _LAST_SECOND) if isinstance(claim, float) else 0.0


def _shown(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S +0000 UTC", time.gmtime(seconds))
