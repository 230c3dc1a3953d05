"""Pods grow in place only as far as their nodes could ever let them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from watchkeeper.admission.interface import Attributes, Operation
from watchkeeper.admission.pod_resize import PodResizeValidator
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupVersionKind, GroupVersionResource
from watchkeeper.request.user import User

Object = dict[str, Any]

ROOM = {"cpu": "2", "memory": "1Ki"}
NODES: dict[str, Object] = {
    "n": {"metadata": {"labels": {"kubernetes.io/os": "linux"}}, "status": {"allocatable": ROOM}},
    "win": {"metadata": {"labels": {"kubernetes.io/os": "windows"}}, "status": {"allocatable": ROOM}},
    "bare": {"metadata": {}},
}


def refusal(
    spec: Object, *, generation: int = 2, subresource: str = "resize", causes: list[Object] | None = None
) -> str:
    attributes = Attributes(
        operation=Operation.UPDATE,
        kind=GroupVersionKind("", "v1", "Pod"),
        resource=GroupVersionResource("", "v1", "pods"),
        namespace="web",
        name="p",
        user=User("u"),
        obj={"metadata": {"name": "p", "generation": generation}, "spec": spec},
        old={"metadata": {"name": "p", "generation": 1}, "spec": {}},
        options={},
        subresource=subresource,
    )

    async def find(name: str) -> Object | None:
        return NODES.get(name)

    async def run() -> str:
        try:
            waiting = PodResizeValidator(find).validate(attributes)
            if waiting is not None:
                await waiting
        except ApiError as error:
            assert (error.code, error.reason) == (403, "Forbidden")
            assert error.details is not None
            assert error.details.get("causes") == causes
            return error.message.removeprefix('pods "p" is forbidden: ')
        return ""

    return asyncio.run(run())


def asking(node: str, cpu: str = "1", memory: str = "1Ki", **fields: Any) -> Object:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu, "memory": memory}}}
    return {"nodeName": node, "containers": [container], **fields}


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        (asking("n"), ""),
        (asking("gone"), 'node "gone" not found'),
        (
            asking("n", cpu="2001m", memory="2Ki"),
            "node didn't have enough allocatable resources: cpu, requested: 2001, allocatable: 2000;"
            " memory, requested: 2048, allocatable: 1024",
        ),
        (
            asking("n", overhead={"memory": "1"}),
            "node didn't have enough allocatable resources: memory, requested: 1025, allocatable: 1024",
        ),
        (asking("win"), 'pod resize is only supported on linux nodes, node "win" is "windows"'),
        (asking("win", cpu="9"), 'pod resize is only supported on linux nodes, node "win" is "windows"'),
        (asking("bare", "0", "0"), ""),
        (
            asking("n", cpu="2000000001n"),
            "node didn't have enough allocatable resources: cpu, requested: 2001, allocatable: 2000",
        ),
        (asking(""), ""),
    ],
)
def test_what_is_resized_must_fit_the_node(spec: Object, why: str) -> None:
    cause = "UnsupportedPlatform" if "linux" in why else "NodeCapacity" if "enough" in why else ""
    assert refusal(spec, causes=[{"reason": cause}] if cause else None) == why


def test_other_updates_and_those_that_change_nothing_pass() -> None:
    assert refusal(asking("gone"), generation=1) == ""
    assert refusal(asking("gone"), subresource="") == ""
