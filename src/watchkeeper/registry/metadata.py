"""System metadata: what the server alone writes into an object's metadata."""

from __future__ import annotations

import os
import time
from typing import Any

from watchkeeper.meta import errors
from watchkeeper.runtime.timestamps import time_text

Object = dict[str, Any]

_WIPED = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")


def now_text(seconds: float | None = None) -> str:
    """A time as metav1.Time writes it, now if none is given."""
    return time_text(time.time() if seconds is None else seconds)


def new_uid() -> str:
    """A random UUID (version 4)."""
    digits = os.urandom(16).hex()
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


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
    meta["uid"] = new_uid()


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
