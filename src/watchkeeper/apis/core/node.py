"""Nodes: their behavior in the generic registry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchkeeper.apis import printing
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.apis.core.node_validation import validate_node, validate_node_change, validate_node_update
from watchkeeper.apis.quantities import round_resources
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind

Object = dict[str, Any]

_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE_LABEL = "kubernetes.io/role"


def default_node(node: Object) -> None:
    """Fill in a Node: what it can allocate is what it has, and its blocks of addresses agree with the first.

    Quantities are rounded up to thousandths.
    A `podCIDR` that differs from the first of `podCIDRs` wins: older clients know nothing of the list.
    """
    status = node.get("status")
    if status:
        capacity = status.get("capacity")
        round_resources(capacity)
        round_resources(status.get("allocatable"))
        if capacity and not status.get("allocatable"):
            status["allocatable"] = dict(capacity)
    spec = node.get("spec")
    if not spec:
        return
    block, blocks = spec.get("podCIDR"), spec.get("podCIDRs")
    if block and (not blocks or blocks[0] != block):
        spec["podCIDRs"] = [block]
    elif blocks:
        spec["podCIDR"] = blocks[0]


def _prepare_for_create(node: Object) -> None:
    """A new Node keeps its status: kubelets create themselves with it. Configuration by ConfigMap is gone."""
    (node.get("spec") or {}).pop("configSource", None)
    (node.get("status") or {}).pop("config", None)


def _prepare_for_update(new: Object, old: Object) -> None:
    if (old.get("spec") or {}).get("configSource") is None:
        (new.get("spec") or {}).pop("configSource", None)


def _prepare_for_status_update(new: Object, old: Object) -> None:
    if (old.get("status") or {}).get("config") is None:
        (new.get("status") or {}).pop("config", None)


def _warnings(node: Object) -> list[str]:
    spec = node.get("spec") or {}
    warnings = []
    if spec.get("configSource") is not None:
        warnings.append("spec.configSource: the feature is removed")
    if spec.get("externalID"):
        warnings.append("spec.externalID: this field is deprecated, and is unused by Kubernetes")
    return warnings


def _selectable_fields(node: Object) -> Mapping[str, str]:
    return {"spec.unschedulable": "true" if (node.get("spec") or {}).get("unschedulable") else "false"}


def _status_cell(node: Object) -> str:
    ready = [c for c in (node.get("status") or {}).get("conditions") or () if c.get("type") == "Ready"]
    if not ready:
        text = "Unknown"
    else:
        text = "Ready" if ready[-1].get("status") == "True" else "NotReady"
    return f"{text},SchedulingDisabled" if (node.get("spec") or {}).get("unschedulable") else text


def _roles_cell(node: Object) -> str:
    roles = set()
    for key, value in (node["metadata"].get("labels") or {}).items():
        if key.startswith(_ROLE_PREFIX):
            roles.add(key.removeprefix(_ROLE_PREFIX))
        elif key == _ROLE_LABEL:
            roles.add(value)
    return ",".join(sorted(roles - {""})) or printing.NONE


def _address(status: Mapping[str, Any], kind: str) -> str:
    for address in status.get("addresses") or ():
        if address.get("type") == kind:
            found: str = address.get("address") or ""
            return found
    return printing.NONE


def _cells(node: Object, now: float) -> list[Any]:
    status = node.get("status") or {}
    info = status.get("nodeInfo") or {}
    kernel, architecture = info.get("kernelVersion") or printing.UNKNOWN, info.get("architecture")
    return [
        printing.name_of(node),
        _status_cell(node),
        _roles_cell(node),
        printing.age(node, now),
        info.get("kubeletVersion") or "",
        _address(status, "InternalIP"),
        _address(status, "ExternalIP"),
        info.get("osImage") or printing.UNKNOWN,
        f"{kernel} ({architecture})" if architecture else kernel,
        info.get("containerRuntimeVersion") or printing.UNKNOWN,
    ]


_TABLE = TableSpec(
    columns=(
        printing.NAME,
        Column("Status", "string", "The status of the node"),
        Column("Roles", "string", "The roles of the node"),
        printing.AGE,
        Column("Version", "string", "The version of the kubelet."),
        Column("Internal-IP", "string", "The first address within the cluster.", priority=1),
        Column("External-IP", "string", "The first address outside of the cluster.", priority=1),
        Column("OS-Image", "string", "What the node calls its operating system.", priority=1),
        Column("Kernel-Version", "string", "The version of the kernel, and the architecture.", priority=1),
        Column("Container-Runtime", "string", "The container runtime and its version.", priority=1),
    ),
    cells=_cells,
)

BEHAVIORS = [
    KindBehavior(
        kind=GroupKind("", "Node"),
        prepare_for_create=_prepare_for_create,
        prepare_for_update=_prepare_for_update,
        prepare_for_status_update=_prepare_for_status_update,
        validate=validate_node,
        validate_update=validate_node_update,
        validate_status_update=validate_node_change,
        warnings_on_create=_warnings,
        warnings_on_update=lambda new, _old: _warnings(new),
        selectable_fields=_selectable_fields,
        selectable_labels=("spec.unschedulable",),
        unsupported_field_label=lambda label: f"field label not supported: {label}",
        table=_TABLE,
    )
]
DEFAULTS = {GroupVersionKind("", "v1", "Node"): default_node}
