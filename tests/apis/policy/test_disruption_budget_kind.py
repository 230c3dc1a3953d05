from __future__ import annotations

from typing import Any

import pytest
from kind_writer import BEHAVIORS, create, created, row, update, update_status

from watchkeeper.apis.policy.budget import OLD_LABEL
from watchkeeper.meta.gvk import GroupKind


def budget(name: str = "p", **spec: Any) -> Any:
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name}, "spec": spec}


def test_a_budget_begins_with_nothing_counted() -> None:
    obj = created(budget(minAvailable=1))
    assert obj["status"] == {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0}
    assert obj["metadata"]["generation"] == 1
    assert not BEHAVIORS.of(GroupKind("policy", "PodDisruptionBudget")).allow_unconditional_update


@pytest.mark.parametrize(
    ("spec", "fields"),
    [
        ({"minAvailable": 1, "maxUnavailable": 1}, ["spec"]),
        ({"minAvailable": "half"}, ["spec.minAvailable"]),
        ({"maxUnavailable": -1}, ["spec.maxUnavailable"]),
        ({"maxUnavailable": "101%"}, ["spec.maxUnavailable"]),
        ({"unhealthyPodEvictionPolicy": "Never"}, ["spec.unhealthyPodEvictionPolicy"]),
        ({"selector": {"matchLabels": {"a b": "c"}}}, ["spec.selector.matchLabels"]),
    ],
)
def test_what_a_budget_may_not_be(spec: Any, fields: list[str]) -> None:
    assert [error.partition(":")[0] for error in create(budget(**spec)).errors] == fields


def test_budgets_take_any_name_that_fits_a_path() -> None:
    assert create(budget("Not_DNS")).errors == []
    assert create(budget("a%b")).errors == ["metadata.name: Invalid value: \"a%b\": may not contain '%'"]


def test_statuses_are_written_by_controllers() -> None:
    old = created(budget(minAvailable=1))
    assert update_status(old, {"disruptionsAllowed": 1, "expectedPods": 2}).errors == []
    assert update_status(old, {"disruptionsAllowed": -1}).errors == [
        "status.disruptionsAllowed: Invalid value: -1: must be greater than or equal to 0"
    ]
    assert update(old, budget(minAvailable=2)).obj["metadata"]["generation"] == 2


def test_the_table() -> None:
    cells = row(created(budget(minAvailable="50%")))
    assert (cells["Min Available"], cells["Max Unavailable"], cells["Allowed Disruptions"]) == ("50%", "N/A", 0)


@pytest.mark.parametrize(
    ("selector", "kept"),
    [
        ({"matchExpressions": [{"key": OLD_LABEL, "operator": "Exists"}]}, None),
        ({"matchExpressions": [{"key": OLD_LABEL, "operator": "DoesNotExist"}]}, None),
        ({"matchExpressions": [{"key": OLD_LABEL, "operator": "In", "values": ["x"]}]}, {}),
        ({"matchExpressions": [{"key": OLD_LABEL, "operator": "Exists"}] * 2}, {}),
        (
            {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": OLD_LABEL, "operator": "Exists"}]},
            {"matchLabels": {"a": "b"}},
        ),
        (
            {"matchExpressions": [{"key": OLD_LABEL, "operator": "Exists"}, {"key": "z", "operator": "Exists"}]},
            {"matchExpressions": [{"key": "z", "operator": "Exists"}]},
        ),
        ({"matchLabels": {OLD_LABEL: "x"}}, None),
        ({}, None),
    ],
)
def test_the_label_of_selectors_that_choose_none_or_all_is_in_no_other(selector: Any, kept: Any) -> None:
    assert created(budget(selector=selector))["spec"]["selector"] == (selector if kept is None else kept)


def test_a_budget_shows_its_selector_labels_first() -> None:
    selector = {"matchExpressions": [{"key": "a", "operator": "Exists"}], "matchLabels": {"c": "d", "b": "e"}}
    (error,) = create(budget(minAvailable=1, maxUnavailable=1, selector=selector)).errors
    assert '"Selector":{"matchLabels":{"b":"e","c":"d"},"matchExpressions":[' in error
