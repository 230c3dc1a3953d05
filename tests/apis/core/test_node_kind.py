from __future__ import annotations

from typing import Any

from kind_writer import BEHAVIORS, create, created, read, row, update, update_status

from watchkeeper.meta.gvk import GroupKind


def node(*, metadata: Any = None, status: Any = None, **spec: Any) -> Any:
    meta = {"name": "n", **(metadata or {})}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": meta,
        "spec": spec,
        **({"status": status} if status else {}),
    }


def test_blocks_of_addresses_agree() -> None:
    assert read(node(podCIDR="10.9.0.0/24"))["spec"] == {"podCIDR": "10.9.0.0/24", "podCIDRs": ["10.9.0.0/24"]}
    assert read(node(podCIDRs=["10.9.0.0/24"]))["spec"]["podCIDR"] == "10.9.0.0/24"
    both = read(node(podCIDR="10.9.0.0/24", podCIDRs=["10.8.0.0/24"]))["spec"]
    assert both["podCIDRs"] == ["10.9.0.0/24"]


def test_a_node_brings_its_status_and_can_allocate_what_it_has() -> None:
    obj = created(node(status={"capacity": {"cpu": "4"}}))
    assert obj["status"]["allocatable"] == {"cpu": "4"}
    assert "generation" not in obj["metadata"]
    obj = created(node(status={"capacity": {"cpu": "1n"}}))
    assert obj["status"]["capacity"] == obj["status"]["allocatable"] == {"cpu": "1m"}
    assert created(node(status={"capacity": {}}))["status"].keys().isdisjoint({"capacity", "allocatable"})


def test_a_node_that_is_said_to_allocate_nothing_can_allocate_what_it_has() -> None:
    assert created(node(status={"capacity": {"cpu": "4"}, "allocatable": {}}))["status"]["allocatable"] == {"cpu": "4"}
    written = update_status(created(node()), {"capacity": {"cpu": "4"}, "allocatable": {}})
    assert written.obj["status"]["allocatable"] == {"cpu": "4"}
    assert "allocatable" not in created(node(status={"capacity": {}, "phase": "Running"}))["status"]


def test_what_a_node_may_not_be() -> None:
    taint = {"key": "a", "effect": "NoSchedule"}
    written = create(
        node(taints=[taint, taint], podCIDRs=["10.0.0.0/24", "10.0.1.0/24"], status={"capacity": {"pods": "-1"}})
    )
    assert written.errors == [
        'metadata.taints[1]: Duplicate value: {"Key":"a","Value":"","Effect":"NoSchedule","TimeAdded":null}: '
        "taints must be unique by key and effect pair",
        'status.capacity.pods: Invalid value: "-1": must be greater than or equal to 0',
        'status.allocatable.pods: Invalid value: "-1": must be greater than or equal to 0',
        'spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.0.1.0/24"]: may specify no more than one '
        "CIDR for each IP family",
    ]


def test_what_a_node_is_stays() -> None:
    old = created(node(podCIDR="10.0.0.0/24", providerID="a"))
    assert update(old, node(podCIDR="10.0.1.0/24", providerID="b")).errors == [
        'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid',
        'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid',
    ]
    assert update(old, node(podCIDR="10.0.0.0/24", providerID="a", unschedulable=True)).errors == []


def test_addresses_appear_once() -> None:
    address = {"type": "InternalIP", "address": "10.0.0.1"}
    assert update_status(created(node()), {"addresses": [address, address]}).errors == [
        'status.addresses[1]: Duplicate value: {"Type":"InternalIP","Address":"10.0.0.1"}'
    ]


def test_declared_features_are_in_camel_case_and_in_order() -> None:
    shape = (
        "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or"
        " MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
    )
    old = created(node())
    assert update_status(old, {"declaredFeatures": ["A", "B/c", "Bc"]}).errors == []
    assert update_status(old, {"declaredFeatures": ["B", "B", "A", "z", "B" * 254]}).errors == [
        'status.declaredFeatures[1]: Duplicate value: "B"',
        'status.declaredFeatures[2]: Invalid value: "A": list must be sorted alphabetically',
        f'status.declaredFeatures[3]: Invalid value: "z": invalid feature name "z": {shape}',
        f'status.declaredFeatures[4]: Invalid value: "{"B" * 254}": list must be sorted alphabetically',
        f'status.declaredFeatures[4]: Invalid value: "{"B" * 254}": invalid feature name "{"B" * 254}":'
        " must be no more than 253 characters",
    ]


def test_old_fields_warn() -> None:
    assert create(node(externalID="x")).warnings == [
        "spec.externalID: this field is deprecated, and is unused by Kubernetes"
    ]


def test_the_table_tells_roles_readiness_and_versions() -> None:
    status = {
        "conditions": [{"type": "Ready", "status": "False"}],
        "addresses": [{"type": "ExternalIP", "address": "192.0.2.2"}],
        "nodeInfo": {"kubeletVersion": "v9", "kernelVersion": "6.0", "architecture": "amd64"},
    }
    labels = {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "db"}
    cells = row(created(node(metadata={"labels": labels}, status=status, unschedulable=True)))
    assert cells["Status"] == "NotReady,SchedulingDisabled"
    assert cells["Roles"] == "db,worker"
    assert (cells["Version"], cells["Internal-IP"], cells["External-IP"]) == ("v9", "<none>", "192.0.2.2")
    assert (cells["Kernel-Version"], cells["OS-Image"]) == ("6.0 (amd64)", "<unknown>")
    status["nodeInfo"] = {"architecture": "amd64"}
    assert row(created(node(status=status)))["Kernel-Version"] == "<unknown> (amd64)"
    bare = row(created(node()))
    assert (bare["Status"], bare["Roles"], bare["Kernel-Version"]) == ("Unknown", "<none>", "<unknown>")


def test_nodes_are_selected_by_whether_they_take_pods() -> None:
    behavior = BEHAVIORS.of(GroupKind("", "Node"))
    assert behavior.selectable_fields is not None
    assert behavior.selectable_fields(node()) == {"spec.unschedulable": "false"}
    assert behavior.selectable_fields(node(unschedulable=True)) == {"spec.unschedulable": "true"}
