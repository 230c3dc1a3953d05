"""Tokens of service accounts: signed, bound to an account and perhaps to an object, and recognized again.

The claims are kube-apiserver's (KEP-1205): `kubernetes.io` names what the token is bound to; it holds as long as that
exists and has the same uid. Tokens of old, which stand in Secrets, are recognized too.
"""

from __future__ import annotations

import base64
import contextlib
import datetime
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from watchkeeper.authn import legacy_tokens
from watchkeeper.authn.interface import Annotations, InvalidToken, Recognized
from watchkeeper.authn.legacy_tokens import Find, NoteUse
from watchkeeper.authn.service_accounts import group_names, username
from watchkeeper.meta.field import go_quote
from watchkeeper.request.user import User

if TYPE_CHECKING:
    from watchkeeper.authn.service_account_keys import TokenKeys, VerifyingKey

Claims = dict[str, Any]
_BOUND = (("pod", "pods"), ("secret", "secrets"), ("node", "nodes"))
_AUDITED = "authentication.k8s.io/"
_INVALIDATED = "service account token has been invalidated"
_ONLY_SIGNATURE: Any = {f"verify_{claim}": False for claim in ("exp", "nbf", "iat", "aud", "sub", "jti")}
_WRONG_SIGNATURE = "go-jose/go-jose: error in cryptographic primitive"
MOUNTED_SECONDS = 3607
"""What kubelets ask for without being told otherwise: an hour, recognizable by the seconds."""
_EXTENDED_SECONDS = 365 * 24 * 3600
"""Clients in pods may not know that their token is renewed, so such a one holds longer than it says."""
_LEEWAY_SECONDS = 60.0
"""By so much clocks may differ (go-jose's default leeway)."""


@dataclass(frozen=True, slots=True)
class Bound:
    """What a token depends on besides its account. `kind` is pod, secret or node."""

    kind: str
    name: str
    uid: str
    node: dict[str, str] | None = None
    """Name and, if there is such a node, uid of the one that a pod is on."""


class ServiceAccountTokens:
    """Signs and recognizes the tokens of one server's service accounts."""

    def __init__(
        self,
        keys: Callable[[], TokenKeys],
        issuer: str,
        audiences: Sequence[str] = (),
        *,
        earlier_issuers: Sequence[str] = (),
        extends: bool = True,
        max_seconds: int = 0,
    ) -> None:
        """`keys` is called at the first use. `audiences` name this server; a token must carry one of them.

        Without any they are the issuer and the earlier ones, whose tokens are still taken. `extends`: whether those
        hold for a year that are mounted into pods. `max_seconds`: for how long others hold at most, 0 for no limit.
        """
        self._keys = keys
        self._extends = extends
        self.issuer = issuer
        self.max_seconds = max_seconds
        self._issuers = (issuer, *earlier_issuers, legacy_tokens.ISSUER)
        self.audiences = tuple(audiences) or (issuer, *earlier_issuers)
        self.find: Find | None = None
        """Set once objects can be looked up; until then no token is recognized."""
        self.note_use: NoteUse | None = None
        """Set where objects can be written."""

    def __repr__(self) -> str:
        return f"<ServiceAccountTokens of {self.issuer}>"

    def sign(
        self, namespace: str, name: str, uid: str, audiences: Sequence[str], seconds: int, bound: Bound | None
    ) -> str:
        """A token that holds for `seconds`, or for a year as one that kubelets ask for to be mounted into a pod."""
        import jwt

        now = int(time.time())
        about: Claims = {"namespace": namespace, "serviceaccount": {"name": name, "uid": uid}}
        mounted = seconds == MOUNTED_SECONDS and bound is not None and bound.kind == "pod"
        if self._extends and mounted and self._is_meant(audiences):
            about["warnafter"] = now + seconds
            seconds = _EXTENDED_SECONDS
        if bound is not None:
            about[bound.kind] = {"name": bound.name, "uid": bound.uid}
            if bound.node is not None:
                about["node"] = bound.node
        claims: Claims = {
            "aud": list(audiences),
            "exp": now + seconds,
            "iat": now,
            "nbf": now,
            "iss": self.issuer,
            "jti": str(uuid.uuid4()),
            "kubernetes.io": about,
            "sub": username(namespace, name),
        }
        keys = self._keys()
        headers = {"kid": keys.own.name, "typ": None}
        return jwt.encode(claims, keys.signing, algorithm=keys.own.algorithm, headers=headers)

    def _is_meant(self, audiences: Sequence[str]) -> bool:
        """Whether a token is for this server alone."""
        return set(audiences) <= set(self.audiences)

    def verifying_keys(self) -> tuple[VerifyingKey, ...]:
        """What tokens are recognized by, for others who want to recognize them."""
        return self._keys().verifying

    def authenticate_token(self, token: str) -> Awaitable[User | None] | None:
        """The service account, None when it is no token of this issuer. Raises InvalidToken, perhaps when awaited."""
        if token.count(".") != 2 or self.find is None:
            return None
        return self._user(token)

    async def _user(self, token: str) -> User | None:
        found = await self.recognize(token, self.audiences)
        return None if found is None else found.user

    async def recognize(self, token: str, audiences: Sequence[str]) -> Recognized | None:
        """The service account, and for which of the audiences its token is; see AudienceAware. Raises InvalidToken."""
        if token.count(".") != 2 or self.find is None:
            return None
        claims = self._verified(token)
        if claims is None:
            return None
        meant = claims.get("aud") or list(self.audiences)
        meant = [meant] if isinstance(meant, str) else meant
        found = tuple(audience for audience in audiences if audience in meant)
        if not found:
            raise InvalidToken(
                f"token audiences {_go_list(meant)} is invalid for the target audiences {_go_list(audiences)}"
            )
        annotations = () if claims.get("aud") else ((f"{_AUDITED}legacy-token", str(claims.get("sub", ""))),)
        try:
            recognized = await self._recognized(token, claims, found)
        except InvalidToken as error:
            error.annotations = (*annotations, *error.annotations)
            raise
        return replace(recognized, annotations=(*annotations, *recognized.annotations))

    async def _recognized(self, token: str, claims: Claims, audiences: tuple[str, ...]) -> Recognized:
        if claims["iss"] == legacy_tokens.ISSUER:
            assert self.find is not None
            return await legacy_tokens.legacy_account(token, claims, audiences, self.find, self.note_use)
        _check_times(claims)
        return Recognized(await self._account(claims), audiences, annotations=_stale(claims))

    def _verified(self, token: str) -> Claims | None:
        """The claims, None for another issuer's and for what is no JWT. Raises InvalidToken for a wrong signature."""
        import jwt

        try:
            token = _canonical(token)
            unverified = jwt.decode_complete(token, options={"verify_signature": False})
            if unverified["payload"].get("iss") not in self._issuers:
                return None
            candidates = self._keys().find(unverified["header"].get("kid") or "")
            if not candidates:
                raise InvalidToken("invalid signature, no keys found")
            for key in candidates:
                with contextlib.suppress(jwt.InvalidSignatureError, jwt.InvalidAlgorithmError):
                    return jwt.decode(token, key.key, algorithms=key.algorithms, options=_ONLY_SIGNATURE)
        except (ValueError, jwt.PyJWTError):
            return None
        raise InvalidToken(_WRONG_SIGNATURE)

    async def _account(self, claims: Claims) -> User:
        """The account that claims are about, if all that they are bound to is still there. Raises InvalidToken."""
        about = claims.get("kubernetes.io") or {}
        namespace, account = about.get("namespace", ""), about.get("serviceaccount") or {}
        name, uid = account.get("name", ""), account.get("uid", "")
        await self._require(namespace, "service account", "serviceaccounts", account)
        extra = {"authentication.kubernetes.io/credential-id": (f"JTI={claims.get('jti', '')}",)}
        for kind, resource in _BOUND:
            other = about.get(kind)
            if not other:
                continue
            # The node of a bound pod is told for information.
            if kind != "node" or "pod" not in about:
                await self._require("" if kind == "node" else namespace, kind, resource, other)
            if kind != "secret":
                for field in ("name", "uid"):
                    if other.get(field):
                        extra[f"authentication.kubernetes.io/{kind}-{field}"] = (other[field],)
        return User(username(namespace, name), uid=uid, groups=group_names(namespace), extra=extra)

    async def _require(self, namespace: str, kind: str, resource: str, claimed: dict[str, str]) -> None:
        """Raise InvalidToken unless an object is still there and the same, and not about to go for long."""
        assert self.find is not None
        name, is_account = claimed.get("name", ""), kind == "service account"
        found = await self.find(resource, namespace, name)
        if found is None:
            gone = f"serviceaccounts {go_quote(name)} not found"
            raise InvalidToken(gone if is_account else _INVALIDATED)
        uid, now = claimed.get("uid", ""), found["metadata"].get("uid", "")
        if now != uid:
            what = "claim" if is_account else f"service account {kind} ref claim"
            raise InvalidToken(f"{kind} UID ({now}) does not match {what} ({uid})")
        deleted = found["metadata"].get("deletionTimestamp")
        if deleted and _parsed(deleted) < time.time() - _LEEWAY_SECONDS:
            raise InvalidToken(f"service account {namespace}/{name} has been deleted" if is_account else _INVALIDATED)


def _stale(claims: Claims) -> Annotations:
    """What is noted of a token that kubelets should have renewed: it holds longer for those who do not reload it."""
    after, now = (claims.get("kubernetes.io") or {}).get("warnafter"), time.time()
    if not isinstance(after, int) or not 0 < after < now:
        return ()
    text = f"subject: {claims.get('sub', '')}, seconds after warning threshold: {int(now) - after}"
    return ((f"{_AUDITED}stale-token", text),)


def _parsed(timestamp: str) -> float:
    return datetime.datetime.fromisoformat(timestamp).timestamp()


def _canonical(token: str) -> str:
    """The token with its signature encoded as it should be: Go minds no bits that are too many. Raises ValueError."""
    signed, _, signature = token.rpartition(".")
    raw = base64.b64decode(signature + "=" * (-len(signature) % 4), altchars=b"-_", validate=True)
    return f"{signed}.{base64.urlsafe_b64encode(raw).rstrip(b'=').decode()}"


def _check_times(claims: Claims) -> None:
    """Raise InvalidToken outside the time for which a token holds, give or take what clocks differ."""
    now = time.time()
    if now - _LEEWAY_SECONDS > _seconds(claims.get("exp"), now):
        raise InvalidToken("service account token has expired")
    if now + _LEEWAY_SECONDS < _seconds(claims.get("nbf"), now):
        raise InvalidToken("service account token is not valid yet")
    if now + _LEEWAY_SECONDS < _seconds(claims.get("iat"), now):
        raise InvalidToken("service account token is issued in the future")


def _seconds(claim: Any, absent: float) -> float:
    return float(claim) if isinstance(claim, int | float) else absent


def _go_list(texts: Sequence[str]) -> str:
    return f"[{' '.join(map(go_quote, texts))}]"
