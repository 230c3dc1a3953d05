"""The rules of HorizontalPodAutoscalers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from watchkeeper.apis.autoscaling.metric_validation import (
    ReferenceOptions,
    validate_metric,
    validate_reference,
    version_error,
)
from watchkeeper.apis.validation.numbers import validate_nonnegative
from watchkeeper.apis.validation.resources import validate_nonnegative_quantity
from watchkeeper.meta.field import FieldError, forbidden, invalid, not_supported, required

Object = Mapping[str, Any]

_MAX_PERIOD = 1800
_MAX_WINDOW = 3600
"""Seconds that a policy looks back, and that recommendations are remembered, at most."""
_SELECT_POLICIES = ("Disabled", "Max", "Min")
_POLICIES = ("Percent", "Pods")
_TARGET = ReferenceOptions()
_ANY_GROUP = ReferenceOptions(allow_empty_group=True)
_ANY = ReferenceOptions(allow_empty_group=True, allow_invalid_version=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """Which rules an update may break, because the old object does."""

    min_replicas: int = 1
    target: ReferenceOptions = _TARGET
    described: ReferenceOptions = _ANY_GROUP


def validate_autoscaler(autoscaler: Object) -> list[FieldError]:
    """What is wrong with a new autoscaler, besides its metadata."""
    spec = autoscaler.get("spec") or {}
    return _spec_errors(spec, _Options(target=_target_options(spec, None)))


def validate_autoscaler_update(new: Object, old: Object) -> list[FieldError]:
    """What is wrong with the new state of an autoscaler."""
    before = old.get("spec") or {}
    described = [
        (m.get("object") or {}).get("describedObject") or {}
        for m in before.get("metrics") or ()
        if m.get("type") == "Object" and m.get("object")
    ]
    spec = new.get("spec") or {}
    options = _Options(
        min_replicas=0 if before.get("minReplicas") == 0 else 1,
        target=_target_options(spec, before),
        described=_ANY if any(version_error(each, _ANY_GROUP) for each in described) else _ANY_GROUP,
    )
    return _spec_errors(spec, options)


def validate_autoscaler_status_update(new: Object, _old: Object) -> list[FieldError]:
    """What is wrong with a new status."""
    status = new.get("status") or {}
    errors = validate_nonnegative(status.get("currentReplicas"), "status.currentReplicas")
    return errors + validate_nonnegative(status.get("desiredReplicas"), "status.desiredReplicas")


def _target_options(spec: Object, before: Object | None) -> ReferenceOptions:
    """What the target may look like: as before, or in a group, which alone ReplicationControllers are not."""
    target = spec.get("scaleTargetRef") or {}
    kind, version = target.get("kind") or "", target.get("apiVersion") or ""
    if before is not None:
        old = before.get("scaleTargetRef") or {}
        if (old.get("kind") or "", old.get("apiVersion") or "") == (kind, version):
            return _ANY
    return _ANY_GROUP if kind == "ReplicationController" else _TARGET


def _spec_errors(spec: Object, options: _Options) -> list[FieldError]:
    low, high = spec.get("minReplicas"), spec.get("maxReplicas") or 0
    errors: list[FieldError] = []
    if low is not None and low < options.min_replicas:
        text = f"must be greater than or equal to {options.min_replicas}"
        errors.append(invalid("spec.minReplicas", low, text))
    if high == 0:
        errors.append(required("spec.maxReplicas", "must be set and greater than 0"))
    elif high < 0:
        errors.append(invalid("spec.maxReplicas", high, "must be greater than or equal to 1"))
    if low is not None and high < low:
        errors.append(invalid("spec.maxReplicas", high, "must be greater than or equal to `minReplicas`"))
    errors += validate_reference(spec.get("scaleTargetRef") or {}, "spec.scaleTargetRef", options.target)
    metrics = spec.get("metrics") or ()
    for i, metric in enumerate(metrics):
        errors += validate_metric(metric, f"spec.metrics[{i}]", options.described)
    if low == 0 and not any(metric.get("type") in ("Object", "External") for metric in metrics):
        text = "must specify at least one Object or External metric to support scaling to zero replicas"
        errors.append(forbidden("spec.metrics", text))
    behavior = spec.get("behavior") or {}
    for name in ("scaleUp", "scaleDown"):
        if behavior.get(name) is not None:
            errors += _rules_errors(behavior[name], f"spec.behavior.{name}")
    return errors


def _rules_errors(rules: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    window = rules.get("stabilizationWindowSeconds")
    if window is not None and window < 0:
        text = "must be greater than or equal to zero"
        errors.append(invalid(f"{path}.stabilizationWindowSeconds", window, text))
    if window is not None and window > _MAX_WINDOW:
        text = f"must be less than or equal to {_MAX_WINDOW}"
        errors.append(invalid(f"{path}.stabilizationWindowSeconds", window, text))
    select = rules.get("selectPolicy")
    if select is not None and select not in _SELECT_POLICIES:
        errors.append(not_supported(f"{path}.selectPolicy", select, _SELECT_POLICIES))
    policies = rules.get("policies") or ()
    if not policies:
        errors.append(required(f"{path}.policies", "must specify at least one Policy"))
    for i, policy in enumerate(policies):
        errors += _policy_errors(policy, f"{path}.policies[{i}]")
    if rules.get("tolerance") is not None:
        errors += validate_nonnegative_quantity(rules["tolerance"], f"{path}.tolerance")
    return errors


def _policy_errors(policy: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    kind = policy.get("type") or ""
    if kind not in _POLICIES:
        errors.append(not_supported(f"{path}.type", kind, _POLICIES))
    for name in ("value", "periodSeconds"):
        number = policy.get(name) or 0
        if number <= 0:
            errors.append(invalid(f"{path}.{name}", number, "must be greater than zero"))
    period = policy.get("periodSeconds") or 0
    if period > _MAX_PERIOD:
        errors.append(invalid(f"{path}.periodSeconds", period, f"must be less than or equal to {_MAX_PERIOD}"))
    return errors
