"""Bindings: a Pod gets its node.

The rules are those of kube-apiserver's binding storage. A wrong binding is a plain error there, not a 422.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchkeeper.apis.core.pod_conditions import set_condition
from watchkeeper.meta.field import FieldError, not_supported, required

Object = dict[str, Any]


class BindingError(Exception):
    """A Pod that cannot be bound as it is; the registry answers with a conflict on `pods/binding`."""


def validate_binding(binding: Mapping[str, Any]) -> list[FieldError]:
    """What is wrong with a Binding; a target without a kind means a Node."""
    target = binding.get("target") or {}
    errors: list[FieldError] = []
    kind = target.get("kind") or ""
    if kind not in ("", "Node"):
        errors.append(not_supported("target.kind", kind, ("Node", "<empty>")))
    if not target.get("name"):
        errors.append(required("target.name"))
    return errors


def bind(pod: Object, binding: Mapping[str, Any], now: str) -> None:
    """Put a Pod on the node that a valid binding names, in place. `now` is a time in RFC 3339.

    Annotations and labels of the binding are added to the Pod's and win over them. Raises BindingError
    for a Pod that is going, has a node or waits for gates.
    """
    meta: Object = pod["metadata"]
    spec: Object = pod["spec"]
    name = meta.get("name")
    if meta.get("deletionTimestamp"):
        raise BindingError(f"pod {name} is being deleted, cannot be assigned to a host")
    if spec.get("nodeName"):
        raise BindingError(f'pod {name} is already assigned to node "{spec["nodeName"]}"')
    if spec.get("schedulingGates"):
        raise BindingError(f"pod {name} has non-empty .spec.schedulingGates")
    spec["nodeName"] = binding["target"]["name"]
    status: Object = pod.setdefault("status", {})
    status.pop("nominatedNodeName", None)
    given = binding.get("metadata") or {}
    for kind in ("annotations", "labels"):
        if given.get(kind):
            meta[kind] = {**(meta.get(kind) or {}), **given[kind]}
    set_condition(status, {"type": "PodScheduled", "status": "True"}, now)
