"""Verifies a token: that a key of its issuer has signed it, that it is for this server, and that it holds now."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import Any

from watchkeeper.authn.jwt.claims import Claims
from watchkeeper.authn.jwt.go_values import field_of, is_field, url_base64
from watchkeeper.authn.jwt.issuer import Issuer
from watchkeeper.authn.jwt.key_set import Key
from watchkeeper.authn.jwt.keys import KeySet, KeysUnavailable
from watchkeeper.meta.field import go_json, go_quote
from watchkeeper.runtime.json_text import read_json
from watchkeeper.runtime.unmarshal import described

_LEEWAY_SECONDS = 60.0
"""By so much the clock of an issuer may be ahead."""
_LAST_SECOND = 253402300799.0
"""The end of the year 9999, after which times have no common form."""
_NEVER = -62135596800.0
"""The beginning of the year 1, which stands for no time at all."""
_UNREADABLE = "oidc: failed to unmarshal claims: "
_TEXTS = ("iss", "sub", "nonce", "at_hash")
_CLAIM_NAMES = (*_TEXTS, "aud", "exp", "iat", "nbf", "_claim_names", "_claim_sources")
_CLAIMS = 'struct { Issuer string "json:\\"iss\\"" }'
_GOOGLE = "accounts.google.com"
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")


class Unverified(Exception):
    """A token that is not what it says; the message tells why."""


def issuer_of(token: str) -> str:
    """Whom a token names, unverified. Raises Unverified for what is no token."""
    if token.strip().startswith("{"):
        raise Unverified("token is not compact JWT")
    parts = token.split(".")
    if len(parts) != 3:
        raise Unverified("malformed token")
    try:
        payload = url_base64(parts[1])
    except ValueError as error:
        raise Unverified(f"error decoding token: {error}") from error
    try:
        claims = read_json(payload)
    except ValueError as error:
        raise Unverified(f"while unmarshaling token: {error}") from error
    if not isinstance(claims, dict | None):
        raise Unverified(
            f"while unmarshaling token: json: cannot unmarshal {described(claims)} into Go value of type {_CLAIMS}"
        )
    issuer = field_of(claims or {}, "iss")
    if not isinstance(issuer, str | None):
        why = f"json: cannot unmarshal {described(issuer)} into Go struct field .iss of type string"
        raise Unverified(f"while unmarshaling token: {why}")
    return f"https://{issuer}" if issuer == _GOOGLE else issuer or ""


async def verified(token: str, issuer: Issuer, keys: KeySet) -> Claims:
    """The claims of a token that is what it says. Raises Unverified."""
    header = _part(token, 0)
    algorithm = header.get("alg")
    if algorithm not in issuer.algorithms:
        wanted = f"[{' '.join(map(go_quote, issuer.algorithms))}]"
        got = go_quote(algorithm if isinstance(algorithm, str) else "")
        raise Unverified(f"oidc: id token signed with unsupported algorithm, expected {wanted} got {got}")
    await _verify(token, header, keys)
    claims: Claims = _floats(_part(token, 1))
    _check(issuer, claims)
    return claims


def _part(token: str, index: int) -> dict[str, Any]:
    """The header, or the claims. Raises Unverified."""
    try:
        found = read_json(url_base64(token.split(".")[index]))
    except ValueError as error:
        raise Unverified(f"oidc: malformed jwt: {error}") from error
    if not isinstance(found, dict):
        raise Unverified("oidc: malformed jwt: no object")
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
    """Whether a token is for this server, and holds now. Raises Unverified."""
    audiences, until, since = _read(claims)
    if set(issuer.audiences).isdisjoint(audiences):
        told = f"[{' '.join(map(go_quote, audiences))}]"
        if len(issuer.audiences) == 1:
            wanted = go_quote(issuer.audiences[0])
            raise Unverified(f"oidc: expected audience {wanted} got {told}")
        wanted = f"[{' '.join(map(go_quote, sorted(issuer.audiences)))}]"
        raise Unverified(f"oidc: expected audience in {wanted} got {told}")
    now = time.time()
    if until < now:
        raise Unverified(f"oidc: token is expired (Token Expiry: {_shown(until)})")
    if since > now + _LEEWAY_SECONDS:
        raise Unverified(f"oidc: current time {_shown(now)} before the nbf (not before) time: {_shown(since)}")


async def _verify(token: str, header: dict[str, Any], keys: KeySet) -> None:
    """Look for a key that the token is signed with, first among those that are known. Raises Unverified."""
    failed = Unverified("failed to verify signature: failed to verify id token signature")
    key_id = header.get("kid") or ""
    critical = header.get("crit") or []
    if not isinstance(key_id, str) or critical not in ([], ["b64"]) or header.get("b64", True) is not True:
        # What has to be understood, or claims in another form.
        raise failed
    if _is_signed(token, header["alg"], keys.find(key_id)):
        return
    if keys.are_fresh():
        raise failed
    try:
        await keys.fetch()
    except KeysUnavailable as error:
        raise Unverified(f"failed to verify signature: fetching keys {error}") from error
    if not _is_signed(token, header["alg"], keys.find(key_id)):
        raise failed


def _is_signed(token: str, algorithm: str, keys: Sequence[Key]) -> bool:
    from jwt import PyJWTError
    from jwt.algorithms import get_default_algorithms

    signed, _, encoded = token.rpartition(".")
    try:
        signature = url_base64(encoded)
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


def _read(claims: Claims) -> tuple[list[str], float, float]:
    """For whom a token is, until when, and since when. Raises Unverified for claims of wrong types."""
    known = {name: value for name in _CLAIM_NAMES for key, value in claims.items() if is_field(key, name)}
    for name in _TEXTS:
        if not isinstance(known.get(name), str | None):
            raise _wrong(known[name], name, "string")
    given = known.get("aud", [])
    several = given if isinstance(given, list) else [given]
    if not isinstance(given, str | list | None):
        raise _wrong(given, "aud", "[]string")
    for each in several:
        if not isinstance(each, str | None):
            raise _wrong(each, "aud", "string")
    until = _time(known, "exp")
    _time(known, "iat")
    since = _time(known, "nbf") if known.get("nbf") is not None else _NEVER
    _check_sources(known)
    return [each or "" for each in several], until, since


def _check_sources(claims: Claims) -> None:
    names = claims.get("_claim_names") or {}
    if not isinstance(names, dict):
        raise _wrong(names, "_claim_names", "map[string]string")
    for source in names.values():
        if not isinstance(source, str | None):
            raise _wrong(source, "_claim_names", "string")
    sources = claims.get("_claim_sources") or {}
    if not isinstance(sources, dict):
        raise _wrong(sources, "_claim_sources", "map[string]oidc.claimSource")
    for source in sources.values():
        if not isinstance(source, dict | None):
            raise _wrong(source, "_claim_sources", "oidc.claimSource")
        for name in ("endpoint", "access_token"):
            value = field_of(source or {}, name)
            if not isinstance(value, str | None):
                raise _wrong(value, f"_claim_sources.{name}", "string", struct="claimSource")
    for source in names.values():
        if not source:
            raise Unverified("oidc: failed to obtain source from claim name")
        if source not in sources:
            raise Unverified("oidc: source does not exist")


def _time(claims: Claims, name: str) -> float:
    """A number, or one in a text. Raises Unverified."""
    claim = claims.get(name, _NEVER)
    if claim is None:
        raise Unverified(f'{_UNREADABLE}strconv.ParseFloat: parsing "": invalid syntax')
    if isinstance(claim, str):
        if not _NUMBER.fullmatch(claim):
            shown = go_quote(go_json(claim))
            raise Unverified(f"{_UNREADABLE}json: invalid number literal, trying to unmarshal {shown} into Number")
        claim = float(claim)
    if not isinstance(claim, float):
        raise _wrong(claim, name, "json.Number")
    # What is beyond all whole numbers is the least one to Go.
    return claim if abs(claim) < 2.0**63 else -(2.0**63)


def _wrong(value: Any, name: str, wanted: str, *, struct: str = "idToken") -> Unverified:
    where = f"Go struct field {struct}.{name} of type {wanted}"
    return Unverified(f"{_UNREADABLE}json: cannot unmarshal {described(value)} into {where}")


def _shown(seconds: float) -> str:
    shown = time.gmtime(min(max(seconds, _NEVER), _LAST_SECOND))
    return f"{shown.tm_year:04}-{time.strftime('%m-%d %H:%M:%S', shown)} +0000 UTC"
