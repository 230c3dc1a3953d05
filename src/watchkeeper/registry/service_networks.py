"""Follows ServiceCIDRs: Services get addresses from the networks of those that are ready and not being deleted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from watchkeeper.apis.networking.servicecidr import is_ready
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.registry.allocators import ServiceAllocator

Object = dict[str, Any]

SERVICE_CIDRS = GroupResource("networking.k8s.io", "servicecidrs")


class ServiceNetworks:
    """Tells an allocator of the networks of all ServiceCIDRs, the oldest first."""

    def __init__(self, allocator: ServiceAllocator) -> None:
        self._allocator = allocator
        self._stored: dict[str, Object] = {}

    def __repr__(self) -> str:
        return f"<ServiceNetworks of {', '.join(self._stored) or 'nobody'}>"

    def put(self, obj: Object) -> None:
        """A ServiceCIDR is stored like this now."""
        self._stored[obj["metadata"]["name"]] = obj
        self._offer()

    def remove(self, obj: Object) -> None:
        """A ServiceCIDR is gone."""
        self._stored.pop(obj["metadata"]["name"], None)
        self._offer()

    def replace(self, kind: str, objects: Iterable[Object]) -> None:
        """These are all ServiceCIDRs."""
        self._stored = {obj["metadata"]["name"]: obj for obj in objects}
        self._offer()

    def _offer(self) -> None:
        networks: dict[str, bool] = {}
        for obj in sorted(self._stored.values(), key=_age):
            ready = is_ready(obj)
            for network in (obj.get("spec") or {}).get("cidrs") or ():
                # Of those that share a network, one that is ready is enough.
                networks[network] = networks.get(network, False) or ready
        self._allocator.offer(networks)


def _age(obj: Object) -> tuple[str, str]:
    metadata = obj["metadata"]
    return metadata.get("creationTimestamp") or "", metadata["name"]
