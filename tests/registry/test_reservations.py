"""Servers on one store give each number to one Service, and find again what one of them has left behind."""

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from watchkeeper.apis.builtin import builtin_behaviors, builtin_scheme
from watchkeeper.apis.core.service_defaults import default_service
from watchkeeper.apis.networking.ipaddress import address_object
from watchkeeper.apis.schema_data import resources
from watchkeeper.kv.memory import MemoryKV
from watchkeeper.meta.errors import ApiError
from watchkeeper.registry.address_records import AddressRecords, FollowedServices
from watchkeeper.registry.address_repair import ADDRESSES, SERVICES, UNUSED_SECONDS, AddressRepair
from watchkeeper.registry.allocators import ServiceAllocator
from watchkeeper.registry.builtin import BuiltinRegistry
from watchkeeper.registry.reservations import RANGE_KIND, SharedReservations
from watchkeeper.registry.rest import Context, CreateOptions
from watchkeeper.registry.service_repair import ROUNDS, ServiceRepair
from watchkeeper.request.user import LOOPBACK
from watchkeeper.storage.codec import JsonCodec
from watchkeeper.storage.store import Store
from watchkeeper.testing.clock import ManualClock

Object = dict[str, Any]
PORTS = (30000, 30099)
NETWORK = "10.1.0.0/24"


class Node:
    """One server's part in it."""

    def __init__(self, kv: MemoryKV) -> None:
        self.kv = kv
        self.registry = BuiltinRegistry(
            builtin_scheme(), builtin_behaviors(), lambda spec: Store(kv, JsonCodec(spec.kind), spec.prefix)
        )
        for info in resources():
            if info.gvr.resource in ("services", "ipaddresses"):
                self.registry.store(info)
        ranges = Store(kv, JsonCodec(RANGE_KIND), "/registry/ranges")
        self.reservations = SharedReservations(self.registry.find, lambda obj: obj, ranges, "/registry/ranges", PORTS)
        self.allocator = ServiceAllocator([NETWORK], PORTS)
        self.allocator.arbiter = self.reservations
        self.clock = ManualClock()
        self.addresses_repair = AddressRepair(
            self.registry.find, lambda obj: obj, self.allocator, self.clock, reserves=True
        )
        self.records = AddressRecords(self.allocator, self.addresses_repair)
        self.services = FollowedServices(self.allocator, self.addresses_repair)
        self.told: list[tuple[str, str, str]] = []
        self.repair = ServiceRepair(
            self.registry.find, self.reservations, self.addresses_repair, self.clock, tell=self.tell
        )

    def tell(self, regarding: Object, reason: str, action: str, note: str) -> None:
        assert action == "PortAllocation"
        self.told.append((regarding["metadata"]["name"], reason, note))

    async def begin(self, name: str, **spec: Any) -> tuple[Object, Any]:
        obj = service(name, **spec)
        transaction = self.allocator.begin_create(obj, dry_run=False)
        try:
            await transaction.secure()
        except ApiError:
            transaction.rollback()
            raise
        return obj, transaction

    async def create(self, name: str, **spec: Any) -> Object:
        """Allocate, and store as it is."""
        obj, transaction = await self.begin(name, **spec)
        await self.registry.find(SERVICES).storage.create(f"/registry/services/specs/n/{name}", obj)
        transaction.commit()
        return obj

    async def addresses(self) -> set[str]:
        found = (await self.kv.range(b"/registry/ipaddresses/", b"/registry/ipaddresses0")).kvs
        return {kv.key.decode().rpartition("/")[2] for kv in found}


def service(name: str, **spec: Any) -> Object:
    obj: Object = {"kind": "Service", "apiVersion": "v1", "metadata": {"name": name, "namespace": "n", "uid": name}}
    obj["spec"] = {"type": "NodePort", "ports": [{"name": "a", "port": 80}, {"name": "b", "port": 81}], **spec}
    default_service(obj)
    return obj


def node_ports(obj: Object) -> list[int]:
    return [port["nodePort"] for port in obj["spec"]["ports"]]


def on_two(scenario: Callable[[Node, Node], Awaitable[None]]) -> None:
    async def run() -> None:
        kv = MemoryKV()
        one, two = Node(kv), Node(kv)
        try:
            await scenario(one, two)
        finally:
            await one.reservations.close()
            await two.reservations.close()
            await kv.close()

    asyncio.run(run())


def test_two_servers_that_do_not_know_of_each_other_give_nothing_twice() -> None:
    async def scenario(one: Node, two: Node) -> None:
        made = await asyncio.gather(*((one, two)[n % 2].create(f"s{n}") for n in range(45)))
        addresses = {obj["spec"]["clusterIP"] for obj in made}
        ports = {port for obj in made for port in node_ports(obj)}
        assert (len(addresses), len(ports)) == (45, 90)
        assert await one.addresses() == addresses
        assert await two.reservations.ports() == ports
        assert all(obj["spec"]["clusterIPs"] == [obj["spec"]["clusterIP"]] for obj in made)

    on_two(scenario)


def test_what_is_asked_for_by_name_is_refused_when_another_has_it() -> None:
    async def scenario(one: Node, two: Node) -> None:
        ports = [{"name": "a", "port": 80, "nodePort": 30001}]
        await one.create("first", clusterIP="10.1.0.5", ports=ports)
        with pytest.raises(ApiError, match=r"failed to allocate IP 10\.1\.0\.5: provided IP is already allocated"):
            await two.create("second", clusterIP="10.1.0.5")
        with pytest.raises(ApiError, match=r"spec\.ports\[0\]\.nodePort: Invalid value: 30001: provided port is alr"):
            await two.create("second", ports=ports)
        await two.reservations.settle()
        assert await two.addresses() == {"10.1.0.5"}

    on_two(scenario)


def test_what_another_has_freed_can_be_had_before_this_server_hears_of_it() -> None:
    async def scenario(one: Node, two: Node) -> None:
        named: Object = {"clusterIP": "10.1.0.5", "ports": [{"name": "a", "port": 80, "nodePort": 30001}]}
        first = await one.create("first", **named)
        two.allocator.put(first)
        with pytest.raises(ApiError, match="provided IP is already allocated"):
            await two.create("second", **named)
        with pytest.raises(ApiError, match="provided port is already allocated"):
            await two.create("second", ports=named["ports"])
        one.allocator.after_delete(first)
        one.reservations.release_addresses(["10.1.0.5"])  # as the recorder does
        await one.reservations.settle()
        second = await two.create("second", **named)
        assert (second["spec"]["clusterIP"], node_ports(second)) == ("10.1.0.5", [30001])
        two.allocator.remove(first)
        with pytest.raises(ApiError, match="provided IP is already allocated"):
            await two.create("third", **named)
        assert await two.addresses() == {"10.1.0.5"}
        assert await two.reservations.ports() == {30001}

    on_two(scenario)


def test_what_is_refused_after_all_stays_with_whom_it_was() -> None:
    async def scenario(one: Node, two: Node) -> None:
        ports = [{"name": "a", "port": 80, "nodePort": 30001}]
        first = await one.create("first", clusterIP="10.1.0.5", ports=ports)
        two.allocator.put(first)
        for _ in range(2):
            with pytest.raises(ApiError, match="already allocated"):
                await two.create("second", clusterIP="10.1.0.5", ports=ports)
        held = two.allocator.holder
        assert (held("10.1.0.5"), two.allocator.ports.holder(30001)) == ("first", "first")
        two.allocator.remove(first)
        assert (held("10.1.0.5"), two.allocator.ports.holder(30001)) == (None, None)

    on_two(scenario)


def test_node_ports_that_are_not_as_they_have_to_be_are_told() -> None:
    async def scenario(one: Node, two: Node) -> None:
        ports = [{"name": "a", "port": 80, "nodePort": 30001}]
        await one.create("a", ports=ports)
        await one.repair.round()
        assert one.told == []
        for name, port in (("b", 30001), ("c", 30002), ("d", 10)):
            other = service(name, ports=[{"name": "a", "port": 80, "nodePort": port}])
            await one.registry.find(SERVICES).storage.create(f"/registry/services/specs/n/{name}", other)
        await one.repair.round()
        first, last = PORTS
        assert one.told == [
            ("b", "PortAlreadyAllocated", "Port 30001 was assigned to multiple services; please recreate service"),
            ("c", "PortNotAllocated", "Port 30002 is not allocated; repairing"),
            ("d", "PortOutOfRange", f"Port 10 is not within the port range {first}-{last}; please recreate service"),
        ]

    on_two(scenario)


def test_what_is_given_and_what_is_refused_is_counted() -> None:
    async def scenario(one: Node, two: Node) -> None:
        ports = [{"name": "a", "port": 80, "nodePort": 30001}]
        await one.create("first", clusterIP="10.1.0.5", ports=ports)
        with pytest.raises(ApiError, match="already allocated"):
            await two.create("second", clusterIP="10.1.0.5")
        with pytest.raises(ApiError, match="already allocated"):
            await two.create("second", ports=ports)
        addresses, network = two.allocator.address_counts, "10.1.0.0/24"
        assert addresses.taken == {(network, "static"): 0, (network, "dynamic"): 1}
        assert addresses.failed == {(network, "static"): 1}
        assert sum(addresses.latencies[network].counts) == 1
        assert two.allocator.ports.counts.taken["", "static"] == 0
        assert two.allocator.ports.counts.failed == {("", "static"): 1}

    on_two(scenario)


def test_an_address_has_one_object_however_it_is_written() -> None:
    async def scenario(one: Node, two: Node) -> None:
        assert await one.reservations.reserve_address("FD00::00:5", "n", "s")
        assert not await two.reservations.reserve_address("fd00::5", "n", "t")
        assert await two.addresses() == {"fd00::5"}
        two.reservations.release_addresses(["fd00:0::5"])
        await two.reservations.settle()
        assert await two.addresses() == set()

    on_two(scenario)


def test_node_ports_are_reserved_all_or_none() -> None:
    async def scenario(one: Node, two: Node) -> None:
        assert not await one.reservations.reserve_ports([30001, 30002])
        assert await two.reservations.reserve_ports([30002, 30003]) == [30002]
        assert await two.reservations.ports() == {30001, 30002}

    on_two(scenario)


def test_node_ports_are_kept_in_the_form_that_other_servers_read() -> None:
    async def scenario(one: Node, two: Node) -> None:
        await one.reservations.reserve_ports([30000, 30009])
        kv = (await one.kv.get(b"/registry/ranges/servicenodeports")).kv
        assert kv is not None
        stored = json.loads(kv.value)
        assert (stored["kind"], stored["apiVersion"], stored["range"]) == ("RangeAllocation", "v1", "30000-30099")
        assert base64.b64decode(stored["data"]) == bytes([0b10, 0b00000001])

    on_two(scenario)


def test_a_write_that_did_not_take_place_lets_go_and_one_that_may_have_does_not() -> None:
    async def scenario(one: Node, two: Node) -> None:
        _, transaction = await one.begin("gone")
        transaction.rollback()
        await one.reservations.settle()
        assert (await one.addresses(), await one.reservations.ports()) == (set(), set())
        obj, transaction = await one.begin("doubtful")
        transaction.rollback(uncertain=True)
        await one.reservations.settle()
        assert await two.addresses() == {obj["spec"]["clusterIP"]}
        assert await two.reservations.ports() == set(node_ports(obj))

    on_two(scenario)


def test_a_deletion_lets_go_and_a_service_that_changes_its_type_too() -> None:
    async def scenario(one: Node, two: Node) -> None:
        obj = await one.create("s")
        ports = set(node_ports(obj))
        new = json.loads(json.dumps(obj))
        new["spec"]["type"] = "ClusterIP"
        for port in new["spec"]["ports"]:
            del port["nodePort"]
        two.allocator.begin_update(new, obj, dry_run=False).commit()
        await two.allocator.settle()
        assert not ports & await one.reservations.ports()
        other = await one.create("t")
        one.allocator.after_delete(other)
        await one.allocator.settle()
        assert await two.reservations.ports() == set()

    on_two(scenario)


def test_ports_that_no_service_has_are_free_after_three_rounds_and_addresses_after_a_minute() -> None:
    async def scenario(one: Node, two: Node) -> None:
        kept = await one.create("kept")
        lost, _ = await one.begin("lost")  # the server ends here
        for _ in range(ROUNDS - 1):
            await two.repair.round()
        assert lost["spec"]["clusterIP"] in await two.addresses()
        assert set(node_ports(lost)) <= await two.reservations.ports()
        await two.repair.round()
        assert await two.reservations.ports() == set(node_ports(kept))
        await two.clock.advance(UNUSED_SECONDS - 0.1)
        await two.addresses_repair.look()
        assert lost["spec"]["clusterIP"] in await two.addresses()
        await two.clock.advance(0.1)
        await two.addresses_repair.look()
        assert await two.addresses() == {kept["spec"]["clusterIP"]}

    on_two(scenario)


def test_what_a_service_has_is_reserved_at_once_when_it_was_not() -> None:
    async def scenario(one: Node, two: Node) -> None:
        obj = await one.create("s")
        one.reservations.release_ports(node_ports(obj))
        one.reservations.release_addresses([obj["spec"]["clusterIP"]])
        await one.reservations.settle()
        await two.repair.round()
        assert await one.addresses() == {obj["spec"]["clusterIP"]}
        assert await one.reservations.ports() == set(node_ports(obj))

    on_two(scenario)


def test_addresses_that_somebody_else_looks_after_stay() -> None:
    async def scenario(one: Node, two: Node) -> None:
        obj = address_object("10.1.0.9", "n", "other")
        del obj["metadata"]["labels"]
        await one.registry.find(ADDRESSES).create(Context(user=LOOPBACK), obj, CreateOptions())
        for _ in range(ROUNDS + 1):
            await two.repair.round()
            await two.clock.advance(UNUSED_SECONDS)
            await two.addresses_repair.look()
        assert await two.addresses() == {"10.1.0.9"}

    on_two(scenario)


def test_a_follower_knows_what_is_taken_changed_and_gone() -> None:
    allocator = ServiceAllocator([NETWORK], PORTS)
    ports = [{"name": "a", "port": 80, "nodePort": 30001}]
    obj = service("s", clusterIP="10.1.0.5", clusterIPs=["10.1.0.5"], ports=ports)
    allocator.put(obj)
    with pytest.raises(ApiError, match="provided IP is already allocated"):
        allocator.begin_create(service("t", clusterIP="10.1.0.5"), dry_run=False)
    with pytest.raises(ApiError, match="provided port is already allocated"):
        allocator.begin_create(service("t", ports=ports), dry_run=False)
    moved = service("s", clusterIP="10.1.0.5", clusterIPs=["10.1.0.5"], ports=[{**ports[0], "nodePort": 30002}])
    allocator.put(moved)
    allocator.begin_create(service("t", ports=ports), dry_run=False).rollback()
    allocator.remove(moved)
    allocator.begin_create(service("u", clusterIP="10.1.0.5"), dry_run=False).rollback()
    allocator.replace("Service", [obj])
    with pytest.raises(ApiError, match="provided port is already allocated"):
        allocator.begin_create(service("v", ports=ports), dry_run=False)
