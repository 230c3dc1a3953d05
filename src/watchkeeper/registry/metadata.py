"""System metadata: what the server alone writes into an object's metadata."""

from __future__ import annotations

import time
import uuid
from typing import Any

from watchkeeper.meta import errors

Object = dict[str, Any]

_WIPED = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")


def now_text(seconds: float | None = None) -> str:
    """A time as metav1.Time writes it: RFC 3339, seconds, UTC."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def metadata_of(obj: Object) -> Object:
    """The object's metadata, made if it has none."""
    meta = obj.get("metadata")
    if meta is None:
        meta = obj["metadata"] = {}
    return meta


def wipe_system_fields(meta: dict[str, Any]) -> None:
    """Drop what a client may not set on a new object."""
    for name in _WIPED:
        meta.pop(name, None)


def fill_system_fields(meta: dict[str, Any]) -> None:
    """Give a new object its creation time and uid."""
    meta["creationTimestamp"] = now_text()
    meta["uid"] = str(uuid.uuid4())


def ensure_namespace(meta: dict[str, Any], namespace: str) -> None:
    """Set the namespace that the request names; "" (cluster-scoped kinds) drops any. Raises a 400 for another one."""
    found = meta.get("namespace") or ""
    if found == namespace:
        return
    if not found:
        meta["namespace"] = namespace
    elif not namespace:
        del meta["namespace"]
    else:
        raise errors.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
