from __future__ import annotations

from typing import Any

import pytest
from kind_writer import BEHAVIORS, create, created, row, template, update

from watchkeeper.meta.gvk import GroupKind


def controller(**spec: Any) -> Any:
    return {"apiVersion": "v1", "kind": "ReplicationController", "metadata": {"name": "rc"}, "spec": spec}


def test_selector_and_labels_are_those_of_the_template() -> None:
    obj = created(controller(template=template()))
    assert obj["spec"]["selector"] == {"app": "x"}
    assert obj["metadata"]["labels"] == {"app": "x"}
    assert obj["spec"]["replicas"] == 1
    assert obj["status"] == {"replicas": 0}
    assert obj["metadata"]["generation"] == 1


def test_the_selector_must_select_the_template() -> None:
    assert create(controller(template=template(), selector={"app": "y"})).errors == [
        'spec.template.metadata.labels: Invalid value: {"app":"x"}: `selector` does not match template `labels`'
    ]


def test_a_controller_needs_a_template() -> None:
    assert create(controller(selector={"app": "x"})).errors == ["spec.template: Required value"]


def test_its_pods_always_restart() -> None:
    assert create(controller(template=template(restartPolicy="Never", activeDeadlineSeconds=5))).errors == [
        'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
        "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicationController is not "
        "Supported",
    ]


def test_changes_count_and_pods_stay_when_it_goes() -> None:
    old = created(controller(template=template()))
    written = update(old, controller(template=template(), replicas=3))
    assert written.errors == []
    assert written.obj["metadata"]["generation"] == 2
    assert BEHAVIORS.of(GroupKind("", "ReplicationController")).default_propagation == "Orphan"


def test_the_table_counts_replicas() -> None:
    obj = created(controller(template=template(), replicas=3))
    obj["status"] = {"replicas": 2, "readyReplicas": 1}
    cells = row(obj)
    assert (cells["Desired"], cells["Current"], cells["Ready"]) == (3, 2, 1)
    assert (cells["Containers"], cells["Images"], cells["Selector"]) == ("main", "img:1", "app=x")


def test_pod_templates_are_completed_and_checked() -> None:
    body = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "t"}, "template": template()}
    obj = created(body)
    assert obj["template"]["spec"]["restartPolicy"] == "Always"
    assert row(obj)["Pod Labels"] == "app=x"
    assert create({**body, "template": template(containers=[])}).errors == ["template.spec.containers: Required value"]


def test_a_pod_template_warns_again_only_when_its_template_changes() -> None:
    term = {"topologyKey": "zone"}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    body: Any = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "t"}}
    body["template"] = template(affinity=affinity)
    assert len(create(body).warnings) == 1
    old = created(body)
    relabeled = {**body, "metadata": {"name": "t", "labels": {"a": "b"}}}
    assert update(old, relabeled).warnings == []
    body["template"] = template(affinity=affinity, hostname="h")
    assert len(update(old, body).warnings) == 1


@pytest.mark.parametrize("field", ["ports", "resizePolicy", "restartPolicyRules"])
def test_an_empty_list_is_one_too_many_for_an_ephemeral_container(field: str) -> None:
    containers = [{"name": "e", "image": "i:1", field: []}]
    body: Any = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "t"}}
    body["template"] = template(ephemeralContainers=containers)
    assert create(body).errors[0] == (
        f"template.spec.ephemeralContainers[0].{field}: Forbidden: cannot be set for an Ephemeral Container"
    )


def test_fields_of_ephemeral_containers_are_refused_in_the_order_of_their_type() -> None:
    body: Any = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "t"}}
    fields = {"lifecycle": {}, "startupProbe": {}, "restartPolicy": "Always", "resizePolicy": [], "ports": []}
    body["template"] = template(ephemeralContainers=[{"name": "e", "image": "i:1", **fields}])
    found = [error.partition(": ")[0].rpartition(".")[2] for error in create(body).errors if "Ephemeral" in error]
    assert found == ["ports", "resizePolicy", "restartPolicy", "startupProbe", "lifecycle"]
