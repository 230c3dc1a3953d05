"""Leases."""

from typing import Any

import pytest
from kind_writer import BEHAVIORS, create, created, row, update

from watchkeeper.meta.gvk import GroupKind


def lease(**spec: Any) -> Any:
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}, "spec": spec}


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ({"leaseDurationSeconds": 0}, ["spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"]),
        (
            {"leaseTransitions": -1},
            ["spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0"],
        ),
        ({"leaseDurationSeconds": 15, "leaseTransitions": 0}, []),
    ],
)
def test_what_a_lease_must_say(spec: Any, errors: list[str]) -> None:
    assert create(lease(**spec)).errors == errors
    assert update(created(lease()), lease(**spec)).errors == errors


def test_coordinated_election_is_off() -> None:
    obj = created(lease(holderIdentity="me", strategy="OldestEmulationVersion", preferredHolder="you"))
    assert obj["spec"] == {"holderIdentity": "me"}
    assert update(obj, lease(strategy="OldestEmulationVersion", preferredHolder="you")).obj["spec"] == {}


def test_a_lease_that_is_coordinated_already_stays_so() -> None:
    old = created(lease())
    old["spec"] = {"strategy": "OldestEmulationVersion", "preferredHolder": "you"}
    written = update(old, lease(strategy="a.example/b", preferredHolder="me"))
    assert written.errors == [] and written.obj["spec"] == {"strategy": "a.example/b", "preferredHolder": "me"}
    told = update(old, lease(strategy="Newest")).errors
    assert told == ['spec.strategy.strategy: Unsupported value: "Newest": supported values: "OldestEmulationVersion"']
    assert update(old, lease(preferredHolder="me")).errors == [
        "spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined"
    ]
    (told,) = update(old, lease(strategy="a/b/c")).errors
    assert told.startswith('spec.strategy: Invalid value: "a/b/c": a valid label key must consist of')


def test_a_lease_is_made_by_a_put_and_changed_with_a_version() -> None:
    behavior = BEHAVIORS.of(GroupKind("coordination.k8s.io", "Lease"))
    assert (behavior.allow_create_on_update, behavior.allow_unconditional_update) == (True, False)
    assert row(created(lease(holderIdentity="me")))["Holder"] == "me"
