from __future__ import annotations

from typing import Any

import pytest
from kind_writer import create, created, row, update


def priority_class(name: str = "high", value: int = 100, **fields: Any) -> Any:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        **fields,
    }


def test_pods_of_a_class_preempt_others() -> None:
    obj = created(priority_class())
    assert obj["preemptionPolicy"] == "PreemptLowerPriority"
    assert obj["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    ("name", "value", "errors"),
    [
        ("big", 2_000_000_000, ["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"]),
        (
            "system-mine",
            1,
            [
                "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for "
                "system use only. "
                "error: system-mine is not a known system priority class"
            ],
        ),
        (
            "system-node-critical",
            1,
            [
                "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for "
                "system use only. "
                "error: value of system-node-critical PriorityClass must be 2000001000"
            ],
        ),
        ("system-cluster-critical", 2_000_000_000, []),
        ("negative", -5, []),
    ],
)
def test_values_and_names(name: str, value: int, errors: list[str]) -> None:
    assert create(priority_class(name, value)).errors == errors


def test_a_class_means_the_same_for_ever() -> None:
    old = created(priority_class())
    assert update(old, priority_class(description="x")).errors == []
    assert update(old, priority_class(value=200, preemptionPolicy="Never")).errors == [
        "value: Forbidden: may not be changed in an update.",
        'preemptionPolicy: Invalid value: "Never": field is immutable',
    ]


def test_the_table() -> None:
    cells = row(created(priority_class(globalDefault=True)))
    assert (cells["Value"], cells["Global-Default"], cells["PreemptionPolicy"]) == (100, True, "PreemptLowerPriority")
