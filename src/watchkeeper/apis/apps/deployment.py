"""Deployments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchkeeper.apis import printing, workloads
from watchkeeper.apis.annotations import drop_annotations
from watchkeeper.apis.apps.numbers import settle_number
from watchkeeper.apis.apps.rollback import ROLLBACK_TO, rollback_target, validate_rollback_target
from watchkeeper.apis.apps.rollout import STRATEGY_FORM, validate_rolling_deployment
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.apis.core.pod_defaults import default_pod_template
from watchkeeper.apis.core.pod_features import spec_of_template, without_disabled_fields
from watchkeeper.apis.core.pod_options import PodOptions
from watchkeeper.apis.core.pod_template_validation import template_options
from watchkeeper.apis.semantic import same
from watchkeeper.apis.validation.internal_form import internal_form
from watchkeeper.apis.validation.metadata import validate_immutable
from watchkeeper.apis.validation.numbers import validate_nonnegative
from watchkeeper.meta.field import FieldError, forbidden, invalid, not_supported
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind

Object = dict[str, Any]

_STRATEGIES = ("Recreate", "RollingUpdate")
_COUNTS = (
    "observedGeneration",
    "replicas",
    "updatedReplicas",
    "readyReplicas",
    "availableReplicas",
    "unavailableReplicas",
    "collisionCount",
    "terminatingReplicas",
)


def default_deployment(deployment: Object) -> None:
    """Fill in a Deployment: one replica, rolled out by a quarter at a time."""
    spec = deployment.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    strategy = spec.setdefault("strategy", {})
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)
    default_pod_template(spec.setdefault("template", {}))
    annotations = (deployment.get("metadata") or {}).get("annotations") or {}
    if annotations.get(ROLLBACK_TO):
        settle_number(
            deployment, ROLLBACK_TO, f"failed to parse annotation[{ROLLBACK_TO}]={{text}} as int64: {{error}}"
        )
    else:
        drop_annotations(deployment, {ROLLBACK_TO})


def _spec_errors(deployment: Object, options: PodOptions) -> list[FieldError]:
    spec = deployment.get("spec") or {}
    errors = validate_nonnegative(spec.get("replicas"), "spec.replicas")
    errors += workloads.validate_replica_spec(spec, options)
    errors += _strategy_errors(spec.get("strategy") or {})
    errors += validate_nonnegative(spec.get("minReadySeconds"), "spec.minReadySeconds")
    errors += workloads.validate_history_limit(spec, "spec")
    errors += validate_rollback_target(rollback_target(deployment), "spec.rollback")
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None:
        errors += validate_nonnegative(deadline, "spec.progressDeadlineSeconds")
        if deadline <= (spec.get("minReadySeconds") or 0):
            text = "must be greater than minReadySeconds"
            errors.append(invalid("spec.progressDeadlineSeconds", deadline, text))
    return errors


def _strategy_errors(strategy: Mapping[str, Any]) -> list[FieldError]:
    path = "spec.strategy"
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind == "Recreate":
        if rolling is None:
            return []
        return [forbidden(f"{path}.rollingUpdate", "may not be specified when strategy `type` is 'Recreate'")]
    if kind == "RollingUpdate":
        return validate_rolling_deployment(rolling or {}, f"{path}.rollingUpdate")
    return [not_supported(path, internal_form(strategy, STRATEGY_FORM), _STRATEGIES)]


def _validate(deployment: Object) -> list[FieldError]:
    return _spec_errors(deployment, template_options(None))


def _validate_update(new: Object, old: Object) -> list[FieldError]:
    spec, old_spec = new.get("spec") or {}, old.get("spec") or {}
    errors = _spec_errors(new, template_options(old_spec.get("template") or {}))
    return errors + validate_immutable(spec.get("selector"), old_spec.get("selector"), "spec.selector")


def _validate_status_update(new: Object, old: Object) -> list[FieldError]:
    status = new.get("status") or {}
    errors = workloads.validate_counts(status, _COUNTS, "status")
    fields = ("updatedReplicas", "readyReplicas", "availableReplicas")
    errors += workloads.validate_replica_counts(status, fields, "status")
    return errors + workloads.validate_collision_count(new, old)


def _prepare_for_create(deployment: Object) -> None:
    deployment["status"] = {}


def _prepare_for_update(new: Object, old: Object) -> None:
    """Generation also counts changes of annotations, which rollbacks used to come by."""
    meta, before = new["metadata"], old["metadata"]
    if (meta.get("annotations") or {}) == (before.get("annotations") or {}):
        return
    if same(new.get("spec"), old.get("spec"), "apps.v1.DeploymentSpec"):
        meta["generation"] = (before.get("generation") or 0) + 1


def _prepare_for_status_update(new: Object, old: Object) -> None:
    """Status writers do not change labels."""
    if old["metadata"].get("labels"):
        new["metadata"]["labels"] = old["metadata"]["labels"]
    else:
        new["metadata"].pop("labels", None)


def _cells(deployment: Object, now: float) -> list[Any]:
    spec, status = deployment.get("spec") or {}, deployment.get("status") or {}
    try:
        selector = printing.selector_text(spec.get("selector"))
    except ValueError:
        selector = "<invalid>"
    return [
        printing.name_of(deployment),
        f"{status.get('readyReplicas') or 0}/{spec.get('replicas') or 0}",
        status.get("updatedReplicas") or 0,
        status.get("availableReplicas") or 0,
        printing.age(deployment, now),
        *workloads.container_cells(deployment),
        selector,
    ]


_TABLE = TableSpec(
    columns=(
        printing.NAME,
        Column("Ready", "string", "Number of the pod with ready state"),
        Column("Up-to-date", "string", "How many pods run the current template."),
        Column("Available", "string", "How many pods have been ready long enough."),
        printing.AGE,
        printing.CONTAINERS,
        printing.IMAGES,
        printing.SELECTOR,
    ),
    cells=_cells,
)

BEHAVIORS = [
    without_disabled_fields(
        KindBehavior(
            kind=GroupKind("apps", "Deployment"),
            fill_blank=workloads.show_no_replicas,
            prepare_for_create=_prepare_for_create,
            prepare_for_update=_prepare_for_update,
            prepare_for_status_update=_prepare_for_status_update,
            validate=_validate,
            validate_update=_validate_update,
            validate_status_update=_validate_status_update,
            warnings_on_create=workloads.replica_warnings_on_create,
            warnings_on_update=workloads.replica_warnings_on_update,
            has_generation=True,
            annotations_of_fields=(ROLLBACK_TO,),
            table=_TABLE,
        ),
        spec_of_template,
    )
]
DEFAULTS = {GroupVersionKind("apps", "v1", "Deployment"): default_deployment}
