"""The Lease by which servers on one store know of each other: `apiserver-…` in kube-system, renewed while one lives.

Only a store that several servers can share has them; elsewhere the one server that there is can be asked itself.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import logging
import time
import uuid
from typing import Any

from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.apis.printing import parse_time
from watchkeeper.meta.errors import ApiError
from watchkeeper.registry.rest import Context, CreateOptions, DeleteOptions
from watchkeeper.registry.store import Store
from watchkeeper.request.user import LOOPBACK
from watchkeeper.server.ownership import Ownership
from watchkeeper.storage.errors import KeyNotFound, StorageError
from watchkeeper.storage.interface import ListOptions, StoredObject

log = logging.getLogger(__name__)

Object = dict[str, Any]

_NAMESPACE = "kube-system"
_LABELS = {"apiserver.kubernetes.io/identity": "kube-apiserver"}
_DURATION_SECONDS = 3600
_RENEW_SECONDS = 10.0
_COLLECT_SECONDS = 3600.0


def server_id(hostname: str, url: str) -> str:
    """A name for the server at an address of a machine: the same after a restart, another for its neighbor."""
    parts = b"".join(
        len(part).to_bytes(2, "big") + part for part in (hostname.encode(), b"kube-apiserver", url.encode())
    )
    digest = hashlib.sha256(parts).digest()[:16]
    return f"apiserver-{base64.b32encode(digest).decode().rstrip('=').lower()}"


class IdentityLease:
    """Keeps the Lease of one server."""

    def __init__(
        self, store: Store, ownership: Ownership, hostname: str, url: str, *, interval: float = _RENEW_SECONDS
    ) -> None:
        """`store` is that of Leases; `url` is how this server is reached; `interval` is in seconds."""
        self.name = server_id(hostname, url)
        self._store = store
        self._ownership = ownership
        self._hostname = hostname
        self._holder = f"{self.name}_{uuid.uuid4()}"
        self._interval = interval
        self._tasks = TaskOwner("identity")

    def __repr__(self) -> str:
        return f"<IdentityLease {self.name}>"

    def start(self) -> None:
        """Begin to renew."""
        self._tasks.start("renew", self._renew_always())

    async def close(self) -> None:
        """Renew no more; the Lease shows until when the server lived."""
        await self._tasks.close()

    async def _renew_always(self) -> None:
        while True:
            try:
                await self.renew()
            except (ApiError, StorageError) as error:
                log.info("the lease %s is not renewed: %s", self.name, error)
            await asyncio.sleep(self._interval)

    async def renew(self) -> None:
        """Write the present time into the Lease, which is made if it is not there. Raises ApiError, StorageError."""
        try:
            await self._store.storage.guaranteed_update(self._store.key(_NAMESPACE, self.name), self._renewed)
        except KeyNotFound:
            lease = self._ownership.created(self._lease())
            await self._store.create(Context(user=LOOPBACK, namespace=_NAMESPACE), lease, CreateOptions())

    def _renewed(self, current: StoredObject | None) -> Object:
        if current is None:
            raise KeyNotFound("no such lease", self.name)
        lease = current.data()
        spec = lease.get("spec") or {}
        ours = spec.get("holderIdentity") == self._holder
        spec = {**spec, "renewTime": _now()} if ours else self._lease()["spec"]
        return self._ownership.changed(lease, {**lease, "spec": spec})

    def _lease(self) -> Object:
        now = _now()
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {
                "name": self.name,
                "namespace": _NAMESPACE,
                "labels": {**_LABELS, "kubernetes.io/hostname": self._hostname},
            },
            "spec": {
                "holderIdentity": self._holder,
                "leaseDurationSeconds": _DURATION_SECONDS,
                "acquireTime": now,
                "renewTime": now,
            },
        }


class ExpiredLeases:
    """Deletes the Leases of servers that are gone: who comes back at another address leaves the old one behind."""

    def __init__(self, store: Store, *, clock: Clock = SYSTEM_CLOCK) -> None:
        """`store` is that of Leases."""
        self._store = store
        self._clock = clock
        self._tasks = TaskOwner("expired-leases")

    def start(self) -> None:
        """Look now, and every hour."""
        self._tasks.start("collect", self._collect_always())

    async def close(self) -> None:
        """Delete none any more."""
        await self._tasks.close()

    async def _collect_always(self) -> None:
        while True:
            try:
                await self.collect()
            except (ApiError, StorageError) as error:
                log.info("leases of servers that are gone are kept: %s", error)
            await self._clock.sleep(_COLLECT_SECONDS)

    async def collect(self) -> None:
        """Delete those that have run out, or never will. Raises ApiError, StorageError."""
        ctx = Context(user=LOOPBACK, namespace=_NAMESPACE)
        found = await self._store.storage.get_list(f"{self._store.prefix}/{_NAMESPACE}/", ListOptions())
        for item in found.items:
            lease = item.data()
            meta = lease["metadata"]
            if not (_LABELS.items() <= (meta.get("labels") or {}).items() and self._is_over(lease.get("spec") or {})):
                continue
            seen = DeleteOptions(resource_version=str(item.resource_version), has_preconditions=True)
            try:
                await self._store.delete(ctx, meta["name"], seen)
            except ApiError as error:
                # Another server has deleted it, or whose it is has just renewed it.
                if error.code not in (404, 409):
                    raise

    def _is_over(self, spec: Object) -> bool:
        renewed, seconds = spec.get("renewTime"), spec.get("leaseDurationSeconds")
        return renewed is None or seconds is None or parse_time(renewed) + seconds < self._clock.time()


def _now() -> str:
    """A metav1.MicroTime."""
    seconds = time.time()
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{int(seconds % 1 * 1_000_000):06d}Z"
