"""Scales: how many replicas a workload has and should have, as autoscaling/v1 tells it for each kind that scales."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from watchkeeper.apis import printing
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.apis.validation.metadata import validate_builtin_object_meta
from watchkeeper.apis.validation.names import name_is_dns_subdomain
from watchkeeper.apis.validation.numbers import validate_nonnegative
from watchkeeper.meta.field import FieldError
from watchkeeper.meta.gvk import GroupKind

Object = dict[str, Any]

SCALE = GroupKind("autoscaling", "Scale")
"""Under this kind an invalid Scale is refused, whatever it scales."""
_METADATA = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def _labels_text(spec: Mapping[str, Any]) -> str:
    return printing.format_labels(spec.get("selector")) if spec.get("selector") else ""


def _selector_text(spec: Mapping[str, Any]) -> str:
    return printing.selector_text(spec.get("selector"))


_SELECTORS: Mapping[GroupKind, Callable[[Mapping[str, Any]], str]] = {
    GroupKind("apps", "Deployment"): _selector_text,
    GroupKind("apps", "ReplicaSet"): _selector_text,
    GroupKind("apps", "StatefulSet"): _selector_text,
    GroupKind("", "ReplicationController"): _labels_text,
}


def scalable_kinds() -> frozenset[GroupKind]:
    """The built-in kinds with a scale."""
    return frozenset(_SELECTORS)


def scale_of(kind: GroupKind, obj: Mapping[str, Any]) -> Object:
    """The Scale of an object at its hub version. Raises ValueError when its selector cannot be understood."""
    spec, meta = obj.get("spec") or {}, obj["metadata"]
    replicas = spec.get("replicas") or 0
    status: Object = {"replicas": (obj.get("status") or {}).get("replicas") or 0}
    selector = _SELECTORS[kind](spec)
    if selector:
        status["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {field: meta[field] for field in _METADATA if field in meta},
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


def validate_scale(scale: Mapping[str, Any]) -> list[FieldError]:
    """What is wrong with a Scale that somebody sent."""
    meta = scale.get("metadata") or {}
    errors = validate_builtin_object_meta(meta, namespaced=True, name_rule=name_is_dns_subdomain)
    return errors + validate_nonnegative((scale.get("spec") or {}).get("replicas"), "spec.replicas")


def set_scale(obj: Object, scale: Mapping[str, Any]) -> None:
    """Make an object, in place, what a valid Scale asks for: so many replicas, provided it is still that version."""
    obj["spec"] = {**(obj.get("spec") or {}), "replicas": (scale.get("spec") or {}).get("replicas") or 0}
    version = (scale.get("metadata") or {}).get("resourceVersion")
    meta = dict(obj["metadata"])
    if version:
        meta["resourceVersion"] = version
    else:
        meta.pop("resourceVersion", None)
    obj["metadata"] = meta


def _cells(scale: Object, now: float) -> list[Any]:
    replicas = [(scale.get(part) or {}).get("replicas") or 0 for part in ("spec", "status")]
    return [scale["metadata"]["name"], *replicas, printing.age(scale, now)]


BEHAVIOR = KindBehavior(
    kind=SCALE,
    table=TableSpec(
        columns=(
            replace(printing.NAME, format=""),
            Column(name="Desired", type="integer", description="How many replicas there should be."),
            Column(name="Available", type="integer", description="How many replicas there are."),
            printing.AGE,
        ),
        cells=_cells,
    ),
)
"""How a Scale is shown, whatever it scales."""
