"""Who a token's claims say that a user is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from watchkeeper.authn.certificates import CREDENTIAL_ID
from watchkeeper.authn.interface import InvalidToken
from watchkeeper.authn.jwt.expressions import ExpressionError, texts_of, user_value
from watchkeeper.authn.jwt.issuer import Condition, Issuer
from watchkeeper.meta.field import go_quote
from watchkeeper.request.user import User
from watchkeeper.runtime.unmarshal import described

Claims = dict[str, Any]


def claimed_user(issuer: Issuer, claims: Claims) -> User:
    """The user, whom the issuer's rules let pass. Raises InvalidToken."""
    name = _username(issuer, claims)
    groups = _groups(issuer, claims)
    user = User(name, uid=_uid(issuer, claims), groups=tuple(groups), extra=_extra(issuer, claims))
    for claim, wanted in issuer.required_claims:
        if claim not in claims:
            raise InvalidToken(f"oidc: required claim {claim} not present in ID token")
        found = _text(claims[claim], f"oidc: parse claim {claim}: ")
        if found != wanted:
            raise InvalidToken(f"oidc: required claim {claim} value does not match. Got = {found}, want = {wanted}")
    _check(issuer.claim_conditions, claims, "claim validation expression")
    if issuer.user_conditions:
        _check(issuer.user_conditions, user_value(user), "user info validation rule")
    return user


def _username(issuer: Issuer, claims: Claims) -> str:
    mapping = issuer.username
    what = "oidc: error evaluating username claim expression: "
    if mapping.expression is not None:
        name = _evaluated(mapping.expression.evaluate, claims, what)
        if not isinstance(name, str):
            raise InvalidToken(f"{what}username claim expression must return a string")
        if not name:
            raise InvalidToken("oidc: empty username via CEL expression is not allowed")
        return name
    name = _claim(claims, mapping.claim, f"oidc: parse username claims {go_quote(mapping.claim)}: ")
    if mapping.claim == "email" and "email_verified" in claims:
        verified = claims["email_verified"]
        if verified is not None and not isinstance(verified, bool):
            why = f"json: cannot unmarshal {described(verified)} into Go value of type bool"
            raise InvalidToken(f"oidc: parse 'email_verified' claim: {why}")
        if not verified:
            raise InvalidToken("oidc: email not verified")
    return mapping.prefix + name


def _groups(issuer: Issuer, claims: Claims) -> list[str]:
    mapping = issuer.groups
    if mapping.claim and mapping.claim in claims:
        given = claims[mapping.claim]
        what = f"oidc: parse groups claim {go_quote(mapping.claim)}: "
        if given is None:
            return []
        if isinstance(given, list) and all(each is None or isinstance(each, str) for each in given):
            return [mapping.prefix + (each or "") for each in given]
        return [mapping.prefix + _text(given, what)]
    if mapping.expression is None:
        return []
    what = "oidc: error evaluating group claim expression: "
    return _evaluated(lambda value: texts_of(mapping.expression.evaluate(value)), claims, what)  # type: ignore[no-any-return]


def _uid(issuer: Issuer, claims: Claims) -> str:
    mapping = issuer.uid
    if mapping.claim:
        return _claim(claims, mapping.claim, f"oidc: parse uid claim {go_quote(mapping.claim)}: ")
    if mapping.expression is None:
        return ""
    what = "oidc: error evaluating uid claim expression: "
    uid = _evaluated(mapping.expression.evaluate, claims, what)
    if not isinstance(uid, str):
        raise InvalidToken(f"{what}uid claim expression must return a string")
    return uid


def _extra(issuer: Issuer, claims: Claims) -> dict[str, tuple[str, ...]]:
    extra: dict[str, tuple[str, ...]] = {}
    credential = claims.get("jti")
    if isinstance(credential, str) and credential:
        extra[CREDENTIAL_ID] = (f"JTI={credential}",)
    for key, expression in issuer.extra:
        value = _evaluated(expression.evaluate, claims, "")
        what = f"oidc: error evaluating extra claim expression: {expression.source}: "
        if texts := _evaluated(texts_of, value, what):
            extra[key] = tuple(texts)
    return extra


def _check(conditions: Sequence[Condition], value: Any, kind: str) -> None:
    for condition in conditions:
        holds = _evaluated(condition.expression.evaluate, value, f"oidc: error evaluating {kind}: ")
        if holds is not True:
            source = condition.expression.source
            why = f"validation expression '{source}' failed: {condition.message}"
            raise InvalidToken(f"oidc: error evaluating {kind}: {why}")


def _evaluated(evaluate: Any, value: Any, what: str) -> Any:
    try:
        return evaluate(value)
    except ExpressionError as error:
        raise InvalidToken(f"{what}{error}") from error


def _claim(claims: Claims, name: str, what: str) -> str:
    if name not in claims:
        raise InvalidToken(f"{what}claim not present")
    return _text(claims[name], what)


def _text(value: Any, what: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidToken(f"{what}json: cannot unmarshal {described(value)} into Go value of type string")
    return value
