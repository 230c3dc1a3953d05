"""Pods get the topology labels of their nodes."""

from __future__ import annotations

import asyncio
from typing import Any

from watchkeeper.admission.interface import Attributes, Operation
from watchkeeper.admission.pod_topology_labels import PodTopologyLabels
from watchkeeper.meta.gvk import GroupVersionKind, GroupVersionResource
from watchkeeper.request.user import User

Object = dict[str, Any]
ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
NODES: dict[str, Object] = {
    "n": {"metadata": {"name": "n", "labels": {ZONE: "z1", REGION: "r1", f"sub.{ZONE}": "no", "other": "no"}}},
    "bare": {"metadata": {"name": "bare"}},
}


def labels(obj: Object, subresource: str = "", *, later: bool = False) -> Object | None:
    """The labels of an object after admission; None when no node was looked for."""
    attributes = Attributes(
        operation=Operation.CREATE,
        kind=GroupVersionKind("", "v1", "Binding" if subresource else "Pod"),
        resource=GroupVersionResource("", "v1", "pods"),
        namespace="web",
        name="p",
        user=User("u"),
        obj=obj,
        options={},
        subresource=subresource,
    )

    asked: list[str] = []

    def of_node(name: str) -> dict[str, str]:
        asked.append(name)
        found: dict[str, str] = NODES.get(name, {}).get("metadata", {}).get("labels", {})
        return found

    async def of_node_later(name: str) -> dict[str, str]:
        return of_node(name)

    waiting = PodTopologyLabels(of_node_later if later else of_node).admit(attributes)
    if waiting is not None:

        async def run() -> None:
            await waiting

        asyncio.run(run())
    return obj.get("metadata", {}).get("labels") or {} if asked else None


def binding(node: str, kind: str = "Node", **own: str) -> Object:
    return {"metadata": {"name": "p", "labels": own}, "target": {"kind": kind, "name": node}}


def test_bindings_get_the_labels_of_the_node() -> None:
    assert labels(binding("n"), "binding") == {ZONE: "z1", REGION: "r1"}
    assert labels(binding("n", **{ZONE: "mine", "own": "o"}), "binding") == {ZONE: "z1", REGION: "r1", "own": "o"}
    assert labels(binding("n"), "binding", later=True) == {ZONE: "z1", REGION: "r1"}
    assert labels(binding("bare"), "binding") == {}
    assert labels(binding("none"), "binding") == {}
    assert labels(binding("n", kind=""), "binding") is None
    assert labels(binding("n"), "eviction") is None


def test_new_pods_that_have_a_node_get_them_too() -> None:
    assert labels({"metadata": {"name": "p"}, "spec": {"nodeName": "n"}}) == {ZONE: "z1", REGION: "r1"}
    mine = {"metadata": {"name": "p", "labels": {ZONE: "mine"}}, "spec": {"nodeName": "n"}}
    assert labels(mine) == {ZONE: "z1", REGION: "r1"}
    assert labels({"metadata": {"name": "p"}, "spec": {}}) is None
