"""What the garbage collector does with one node by what the API says."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from watchkeeper.apis.catalog import ResourceInfo
from watchkeeper.controllers.gc_attempts import Attempts, latest_of
from watchkeeper.controllers.gc_graph import Graph, Identity, Node
from watchkeeper.controllers.loopback import Loopback, Resource
from watchkeeper.endpoints.scope import ServedResource
from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupVersionKind, GroupVersionResource

Object = dict[str, Any]
DUE = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
THINGS = ServedResource(
    ResourceInfo(GroupVersionResource("", "v1", "things"), GroupVersionKind("", "v1", "Thing"), "thing", True, ("get",))
)


class Told(Loopback):
    """Serves these objects, by name; without any, not even their resource."""

    def __init__(self, **objects: Object) -> None:
        self.objects = objects

    def find_kind(self, api_version: str, kind: str) -> Resource | None:
        return THINGS if self.objects else None

    async def get(self, resource: Resource, namespace: str, name: str) -> Object:
        found = self.objects.get(name)
        if found is None:
            raise errors.not_found(resource.info.group_resource, name)
        return found


def place(name: str) -> Identity:
    return Identity("v1", "Thing", "default", name)


def test_an_object_whose_api_service_is_gone_is_not_gone_itself() -> None:
    graph = Graph()
    graph.observe(place("o"), {"uid": "o", "name": "o", **DUE, "finalizers": ["foregroundDeletion"]})
    reference = {"apiVersion": "v1", "kind": "Thing", "name": "o", "uid": "o"}
    graph.observe(place("d"), {"uid": "d", "ownerReferences": [reference]})
    owner, dependent = graph.get("o"), graph.get("d")
    assert owner is not None
    assert dependent is not None
    asyncio.run(Attempts(Told(), graph, lambda _work: None, lambda: True).delete(owner))
    left = graph.get("o")
    assert left is not None
    assert left.virtual
    assert not graph.is_gone(dependent.owners[0], "default")


def test_dependents_are_freed_only_when_all_of_them_have_been_seen() -> None:
    graph = Graph()
    graph.observe(place("o"), {"uid": "o", "name": "o", **DUE, "finalizers": ["orphan"]})
    node = graph.get("o")
    assert node is not None
    api = Told(o={"metadata": {"uid": "o"}})
    with pytest.raises(ApiError, match="not all resources have been seen yet"):
        asyncio.run(Attempts(api, graph, lambda _work: None, lambda: False).orphan(node))


@pytest.mark.parametrize(
    ("node", "found"),
    [
        (Node("1", place("a")), True),
        (Node("2", place("a")), False),
        (Node("1", place("b")), False),
        (Node("1", Identity("v1", "Thing", "", "a")), False),
    ],
)
def test_an_object_is_there_under_its_name_and_uid(node: Node, *, found: bool) -> None:
    api = Told(a={"metadata": {"name": "a", "uid": "1"}})
    assert (asyncio.run(latest_of(api, THINGS, node)) is not None) == found
