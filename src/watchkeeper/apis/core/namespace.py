"""Namespaces."""

from __future__ import annotations

from typing import Any

from watchkeeper.apis import printing
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.apis.validation.metadata import validate_kube_finalizer
from watchkeeper.apis.validation.names import name_is_dns_label
from watchkeeper.meta.field import FieldError, invalid
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind

Object = dict[str, Any]

NAME_LABEL = "kubernetes.io/metadata.name"
FINALIZER = "kubernetes"
PHASES = ("Active", "Terminating")


def default_namespace(obj: Object) -> None:
    """Every namespace carries its own name as a label (KEP-2161)."""
    name = obj.get("metadata", {}).get("name")
    if name:
        meta = obj["metadata"]
        labels = meta.get("labels")
        if not labels:
            meta["labels"] = {NAME_LABEL: name}
        else:
            labels[NAME_LABEL] = name
    status = obj.get("status") or {}
    if not status.get("phase"):
        obj["status"] = {**status, "phase": PHASES[0]}


def _prepare_for_create(obj: Object) -> None:
    """It begins active, with the finalizer of the namespace controller."""
    obj["status"] = {"phase": "Active"}
    spec = obj.setdefault("spec", {})
    finalizers = spec.get("finalizers") or []
    if FINALIZER not in finalizers:
        spec["finalizers"] = [*finalizers, FINALIZER]


def _prepare_for_update(new: Object, old: Object) -> None:
    """Finalizers of the spec change through the finalize subresource only."""
    default_namespace(new)
    new["spec"] = dict(new.get("spec") or {})
    kept = (old.get("spec") or {}).get("finalizers")
    if kept:
        new["spec"]["finalizers"] = kept
    else:
        new["spec"].pop("finalizers", None)


def _finalizers_of(obj: Object) -> list[str]:
    found: list[str] | None = (obj.get("spec") or {}).get("finalizers")
    return found or []


def _finalizer_errors(obj: Object) -> list[FieldError]:
    return [error for name in _finalizers_of(obj) for error in validate_kube_finalizer(name, "spec.finalizers")]


def validate_finalize(new: Object) -> list[FieldError]:
    """What is wrong with the finalizers that the finalize subresource is given."""
    errors: list[FieldError] = []
    for index, name in enumerate(_finalizers_of(new)):
        errors += validate_kube_finalizer(name, f"spec.finalizers[{index}]")
    return errors


def _validate_status_update(new: Object, _old: Object) -> list[FieldError]:
    phase = (new.get("status") or {}).get("phase", "")
    due = new["metadata"].get("deletionTimestamp") is not None
    wanted = "Terminating" if due else "Active"
    if phase != wanted:
        why = f"may only be '{wanted}' if `deletionTimestamp` is {'not ' if due else ''}empty"
        return [invalid("status.Phase", phase, why)]
    return []


def _fields(obj: Object) -> dict[str, str]:
    return {"status.phase": (obj.get("status") or {}).get("phase", "")}


def _cells(obj: Object, now: float) -> list[Any]:
    return [printing.name_of(obj), (obj.get("status") or {}).get("phase", ""), printing.age(obj, now)]


BEHAVIORS = [
    KindBehavior(
        kind=GroupKind("", "Namespace"),
        prepare_for_create=_prepare_for_create,
        prepare_for_update=_prepare_for_update,
        validate=_finalizer_errors,
        validate_status_update=_validate_status_update,
        name_rule=name_is_dns_label,
        selectable_fields=_fields,
        selectable_labels=("status.phase",),
        unsupported_field_label=lambda label: f"field label not supported: {label}",
        table=TableSpec(
            columns=(
                printing.NAME,
                Column("Status", "string", "Where the namespace is in its life."),
                printing.AGE,
            ),
            cells=_cells,
        ),
    )
]
DEFAULTS = {GroupVersionKind("", "v1", "Namespace"): default_namespace}
