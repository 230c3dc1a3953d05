"""IPAddresses fit the Services again after a while, whatever somebody has done to them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from unittest import mock

import pytest

from watchkeeper.apis.builtin import builtin_behaviors, builtin_scheme
from watchkeeper.apis.core.service_defaults import default_service
from watchkeeper.apis.networking.ipaddress import FAMILY_LABEL, MANAGER_LABEL, address_object
from watchkeeper.apis.schema_data import resources
from watchkeeper.kv.memory import MemoryKV
from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.registry.address_records import AddressRecords, FollowedServices
from watchkeeper.registry.address_repair import (
    ADDRESSES,
    AGAIN_SECONDS,
    MISSING_SECONDS,
    RESTORED_SECONDS,
    SERVICES,
    UNUSED_SECONDS,
    WRONG_SECONDS,
    AddressRepair,
)
from watchkeeper.registry.allocators import ServiceAllocator
from watchkeeper.registry.builtin import BuiltinOptions, BuiltinRegistry
from watchkeeper.registry.rest import Context, CreateOptions, DeleteOptions
from watchkeeper.registry.service_records import ServiceRecords
from watchkeeper.request.user import LOOPBACK
from watchkeeper.storage.codec import JsonCodec
from watchkeeper.storage.interface import ListOptions
from watchkeeper.storage.store import Store
from watchkeeper.testing.clock import ManualClock

Object = dict[str, Any]
IP = "10.1.0.5"
CONTEXT = Context(user=LOOPBACK, namespace="n")


class Node:
    """What a server does about addresses that all are written by it."""

    def __init__(self, *, reserves: bool = False) -> None:
        self.told: list[tuple[str, str, str, str]] = []
        self.kv = MemoryKV()
        self.clock = ManualClock()
        records = ServiceRecords(lambda resource: self.registry.find(resource), lambda obj: obj)
        self.allocator = ServiceAllocator(["10.1.0.0/24"], recorder=records)
        self.repair = AddressRepair(
            lambda resource: self.registry.find(resource),
            lambda obj: obj,
            self.allocator,
            self.clock,
            reserves=reserves,
            tell=self.tell,
        )
        self.records = AddressRecords(self.allocator, self.repair)
        self.registry = BuiltinRegistry(
            builtin_scheme(),
            builtin_behaviors(),
            lambda spec: Store(self.kv, JsonCodec(spec.kind), spec.prefix),
            BuiltinOptions(hooks={SERVICES: self.allocator, ADDRESSES: self.records}),
        )
        for info in resources():
            if info.gvr.resource in ("services", "ipaddresses", "endpoints"):
                self.registry.store(info)

    def tell(self, regarding: Object, reason: str, action: str, note: str) -> None:
        self.told.append((regarding["kind"], reason, action, note))

    async def create(self, name: str, **spec: Any) -> None:
        obj: Object = {
            "kind": "Service",
            "apiVersion": "v1",
            "metadata": {"name": name, "namespace": "n"},
            "spec": {"ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}], **spec},
        }
        default_service(obj)
        await self.registry.find(SERVICES).create(CONTEXT, obj, CreateOptions())

    async def record(self, address: str = IP, **changes: Any) -> None:
        obj = address_object(address, "n", "s")
        obj["spec"]["parentRef"] |= changes
        await self.registry.find(ADDRESSES).create(CONTEXT, obj, CreateOptions())

    async def delete(self, address: str = IP) -> None:
        await self.registry.find(ADDRESSES).delete(CONTEXT, address, DeleteOptions())

    async def found(self, address: str = IP) -> Object | None:
        store = self.registry.find(ADDRESSES)
        try:
            return (await store.get(CONTEXT, address, "")).data()
        except ApiError:
            return None

    async def pass_(self, seconds: float) -> None:
        await self.clock.advance(seconds)
        await self.repair.look()


def run(scenario: Callable[[Node], Awaitable[None]], *, reserves: bool = False) -> None:
    async def run() -> None:
        node = Node(reserves=reserves)
        try:
            await scenario(node)
        finally:
            await node.kv.close()

    asyncio.run(run())


def test_an_address_that_lost_its_object_has_one_again() -> None:
    async def scenario(node: Node) -> None:
        await node.create("s", clusterIP=IP)
        await node.delete()
        await node.pass_(RESTORED_SECONDS - 1)
        assert await node.found() is None
        with pytest.raises(ApiError, match="already allocated"):
            await node.create("other", clusterIP=IP)
        await node.pass_(1)
        found = await node.found()
        assert found is not None
        assert found["spec"]["parentRef"] == {"resource": "services", "namespace": "n", "name": "s"}
        assert found["metadata"]["labels"] == {FAMILY_LABEL: "IPv4", MANAGER_LABEL: "ipallocator.k8s.io"}

    run(scenario)


@pytest.mark.parametrize(
    "changes", [{"name": "other"}, {"namespace": "m"}, {"group": "example.com", "resource": "gateways"}]
)
def test_an_object_that_belongs_to_somebody_else_is_made_anew(changes: Object) -> None:
    async def scenario(node: Node) -> None:
        await node.create("s", clusterIP=IP)
        await node.delete()
        await node.record(**changes)
        await node.pass_(RESTORED_SECONDS)
        found = await node.found()
        assert found is not None and found["spec"]["parentRef"]["name"] == "s"
        assert found["spec"]["parentRef"]["namespace"] == "n" and "group" not in found["spec"]["parentRef"]

    run(scenario)


def test_an_object_of_no_service_goes_after_a_minute_and_its_address_is_nobody_elses_meanwhile() -> None:
    async def scenario(node: Node) -> None:
        await node.record()
        with pytest.raises(ApiError, match=f"failed to allocate IP {IP}: provided IP is already allocated"):
            await node.create("s", clusterIP=IP)
        await node.pass_(WRONG_SECONDS)
        await node.pass_(UNUSED_SECONDS - WRONG_SECONDS - 1)
        assert await node.found() is not None
        await node.pass_(1)
        assert await node.found() is None
        await node.create("s", clusterIP=IP)

    run(scenario)


def test_an_object_made_again_waits_its_own_minute() -> None:
    async def scenario(node: Node) -> None:
        await node.record()
        await node.pass_(UNUSED_SECONDS - 1)
        await node.delete()
        await node.record()
        await node.pass_(1)
        assert await node.found() is not None
        await node.pass_(UNUSED_SECONDS)
        assert await node.found() is None

    run(scenario)


def test_an_object_that_tells_of_a_service_with_another_address_goes_after_some_seconds() -> None:
    async def scenario(node: Node) -> None:
        await node.create("s", clusterIP="10.1.0.6")
        await node.record()
        await node.pass_(WRONG_SECONDS - 1)
        assert await node.found() is not None
        await node.pass_(1)
        assert await node.found() is None
        assert await node.found("10.1.0.6") is not None

    run(scenario)


def test_an_object_that_tells_of_a_service_without_addresses_waits_for_it() -> None:
    async def scenario(node: Node) -> None:
        await node.create("s", clusterIP="None")
        await node.record()
        await node.pass_(WRONG_SECONDS)
        assert await node.found() is not None
        await node.pass_(UNUSED_SECONDS - WRONG_SECONDS)
        assert await node.found() is None

    run(scenario)


def test_an_object_that_was_to_be_a_services_and_tells_of_none_goes_at_once() -> None:
    async def scenario(node: Node) -> None:
        await node.record(group="example.com", resource="gateways")
        await node.pass_(0)
        assert await node.found() is None

    run(scenario)


def test_a_service_that_is_written_again_has_its_object_again_soon() -> None:
    async def scenario(node: Node) -> None:
        await node.create("s", clusterIP=IP)
        await node.delete()
        found = await node.registry.find(SERVICES).storage.get("/registry/services/specs/n/s")
        FollowedServices(node.allocator, node.repair).put(found.data())
        await node.pass_(MISSING_SECONDS)
        assert await node.found() is not None

    run(scenario)


@pytest.mark.parametrize(
    ("spec", "seconds"), [({"clusterIP": "10.1.0.6"}, 5), ({"type": "ExternalName", "externalName": "a.b"}, 60)]
)
def test_where_objects_are_made_first_one_that_tells_of_a_service_with_another_address_goes_too(
    spec: Object, seconds: float
) -> None:
    async def scenario(node: Node) -> None:
        await node.create("s", **spec)
        await node.record()
        await node.pass_(seconds - 1)
        assert await node.found() is not None
        await node.pass_(1)
        assert await node.found() is None

    run(scenario, reserves=True)


async def _deleted(node: Node) -> None:
    await node.create("s", clusterIP=IP)
    await node.delete()


async def _of_no_network(node: Node) -> None:
    await _deleted(node)
    node.allocator.offer({"10.2.0.0/24": True})


async def _of_another(node: Node) -> None:
    await _deleted(node)
    await node.record(name="t")


async def _of_a_gateway(node: Node) -> None:
    await node.record(group="example.com", resource="gateways")


async def _of_a_service_with_another(node: Node) -> None:
    await node.create("s", clusterIP="10.1.0.6")
    await node.record()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (_deleted, ("Service", "ClusterIPNotAllocated", "ClusterIPAllocation",
                    "Cluster IP [IPv4]: 10.1.0.5 is not allocated; repairing")),
        (_of_no_network, ("Service", "ClusterIPOutOfRange", "ClusterIPAllocation",
                          "Cluster IP [IPv4]: 10.1.0.5 is not within any configured Service CIDR; please recreate"
                          " service")),
        (_of_another, ("Service", "ClusterIPNotAllocated", "ClusterIPAllocation",
                       "the ClusterIP [IPv4]: 10.1.0.5 for Service n/s has a wrong reference; repairing")),
        (Node.record, ("IPAddress", "IPAddressNotAllocated", "IPAddressAllocation",
                       "IPAddress: 10.1.0.5 for Service n/s appears to have leaked: cleaning up")),
        (_of_a_gateway, ("IPAddress", "IPAddressNotAllocated", "IPAddressAllocation",
                         "IPAddress 10.1.0.5 appears to have been modified, not referencing a Service"
                         " &ParentReference{Group:example.com,Resource:gateways,Namespace:n,Name:s,}: cleaning up")),
        (_of_a_service_with_another, ("IPAddress", "IPAddressWrongReference", "IPAddressAllocation",
                                      "IPAddress: 10.1.0.5 for Service n/s has a wrong reference; cleaning up")),
    ],
)  # fmt: skip
def test_what_is_put_right_is_told(change: Callable[[Node], Awaitable[None]], told: tuple[str, ...]) -> None:
    async def scenario(node: Node) -> None:
        await change(node)
        await node.pass_(RESTORED_SECONDS)
        assert node.told == [told]

    run(scenario)


def test_an_address_of_two_services_is_told() -> None:
    async def scenario(node: Node) -> None:
        await node.create("s", clusterIP=IP)
        store = node.registry.find(SERVICES)
        other = (await store.storage.get("/registry/services/specs/n/s")).data()
        other["metadata"] = {"name": "t", "namespace": "n", "uid": "u"}
        await store.storage.create("/registry/services/specs/n/t", other)
        first = (await store.storage.get("/registry/services/specs/n/s")).data()
        found = await node.found()
        assert found is not None
        await node.repair.compare([found], [other, first])
        note = "Cluster IP [IPv4]:10.1.0.5 was assigned to multiple services; please recreate service"
        assert node.told == [("Service", "ClusterIPAlreadyAllocated", "ClusterIPAllocation", note)]

    run(scenario)


def test_what_others_have_reserved_stays_and_is_given_to_nobody() -> None:
    async def scenario(node: Node) -> None:
        obj = address_object(IP, "n", "gateway")
        del obj["metadata"]["labels"]
        await node.registry.find(ADDRESSES).create(CONTEXT, obj, CreateOptions())
        await node.pass_(10 * UNUSED_SECONDS)
        assert await node.found() is not None
        with pytest.raises(ApiError, match="already allocated"):
            await node.create("s", clusterIP=IP)
        await node.delete()
        await node.create("s", clusterIP=IP)

    run(scenario)


def test_refused_and_dry_writes_of_objects_take_nothing() -> None:
    async def scenario(node: Node) -> None:
        store = node.registry.find(ADDRESSES)
        obj = address_object(IP, "n", "s")
        await store.create(CONTEXT, obj, CreateOptions(dry_run=True))
        with pytest.raises(ApiError, match="parentRef"):
            await store.create(CONTEXT, {**address_object(IP, "n", "s"), "spec": {}}, CreateOptions())
        await node.create("s", clusterIP=IP)
        with pytest.raises(ApiError, match="already exists"):
            await node.record()
        assert node.allocator.is_recorded(IP)

    run(scenario)


def test_nothing_is_made_for_an_address_of_no_network() -> None:
    async def scenario(node: Node) -> None:
        await node.create("s", clusterIP=IP)
        node.allocator.offer({"10.2.0.0/24": True})
        await node.delete()
        await node.pass_(RESTORED_SECONDS)
        assert await node.found() is None

    run(scenario)


def test_a_service_that_another_server_has_written_gets_its_object() -> None:
    async def scenario(node: Node) -> None:
        obj: Object = {"kind": "Service", "apiVersion": "v1", "metadata": {"name": "s", "namespace": "n", "uid": "u"}}
        obj["spec"] = {"type": "ClusterIP", "clusterIP": IP, "clusterIPs": [IP], "ports": [{"port": 80}]}
        await node.registry.find(SERVICES).storage.create("/registry/services/specs/n/s", obj)
        followed = FollowedServices(node.allocator, node.repair)
        followed.put(obj)
        await node.pass_(5)
        assert await node.found() is not None
        followed.remove(obj)
        assert node.allocator.holder(IP) is None

    run(scenario)


def test_repair_waits_for_what_is_due_and_for_nothing_else() -> None:
    async def scenario(node: Node) -> None:
        task = asyncio.create_task(node.repair.run())
        await node.record()
        await node.clock.advance(UNUSED_SECONDS)
        for _ in range(100):
            await asyncio.sleep(0)
        assert await node.found() is None
        slept = node.clock.slept
        await node.create("s", clusterIP=IP)
        await node.clock.advance(1000)
        assert node.clock.slept == slept
        task.cancel()

    run(scenario)


def test_what_fails_keeps_nothing_else_from_being_put_right(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(node: Node) -> None:
        await node.create("s", clusterIP=IP)
        await node.create("t", clusterIP="10.1.0.6")
        for address in (IP, "10.1.0.6"):
            await node.delete(address)
        services = (
            await node.registry.find(SERVICES).storage.get_list(
                f"{node.registry.find(SERVICES).prefix}/", ListOptions()
            )
        ).items
        store = node.registry.find(ADDRESSES)
        create = store.create

        async def refuse(context: Context, obj: Object, options: CreateOptions) -> Any:
            if obj["metadata"]["name"] == IP:
                raise errors.internal_error("not now")
            return await create(context, obj, options)

        with mock.patch.object(type(store), "create", lambda _, *given: refuse(*given)):
            await node.repair.compare([], [item.data() for item in services])
        assert (await node.found(), await node.found("10.1.0.6") is not None) == (None, True)
        assert "the IPAddress 10.1.0.5 could not be looked after: Internal error occurred: not now" in caplog.text
        await node.pass_(AGAIN_SECONDS)
        assert await node.found() is not None

    run(scenario)
