"""ReplicaSets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchkeeper.apis import printing, workloads
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.apis.core.pod_defaults import default_pod_template
from watchkeeper.apis.core.pod_features import spec_of_template, without_disabled_fields
from watchkeeper.apis.core.pod_options import PodOptions
from watchkeeper.apis.core.pod_template_validation import template_options
from watchkeeper.apis.validation.metadata import validate_immutable
from watchkeeper.apis.validation.numbers import validate_nonnegative
from watchkeeper.meta.field import FieldError
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind

Object = dict[str, Any]

STATUS_COUNTS = ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration")
_COUNTS = (*STATUS_COUNTS[:-1], "terminatingReplicas", STATUS_COUNTS[-1])
LIMITED_COUNTS = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")


def default_replica_set(replica_set: Object) -> None:
    """Fill in a ReplicaSet: one replica."""
    spec = replica_set.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    default_pod_template(spec.setdefault("template", {}))


def _spec_errors(spec: Mapping[str, Any], options: PodOptions) -> list[FieldError]:
    errors = validate_nonnegative(spec.get("replicas"), "spec.replicas")
    errors += validate_nonnegative(spec.get("minReadySeconds"), "spec.minReadySeconds")
    return errors + workloads.validate_replica_spec(spec, options)


def _validate(replica_set: Object) -> list[FieldError]:
    return _spec_errors(replica_set.get("spec") or {}, template_options(None))


def _validate_update(new: Object, old: Object) -> list[FieldError]:
    spec, old_spec = new.get("spec") or {}, old.get("spec") or {}
    errors = _spec_errors(spec, template_options(old_spec.get("template") or {}))
    return errors + validate_immutable(spec.get("selector"), old_spec.get("selector"), "spec.selector")


def _validate_status_update(new: Object, _old: Object) -> list[FieldError]:
    status = new.get("status") or {}
    errors = workloads.validate_counts(status, _COUNTS, "status")
    return errors + workloads.validate_replica_counts(status, LIMITED_COUNTS, "status")


def _prepare_for_create(replica_set: Object) -> None:
    replica_set["status"] = {"replicas": 0}


def replica_columns(describe: str) -> tuple[Column, ...]:
    """The columns of kinds that keep a number of pods running; `describe` names the kind."""
    return (
        printing.NAME,
        Column("Desired", "integer", f"How many pods the {describe} is to have."),
        Column("Current", "integer", f"How many pods the {describe} has."),
        Column("Ready", "integer", f"How many pods of the {describe} are ready."),
        printing.AGE,
        printing.CONTAINERS,
        printing.IMAGES,
        printing.SELECTOR,
    )


def replica_cells(obj: Object, now: float, selector: str) -> list[Any]:
    """The cells of those columns."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    return [
        printing.name_of(obj),
        spec.get("replicas") or 0,
        status.get("replicas") or 0,
        status.get("readyReplicas") or 0,
        printing.age(obj, now),
        *workloads.container_cells(obj),
        selector,
    ]


def _cells(replica_set: Object, now: float) -> list[Any]:
    selector = (replica_set.get("spec") or {}).get("selector")
    return replica_cells(replica_set, now, printing.format_label_selector(selector))


BEHAVIORS = [
    without_disabled_fields(
        KindBehavior(
            kind=GroupKind("apps", "ReplicaSet"),
            fill_blank=workloads.show_no_replicas,
            prepare_for_create=_prepare_for_create,
            validate=_validate,
            validate_update=_validate_update,
            validate_status_update=_validate_status_update,
            warnings_on_create=workloads.replica_warnings_on_create,
            warnings_on_update=workloads.replica_warnings_on_update,
            has_generation=True,
            table=TableSpec(columns=replica_columns("ReplicaSet"), cells=_cells),
        ),
        spec_of_template,
    )
]
DEFAULTS = {GroupVersionKind("apps", "v1", "ReplicaSet"): default_replica_set}
