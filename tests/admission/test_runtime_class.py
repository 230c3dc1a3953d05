"""Pods get what their runtime class says."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

from watchkeeper.admission.interface import Attributes, Operation
from watchkeeper.admission.runtime_class import RuntimeClass, merge_tolerations
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupVersionKind, GroupVersionResource
from watchkeeper.request.user import User
from watchkeeper.runtime.with_empties import WithEmpties

Object = dict[str, Any]
CLASSES: dict[str, Object] = {
    "heavy": {"overhead": {"podFixed": {"cpu": "100m"}}},
    "placed": {"scheduling": {"nodeSelector": {"kind": "vm"}, "tolerations": [{"key": "vm", "operator": "Exists"}]}},
}


def outcome(**spec: Any) -> Object | str:
    """The spec of a new Pod after admission, or why it is refused."""
    return judged(spec)


def judged(spec: Object) -> Object | str:
    obj = {"metadata": {"name": "p"}, "spec": spec}
    attributes = Attributes(
        operation=Operation.CREATE,
        kind=GroupVersionKind("", "v1", "Pod"),
        resource=GroupVersionResource("", "v1", "pods"),
        namespace="web",
        name="p",
        user=User("u"),
        obj=obj,
        options={},
    )

    async def find(name: str) -> Object | None:
        return CLASSES.get(name)

    async def wait(waiting: Awaitable[None] | None) -> None:
        if waiting is not None:
            await waiting

    async def run() -> Object | str:
        plugin = RuntimeClass(find)
        try:
            await wait(plugin.admit(attributes))
            await wait(plugin.validate(attributes))
        except ApiError as error:
            return error.message.removeprefix('pods "p" is forbidden: ')
        return spec

    return asyncio.run(run())


def test_the_overhead_is_that_of_the_class() -> None:
    assert outcome(runtimeClassName="heavy") == {"runtimeClassName": "heavy", "overhead": {"cpu": "100m"}}
    assert outcome(runtimeClassName="heavy", overhead={"cpu": "0.1"}) != ""
    wrong = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
    assert outcome(runtimeClassName="heavy", overhead={"cpu": "1"}) == wrong
    assert outcome(overhead={"cpu": "1"}) == (
        "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
    )
    assert outcome(runtimeClassName="none") == 'pod rejected: RuntimeClass "none" not found'


def test_no_overhead_is_none_though_it_was_sent() -> None:
    wrong = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
    assert judged(WithEmpties({"runtimeClassName": "heavy"}, {"overhead": {}})) == wrong
    assert judged(WithEmpties({}, {"overhead": {}})) == (
        "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
    )


def test_pods_go_where_their_class_is() -> None:
    placed = outcome(runtimeClassName="placed", nodeSelector={"zone": "a"})
    assert isinstance(placed, dict)
    assert placed["nodeSelector"] == {"zone": "a", "kind": "vm"}
    assert placed["tolerations"] == [{"key": "vm", "operator": "Exists"}]
    assert outcome(runtimeClassName="placed", nodeSelector={"kind": "metal"}) == (
        "conflict: runtimeClass.scheduling.nodeSelector[kind] = vm; pod.spec.nodeSelector[kind] = metal"
    )


def test_tolerations_that_others_cover_are_dropped() -> None:
    everything = {"operator": "Exists"}
    one = {"key": "a", "operator": "Equal", "value": "1", "effect": "NoSchedule"}
    assert merge_tolerations([one], [everything]) == [everything]
    assert merge_tolerations([one], [one]) == [one]
    short, long = ({**one, "effect": "NoExecute", "tolerationSeconds": s} for s in (1, 2))
    assert merge_tolerations([short], [long]) == [long]


@pytest.mark.parametrize(
    ("name", "problems"),
    [("../x", "may not contain '/'"), ("..", "may not be '..'"), ("a%/b", "may not contain '/' may not contain '%'")],
)
def test_a_class_that_no_request_can_ask_for_is_a_failure(name: str, problems: str) -> None:
    assert outcome(runtimeClassName=name) == f'invalid resource name "{name}": [{problems}]'


def test_a_class_needs_a_name() -> None:
    assert outcome(runtimeClassName="") == "resource name may not be empty"
