"""Autoscalers between autoscaling/v1, which knows the CPU alone, and v2, which is stored.

What v1 has no fields for travels in annotations, so that an object read and written back at v1 loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from watchkeeper.apis.autoscaling.metrics_v1 import spec_from_v1, spec_to_v1, status_from_v1, status_to_v1
from watchkeeper.apis.conversion import Conversion, Object
from watchkeeper.apis.schema_data import schema_data
from watchkeeper.meta.field import escape_html
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.runtime.decode import compile_decoder
from watchkeeper.runtime.scheme import DecodeError

_V1 = GroupVersionKind("autoscaling", "v1", "HorizontalPodAutoscaler")
_V2 = GroupVersionKind("autoscaling", "v2", "HorizontalPodAutoscaler")

_PREFIX = "autoscaling.alpha.kubernetes.io/"
_METRICS = _PREFIX + "metrics"
_CURRENT_METRICS = _PREFIX + "current-metrics"
_CONDITIONS = _PREFIX + "conditions"
_BEHAVIOR = _PREFIX + "behavior"
_ROUND_TRIP = (
    _METRICS,
    _CURRENT_METRICS,
    _CONDITIONS,
    _BEHAVIOR,
    _PREFIX + "scale-down-tolerance",
    _PREFIX + "scale-up-tolerance",
)

_DEFAULT_CPU_UTILIZATION = 80
_SHARED_SPEC = ("scaleTargetRef", "minReplicas", "maxReplicas")
_SHARED_STATUS = ("observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas")
_CONDITION = ("type", "status", "lastTransitionTime", "reason", "message")

_BEHAVIOR_FIELDS = ("scaleUp", "scaleDown")
_RULE_FIELDS = ("stabilizationWindowSeconds", "selectPolicy", "policies", "tolerance")
_POLICY_FIELDS = ("type", "value", "periodSeconds")


def hpa_from_v2(hpa: Object) -> Object:
    """The autoscaler as v1 shows it."""
    drop_round_trip_annotations(hpa)
    spec, status = hpa.get("spec", {}), hpa.get("status", {})
    metrics, current = spec.get("metrics") or [], status.get("currentMetrics") or []
    found = {**hpa, "spec": _only(spec, _SHARED_SPEC), "status": _only(status, _SHARED_STATUS)}
    cpu = [m for m in metrics if _is_cpu(m) and "averageUtilization" in m["resource"].get("target", {})]
    others = [spec_to_v1(m) for m in metrics if m not in cpu]
    if cpu:
        found["spec"]["targetCPUUtilizationPercentage"] = cpu[0]["resource"]["target"]["averageUtilization"]
    for metric in current:
        if _is_cpu(metric) and "averageUtilization" in metric["resource"].get("current", {}):
            used = metric["resource"]["current"]["averageUtilization"]
            found["status"]["currentCPUUtilizationPercentage"] = used
    kept: dict[str, Any] = {}
    if others:
        kept[_METRICS] = others
    if current:
        kept[_CURRENT_METRICS] = [status_to_v1(m) for m in current]
    if "behavior" in spec:
        kept[_BEHAVIOR] = _behavior_to_go(spec["behavior"])
    if conditions := status.get("conditions"):
        kept[_CONDITIONS] = [_only({"lastTransitionTime": None, **c}, _CONDITION) for c in conditions]
    if kept:
        annotations = found.setdefault("metadata", {}).setdefault("annotations", {})
        annotations.update((name, _go_json(value)) for name, value in kept.items())
    return found


def hpa_to_v2(hpa: Object) -> Object:
    """The autoscaler that v1 means."""
    annotations = hpa.get("metadata", {}).get("annotations") or {}
    spec, status = hpa.get("spec", {}), hpa.get("status", {})
    new_spec, new_status = _only(spec, _SHARED_SPEC), _only(status, _SHARED_STATUS)
    metrics = _read_list(annotations.get(_METRICS), spec_from_v1, "MetricSpec") or []
    if "targetCPUUtilizationPercentage" in spec:
        metrics.append(_cpu_metric(spec["targetCPUUtilizationPercentage"]))
    new_spec["metrics"] = metrics or [_cpu_metric(_DEFAULT_CPU_UTILIZATION)]
    if behavior := _read_behavior(annotations.get(_BEHAVIOR)):
        new_spec["behavior"] = behavior
    current = _read_list(annotations.get(_CURRENT_METRICS), status_from_v1, "MetricStatus")
    if current is None and "currentCPUUtilizationPercentage" in status:
        used = {"averageUtilization": status["currentCPUUtilizationPercentage"]}
        current = [{"type": "Resource", "resource": {"name": "cpu", "current": used}}]
    if current is not None:
        new_status["currentMetrics"] = current
    conditions = _read_list(
        annotations.get(_CONDITIONS), lambda c: _only(c, _CONDITION), "HorizontalPodAutoscalerCondition"
    )
    if conditions is not None:
        new_status["conditions"] = conditions
    found = {**hpa, "spec": new_spec, "status": new_status}
    drop_round_trip_annotations(found)
    return found


def drop_round_trip_annotations(hpa: Object) -> None:
    """Remove what only a conversion may have put there."""
    metadata = hpa.get("metadata", {})
    annotations = metadata.get("annotations")
    if annotations and any(name in annotations for name in _ROUND_TRIP):
        kept = {name: value for name, value in annotations.items() if name not in _ROUND_TRIP}
        if kept:
            metadata["annotations"] = kept
        else:
            del metadata["annotations"]


def _is_cpu(metric: Object) -> bool:
    return metric.get("type") == "Resource" and metric.get("resource", {}).get("name") == "cpu"


def _cpu_metric(utilization: int) -> Object:
    target = {"type": "Utilization", "averageUtilization": utilization}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def _only(obj: Object, names: tuple[str, ...]) -> Object:
    return {name: obj[name] for name in names if name in obj}


def _read_list(text: str | None, convert: Callable[[Object], Object], definition: str) -> list[Object] | None:
    """An annotation's list, converted to items of a v2 type; None when there is none, or none that can be read."""
    if text is None:
        return None
    try:
        return [_decoded(definition, convert(each)) for each in orjson.loads(text) or ()]
    except (ValueError, TypeError, AttributeError, DecodeError):
        return None


def _decoded(definition: str, obj: Object) -> Object:
    """An object of a v2 type. Raises DecodeError."""
    return compile_decoder(schema_data().definitions[f"io.k8s.api.autoscaling.v2.{definition}"])(obj, None)


def _go_name(name: str) -> str:
    return name[0].upper() + name[1:]


def _to_go(obj: Object, names: tuple[str, ...]) -> Object:
    """With all fields under the names that they have in the reference's own code."""
    return {_go_name(name): obj.get(name) for name in names}


def _behavior_to_go(behavior: Object) -> Object:
    found = _to_go(behavior, _BEHAVIOR_FIELDS)
    for way, rules in found.items():
        if rules is not None:
            found[way] = _to_go(rules, _RULE_FIELDS)
            if (policies := found[way]["Policies"]) is not None:
                found[way]["Policies"] = [_to_go(policy, _POLICY_FIELDS) for policy in policies]
    return found


def _from_go(obj: Object, names: tuple[str, ...]) -> Object:
    by_name = {key.lower(): value for key, value in obj.items()}
    return {name: by_name[name.lower()] for name in names if by_name.get(name.lower()) is not None}


def _read_behavior(text: str | None) -> Object | None:
    try:
        behavior = _from_go(orjson.loads(text or "{}"), _BEHAVIOR_FIELDS)
        for way, rules in behavior.items():
            behavior[way] = read = _from_go(rules, _RULE_FIELDS)
            if "policies" in read:
                read["policies"] = [_from_go(policy, _POLICY_FIELDS) for policy in read["policies"]]
        return _decoded("HorizontalPodAutoscalerBehavior", behavior)
    except (ValueError, TypeError, AttributeError, DecodeError):
        return None


def _go_json(value: Any) -> str:
    """JSON as Go's encoder writes it, safe to embed in HTML."""
    return escape_html(orjson.dumps(value).decode())


CONVERSIONS = {_V1: Conversion(_V2, hpa_to_v2, hpa_from_v2)}
DEFAULTS = {_V2: drop_round_trip_annotations}
