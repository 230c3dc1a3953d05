"""Tokens of service accounts: signed, bound to an account and perhaps to an object, and recognized again.

The claims are kube-apiserver's (KEP-1205): `kubernetes.io` names what the token is bound to; it holds as long as that
exists and has the same uid.
"""

from __future__ import annotations

import base64
import hashlib
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from watchkeeper.authn.interface import InvalidToken
from watchkeeper.authn.service_accounts import group_names, username
from watchkeeper.request.user import User

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

Claims = dict[str, Any]
ALGORITHM = "ES256"
FindUid = Callable[[str, str, str], Awaitable[str | None]]
"""(resource, namespace, name) -> the uid of what has that name now, None when nothing has."""
_BOUND = (("pod", "pods"), ("secret", "secrets"), ("node", "nodes"))


@dataclass(frozen=True, slots=True)
class Bound:
    """What a token depends on besides its account. `kind` is pod, secret or node."""

    kind: str
    name: str
    uid: str


class ServiceAccountTokens:
    """Signs and recognizes the tokens of one server's service accounts."""

    def __init__(self, key: Callable[[], EllipticCurvePrivateKey], issuer: str, audiences: Sequence[str] = ()) -> None:
        """`key` is called at the first use. `audiences` name this server; a token must carry one of them."""
        self._key = key
        self._named = ""
        self.issuer = issuer
        self.audiences = tuple(audiences) or (issuer,)
        self.find_uid: FindUid | None = None
        """Set once objects can be looked up; until then no token is recognized."""

    def __repr__(self) -> str:
        return f"<ServiceAccountTokens of {self.issuer}>"

    def sign(
        self, namespace: str, name: str, uid: str, audiences: Sequence[str], seconds: int, bound: Bound | None
    ) -> str:
        """A token that holds for `seconds`."""
        import jwt

        now = int(time.time())
        about: Claims = {"namespace": namespace, "serviceaccount": {"name": name, "uid": uid}}
        if bound is not None:
            about[bound.kind] = {"name": bound.name, "uid": bound.uid}
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
        return jwt.encode(claims, self._key(), algorithm=ALGORITHM, headers={"kid": self._key_id(), "typ": None})

    def public_jwk(self) -> dict[str, Any]:
        """The key to verify tokens with, as a JSON Web Key (RFC 7517)."""
        from jwt.algorithms import ECAlgorithm

        about = {"use": "sig", "kid": self._key_id(), "alg": ALGORITHM}
        return about | ECAlgorithm.to_jwk(self._key().public_key(), as_dict=True)

    def _key_id(self) -> str:
        """The key's name in headers of tokens: a digest of the public key, as kube-apiserver names keys."""
        if not self._named:
            from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

            encoded = self._key().public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
            self._named = base64.urlsafe_b64encode(hashlib.sha256(encoded).digest()).rstrip(b"=").decode()
        return self._named

    def authenticate_token(self, token: str) -> Awaitable[User | None] | None:
        """The service account, None when it is no token of this issuer. Raises InvalidToken, perhaps when awaited."""
        if token.count(".") != 2 or self.find_uid is None:
            return None
        return self._recognize(token)

    async def _recognize(self, token: str) -> User | None:
        import jwt

        try:
            unverified = jwt.decode(token, options={"verify_signature": False})
            if unverified.get("iss") != self.issuer:
                return None
            claims: Claims = jwt.decode(
                token,
                self._key().public_key(),
                algorithms=[ALGORITHM],
                audience=list(self.audiences),
                issuer=self.issuer,
            )
        except jwt.PyJWTError as error:
            raise InvalidToken(f"invalid bearer token: {error}") from error
        about = claims.get("kubernetes.io") or {}
        namespace, account = about.get("namespace", ""), about.get("serviceaccount") or {}
        name, uid = account.get("name", ""), account.get("uid", "")
        await self._require("serviceaccounts", namespace, name, uid)
        extra = {"authentication.kubernetes.io/credential-id": (f"JTI={claims.get('jti', '')}",)}
        for kind, resource in _BOUND:
            other = about.get(kind)
            if other:
                place = "" if kind == "node" else namespace
                await self._require(resource, place, other.get("name", ""), other.get("uid", ""))
                if kind != "secret":
                    extra[f"authentication.kubernetes.io/{kind}-name"] = (other.get("name", ""),)
                    extra[f"authentication.kubernetes.io/{kind}-uid"] = (other.get("uid", ""),)
        return User(username(namespace, name), uid=uid, groups=group_names(namespace), extra=extra)

    async def _require(self, resource: str, namespace: str, name: str, uid: str) -> None:
        assert self.find_uid is not None
        found = await self.find_uid(resource, namespace, name)
        if found is None or found != uid:
            raise InvalidToken("the service account token has been invalidated")
