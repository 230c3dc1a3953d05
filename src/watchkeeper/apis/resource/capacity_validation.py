"""The rules of what a device has, and of the portions in which it may be asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from watchkeeper.apis.quantities import add, compare, whole_value
from watchkeeper.apis.resource.lists import validate_set
from watchkeeper.meta.field import FieldError, forbidden, invalid, required

Object = Mapping[str, Any]

_MAX_OPTIONS = 10


def validate_capacity(capacity: Object, path: str, *, shared: bool) -> list[FieldError]:
    """A capacity; only devices that can be allocated several times say how much one may ask for."""
    policy, at = capacity.get("requestPolicy"), f"{path}.requestPolicy"
    if policy is None:
        return []
    if not shared:
        return [forbidden(at, "allowMultipleAllocations must be true")]
    values, span = policy.get("validValues") or (), policy.get("validRange")
    if values and span is not None:
        text = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'
        return [forbidden(at, text)]
    if not values and span is None:
        return []
    default, total = policy.get("default"), capacity.get("value") or "0"
    name = "validValues" if values else "validRange"
    if default is None:
        return [required(f"{at}.default", f"required when {name} is defined")]
    if values:
        return _values(values, default, total, f"{at}.{name}")
    return _range(span or {}, default, total, f"{at}.{name}")


def _values(values: Sequence[str], default: str, total: str, path: str) -> list[FieldError]:
    errors = [
        invalid(f"{path}[{i}]", value, "values must be sorted in ascending order")
        for i, value in enumerate(values)
        if i and compare(values[i - 1], value) > 0
    ]

    def rule(value: str, at: str) -> list[FieldError]:
        if compare(value, total) <= 0:
            return []
        return [invalid(at, value, f"option is larger than capacity value: {total}")]

    errors += validate_set(values, _MAX_OPTIONS, rule, lambda value: str(whole_value(value)), path)
    if len(values) > _MAX_OPTIONS or all(compare(value, default) for value in values):
        errors.append(invalid(path, default, "default value is not valid according to the requestPolicy"))
    return errors


def _range(span: Object, default: str, total: str, path: str) -> list[FieldError]:
    low, high, step = span.get("min"), span.get("max"), span.get("step")
    if low is None:
        return [required(f"{path}.min", "required when validRange is defined")]
    errors: list[FieldError] = []
    if compare(low, total) > 0:
        errors.append(invalid(f"{path}.min", low, f"min is larger than capacity value: {total}"))
    if compare(default, low) < 0:
        errors.append(invalid(f"{path}.min", default, f"default is less than min: {low}"))
    if high is not None:
        if compare(low, high) > 0:
            errors.append(invalid(f"{path}.max", low, f"min is larger than max: {high}"))
        if compare(high, total) > 0:
            errors.append(invalid(f"{path}.max", high, f"max is larger than capacity value: {total}"))
        if compare(default, high) > 0:
            errors.append(invalid(f"{path}.max", default, f"default is more than max: {high}"))
    if step is None:
        return errors
    one = add(low, step)
    if compare(one, total) > 0:
        text = f"one step {one} is larger than capacity value: {total}"
        errors.append(invalid(f"{path}.step", step, text))
    for value in (default, high):
        if value is not None and whole_value(step) and (whole_value(value) - whole_value(low)) % whole_value(step):
            text = f"value is not a multiple of a given step ({step}) from ({low})"
            errors.append(invalid(f"{path}.step", value, text))
    return errors
