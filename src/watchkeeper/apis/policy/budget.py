"""PodDisruptionBudgets: their behavior in the generic registry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind

Object = dict[str, Any]

OLD_LABEL = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match"
"""No Pod has it: selectors of nothing but this choose none or all of them, which v1beta1 and v1 write in other ways."""
_COUNTS = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
_POLICIES = ("AlwaysAllow", "IfHealthyBudget")

_SPEC: InternalForm = {
    "minAvailable": ("MinAvailable", None),
    "selector": ("Selector", None),
    "maxUnavailable": ("MaxUnavailable", None),
    "unhealthyPodEvictionPolicy": ("UnhealthyPodEvictionPolicy", None),
}


def default_budget(budget: Object) -> None:
    """Keep the label of selectors that choose none or all out of any other."""
    selector = (budget.get("spec") or {}).get("selector") or {}
    requirements = selector.get("matchExpressions") or ()
    kept = [requirement for requirement in requirements if requirement.get("key") != OLD_LABEL]
    if len(kept) == len(requirements) or (not selector.get("matchLabels") and _chooses_none_or_all(requirements)):
        return
    selector = {name: value for name, value in selector.items() if name != "matchExpressions"}
    budget["spec"]["selector"] = {**selector, "matchExpressions": kept} if kept else selector


def _chooses_none_or_all(requirements: Sequence[Mapping[str, Any]]) -> bool:
    only = requirements[0]
    return len(requirements) == 1 and only.get("operator") in ("Exists", "DoesNotExist") and not only.get("values")


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
DEFAULTS = {GroupVersionKind("policy", "v1", "PodDisruptionBudget"): default_budget}
