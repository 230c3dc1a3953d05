"""Since when uses of service account tokens without an end are noted: a ConfigMap that kube-apiserver keeps, too.

This server takes no such tokens, so that there are no uses to note.
"""

from __future__ import annotations

import datetime
from typing import Any

from watchkeeper.registry.metadata import now_text

Object = dict[str, Any]

SINCE = "since"


def tracking() -> Object:
    """The ConfigMap of a cluster that begins today."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "kube-apiserver-legacy-service-account-token-tracking", "namespace": "kube-system"},
        "data": {SINCE: now_text()[:10]},
    }


def reconciled(stored: Object, expected: Object) -> Object | None:
    """The stored ConfigMap with a day; None if it has one."""
    data = stored.get("data") or {}
    return None if _is_day(data.get(SINCE, "")) else {**stored, "data": {**data, SINCE: expected["data"][SINCE]}}


def _is_day(text: str) -> bool:
    try:
        return datetime.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
