"""Tokens of service accounts that stand in Secrets and have no end, as kube-controller-manager makes them.

One holds as long as the Secret is there with that very token in it, and its account is there and has the same uid.
"""

from __future__ import annotations

import base64
import hmac
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

from watchkeeper.authn.interface import InvalidToken, Recognized
from watchkeeper.authn.service_accounts import group_names, split_username, username
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.field import go_quote
from watchkeeper.request.user import User
from watchkeeper.storage.errors import StorageError

log = logging.getLogger(__name__)

Object = dict[str, Any]
Find = Callable[[str, str, str], Awaitable[Object | None]]
"""(resource, namespace, name) -> the object, None when there is none."""
NoteUse = Callable[[Object, dict[str, str]], Awaitable[None]]
"""(secret, labels) -> the Secret gets these labels. Raises ApiError, StorageError."""

ISSUER = "kubernetes/serviceaccount"
LAST_USED = "kubernetes.io/legacy-token-last-used"
INVALID_SINCE = "kubernetes.io/legacy-token-invalid-since"
_CLAIMS = "kubernetes.io/serviceaccount/"
_NEEDED = (
    ("namespace", "namespace"),
    ("secret.name", "secretName"),
    ("service-account.name", "serviceAccountName"),
    ("service-account.uid", "serviceAccountUID"),
)
"""Claims, and what they are called when they are missing."""
_GENERATED = (
    "Use tokens from the TokenRequest API or manually created secret-based tokens"
    " instead of auto-generated secret-based tokens."
)
"""What is said where the account lists the Secret, as controllers of old made it."""
_DAY_SECONDS = 24 * 3600


async def legacy_account(
    token: str, claims: Object, audiences: tuple[str, ...], find: Find, note_use: NoteUse | None
) -> Recognized:
    """Whose token it is, given its verified claims and whom it is for. Raises InvalidToken, ApiError."""
    subject = _text(claims.get("sub"))
    if not subject:
        raise InvalidToken("sub claim is missing")
    found = [_text(claims.get(_CLAIMS + claim)) for claim, _ in _NEEDED]
    for value, (_, called) in zip(found, _NEEDED, strict=True):
        if not value:
            raise InvalidToken(f"{called} claim is missing")
    namespace, secret_name, name, uid = found
    if split_username(subject) != (namespace, name):
        raise InvalidToken("sub claim is invalid")
    secret = await find("secrets", namespace, secret_name)
    if secret is None or secret["metadata"].get("deletionTimestamp"):
        raise InvalidToken("Token has been invalidated")
    if not hmac.compare_digest(_stored_token(secret), token.encode()):
        raise InvalidToken("Token does not match server's copy")
    account = await find("serviceaccounts", namespace, name)
    if account is None:
        raise InvalidToken(f"serviceaccounts {go_quote(name)} not found")
    if account["metadata"].get("deletionTimestamp"):
        raise InvalidToken(f"ServiceAccount {namespace}/{name} has been deleted")
    now = account["metadata"].get("uid", "")
    if now != uid:
        raise InvalidToken(f"ServiceAccount UID ({now}) does not match claim ({uid})")
    await _note(secret, note_use)
    if (secret["metadata"].get("labels") or {}).get(INVALID_SINCE):
        raise InvalidToken(
            f"the token in secret {namespace}/{secret_name} for service account {namespace}/{name} has been marked"
            " invalid. Use tokens from the TokenRequest API or manually created secret-based tokens, or remove the"
            f" '{INVALID_SINCE}' label from the secret to temporarily allow use of this token"
        )
    generated = any(reference.get("name") == secret_name for reference in account.get("secrets") or ())
    user = User(username(namespace, name), uid=uid, groups=group_names(namespace))
    return Recognized(user, audiences, (_GENERATED,) if generated else ())


async def _note(secret: Object, note_use: NoteUse | None) -> None:
    """Write into the Secret on which day its token was used last."""
    if note_use is None:
        return
    seconds = time.time()
    today, tomorrow = (time.strftime("%Y-%m-%d", time.gmtime(at)) for at in (seconds, seconds + _DAY_SECONDS))
    if (secret["metadata"].get("labels") or {}).get(LAST_USED) in (today, tomorrow):
        return
    try:
        await note_use(secret, {LAST_USED: today})
    except (ApiError, StorageError) as error:
        log.warning("the use of a token is not noted in its secret: %s", error)


def _stored_token(secret: Object) -> bytes:
    return base64.b64decode((secret.get("data") or {}).get("token") or "")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
