"""PodDisruptionBudgets: their behavior in the generic registry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchkeeper.apis import printing
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.apis.validation.conditions import validate_conditions
from watchkeeper.apis.validation.enums import validate_optional_enum
from watchkeeper.apis.validation.internal_form import InternalForm, internal_form
from watchkeeper.apis.validation.numbers import (
    validate_nonnegative,
    validate_nonnegative_int_or_percent,
    validate_not_over_100_percent,
)
from watchkeeper.apis.validation.selectors import has_invalid_values, validate_label_selector
from watchkeeper.meta.field import FieldError, invalid
from watchkeeper.meta.gvk import GroupKind

Object = dict[str, Any]

_COUNTS = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
_POLICIES = ("AlwaysAllow", "IfHealthyBudget")

_SPEC: InternalForm = {
    "minAvailable": ("MinAvailable", None),
    "selector": ("Selector", None),
    "maxUnavailable": ("MaxUnavailable", None),
    "unhealthyPodEvictionPolicy": ("UnhealthyPodEvictionPolicy", None),
}


def _spec_errors(spec: Mapping[str, Any], *, allow_values: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    bounds = ("minAvailable", "maxUnavailable")
    if all(spec.get(name) is not None for name in bounds):
        errors.append(invalid("spec", internal_form(spec, _SPEC), "minAvailable and maxUnavailable cannot be both set"))
    for name in bounds:
        if spec.get(name) is not None:
            errors += validate_nonnegative_int_or_percent(spec[name], f"spec.{name}")
            errors += validate_not_over_100_percent(spec[name], f"spec.{name}")
    errors += validate_label_selector(spec.get("selector"), "spec.selector", allow_invalid_values=allow_values)
    path = "spec.unhealthyPodEvictionPolicy"
    return errors + validate_optional_enum(spec.get("unhealthyPodEvictionPolicy"), path, _POLICIES)


def _validate_update(new: Object, old: Object) -> list[FieldError]:
    allow_values = has_invalid_values((old.get("spec") or {}).get("selector"))
    return _spec_errors(new.get("spec") or {}, allow_values=allow_values)


def _validate_status_update(new: Object, _old: Object) -> list[FieldError]:
    status = new.get("status") or {}
    errors = validate_conditions(status.get("conditions"), "status.conditions")
    for name in _COUNTS:
        errors += validate_nonnegative(status.get(name), f"status.{name}")
    return errors


def _prepare_for_create(budget: Object) -> None:
    budget["status"] = dict.fromkeys(_COUNTS, 0)


def _bound(spec: Mapping[str, Any], name: str) -> str:
    return "N/A" if spec.get(name) is None else str(spec[name])


def _cells(budget: Object, now: float) -> list[Any]:
    spec = budget.get("spec") or {}
    return [
        printing.name_of(budget),
        _bound(spec, "minAvailable"),
        _bound(spec, "maxUnavailable"),
        (budget.get("status") or {}).get("disruptionsAllowed") or 0,
        printing.age(budget, now),
    ]


_TABLE = TableSpec(
    columns=(
        printing.NAME,
        Column("Min Available", "string", "The minimum number of pods that must be available."),
        Column("Max Unavailable", "string", "The maximum number of pods that may be unavailable."),
        Column("Allowed Disruptions", "integer", "Calculated number of pods that may be disrupted at this time."),
        printing.AGE,
    ),
    cells=_cells,
)

BEHAVIORS = [
    KindBehavior(
        kind=GroupKind("policy", "PodDisruptionBudget"),
        prepare_for_create=_prepare_for_create,
        validate=lambda budget: _spec_errors(budget.get("spec") or {}, allow_values=False),
        validate_update=_validate_update,
        validate_status_update=_validate_status_update,
        allow_unconditional_update=False,
        has_generation=True,
        table=_TABLE,
    )
]
