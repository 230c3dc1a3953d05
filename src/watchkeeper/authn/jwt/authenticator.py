"""Recognizes the tokens of issuers elsewhere."""

from __future__ import annotations

import asyncio
import base64
import logging
import re
import time
from collections.abc import Awaitable, Sequence
from typing import Any

from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.authn.interface import InvalidToken
from watchkeeper.authn.jwt.claims import KINDS, Claims, claimed_user
from watchkeeper.authn.jwt.issuer import Issuer
from watchkeeper.authn.jwt.keys import Key, KeySet, KeysUnavailable
from watchkeeper.meta.field import go_json, go_quote
from watchkeeper.request.user import User
from watchkeeper.runtime.json_text import read_json

log = logging.getLogger(__name__)

_LEEWAY_SECONDS = 60.0
"""By so much the clock of an issuer may be ahead."""
_LAST_SECOND = 253402300799.0
"""The end of the year 9999, after which times have no common form."""
_NEVER = -62135596800.0
"""The beginning of the year 1, which stands for no time at all."""
_HEALTHY_SECONDS = 60.0
_UNREADABLE = "oidc: verify token: oidc: failed to unmarshal claims: "
_TEXTS = ("sub", "nonce", "at_hash")
_GOOGLE = "accounts.google.com"
_BASE64 = re.compile(r"[A-Za-z0-9_-]*")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")


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
        self._issuers = self._made(issuers, self._tasks)
        for url, (_, keys) in self._issuers.items():
            self._tasks.start(url, keys.discover())

    async def replace(self, issuers: Sequence[Issuer]) -> None:
        """Recognize tokens of these instead, once the keys of all can be had. Raises KeysUnavailable if they cannot."""
        tasks = TaskOwner("jwt")
        made = self._made(issuers, tasks)
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

    def _made(self, issuers: Sequence[Issuer], tasks: TaskOwner) -> dict[str, tuple[Issuer, KeySet]]:
        return {issuer.url: (issuer, KeySet(issuer, tasks, self._clock)) for issuer in issuers}

    def authenticate_token(self, token: str) -> Awaitable[User | None] | None:
        """The user, None when no issuer is known that the token names. Raises InvalidToken when awaited."""
        if token.count(".") != 2:
            return None
        found = self._issuers.get(_issuer_of(token))
        return None if found is None else _recognized(token, *found)


def _issuer_of(token: str) -> str:
    """Whom a token names, unverified; "" for nobody."""
    try:
        claims = _part(token, 1)
    except InvalidToken:
        return ""
    issuer = claims.get("iss")
    if not isinstance(issuer, str):
        return ""
    return f"https://{issuer}" if issuer == _GOOGLE else issuer


async def _recognized(token: str, issuer: Issuer, keys: KeySet) -> User:
    if keys.problem:
        raise InvalidToken("oidc: authenticator not initialized")
    header = _part(token, 0)
    algorithm = header.get("alg")
    if algorithm not in issuer.algorithms:
        wanted = f"[{' '.join(map(go_quote, issuer.algorithms))}]"
        got = go_quote(algorithm if isinstance(algorithm, str) else "")
        raise InvalidToken(
            f"oidc: verify token: oidc: id token signed with unsupported algorithm, expected {wanted} got {got}"
        )
    await _verify(token, header, keys)
    claims: Claims = _floats(_part(token, 1))
    _check(issuer, claims)
    return claimed_user(issuer, claims)


def _part(token: str, index: int) -> dict[str, Any]:
    """The header, or the claims. Raises InvalidToken."""
    try:
        found = read_json(_decoded(token.split(".")[index]))
    except ValueError as error:
        raise InvalidToken(f"oidc: verify token: oidc: malformed jwt: {error}") from error
    if not isinstance(found, dict):
        raise InvalidToken("oidc: verify token: oidc: malformed jwt: no object")
    return found


def _floats(value: Any) -> Any:
    """With floats for all numbers, as Go reads them where nobody says otherwise."""
    if type(value) is int:
        return float(value)
    if isinstance(value, dict):
        return {key: _floats(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_floats(each) for each in value]
    return value


def _check(issuer: Issuer, claims: Claims) -> None:
    """Whether a token is for this server, and holds now. Raises InvalidToken."""
    audiences, until, since = _read(claims)
    if set(issuer.audiences).isdisjoint(audiences):
        told = f"[{' '.join(map(go_quote, audiences))}]"
        if len(issuer.audiences) == 1:
            wanted = go_quote(issuer.audiences[0])
            raise InvalidToken(f"oidc: verify token: oidc: expected audience {wanted} got {told}")
        wanted = f"[{' '.join(map(go_quote, sorted(issuer.audiences)))}]"
        raise InvalidToken(f"oidc: verify token: oidc: expected audience in {wanted} got {told}")
    now = time.time()
    if until < now:
        raise InvalidToken(f"oidc: verify token: oidc: token is expired (Token Expiry: {_shown(until)})")
    if since > now + _LEEWAY_SECONDS:
        raise InvalidToken(
            f"oidc: verify token: oidc: current time {_shown(now)} before the nbf (not before) time: {_shown(since)}"
        )


async def _verify(token: str, header: dict[str, Any], keys: KeySet) -> None:
    """Look for a key that the token is signed with, first among those that are known. Raises InvalidToken."""
    failed = InvalidToken("oidc: verify token: failed to verify signature: failed to verify id token signature")
    key_id = header.get("kid") or ""
    critical = header.get("crit") or []
    if not isinstance(key_id, str) or critical not in ([], ["b64"]) or header.get("b64", True) is not True:
        # What has to be understood, or claims in another form.
        raise failed
    if _is_signed(token, header["alg"], keys.find(key_id)):
        return
    try:
        await keys.fetch()
    except KeysUnavailable as error:
        raise InvalidToken(f"oidc: verify token: failed to verify signature: fetching keys {error}") from error
    if not _is_signed(token, header["alg"], keys.find(key_id)):
        raise failed


def _is_signed(token: str, algorithm: str, keys: Sequence[Key]) -> bool:
    from jwt import PyJWTError
    from jwt.algorithms import get_default_algorithms

    signed, _, encoded = token.rpartition(".")
    try:
        signature = _decoded(encoded)
    except ValueError:
        return False
    verifier = get_default_algorithms()[algorithm]
    for key in keys:
        try:
            if verifier.verify(signed.encode(), verifier.prepare_key(key.public), signature):
                return True
        except (PyJWTError, ValueError, TypeError):
            continue
    return False


def _decoded(part: str) -> bytes:
    if not _BASE64.fullmatch(part):
        raise ValueError("illegal base64 data")
    return base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_")


def _read(claims: Claims) -> tuple[list[str], float, float]:
    """For whom a token is, until when, and since when. Raises InvalidToken for claims of wrong types."""
    for name in _TEXTS:
        if not isinstance(claims.get(name), str | None):
            raise _wrong(claims[name], name, "string")
    given = claims.get("aud", [])
    several = given if isinstance(given, list) else [given]
    if not isinstance(given, str | list | None):
        raise _wrong(given, "aud", "[]string")
    for each in several:
        if not isinstance(each, str | None):
            raise _wrong(each, "aud", "string")
    until = _time(claims, "exp")
    _time(claims, "iat")
    since = _time(claims, "nbf") if claims.get("nbf") is not None else _NEVER
    _check_sources(claims)
    return [each or "" for each in several], until, since


def _check_sources(claims: Claims) -> None:
    names = claims.get("_claim_names") or {}
    if not isinstance(names, dict):
        raise _wrong(names, "_claim_names", "map[string]string")
    sources = claims.get("_claim_sources") or {}
    for source in names.values():
        if not isinstance(source, str | None):
            raise _wrong(source, "_claim_names", "string")
        if not source:
            raise InvalidToken("oidc: verify token: oidc: failed to obtain source from claim name")
        if not isinstance(sources, dict) or source not in sources:
            raise InvalidToken("oidc: verify token: oidc: source does not exist")


def _time(claims: Claims, name: str) -> float:
    """A number, or one in a text. Raises InvalidToken."""
    claim = claims.get(name, _NEVER)
    if claim is None:
        raise InvalidToken(f'{_UNREADABLE}strconv.ParseFloat: parsing "": invalid syntax')
    if isinstance(claim, str):
        if not _NUMBER.fullmatch(claim):
            shown = go_quote(go_json(claim))
            raise InvalidToken(f"{_UNREADABLE}json: invalid number literal, trying to unmarshal {shown} into Number")
        claim = float(claim)
    if not isinstance(claim, float):
        raise _wrong(claim, name, "json.Number")
    # What is beyond all whole numbers is the least one to Go.
    return claim if abs(claim) < 2.0**63 else -(2.0**63)


def _wrong(value: Any, name: str, wanted: str) -> InvalidToken:
    kind = KINDS.get(type(value), "string")
    return InvalidToken(
        f"{_UNREADABLE}json: cannot unmarshal {kind} into Go struct field idToken.{name} of type {wanted}"
    )


def _shown(seconds: float) -> str:
    shown = time.gmtime(min(max(seconds, _NEVER), _LAST_SECOND))
    return f"{shown.tm_year:04}-{time.strftime('%m-%d %H:%M:%S', shown)} +0000 UTC"
