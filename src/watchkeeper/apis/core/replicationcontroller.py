"""ReplicationControllers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchkeeper.apis import printing, workloads
from watchkeeper.apis.apps.replicaset import LIMITED_COUNTS, STATUS_COUNTS, replica_cells, replica_columns
from watchkeeper.apis.behavior import KindBehavior, TableSpec
from watchkeeper.apis.core.pod_defaults import default_pod_template
from watchkeeper.apis.core.pod_features import spec_of_template, without_disabled_fields
from watchkeeper.apis.core.pod_options import PodOptions
from watchkeeper.apis.core.pod_template_validation import template_options, validate_template
from watchkeeper.apis.core.pod_warnings import warnings_for_template
from watchkeeper.apis.validation.names import name_is_long_name
from watchkeeper.apis.validation.numbers import validate_nonnegative
from watchkeeper.meta.field import FieldError, required
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind

Object = dict[str, Any]


def default_replication_controller(controller: Object) -> None:
    """Fill in a ReplicationController: its selector and its own labels are those of its template."""
    spec = controller.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    template = spec.get("template")
    if template is None:
        return
    labels = (template.get("metadata") or {}).get("labels")
    if labels and not spec.get("selector"):
        spec["selector"] = dict(labels)
    controller.setdefault("metadata", {})
    workloads.default_labels(controller)
    default_pod_template(template)


def _spec_errors(spec: Mapping[str, Any], options: PodOptions) -> list[FieldError]:
    errors = validate_nonnegative(spec.get("minReadySeconds"), "spec.minReadySeconds")
    selector: Mapping[str, str] = spec.get("selector") or {}
    if not selector:
        errors.append(required("spec.selector"))
    if spec.get("replicas") is None:
        errors.append(required("spec.replicas"))
    else:
        errors += validate_nonnegative(spec["replicas"], "spec.replicas")
    template = spec.get("template")
    if template is None:
        return [*errors, required("spec.template")]
    labels = (template.get("metadata") or {}).get("labels")
    if any((labels or {}).get(key) != value for key, value in selector.items()):
        errors.append(workloads.mismatch(labels, "spec.template"))
    errors += validate_template(template, "spec.template", options)
    return errors + workloads.validate_always_restarting(template, "spec.template", "ReplicationController")


def _validate(controller: Object) -> list[FieldError]:
    return _spec_errors(controller.get("spec") or {}, template_options(None))


def _validate_update(new: Object, old: Object) -> list[FieldError]:
    old_template = (old.get("spec") or {}).get("template") or {}
    return _spec_errors(new.get("spec") or {}, template_options(old_template))


def _validate_status_update(new: Object, _old: Object) -> list[FieldError]:
    status = new.get("status") or {}
    errors = workloads.validate_counts(status, STATUS_COUNTS, "status")
    return errors + workloads.validate_replica_counts(status, LIMITED_COUNTS, "status")


def _prepare_for_create(controller: Object) -> None:
    controller["status"] = {"replicas": 0}


def _warnings_on_create(controller: Object) -> list[str]:
    return workloads.warnings_for_name(controller) + _template_warnings(controller)


def _template_warnings(controller: Object) -> list[str]:
    return warnings_for_template(workloads.template_of(controller), "spec.template")


def _warnings_on_update(new: Object, old: Object) -> list[str]:
    """As the reference, which takes the old template for the new one here."""
    if new["metadata"].get("generation") == old["metadata"].get("generation"):
        return []
    return _template_warnings(old)


def _cells(controller: Object, now: float) -> list[Any]:
    selector = (controller.get("spec") or {}).get("selector")
    return replica_cells(controller, now, printing.format_labels(selector))


BEHAVIORS = [
    without_disabled_fields(
        KindBehavior(
            kind=GroupKind("", "ReplicationController"),
            prepare_for_create=_prepare_for_create,
            prepare_for_status_update=lambda new, _old: workloads.default_labels(new),
            name_rule=name_is_long_name,
            validate=_validate,
            validate_update=_validate_update,
            validate_status_update=_validate_status_update,
            warnings_on_create=_warnings_on_create,
            warnings_on_update=_warnings_on_update,
            selectable_fields=lambda obj: {"status.replicas": str((obj.get("status") or {}).get("replicas") or 0)},
            selectable_labels=("status.replicas",),
            unsupported_field_label=workloads.unknown_field_label,
            has_generation=True,
            default_propagation="Orphan",
            table=TableSpec(columns=replica_columns("controller"), cells=_cells),
        ),
        spec_of_template,
    )
]
DEFAULTS = {GroupVersionKind("", "v1", "ReplicationController"): default_replication_controller}
