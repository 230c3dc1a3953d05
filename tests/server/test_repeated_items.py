"""Lists with items that occur twice, where fields are owned at several versions."""

from __future__ import annotations

from typing import Any

from watchkeeper.testing import Server

PATH = "/apis/autoscaling/{}/namespaces/default/horizontalpodautoscalers"


def test_what_cannot_be_told_apart_at_another_version_leaves_nobody_owning_anything() -> None:
    scaler: Any = {
        "metadata": {"name": "a"},
        "spec": {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}},
    }
    with Server(controllers=()) as server:
        server.request("POST", PATH.format("v2"), scaler)
        for version, finalizers, owned in (("v2", 2, True), ("v1", 3, False)):
            found = server.request("GET", f"{PATH.format(version)}/a")
            found["metadata"]["finalizers"] = ["a/b"] * finalizers
            changed = server.request("PUT", f"{PATH.format(version)}/a", found)
            assert changed["metadata"]["finalizers"] == ["a/b"] * finalizers
            assert ("managedFields" in changed["metadata"]) is owned
