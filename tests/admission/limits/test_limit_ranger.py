"""LimitRanges fill in and refuse as the reference's plugin does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

from watchkeeper.admission.interface import Attributes, Operation
from watchkeeper.admission.limits.ranger import ANNOTATION, LimitRanger
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupVersionKind, GroupVersionResource
from watchkeeper.request.user import User

Object = dict[str, Any]


def limit_range(*limits: Object, name: str = "l", namespace: str = "web") -> Object:
    return {"metadata": {"name": name, "namespace": namespace}, "spec": {"limits": list(limits)}}


def container(name: str = "c", requests: Object | None = None, limits: Object | None = None) -> Object:
    resources = {"requests": requests, "limits": limits}
    return {"name": name, "resources": {k: v for k, v in resources.items() if v is not None}}


def asking(*containers: Object, init: list[Object] | None = None, **more: Any) -> Attributes:
    spec: Object = {"containers": list(containers)}
    if init:
        spec["initContainers"] = init
    obj = {"metadata": {"name": "p"}, "spec": spec}
    return request(obj, "pods", "Pod", **more)


def request(obj: Object, resource: str, kind: str, **more: Any) -> Attributes:
    given: dict[str, Any] = {"operation": Operation.CREATE, "old": None, "subresource": "", **more}
    return Attributes(
        kind=GroupVersionKind("", "v1", kind),
        resource=GroupVersionResource("", "v1", resource),
        namespace="web",
        name="p",
        user=User("u"),
        obj=obj,
        options={},
        **given,
    )


def ranger(*ranges: Object) -> LimitRanger:
    async def read(namespace: str) -> list[Object]:
        return [each for each in ranges if each["metadata"]["namespace"] == namespace]

    return LimitRanger(read)


def admit(plugin: LimitRanger, attributes: Attributes) -> Object:
    """The object as the plugin leaves it."""
    _run(plugin.admit(attributes))
    assert attributes.obj is not None
    return attributes.obj


def _run(waiting: Awaitable[None] | None) -> None:
    async def wait() -> None:
        if waiting is not None:
            await waiting

    asyncio.run(wait())


def refusal(plugin: LimitRanger, attributes: Attributes) -> str:
    """Why a request is refused, "" when it is not."""
    try:
        _run(plugin.validate(attributes))
    except ApiError as error:
        assert (error.code, error.reason) == (403, "Forbidden")
        return error.message.partition(" is forbidden: ")[2]
    return ""


DEFAULTS = {"type": "Container", "default": {"cpu": "1", "memory": "1Gi"}, "defaultRequest": {"cpu": "500m"}}


def test_containers_get_what_they_do_not_ask_for_and_the_pod_says_so() -> None:
    attributes = asking(container(requests={"cpu": "2"}), container("d"), init=[container("i", limits={"cpu": "3"})])
    pod = admit(ranger(limit_range(DEFAULTS)), attributes)
    spec = pod["spec"]
    assert spec["containers"][0]["resources"] == {"requests": {"cpu": "2"}, "limits": {"cpu": "1", "memory": "1Gi"}}
    assert spec["containers"][1]["resources"]["requests"] == {"cpu": "500m"}
    assert spec["initContainers"][0]["resources"]["limits"] == {"cpu": "3", "memory": "1Gi"}
    assert pod["metadata"]["annotations"][ANNOTATION] == (
        "LimitRanger plugin set: cpu, memory limit for container c; cpu request for container d; "
        "cpu, memory limit for container d; cpu request for init container i; memory limit for init container i"
    )


def test_a_pod_that_asks_for_everything_stays_as_it_is() -> None:
    everything = {"cpu": "1", "memory": "1Gi"}
    attributes = asking(container(requests=everything, limits=everything))
    assert "annotations" not in admit(ranger(limit_range(DEFAULTS)), attributes)["metadata"]


def test_other_namespaces_and_updates_are_left_alone() -> None:
    plugin = ranger(limit_range(DEFAULTS, namespace="other"))
    attributes = asking(container())
    assert admit(plugin, attributes)["spec"]["containers"][0]["resources"] == {}
    strict = ranger(limit_range({"type": "Container", "min": {"cpu": "1"}}))
    assert refusal(strict, asking(container(), operation=Operation.UPDATE)) == ""
    assert refusal(strict, asking(container(), operation=Operation.UPDATE, subresource="resize")) != ""


@pytest.mark.parametrize(
    ("limit", "requests", "limits", "words"),
    [
        ({"min": {"cpu": "100m"}}, None, None, "minimum cpu usage per Container is 100m.  No request is specified"),
        ({"min": {"cpu": "100m"}}, {"cpu": "50m"}, None, "minimum cpu usage per Container is 100m, but request is 50m"),
        (
            {"min": {"cpu": "100m"}},
            {"cpu": "100m"},
            {"cpu": "99m"},
            "minimum cpu usage per Container is 100m, but limit is 99m",
        ),
        ({"max": {"memory": "1Gi"}}, None, None, "maximum memory usage per Container is 1Gi.  No limit is specified"),
        (
            {"max": {"memory": "1Gi"}},
            None,
            {"memory": "2Gi"},
            "maximum memory usage per Container is 1Gi, but limit is 2Gi",
        ),
        ({"max": {"memory": "1Gi"}}, {"memory": "1024Mi"}, {"memory": "1Gi"}, ""),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            {"cpu": "100m"},
            {"cpu": "300m"},
            "cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000",
        ),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            None,
            None,
            "cpu max limit to request ratio per Container is 2, but no request is specified or request is 0",
        ),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            {"cpu": "1"},
            None,
            "cpu max limit to request ratio per Container is 2, but no limit is specified or limit is 0",
        ),
    ],
)
def test_bounds_of_containers(limit: Object, requests: Object | None, limits: Object | None, words: str) -> None:
    plugin = ranger(limit_range({"type": "Container", **limit}))
    assert refusal(plugin, asking(container(requests=requests, limits=limits))) == words
    assert refusal(plugin, asking(init=[container("i", requests, limits)])) == words


def test_several_faults_are_told_together() -> None:
    plugin = ranger(limit_range({"type": "Container", "min": {"cpu": "1", "memory": "1Gi"}}))
    assert refusal(plugin, asking(container(requests={"cpu": "100m"}))) == (
        "[minimum cpu usage per Container is 1, but request is 100m, "
        "minimum memory usage per Container is 1Gi.  No request is specified]"
    )


def test_a_pod_is_bounded_by_what_its_containers_ask_for_together() -> None:
    plugin = ranger(limit_range({"type": "Pod", "max": {"cpu": "1"}}))
    two = [container("a", limits={"cpu": "600m"}), container("b", limits={"cpu": "600m"})]
    assert refusal(plugin, asking(*two)) == "maximum cpu usage per Pod is 1, but limit is 1200m"
    assert refusal(plugin, asking(*two[:1])) == ""


def test_of_what_a_pod_asks_for_as_a_whole_cpu_and_memory_count() -> None:
    plugin = ranger(limit_range({"type": "Pod", "max": {"cpu": "1", "hugepages-2Mi": "2Mi"}}))
    whole = asking(container("a"))
    assert whole.obj is not None
    whole.obj["spec"]["resources"] = {"limits": {"cpu": "2", "hugepages-2Mi": "4Mi"}}
    assert refusal(plugin, whole) == (
        "[maximum cpu usage per Pod is 1, but limit is 2, "
        "maximum hugepages-2Mi usage per Pod is 2Mi.  No limit is specified]"
    )


def test_claims_are_bounded_whenever_they_are_written() -> None:
    plugin = ranger(
        limit_range({"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "2Gi"}})
    )

    def claim(storage: str, operation: Operation = Operation.CREATE) -> Attributes:
        obj = {"metadata": {"name": "p"}, "spec": {"resources": {"requests": {"storage": storage}}}}
        return request(obj, "persistentvolumeclaims", "PersistentVolumeClaim", operation=operation)

    assert refusal(plugin, claim("1500Mi")) == ""
    assert refusal(plugin, claim("3Gi", Operation.UPDATE)) == (
        "maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi"
    )
    assert refusal(plugin, claim("1Mi")) == "minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1Mi"
