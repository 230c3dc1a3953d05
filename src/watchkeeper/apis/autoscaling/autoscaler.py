"""HorizontalPodAutoscalers: their behavior in the generic registry, at autoscaling/v2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from watchkeeper.apis import printing
from watchkeeper.apis.autoscaling.autoscaler_validation import (
    validate_autoscaler,
    validate_autoscaler_status_update,
    validate_autoscaler_update,
)
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind
from watchkeeper.runtime.with_empties import as_sent

Object = dict[str, Any]

_CPU_SHARE = 80
_PERIOD = 15
_UP_PODS, _UP_PERCENT, _DOWN_PERCENT = 4, 100, 100
_NO_QUANTITY = "<nil>"
"""How Go prints a quantity that is missing."""
_SHOWN = 2
"""Metrics in a cell."""


def default_autoscaler(autoscaler: Object) -> None:
    """Fill in an autoscaler: one replica or more, by the use of the CPU. Behavior is completed where it is given."""
    spec: Object = autoscaler.setdefault("spec", {})
    if spec.get("minReplicas") is None:
        spec["minReplicas"] = 1
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": _CPU_SHARE}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    complete_behavior(autoscaler)


def complete_behavior(autoscaler: Object) -> None:
    """Complete the behavior, if one is given. The annotation of v1 has only what was sent until it is stored."""
    behavior = autoscaler["spec"].get("behavior")
    if behavior is not None:
        behavior["scaleUp"] = _completed(behavior.get("scaleUp"), _up_rules())
        behavior["scaleDown"] = _completed(behavior.get("scaleDown"), _down_rules())


def default_autoscaler_v1(autoscaler: Object) -> None:
    """Fill in an autoscaler at v1, whose metrics are completed when it is converted."""
    spec: Object = autoscaler.setdefault("spec", {})
    if spec.get("minReplicas") is None:
        spec["minReplicas"] = 1


def _policy(kind: str, value: int) -> Object:
    return {"type": kind, "value": value, "periodSeconds": _PERIOD}


def _up_rules() -> Object:
    policies = [_policy("Pods", _UP_PODS), _policy("Percent", _UP_PERCENT)]
    return {"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": policies}


def _down_rules() -> Object:
    return {"selectPolicy": "Max", "policies": [_policy("Percent", _DOWN_PERCENT)]}


def _completed(rules: Mapping[str, Any] | None, defaults: Object) -> Object:
    return {**defaults, **{name: value for name, value in as_sent(rules or {}).items() if value is not None}}


def _prepare_for_create(autoscaler: Object) -> None:
    autoscaler["status"] = {"desiredReplicas": 0, "currentMetrics": None}


def _metrics_cell(metrics: Sequence[Object], current: Sequence[Object]) -> str:
    if not metrics:
        return printing.NONE
    texts = [_metric_text(m, current[i] if i < len(current) else {}) for i, m in enumerate(metrics)]
    shown = ", ".join(texts[:_SHOWN])
    return f"{shown} + {len(texts) - _SHOWN} more..." if len(texts) > _SHOWN else shown


def _metric_text(metric: Object, status: Object) -> str:
    kind = metric.get("type") or ""
    field = kind[:1].lower() + kind[1:]
    source = metric.get(field) or {}
    target = source.get("target") or {}
    found = status.get(field)
    current = (found or {}).get("current") or {}
    average = target.get("averageValue")
    match kind:
        case "External" | "Object":
            if average is not None:
                return f"{current.get('averageValue') or printing.UNKNOWN}/{average} (avg)"
            return f"{_value(found, current, 'value')}/{target.get('value') or _NO_QUANTITY}"
        case "Pods":
            return f"{_value(found, current, 'averageValue')}/{average or _NO_QUANTITY}"
        case "Resource" | "ContainerResource":
            name = source.get("name") or ""
            if average is not None:
                return f"{name}: {_value(found, current, 'averageValue')}/{average}"
            share, wanted = current.get("averageUtilization"), target.get("averageUtilization")
            used = printing.UNKNOWN if share is None else f"{share}%"
            return f"{name}: {used}/{'<auto>' if wanted is None else f'{wanted}%'}"
    return "<unknown type>"


def _value(found: Object | None, current: Object, field: str) -> str:
    """A quantity that was measured, where there is a status of the metric."""
    return printing.UNKNOWN if found is None else current.get(field) or _NO_QUANTITY


def _cells(autoscaler: Object, now: float) -> list[Any]:
    spec, status = autoscaler.get("spec") or {}, autoscaler.get("status") or {}
    target = spec.get("scaleTargetRef") or {}
    low = spec.get("minReplicas")
    return [
        printing.name_of(autoscaler),
        f"{target.get('kind') or ''}/{target.get('name') or ''}",
        _metrics_cell(spec.get("metrics") or (), status.get("currentMetrics") or ()),
        "<unset>" if low is None else str(low),
        spec.get("maxReplicas") or 0,
        status.get("currentReplicas") or 0,
        printing.age(autoscaler, now),
    ]


_TABLE = TableSpec(
    columns=(
        printing.NAME,
        Column("Reference", "string", "What is scaled."),
        Column("Targets", "string", "The metrics that decide, as they are and as they should be."),
        Column("MinPods", "string", "The least number of replicas."),
        Column("MaxPods", "string", "The greatest number of replicas."),
        Column("Replicas", "string", "The number of replicas when the autoscaler last looked."),
        printing.AGE,
    ),
    cells=_cells,
)

BEHAVIORS = [
    KindBehavior(
        kind=GroupKind("autoscaling", "HorizontalPodAutoscaler"),
        prepare_for_create=_prepare_for_create,
        complete_new=complete_behavior,
        validate=validate_autoscaler,
        validate_update=validate_autoscaler_update,
        validate_status_update=validate_autoscaler_status_update,
        table=_TABLE,
    )
]
DEFAULTS = {
    GroupVersionKind("autoscaling", "v2", "HorizontalPodAutoscaler"): default_autoscaler,
    GroupVersionKind("autoscaling", "v1", "HorizontalPodAutoscaler"): default_autoscaler_v1,
}
