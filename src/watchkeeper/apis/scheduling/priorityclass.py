"""PriorityClasses: their behavior in the generic registry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchkeeper.apis import printing
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.apis.validation.enums import validate_enum
from watchkeeper.apis.validation.metadata import validate_immutable
from watchkeeper.meta.field import FieldError, forbidden
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind

Object = dict[str, Any]

_SYSTEM_PREFIX = "system-"
_SYSTEM_CLASSES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_MAX_VALUE = 1_000_000_000
"""The highest priority that users may give."""
_POLICIES = ("PreemptLowerPriority", "Never")


def default_priority_class(priority_class: Object) -> None:
    """Pods of a class preempt others unless it says otherwise."""
    if priority_class.get("preemptionPolicy") is None:
        priority_class["preemptionPolicy"] = "PreemptLowerPriority"


def _unknown_system_class(priority_class: Mapping[str, Any], name: str) -> str:
    """Why a class is none of the system's own."""
    known = _SYSTEM_CLASSES.get(name)
    if known is None:
        return f"{name} is not a known system priority class"
    if (priority_class.get("value") or 0) != known:
        return f"value of {name} PriorityClass must be {known}"
    if priority_class.get("globalDefault"):
        return f"globalDefault of {name} PriorityClass must be false"
    return ""


def _validate(priority_class: Object) -> list[FieldError]:
    name = priority_class["metadata"].get("name") or ""
    errors: list[FieldError] = []
    if name.startswith(_SYSTEM_PREFIX):
        wrong = _unknown_system_class(priority_class, name)
        if wrong:
            text = f"priority class names with '{_SYSTEM_PREFIX}' prefix are reserved for system use only"
            errors.append(forbidden("metadata.name", f"{text}. error: {wrong}"))
    elif (priority_class.get("value") or 0) > _MAX_VALUE:
        text = f"maximum allowed value of a user defined priority is {_MAX_VALUE}"
        errors.append(forbidden("value", text))
    if priority_class.get("preemptionPolicy") is not None:
        errors += validate_enum(priority_class["preemptionPolicy"], "preemptionPolicy", _POLICIES)
    return errors


def _validate_update(new: Object, old: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    if (new.get("value") or 0) != (old.get("value") or 0):
        errors.append(forbidden("value", "may not be changed in an update."))
    return errors + validate_immutable(new.get("preemptionPolicy"), old.get("preemptionPolicy"), "preemptionPolicy")


def _delete_refusal(name: str) -> str:
    """Why a class is not deleted by name: the system's own are not."""
    return "this is a system priority class and cannot be deleted" if name in _SYSTEM_CLASSES else ""


def _prepare_for_create(priority_class: Object) -> None:
    """A class has a generation although it never changes."""
    priority_class["metadata"]["generation"] = 1


def _cells(priority_class: Object, now: float) -> list[Any]:
    return [
        printing.name_of(priority_class),
        priority_class.get("value") or 0,
        bool(priority_class.get("globalDefault")),
        printing.age(priority_class, now),
        priority_class.get("preemptionPolicy") or "",
    ]


_TABLE = TableSpec(
    columns=(
        printing.NAME,
        Column("Value", "integer", "The priority of the class' pods."),
        Column("Global-Default", "boolean", "Whether pods that name no class are of this one."),
        printing.AGE,
        Column("PreemptionPolicy", "string", "Whether the class' pods may displace others."),
    ),
    cells=_cells,
)

BEHAVIORS = [
    KindBehavior(
        kind=GroupKind("scheduling.k8s.io", "PriorityClass"),
        prepare_for_create=_prepare_for_create,
        validate=_validate,
        validate_update=_validate_update,
        extra={"delete_refusal": _delete_refusal},
        table=_TABLE,
    )
]
DEFAULTS = {GroupVersionKind("scheduling.k8s.io", "v1", "PriorityClass"): default_priority_class}
