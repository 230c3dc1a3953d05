"""What Services have been allocated is written down before they are answered, and mended at the next start."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import exists

from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.registry.service_records import ServiceRecords
from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle

SERVICES = "/api/v1/namespaces/default/services"
ADDRESSES = "/apis/networking.k8s.io/v1/ipaddresses"
ENDPOINTS = "/api/v1/namespaces/default/endpoints"


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with Server() as handle:
        yield handle


def service(name: str, **spec: Any) -> Any:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"ports": [{"port": 80}], **spec},
    }


def test_an_address_of_a_service_is_an_object(server: Handle) -> None:
    address = server.request("POST", SERVICES, service("a"))["spec"]["clusterIP"]
    found = server.request("GET", f"{ADDRESSES}/{address}")
    assert found["spec"] == {"parentRef": {"resource": "services", "namespace": "default", "name": "a"}}
    assert found["metadata"]["labels"] == {
        "ipaddress.kubernetes.io/ip-family": "IPv4",
        "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
    }
    server.request("DELETE", f"{SERVICES}/a")
    assert not exists(server, f"{ADDRESSES}/{address}")


def test_an_address_follows_the_type(server: Handle) -> None:
    obj = server.request("POST", SERVICES, service("b"))
    address = obj["spec"]["clusterIP"]
    obj["spec"] = {"type": "ExternalName", "externalName": "example.com"}
    server.request("PUT", f"{SERVICES}/b", obj)
    assert not exists(server, f"{ADDRESSES}/{address}")


def test_an_external_name_has_no_policy_for_traffic_within_the_cluster(server: Handle) -> None:
    made = server.request("POST", SERVICES, service("outside"))
    assert made["spec"]["internalTrafficPolicy"] == "Cluster"
    made["spec"] |= {"type": "ExternalName", "externalName": "example.com"}
    for query in ("?dryRun=All", ""):
        changed = server.request("PUT", f"{SERVICES}/outside{query}", made)
        assert changed["spec"]["type"] == "ExternalName"
        assert "internalTrafficPolicy" not in changed["spec"]


def test_headless_and_dry_services_write_nothing(server: Handle) -> None:
    before = len(server.request("GET", ADDRESSES)["items"])
    server.request("POST", SERVICES, service("headless", clusterIP="None"))
    server.request("POST", f"{SERVICES}?dryRun=All", service("dry"))
    assert len(server.request("GET", ADDRESSES)["items"]) == before


def test_endpoints_go_with_their_service(server: Handle) -> None:
    server.request("POST", SERVICES, service("c"))
    endpoints = {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "c"}}
    server.request("POST", ENDPOINTS, endpoints)
    server.request("DELETE", f"{SERVICES}/c")
    assert not exists(server, f"{ENDPOINTS}/c")


def test_a_start_mends_what_an_early_end_left_behind(tmp_path: Path) -> None:
    storage = f"sqlite:{tmp_path}/store.db"
    with Server(storage=storage) as handle:
        address = handle.request("POST", SERVICES, service("d"))["spec"]["clusterIP"]
        stale = handle.request("GET", f"{ADDRESSES}/{address}")
        handle.request("DELETE", f"{ADDRESSES}/{address}")
        stale["metadata"] = {"name": "10.0.0.200", "labels": stale["metadata"]["labels"]}
        handle.request("POST", ADDRESSES, stale)
        handle.request("POST", ADDRESSES, {**stale, "metadata": {"name": "192.0.2.1"}})
    with Server(storage=storage) as handle:
        # The answer to a new Service comes after all that was begun before.
        handle.request("POST", SERVICES, service("e"))
        names = {item["metadata"]["name"] for item in handle.request("GET", ADDRESSES)["items"]}
    assert address in names
    assert "10.0.0.200" not in names
    assert "192.0.2.1" in names


class Addresses:
    """A store that takes its time."""

    def __init__(self) -> None:
        self.objects: dict[str, Any] = {}
        self.writes = 0

    async def create(self, _ctx: Any, obj: Any, _options: Any) -> Any:
        await asyncio.sleep(0)
        self.writes += 1
        name = obj["metadata"]["name"]
        if name in self.objects:
            raise ApiError(409, "AlreadyExists", "there")
        self.objects[name] = obj

    async def get(self, _ctx: Any, name: str, _version: str) -> Any:
        obj = self.objects[name]

        class Found:
            def data(self) -> Any:
                return obj

        return Found()

    async def delete(self, _ctx: Any, name: str, _options: Any) -> Any:
        await asyncio.sleep(0)
        self.writes += 1
        if self.objects.pop(name, None) is None:
            raise ApiError(404, "NotFound", "gone")


def owner(name: str) -> Any:
    return {"metadata": {"name": name, "namespace": "n"}}


def test_writes_of_one_address_keep_their_order() -> None:
    async def run() -> None:
        store: Any = Addresses()
        records = ServiceRecords(lambda _resource: store, lambda obj: obj)
        records.taken(owner("first"), ["10.0.0.9"])
        settled = asyncio.create_task(records.settle())
        await asyncio.sleep(0)
        records.released(["10.0.0.9"])
        records.taken(owner("second"), ["10.0.0.9"])
        await records.settle()
        assert settled.done()
        assert store.objects["10.0.0.9"]["spec"]["parentRef"]["name"] == "second"
        records.taken(owner("third"), ["10.0.0.8"])
        records.released(["10.0.0.8"])
        writes = store.writes
        await records.settle()
        assert (store.writes - writes, "10.0.0.8" in store.objects) == (1, False)
        await records.settle()
        await records.close()

    asyncio.run(run())


def test_what_cannot_be_written_holds_up_nobody(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Addresses):
        async def create(self, _ctx: Any, _obj: Any, _options: Any) -> Any:
            raise ApiError(500, "InternalError", "no space")

    async def run() -> None:
        store: Any = Broken()
        records = ServiceRecords(lambda _resource: store, lambda obj: obj)
        records.taken(owner("a"), ["10.0.0.9"])
        await records.settle()
        await records.close()

    asyncio.run(run())
    assert "cannot write down that n/a has 10.0.0.9: no space" in caplog.text


def test_records_ask_for_the_stores_they_need() -> None:
    asked: list[GroupResource] = []

    def find(resource: GroupResource) -> Any:
        asked.append(resource)
        return Addresses()

    async def run() -> None:
        records = ServiceRecords(find, lambda obj: obj)
        records.deleted(owner("a"))
        await records.settle()
        await records.close()

    asyncio.run(run())
    assert asked == [GroupResource("", "endpoints")]
