"""DaemonSets.

How often the template has changed is told by an annotation, since the field that told it has gone from the API.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from watchkeeper.apis import printing, workloads
from watchkeeper.apis.apps.numbers import settle_number
from watchkeeper.apis.apps.rollout import STRATEGY_FORM, validate_rolling_daemon_set
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.apis.core.pod_defaults import default_pod_template
from watchkeeper.apis.core.pod_features import spec_of_template, without_disabled_fields
from watchkeeper.apis.core.pod_options import PodOptions
from watchkeeper.apis.core.pod_template_validation import template_options, validate_template
from watchkeeper.apis.core.pod_warnings import warnings_for_template
from watchkeeper.apis.validation.internal_form import internal_form
from watchkeeper.apis.validation.metadata import validate_immutable
from watchkeeper.apis.validation.numbers import validate_nonnegative
from watchkeeper.apis.validation.selectors import is_empty_selector, selector_matches, validate_label_selector
from watchkeeper.meta.field import FieldError, invalid, not_supported, required
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind

Object = dict[str, Any]

_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
_COUNTS = (
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
    "observedGeneration",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberUnavailable",
    "collisionCount",
)
_SHOWN_COUNTS = (
    "desiredNumberScheduled",
    "currentNumberScheduled",
    "numberReady",
    "updatedNumberScheduled",
    "numberAvailable",
)


def default_daemon_set(daemon_set: Object) -> None:
    """Fill in a DaemonSet: replaced one pod at a time."""
    spec = daemon_set.setdefault("spec", {})
    strategy = spec.setdefault("updateStrategy", {})
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
    elif "rollingUpdate" in strategy:  # unused, and written as what the reference's own type holds then
        strategy["rollingUpdate"] = {"maxUnavailable": 0, "maxSurge": 0, **strategy["rollingUpdate"]}
    spec.setdefault("revisionHistoryLimit", 10)
    default_pod_template(spec.setdefault("template", {}))
    # Whoever sends none sets it to 0, and is recorded as its owner, whatever becomes of it.
    meta = daemon_set.setdefault("metadata", {})
    annotations = meta.get("annotations") or {}
    if _TEMPLATE_GENERATION in annotations:
        settle_number(daemon_set, _TEMPLATE_GENERATION)
    else:
        meta["annotations"] = {**annotations, _TEMPLATE_GENERATION: "0"}


def _spec_errors(spec: Mapping[str, Any], options: PodOptions) -> list[FieldError]:
    selector, template = spec.get("selector"), spec.get("template") or {}
    allow = options.allow_invalid_selector_values
    errors = validate_label_selector(selector, "spec.selector", allow_invalid_values=allow)
    labels = (template.get("metadata") or {}).get("labels")
    if workloads.is_usable_selector(selector) and not selector_matches(selector, labels or {}):
        errors.append(workloads.mismatch(labels, "spec.template"))
    if selector is not None and is_empty_selector(selector):
        errors.append(invalid("spec.selector", dict(selector), "empty selector is invalid for daemonset"))
    errors += validate_template(template, "spec.template", options)
    errors += workloads.validate_always_restarting(template, "spec.template", "DaemonSet")
    errors += validate_nonnegative(spec.get("minReadySeconds"), "spec.minReadySeconds")
    errors += _strategy_errors(spec.get("updateStrategy") or {})
    return errors + workloads.validate_history_limit(spec, "spec")


def _strategy_errors(strategy: Mapping[str, Any]) -> list[FieldError]:
    path = "spec.updateStrategy"
    kind = strategy.get("type")
    if kind == "OnDelete":
        return []
    if kind == "RollingUpdate":
        rolling = strategy.get("rollingUpdate")
        if rolling is None:
            return [required(f"{path}.rollingUpdate")]
        return validate_rolling_daemon_set(rolling, f"{path}.rollingUpdate")
    return [not_supported(path, internal_form(strategy, STRATEGY_FORM), ("RollingUpdate", "OnDelete"))]


def _validate(daemon_set: Object) -> list[FieldError]:
    return _spec_errors(daemon_set.get("spec") or {}, template_options(None))


def _validate_update(new: Object, old: Object) -> list[FieldError]:
    spec, old_spec = new.get("spec") or {}, old.get("spec") or {}
    errors = validate_immutable(spec.get("selector"), old_spec.get("selector"), "spec.selector")
    return errors + _spec_errors(spec, template_options(old_spec.get("template") or {}))


def _validate_status_update(new: Object, old: Object) -> list[FieldError]:
    errors = workloads.validate_counts(new.get("status") or {}, _COUNTS, "status")
    return errors + workloads.validate_collision_count(new, old)


def _show_template_generation(obj: Object) -> None:
    obj["metadata"]["annotations"] = {_TEMPLATE_GENERATION: "0", **obj["metadata"].get("annotations", {})}


def _template_generation(obj: Object) -> int:
    text = (obj["metadata"].get("annotations") or {}).get(_TEMPLATE_GENERATION, "")
    return int(text) if re.fullmatch(r"-?[0-9]+", text) else 0


def _prepare_for_create(daemon_set: Object) -> None:
    daemon_set["status"] = {
        "currentNumberScheduled": 0,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 0,
        "numberReady": 0,
    }
    annotations = daemon_set["metadata"].setdefault("annotations", {})
    annotations[_TEMPLATE_GENERATION] = str(max(_template_generation(daemon_set), 1))


def _prepare_for_update(new: Object, old: Object) -> None:
    generation = _template_generation(old)
    if not workloads.same_template(new, old):
        generation += 1
    new["metadata"].setdefault("annotations", {})[_TEMPLATE_GENERATION] = str(generation)


def _prepare_for_status_update(new: Object, old: Object) -> None:
    """The generation of the template belongs to the spec, which status writers leave alone."""
    new["metadata"].setdefault("annotations", {})[_TEMPLATE_GENERATION] = str(_template_generation(old))


def _warnings_on_update(new: Object, old: Object) -> list[str]:
    if workloads.same_template(new, old):
        return []
    return warnings_for_template(workloads.template_of(new), "spec.template")


def _cells(daemon_set: Object, now: float) -> list[Any]:
    spec, status = daemon_set.get("spec") or {}, daemon_set.get("status") or {}
    node_selector = (workloads.template_of(daemon_set).get("spec") or {}).get("nodeSelector")
    return [
        printing.name_of(daemon_set),
        *(status.get(field) or 0 for field in _SHOWN_COUNTS),
        printing.format_labels(node_selector),
        printing.age(daemon_set, now),
        *workloads.container_cells(daemon_set),
        printing.format_label_selector(spec.get("selector")),
    ]


_TABLE = TableSpec(
    columns=(
        printing.NAME,
        Column("Desired", "integer", "How many nodes should run the pod."),
        Column("Current", "integer", "How many of those nodes run the pod."),
        Column("Ready", "integer", "How many of the pods are ready."),
        Column("Up-to-date", "integer", "How many of the pods run the current template."),
        Column("Available", "integer", "How many of the pods have been ready long enough."),
        Column("Node Selector", "string", "The labels of nodes that run the pod."),
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
            kind=GroupKind("apps", "DaemonSet"),
            fill_blank=_show_template_generation,
            prepare_for_create=_prepare_for_create,
            prepare_for_update=_prepare_for_update,
            validate=_validate,
            validate_update=_validate_update,
            validate_status_update=_validate_status_update,
            prepare_for_status_update=_prepare_for_status_update,
            warnings_on_create=lambda obj: warnings_for_template(workloads.template_of(obj), "spec.template"),
            warnings_on_update=_warnings_on_update,
            has_generation=True,
            annotations_of_fields=(_TEMPLATE_GENERATION,),
            table=_TABLE,
        ),
        spec_of_template,
    )
]
DEFAULTS = {GroupVersionKind("apps", "v1", "DaemonSet"): default_daemon_set}
