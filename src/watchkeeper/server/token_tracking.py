"""Uses of service account tokens without an end: each Secret tells of the last one, a ConfigMap since when they do."""

from __future__ import annotations

import datetime
from typing import Any

from watchkeeper.registry.metadata import now_text
from watchkeeper.registry.store import Store
from watchkeeper.server.ownership import Ownership
from watchkeeper.storage.errors import KeyNotFound
from watchkeeper.storage.interface import StoredObject

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


class TokenUses:
    """Writes into Secrets when their tokens were used."""

    def __init__(self, secrets: Store, ownership: Ownership) -> None:
        self._secrets = secrets
        self._ownership = ownership

    def __repr__(self) -> str:
        return f"<TokenUses in {self._secrets.resource}>"

    async def note(self, secret: Object, labels: dict[str, str]) -> None:
        """Add labels to a Secret that was read, unless another has taken its place. Raises StorageError."""
        metadata: Object = secret["metadata"]

        def labeled(current: StoredObject | None) -> Object:
            if current is None or current.attributes.uid != metadata.get("uid"):
                raise KeyNotFound("no such secret", metadata["name"])
            now = current.data()
            changed = {**now["metadata"], "labels": {**(now["metadata"].get("labels") or {}), **labels}}
            return self._ownership.changed(now, {**now, "metadata": changed})

        key = self._secrets.key(metadata["namespace"], metadata["name"])
        await self._secrets.storage.guaranteed_update(key, labeled)
