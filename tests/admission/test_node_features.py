"""What an update of a Pod needs of its node must be among what the node declares."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from watchkeeper.admission.interface import Attributes, Operation
from watchkeeper.admission.node_features import NodeDeclaredFeatureValidator
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupVersionKind, GroupVersionResource
from watchkeeper.request.user import User

Object = dict[str, Any]

CPUS, WHOLE = "GuaranteedQoSPodCPUResize", "InPlacePodLevelResourcesVerticalScaling"
NODES: dict[str, Object] = {"able": {"status": {"declaredFeatures": [CPUS, WHOLE]}}, "bare": {}}


def refusal(new: Object, old: Object, *, qos: str = "Guaranteed", generation: int = 2) -> str:
    attributes = Attributes(
        operation=Operation.UPDATE,
        kind=GroupVersionKind("", "v1", "Pod"),
        resource=GroupVersionResource("", "v1", "pods"),
        namespace="web",
        name="p",
        user=User("u"),
        obj={"metadata": {"name": "p", "generation": generation}, "spec": new},
        old={"metadata": {"name": "p", "generation": 1}, "spec": old, "status": {"qosClass": qos}},
        options={},
        subresource="resize",
    )

    async def find(name: str) -> Object | None:
        return NODES.get(name)

    async def run() -> str:
        try:
            waiting = NodeDeclaredFeatureValidator(find).validate(attributes)
            if waiting is not None:
                await waiting
        except ApiError as error:
            assert (error.code, error.reason) == (403, "Forbidden")
            return error.message.removeprefix('pods "p" is forbidden: ')
        return ""

    return asyncio.run(run())


def on(node: str, cpu: str, **resources: Any) -> Object:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    return {"nodeName": node, "containers": [container], **({"resources": resources} if resources else {})}


def lacking(features: str) -> str:
    return f'pod update requires features {features} which are not available on node "bare"'


@pytest.mark.parametrize(
    ("new", "old", "why"),
    [
        (on("bare", "2"), on("bare", "1"), lacking(CPUS)),
        (on("bare", "1000m"), on("bare", "1"), ""),
        (on("able", "2"), on("able", "1"), ""),
        (on("gone", "2"), on("gone", "1"), 'node "gone" not found'),
        (on("bare", "1", requests={"cpu": "2"}), on("bare", "1"), lacking(WHOLE)),
        (on("bare", "2", requests={"cpu": "2"}), on("bare", "1"), lacking(f"{CPUS}, {WHOLE}")),
        (on("able", "2", requests={"cpu": "2"}), on("able", "1"), ""),
        (on("", "2"), on("", "1"), ""),
    ],
)
def test_what_a_change_needs_must_be_declared(new: Object, old: Object, why: str) -> None:
    assert refusal(new, old) == why


def test_other_pods_and_changes_need_nothing() -> None:
    assert refusal(on("bare", "2"), on("bare", "1"), qos="Burstable") == ""
    assert refusal(on("bare", "2"), on("bare", "1"), generation=1) == ""
