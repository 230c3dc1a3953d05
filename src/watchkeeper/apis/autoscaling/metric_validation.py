"""The rules of what a HorizontalPodAutoscaler goes by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from watchkeeper.apis.quantities import amount
from watchkeeper.apis.validation.names import is_dns1123_label, is_path_segment_name
from watchkeeper.apis.validation.resources import container_resource_name
from watchkeeper.meta.field import FieldError, JsonText, forbidden, invalid, not_supported, required

Object = Mapping[str, Any]

_TYPES = ("ContainerResource", "External", "Object", "Pods", "Resource")
_FIELDS = {
    "Object": "object",
    "External": "external",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}
"""In the order in which sources are judged; of several, only the first is."""
_TARGETS = ("Utilization", "Value", "AverageValue")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceOptions:
    """What references to other objects may look like."""

    allow_empty_group: bool = False
    allow_invalid_version: bool = False


def version_error(reference: Object, options: ReferenceOptions) -> str:
    """What is wrong with the apiVersion of a reference; "" for nothing."""
    if options.allow_invalid_version:
        return ""
    version = reference.get("apiVersion") or ""
    if version.count("/") > 1:
        return f"unexpected GroupVersion string: {version}"
    if not version.rpartition("/")[0] and not options.allow_empty_group:
        return "apiVersion must specify API group"
    return ""


def validate_reference(reference: Object, path: str, options: ReferenceOptions) -> list[FieldError]:
    """A reference to an object by kind, name and version."""
    errors: list[FieldError] = []
    for field in ("kind", "name"):
        value = reference.get(field)
        if not value:
            errors.append(required(f"{path}.{field}"))
        else:
            errors += [invalid(f"{path}.{field}", value, text) for text in is_path_segment_name(value)]
    wrong = version_error(reference, options)
    if wrong:
        errors.append(invalid(f"{path}.apiVersion", reference.get("apiVersion") or "", wrong))
    return errors


def validate_metric(metric: Object, path: str, options: ReferenceOptions) -> list[FieldError]:
    """A metric, which has one source, that of its type."""
    kind = metric.get("type") or ""
    errors = [] if kind else [required(f"{path}.type", "must specify a metric source type")]
    unknown = not_supported(f"{path}.type", kind, _TYPES)
    if kind not in _FIELDS:
        errors.append(unknown)
    present = [field for field in _FIELDS.values() if metric.get(field) is not None]
    if present:
        first = present[0]
        errors += _SOURCES[first](metric[first], f"{path}.{first}", options)
    expected = _FIELDS.get(kind)
    if expected is None:
        errors.append(unknown)
    elif expected not in present:
        text = "must populate information for the given metric source"
        errors.append(required(f"{path}.{expected}", text))
    if len(present) != 1:
        text = "must populate the given metric source only"
        errors += [forbidden(f"{path}.{field}", text) for field in sorted(present) if field != expected]
    return errors


def _object(source: Object, path: str, options: ReferenceOptions) -> list[FieldError]:
    errors = validate_reference(source.get("describedObject") or {}, f"{path}.describedObject", options)
    errors += _identifier(source.get("metric") or {}, f"{path}.metric")
    target = source.get("target") or {}
    errors += _target(target, f"{path}.target")
    if target.get("value") is None and target.get("averageValue") is None:
        text = "must set either a target value or averageValue"
        errors.append(required(f"{path}.target.averageValue", text))
    return errors


def _external(source: Object, path: str, _options: ReferenceOptions) -> list[FieldError]:
    errors = _identifier(source.get("metric") or {}, f"{path}.metric")
    target = source.get("target") or {}
    errors += _target(target, f"{path}.target")
    has_value, has_average = target.get("value") is not None, target.get("averageValue") is not None
    if not has_value and not has_average:
        text = "must set either a target value for metric or a per-pod target"
        errors.append(required(f"{path}.target.averageValue", text))
    if has_value and has_average:
        text = "may not set both a target value for metric and a per-pod target"
        errors.append(forbidden(f"{path}.target.value", text))
    return errors


def _pods(source: Object, path: str, _options: ReferenceOptions) -> list[FieldError]:
    errors = _identifier(source.get("metric") or {}, f"{path}.metric")
    target = source.get("target") or {}
    errors += _target(target, f"{path}.target")
    if target.get("averageValue") is None:
        text = "must specify a positive target averageValue"
        errors.append(required(f"{path}.target.averageValue", text))
    return errors


def _resource(source: Object, path: str, _options: ReferenceOptions) -> list[FieldError]:
    errors = [] if source.get("name") else [required(f"{path}.name", "must specify a resource name")]
    return errors + _resource_target(source.get("target") or {}, f"{path}.target")


def _container_resource(source: Object, path: str, _options: ReferenceOptions) -> list[FieldError]:
    errors: list[FieldError] = []
    if source.get("name"):
        errors += container_resource_name(source["name"], f"{path}.name")
    else:
        errors.append(required(f"{path}.name", "must specify a resource name"))
    container = source.get("container")
    if container:
        errors += [invalid(f"{path}.container", container, text) for text in is_dns1123_label(container)]
    else:
        errors.append(required(f"{path}.container", "must specify a container"))
    return errors + _resource_target(source.get("target") or {}, f"{path}.target")


def _resource_target(target: Object, path: str) -> list[FieldError]:
    errors = _target(target, path)
    has_share, has_average = target.get("averageUtilization") is not None, target.get("averageValue") is not None
    if not has_share and not has_average:
        text = "must set either a target raw value or a target utilization"
        errors.append(required(f"{path}.averageUtilization", text))
    if has_share and has_average:
        text = "may not set both a target raw value and a target utilization"
        errors.append(forbidden(f"{path}.averageValue", text))
    return errors


def _target(target: Object, path: str) -> list[FieldError]:
    kind = target.get("type") or ""
    errors = [] if kind else [required(f"{path}.type", "must specify a metric target type")]
    if kind not in _TARGETS:
        errors.append(invalid(f"{path}.type", JsonText(kind), "must be either Utilization, Value, or AverageValue"))
    for field in ("value", "averageValue"):
        quantity = target.get(field)
        if quantity is not None and amount(quantity) <= 0:
            errors.append(invalid(f"{path}.{field}", quantity, "must be positive"))
    share = target.get("averageUtilization")
    if share is not None and share < 1:
        errors.append(invalid(f"{path}.averageUtilization", share, "must be greater than 0"))
    return errors


def _identifier(identifier: Object, path: str) -> list[FieldError]:
    name = identifier.get("name")
    if not name:
        return [required(f"{path}.name", "must specify a metric name")]
    return [invalid(f"{path}.name", name, text) for text in is_path_segment_name(name)]


_SOURCES: Mapping[str, Callable[[Object, str, ReferenceOptions], list[FieldError]]] = {
    "object": _object,
    "external": _external,
    "pods": _pods,
    "resource": _resource,
    "containerResource": _container_resource,
}
