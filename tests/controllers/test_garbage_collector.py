"""What the garbage collector decides about objects by what it can find of their owners."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import eventually, exists

from watchkeeper.apis.catalog import ResourceInfo
from watchkeeper.controllers import garbage_collector
from watchkeeper.controllers.garbage_collector import GarbageCollector
from watchkeeper.controllers.gc_graph import Identity
from watchkeeper.controllers.loopback import Loopback, Resource
from watchkeeper.controllers.remote_resources import RemoteResources
from watchkeeper.endpoints.discovery import Discovery
from watchkeeper.endpoints.scope import ServedResource, ServedTable
from watchkeeper.meta import errors
from watchkeeper.meta.gvk import GroupVersionKind, GroupVersionResource
from watchkeeper.testing import Handle, Server
from watchkeeper.testing.handle import RequestFailed

Object = dict[str, Any]
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
NODES = "/api/v1/nodes"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with Server(insecure_http=True, controllers=("namespace", "garbage-collector")) as handle:
        yield handle


def absent(kind: str, api_version: str) -> Object:
    return {"apiVersion": api_version, "kind": kind, "name": "absent", "uid": str(uuid.uuid4())}


def make(server: Handle, path: str, name: str, *owners: Object) -> str:
    server.request("POST", path, {"metadata": {"name": name, "ownerReferences": list(owners)}})
    return f"{path}/{name}"


def collected_so_far(server: Handle) -> None:
    """Returns when an object made now, whose owner is absent, has been looked at and is gone."""
    last = make(server, CONFIG_MAPS, f"last-{uuid.uuid4()}", absent("Secret", "v1"))
    assert eventually(lambda: not exists(server, last))


@pytest.mark.parametrize(("kind", "api_version"), [("Deployment", "apps/v9"), ("Oddity", "v1"), ("Odd", "odd.io/v1")])
def test_an_owner_of_a_version_that_is_not_served_keeps_its_dependents(
    server: Handle, kind: str, api_version: str
) -> None:
    path = make(server, CONFIG_MAPS, f"of-{kind.lower()}", absent(kind, api_version))
    collected_so_far(server)
    assert exists(server, path)


def test_nothing_is_decided_about_a_cluster_scoped_dependent_of_a_namespaced_owner(server: Handle) -> None:
    path = make(server, NODES, "odd", absent("Node", "v1"), absent("Secret", "v1"))
    other = make(server, NODES, "even", absent("Node", "v1"))
    assert eventually(lambda: not exists(server, other))
    collected_so_far(server)
    assert len(server.request("GET", path)["metadata"]["ownerReferences"]) == 2


def test_a_cluster_scoped_dependent_outlives_the_namespaced_object_that_it_names(server: Handle) -> None:
    owner = server.request("POST", CONFIG_MAPS, {"metadata": {"name": "far-owner"}})
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "far-owner", "uid": owner["metadata"]["uid"]}
    path = make(server, NODES, "far", reference)
    collected_so_far(server)
    server.request("DELETE", f"{CONFIG_MAPS}/far-owner")
    collected_so_far(server)
    assert exists(server, path)


def test_what_is_served_is_followed_little_by_little_and_orphans_wait_until_all_of_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each slice looks at one resource only.
    monkeypatch.setattr(garbage_collector, "SLICE_SECONDS", 1e-6)
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}

    def define(number: int) -> Object:
        names = {"plural": f"things{number}", "kind": f"Thing{number}"}
        spec = {"group": "gc.example.io", "names": names, "scope": "Namespaced", "versions": [version]}
        return {"metadata": {"name": f"things{number}.gc.example.io"}, "spec": spec}

    def things(number: int) -> str:
        return f"/apis/gc.example.io/v1/namespaces/default/things{number}"

    def thing(number: int, name: str, *owners: Object) -> Object:
        meta = {"name": name, "ownerReferences": list(owners)}
        return {"apiVersion": "gc.example.io/v1", "kind": f"Thing{number}", "metadata": meta}

    options: dict[str, Any] = {"insecure_http": True, "storage": f"sqlite:{tmp_path}/x.db"}
    with Server(**options, controllers=()) as handle:
        for number in range(40):
            handle.request("POST", definitions, define(number))
        assert eventually(lambda: exists(handle, things(39)))
        owner = handle.request("POST", things(0), thing(0, "owner"))
        reference = {
            "apiVersion": "gc.example.io/v1",
            "kind": "Thing0",
            "name": "owner",
            "uid": owner["metadata"]["uid"],
        }
        handle.request("POST", things(39), thing(39, "orphan", reference))
        handle.request("POST", things(38), thing(38, "dependent", {**reference, "name": "gone", "uid": "gone"}))
    with Server(**options, controllers=("garbage-collector",)) as handle:
        handle.request("DELETE", f"{things(0)}/owner?propagationPolicy=Orphan")
        assert eventually(lambda: not exists(handle, f"{things(0)}/owner"))
        assert eventually(lambda: not exists(handle, f"{things(38)}/dependent"))
        assert not handle.request("GET", f"{things(39)}/orphan")["metadata"].get("ownerReferences")


def test_an_object_that_owns_itself_can_be_deleted(server: Handle) -> None:
    made = server.request("POST", CONFIG_MAPS, {"metadata": {"name": "own-owner"}})
    path = f"{CONFIG_MAPS}/own-owner"
    own = {"apiVersion": "v1", "kind": "ConfigMap", "name": "own-owner", "uid": made["metadata"]["uid"]}
    made["metadata"]["ownerReferences"] = [own]
    server.request("PUT", path, made)
    collected_so_far(server)
    server.request("DELETE", path)
    collected_so_far(server)
    assert not exists(server, path)


def custom_resource(server: Handle, plural: str, kind: str) -> str:
    """The path of a custom resource in the default namespace, once it is served."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": schema}]
    spec = {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": plural, "kind": kind},
        "versions": versions,
    }
    server.request("POST", DEFINITIONS, {"metadata": {"name": f"{plural}.example.com"}, "spec": spec})
    path = f"/apis/example.com/v1/namespaces/default/{plural}"
    assert eventually(lambda: exists(server, path))
    return path


def custom(server: Handle, path: str, kind: str, name: str, *owners: Object, **metadata: Any) -> Object:
    """A custom object that was made; returns a reference to it that blocks its deletion."""
    meta = {"name": name, "ownerReferences": list(owners), **metadata}
    made = server.request("POST", path, {"apiVersion": "example.com/v1", "kind": kind, "metadata": meta})
    reference = {"apiVersion": "example.com/v1", "kind": kind, "name": name, "uid": made["metadata"]["uid"]}
    return {**reference, "blockOwnerDeletion": True}


def test_dependents_of_custom_objects_go_with_their_definition(server: Handle) -> None:
    owners = custom_resource(server, "owners", "Owner")
    dependent = make(server, CONFIG_MAPS, "of-a-custom-object", custom(server, owners, "Owner", "o"))
    collected_so_far(server)
    server.request("DELETE", f"{DEFINITIONS}/owners.example.com")
    assert eventually(lambda: not exists(server, dependent))


def test_a_definition_that_comes_and_goes_before_its_objects_are_followed_takes_their_dependents_along(
    server: Handle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(garbage_collector, "_LOOK_SECONDS", 1.0)
    owners = custom_resource(server, "fleetings", "Fleeting")
    dependent = make(server, CONFIG_MAPS, "of-a-fleeting-object", custom(server, owners, "Fleeting", "o"))
    collected_so_far(server)
    server.request("DELETE", f"{DEFINITIONS}/fleetings.example.com")
    assert eventually(lambda: not exists(server, f"{DEFINITIONS}/fleetings.example.com"))
    custom_resource(server, "fleetings", "Fleeting")
    assert exists(server, dependent)
    assert eventually(lambda: not exists(server, dependent))


def set_metadata(server: Handle, path: str, **metadata: Any) -> None:
    obj = server.request("GET", path)
    obj["metadata"].update(metadata)
    server.request("PUT", path, obj)


def test_a_custom_object_in_a_circle_has_no_owner_wait(server: Handle) -> None:
    path = custom_resource(server, "circles", "Circle")
    first = custom(server, path, "Circle", "first")
    second = custom(server, path, "Circle", "second", finalizers=["example.com/hold"])
    custom(server, path, "Circle", "held", first, finalizers=["example.com/hold"])
    set_metadata(server, f"{path}/first", ownerReferences=[second])
    collected_so_far(server)
    server.request("DELETE", f"{path}/first", {"propagationPolicy": "Foreground"})
    set_metadata(server, f"{path}/second", ownerReferences=[first, absent("Secret", "v1")])

    def blocking() -> list[bool | None]:
        found = server.request("GET", f"{path}/second")["metadata"]["ownerReferences"]
        return [reference.get("blockOwnerDeletion") for reference in found]

    assert eventually(lambda: blocking() == [False, False])
    for name in ("second", "held"):
        assert eventually(lambda name=name: deleted_when_free(server, f"{path}/{name}"))
    assert eventually(lambda: not exists(server, f"{path}/first"))


def deleted_when_free(server: Handle, path: str) -> bool:
    """Whether an object that is being deleted is free to go now, which is tried here."""
    try:
        set_metadata(server, path, finalizers=[])
    except RequestFailed as error:
        return error.status == 404
    return True


def test_what_is_served_at_an_older_version_alone_is_collected() -> None:
    old = ("autoscaling/v2=false",)
    with Server(insecure_http=True, controllers=("garbage-collector",), runtime_config=old) as server:
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
        metadata = {"name": "a", "ownerReferences": [absent("Secret", "v1")]}
        path = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
        server.request("POST", path, {"metadata": metadata, "spec": {"maxReplicas": 1, "scaleTargetRef": target}})
        assert eventually(lambda: not exists(server, f"{path}/a"))


class Unavailable(Loopback):
    """Nobody can tell what there is."""

    def __init__(self) -> None:
        self.served = ServedTable()
        self.remote = RemoteResources(self.served, Discovery())

    async def get(self, resource: Resource, namespace: str, name: str) -> Object:
        raise errors.timeout("the store does not answer")


def test_one_look_at_a_time_is_taken_at_what_nobody_can_tell() -> None:
    async def main() -> list[str]:
        collector = GarbageCollector(Unavailable())
        collector.start()
        owner = absent("ConfigMap", "v1")
        meta = {"uid": "d", "name": "d", "namespace": "default", "ownerReferences": [owner]}
        collector._graph.observe(Identity("v1", "ConfigMap", "default", "d"), meta)
        kind = GroupVersionKind("", "v1", "ConfigMap")
        gvr = GroupVersionResource("", "v1", "configmaps")
        resource = ServedResource(ResourceInfo(gvr, kind, "configmap", True, ("get",)))
        for _ in range(3):
            collector._look_at_absent(resource, frozenset({"d"}))
            await asyncio.sleep(0.01)
        looks = [task.get_name() for task in asyncio.all_tasks() if "look at" in task.get_name()]
        await collector.close()
        return looks

    assert asyncio.run(main()) == ["garbage-collector/look at 1 of configmaps"]
