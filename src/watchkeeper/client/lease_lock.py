"""Who leads, written down in a Lease."""

from __future__ import annotations

import copy

from watchkeeper.client.dynamic import DynamicClient
from watchkeeper.client.interface import LeaderRecord, Object
from watchkeeper.meta.gvk import GroupVersionResource

LEASES = GroupVersionResource("coordination.k8s.io", "v1", "leases")


class LeaseLock:
    """A Lease of coordination.k8s.io. Implements `LeaderLock`."""

    def __init__(self, client: DynamicClient, *, namespace: str, name: str, identity: str) -> None:
        """`identity` is the candidate's own name, different from all others'."""
        self._leases = client.resource(LEASES, namespace=namespace)
        self._name = name
        self._identity = identity
        self._lease: Object | None = None

    def __repr__(self) -> str:
        return f"<LeaseLock {self._leases.namespace}/{self._name} of {self._identity}>"

    @property
    def identity(self) -> str:
        """Who writes through this lock."""
        return self._identity

    async def get(self) -> LeaderRecord:
        """What is written. Raises ApiError, ClientError."""
        self._lease = await self._leases.get(self._name)
        return record_of(self._lease)

    async def create(self, record: LeaderRecord) -> None:
        """Write the first record. Raises ApiError, ClientError."""
        self._lease = await self._leases.create(
            {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": self._name, "namespace": self._leases.namespace},
                "spec": spec_of(record),
            }
        )

    async def update(self, record: LeaderRecord) -> None:
        """Replace what was read or written last. Raises ApiError, ClientError; RuntimeError before anything was."""
        if self._lease is None:
            raise RuntimeError(f"{self!r} has not read its Lease yet")
        new = copy.deepcopy(self._lease)
        new["spec"] = {**(new.get("spec") or {}), **spec_of(record)}
        self._lease = await self._leases.update(new)


def record_of(lease: Object) -> LeaderRecord:
    """Who leads, according to a Lease."""
    spec = lease.get("spec") or {}
    return LeaderRecord(
        holder=str(spec.get("holderIdentity") or ""),
        lease_seconds=int(spec.get("leaseDurationSeconds") or 0),
        acquire_time=str(spec.get("acquireTime") or ""),
        renew_time=str(spec.get("renewTime") or ""),
        transitions=int(spec.get("leaseTransitions") or 0),
    )


def spec_of(record: LeaderRecord) -> Object:
    """The same as the spec of a Lease."""
    return {
        "holderIdentity": record.holder,
        "leaseDurationSeconds": record.lease_seconds,
        "acquireTime": record.acquire_time,
        "renewTime": record.renew_time,
        "leaseTransitions": record.transitions,
    }
