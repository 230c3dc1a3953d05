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

WHOLE, INIT = "InPlacePodLevelResourcesVerticalScaling", "InPlacePodVerticalScalingInitContainers"
NODES: dict[str, Object] = {"able": {"status": {"declaredFeatures": [WHOLE, INIT]}}, "bare": {}}


def refusal(new: Object, old: Object, *, generation: int = 2) -> str:
    attributes = Attributes(
        operation=Operation.UPDATE,
        kind=GroupVersionKind("", "v1", "Pod"),
        resource=GroupVersionResource("", "v1", "pods"),
        namespace="web",
        name="p",
        user=User("u"),
        obj={"metadata": {"name": "p", "generation": generation}, "spec": new},
        old={"metadata": {"name": "p", "generation": 1}, "spec": old, "status": {"qosClass": "Guaranteed"}},
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


def on(node: str, cpu: str, *, restart: str | None = None, **resources: Any) -> Object:
    """A Pod with an init container; `resources` are those of the whole."""
    first = {"name": "i", "resources": {"requests": {"cpu": cpu}}, **({"restartPolicy": restart} if restart else {})}
    return {"nodeName": node, "initContainers": [first], **({"resources": resources} if resources else {})}


def running(node: str, cpu: str) -> Object:
    return {"nodeName": node, "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}


def lacking(features: str) -> str:
    return f'pod update requires features {features} which are not available on node "bare"'


@pytest.mark.parametrize(
    ("new", "old", "why"),
    [
        (running("bare", "2"), running("bare", "1"), ""),
        (running("gone", "2"), running("gone", "1"), ""),
        (on("bare", "2"), on("bare", "1"), lacking(INIT)),
        (on("bare", "2", restart="Always"), on("bare", "1", restart="Always"), ""),
        (on("able", "2"), on("able", "1"), ""),
        (on("gone", "2"), on("gone", "1"), 'node "gone" not found'),
        (on("bare", "1", requests={"cpu": "2"}), on("bare", "1"), lacking(WHOLE)),
        (on("bare", "1", requests={"cpu": "1000m"}), on("bare", "1", requests={"cpu": "1"}), ""),
        (on("bare", "2", requests={"cpu": "2"}), on("bare", "1"), lacking(f"{WHOLE}, {INIT}")),
        (on("able", "2", requests={"cpu": "2"}), on("able", "1"), ""),
        (on("", "2"), on("", "1"), ""),
    ],
)
def test_what_a_change_needs_must_be_declared(new: Object, old: Object, why: str) -> None:
    assert refusal(new, old) == why


def test_what_leaves_the_generation_alone_needs_nothing() -> None:
    assert refusal(on("bare", "2"), on("bare", "1"), generation=1) == ""
