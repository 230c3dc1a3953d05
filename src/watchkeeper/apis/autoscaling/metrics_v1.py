"""Metrics as autoscaling/v1 keeps them in annotations, and as autoscaling/v2 has them in fields."""

from __future__ import annotations

from typing import Any, NamedTuple

from watchkeeper.apis.quantities import amount

Object = dict[str, Any]


class _Pair(NamedTuple):
    """A key in the v1 form, and the path of the same value in v2. Required keys have a value when nothing is set."""

    v1: str
    v2: tuple[str, ...]
    unset: str | None = None
    keys: tuple[str, ...] = ()
    """The keys of the value, in the order in which Go writes them; none if it is no struct."""


_REFERENCE, _LABELS = ("kind", "name", "apiVersion"), ("matchLabels", "matchExpressions")
_NAME, _SELECTOR = ("metric", "name"), ("metric", "selector")

_SPEC: dict[str, tuple[_Pair, ...]] = {
    "object": (
        _Pair("target", ("describedObject",), keys=_REFERENCE),
        _Pair("metricName", _NAME, ""),
        _Pair("targetValue", ("target", "value"), "0"),
        _Pair("selector", _SELECTOR, keys=_LABELS),
        _Pair("averageValue", ("target", "averageValue")),
    ),
    "pods": (
        _Pair("metricName", _NAME, ""),
        _Pair("targetAverageValue", ("target", "averageValue"), "0"),
        _Pair("selector", _SELECTOR, keys=_LABELS),
    ),
    "resource": (
        _Pair("name", ("name",), ""),
        _Pair("targetAverageUtilization", ("target", "averageUtilization")),
        _Pair("targetAverageValue", ("target", "averageValue")),
    ),
    "containerResource": (
        _Pair("name", ("name",), ""),
        _Pair("targetAverageUtilization", ("target", "averageUtilization")),
        _Pair("targetAverageValue", ("target", "averageValue")),
        _Pair("container", ("container",), ""),
    ),
    "external": (
        _Pair("metricName", _NAME, ""),
        _Pair("metricSelector", _SELECTOR, keys=_LABELS),
        _Pair("targetValue", ("target", "value")),
        _Pair("targetAverageValue", ("target", "averageValue")),
    ),
}

_STATUS: dict[str, tuple[_Pair, ...]] = {
    "object": (
        _Pair("target", ("describedObject",), keys=_REFERENCE),
        _Pair("metricName", _NAME, ""),
        _Pair("currentValue", ("current", "value"), "0"),
        _Pair("selector", _SELECTOR, keys=_LABELS),
        _Pair("averageValue", ("current", "averageValue")),
    ),
    "pods": (
        _Pair("metricName", _NAME, ""),
        _Pair("currentAverageValue", ("current", "averageValue"), "0"),
        _Pair("selector", _SELECTOR, keys=_LABELS),
    ),
    "resource": (
        _Pair("name", ("name",), ""),
        _Pair("currentAverageUtilization", ("current", "averageUtilization")),
        _Pair("currentAverageValue", ("current", "averageValue"), "0"),
    ),
    "containerResource": (
        _Pair("name", ("name",), ""),
        _Pair("currentAverageUtilization", ("current", "averageUtilization")),
        _Pair("currentAverageValue", ("current", "averageValue"), "0"),
        _Pair("container", ("container",), ""),
    ),
    "external": (
        _Pair("metricName", _NAME, ""),
        _Pair("metricSelector", _SELECTOR, keys=_LABELS),
        _Pair("currentValue", ("current", "value"), "0"),
        _Pair("currentAverageValue", ("current", "averageValue")),
    ),
}


def spec_to_v1(metric: Object) -> Object:
    """A MetricSpec of v2 in the v1 form."""
    return _to_v1(metric, _SPEC)


def status_to_v1(metric: Object) -> Object:
    """A MetricStatus of v2 in the v1 form."""
    return _to_v1(metric, _STATUS)


def spec_from_v1(metric: Object) -> Object:
    """A MetricSpec of v1 in the v2 form, with the type of target that its values imply."""
    found = _from_v1(metric, _SPEC)
    for source, each in found.items():
        if source != "type":
            target = each.setdefault("target", {})
            target["type"] = kind = _target_type(source, target)
            if source == "object" and kind == "AverageValue" and amount(str(target["value"])) == 0:
                del target["value"]  # v1 cannot leave it out
    return found


def status_from_v1(metric: Object) -> Object:
    """A MetricStatus of v1 in the v2 form."""
    return _from_v1(metric, _STATUS)


def _target_type(source: str, target: Object) -> str:
    if source in ("resource", "containerResource"):
        return "Utilization" if "averageUtilization" in target else "AverageValue"
    if source == "object":
        return "AverageValue" if "averageValue" in target else "Value"
    return "Value" if "value" in target else "AverageValue"


def _to_v1(metric: Object, table: dict[str, tuple[_Pair, ...]]) -> Object:
    found: Object = {"type": metric.get("type", "")}
    for source, pairs in table.items():
        if source in metric:
            values = ((pair.v1, _in_order(_at(metric[source], pair.v2, pair.unset), pair.keys)) for pair in pairs)
            found[source] = {key: value for key, value in values if value is not None}
    return found


def _from_v1(metric: Object, table: dict[str, tuple[_Pair, ...]]) -> Object:
    found: Object = {"type": metric.get("type", "")}
    for source, pairs in table.items():
        if metric.get(source) is not None:
            each = found[source] = {}
            for pair in pairs:
                value = metric[source].get(pair.v1)
                value = pair.unset if value is None else value
                if value is not None:
                    _put(each, pair.v2, value)
    return found


def _at(obj: Object, path: tuple[str, ...], unset: str | None) -> Any:
    for name in path:
        if name not in obj:
            return unset
        obj = obj[name]
    return obj


def _in_order(value: Any, keys: tuple[str, ...]) -> Any:
    return {key: value[key] for key in keys if key in value} if keys and isinstance(value, dict) else value


def _put(obj: Object, path: tuple[str, ...], value: Any) -> None:
    for name in path[:-1]:
        obj = obj.setdefault(name, {})
    obj[path[-1]] = value
