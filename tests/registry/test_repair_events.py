"""Events of the repair of addresses."""

from __future__ import annotations

import asyncio
from typing import Any

from watchkeeper.apis.builtin import builtin_behaviors, builtin_scheme
from watchkeeper.apis.schema_data import resources
from watchkeeper.kv.memory import MemoryKV
from watchkeeper.registry.builtin import BuiltinRegistry
from watchkeeper.registry.repair_events import ADDRESS_CONTROLLER, EVENTS, SERIES_SECONDS, RepairEvents
from watchkeeper.server.ownership import Ownership
from watchkeeper.storage.codec import JsonCodec
from watchkeeper.storage.interface import ListOptions
from watchkeeper.storage.store import Store
from watchkeeper.testing.clock import ManualClock

SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "n", "uid": "u"}}
ADDRESS = {"apiVersion": "networking.k8s.io/v1", "kind": "IPAddress", "metadata": {"name": "10.0.0.1", "uid": "a"}}


class Told:
    """What was told of."""

    def __init__(self) -> None:
        self.kv = MemoryKV()
        self.clock = ManualClock()
        scheme = builtin_scheme()
        self.registry = BuiltinRegistry(
            scheme, builtin_behaviors(), lambda spec: Store(self.kv, JsonCodec(spec.kind), spec.prefix)
        )
        self.registry.store(next(info for info in resources() if info.gvr.resource == "events" and not info.gvr.group))
        self.events = RepairEvents(
            ADDRESS_CONTROLLER, self.registry.find, Ownership(scheme).created, scheme.to_hub, self.clock
        )

    async def found(self) -> list[Any]:
        await self.events.settle()
        store = self.registry.find(EVENTS)
        return [item.data() for item in (await store.storage.get_list(f"{store.prefix}/", ListOptions())).items]


def test_events_are_those_of_kube_apiserver() -> None:
    async def main() -> list[Any]:
        told = Told()
        told.events.tell(SERVICE, "ClusterIPNotAllocated", "ClusterIPAllocation", "x is not allocated")
        told.events.tell(ADDRESS, "IPAddressNotAllocated", "IPAddressAllocation", "y has leaked")
        return await told.found()

    address, service = asyncio.run(main())
    assert (service["metadata"]["namespace"], address["metadata"]["namespace"]) == ("n", "default")
    [record] = service["metadata"]["managedFields"]
    assert (record["manager"], record["apiVersion"]) == ("kube-apiserver", "events.k8s.io/v1")
    assert service["involvedObject"] == {
        "kind": "Service", "namespace": "n", "name": "s", "uid": "u", "apiVersion": "v1",
    }  # fmt: skip
    told = {"reason": "ClusterIPNotAllocated", "action": "ClusterIPAllocation", "message": "x is not allocated"}
    assert service.items() >= {**told, "type": "Warning"}.items()
    assert service["reportingComponent"] == "ipallocator-repair-controller"
    assert service["reportingInstance"].startswith("ipallocator-repair-controller-")
    assert service["metadata"]["name"].startswith("s.")


def test_the_same_is_told_again_after_a_while_only() -> None:
    async def main() -> list[int]:
        told = Told()
        counts = []
        for seconds in (0.0, 1.0, SERIES_SECONDS + 1):
            await told.clock.advance(seconds)
            told.events.tell(SERVICE, "ClusterIPNotAllocated", "ClusterIPAllocation", "x")
            counts.append(len(await told.found()))
        return counts

    assert asyncio.run(main()) == [1, 1, 2]
