"""The rules of LimitRanges."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from watchkeeper.apis.quantities import NANO, amount, compare, milli_value, whole_value
from watchkeeper.apis.validation.names import is_qualified_name
from watchkeeper.apis.validation.resources import (
    container_resource_name_errors,
    is_overcommittable,
    resource_name_errors,
)
from watchkeeper.meta.field import FieldError, JsonText, duplicate, forbidden, invalid, required

Object = dict[str, Any]
Item = Mapping[str, Any]

_TYPES = ("Container", "PersistentVolumeClaim", "Pod")
_OF_ALL = ("max", "min")
_OF_PARTS = ("default", "defaultRequest")
_RATIO = "maxLimitRequestRatio"


def validate_limit_range(limit_range: Object) -> list[FieldError]:
    """What is wrong with a LimitRange."""
    errors: list[FieldError] = []
    seen: set[str] = set()
    for i, item in enumerate((limit_range.get("spec") or {}).get("limits") or ()):
        path, kind = f"spec.limits[{i}]", item.get("type", "")
        errors += _type_errors(kind, f"{path}.type")
        if kind in seen:
            errors.append(duplicate(f"{path}.type", kind))
        seen.add(kind)
        errors += _item_errors(item, kind, path)
    return errors


def _type_errors(kind: str, path: str) -> list[FieldError]:
    wrong = is_qualified_name(kind)
    if wrong:
        return [invalid(path, JsonText(kind), text) for text in wrong]
    if "/" not in kind and kind not in _TYPES:
        return [invalid(path, JsonText(kind), "must be a standard limit type or fully qualified")]
    return []


def _item_errors(item: Item, kind: str, path: str) -> list[FieldError]:
    errors = [e for name in _OF_ALL for e in _names(item, kind, name, path)]
    if kind == "Pod":
        why = "may not be specified when `type` is 'Pod'"
        errors += [forbidden(f"{path}.{name}", why) for name in _OF_PARTS if item.get(name)]
        item = {name: value for name, value in item.items() if name not in _OF_PARTS}
    else:
        errors += [e for name in _OF_PARTS for e in _names(item, kind, name, path)]
    if kind == "PersistentVolumeClaim" and not any("storage" in (item.get(name) or {}) for name in _OF_ALL):
        why = "either minimum or maximum storage value is required, but neither was provided"
        errors.append(required(f"{path}.limits", why))
    errors += _names(item, kind, _RATIO, path)
    resources = {r: None for name in (*_OF_ALL, *_OF_PARTS, _RATIO) for r in item.get(name) or ()}
    for resource in resources:
        errors += _order_errors(item, resource, path)
    return errors


def _names(item: Item, kind: str, name: str, path: str) -> list[FieldError]:
    rule = container_resource_name_errors if kind in ("Pod", "Container") else resource_name_errors
    return [invalid(f"{path}.{name}[{r}]", JsonText(r), text) for r in item.get(name) or () for text in rule(r)]


_ORDER = (
    # (smaller, larger, the field that the error names, whose value it shows, its words)
    ("min", "max", "min", "min", "min value {0} is greater than max value {1}"),
    (
        "min",
        "defaultRequest",
        "defaultRequest",
        "defaultRequest",
        "min value {0} is greater than default request value {1}",
    ),
    (
        "defaultRequest",
        "max",
        "defaultRequest",
        "defaultRequest",
        "default request value {0} is greater than max value {1}",
    ),
    (
        "defaultRequest",
        "default",
        "defaultRequest",
        "defaultRequest",
        "default request value {0} is greater than default limit value {1}",
    ),
    ("min", "default", "default", "min", "min value {0} is greater than default value {1}"),
    ("default", "max", "default", "max", "default value {0} is greater than max value {1}"),
)


def _order_errors(item: Item, resource: str, path: str) -> list[FieldError]:
    found = {name: (item.get(name) or {}).get(resource) for name in (*_OF_ALL, *_OF_PARTS, _RATIO)}
    errors: list[FieldError] = []
    for small, large, field, shown, words in _ORDER:
        low, high = found[small], found[large]
        if low is not None and high is not None and compare(low, high) > 0:
            errors.append(invalid(f"{path}.{field}[{resource}]", found[shown], words.format(low, high)))
    errors += _ratio_errors(found, f"{path}.{_RATIO}[{resource}]")
    limit, request = found["default"], found["defaultRequest"]
    if limit is not None and request is not None and not is_overcommittable(resource) and compare(limit, request):
        why = f"default value {limit} must equal to defaultRequest value {request} in {resource}"
        errors.append(invalid(f"{path}.defaultRequest[{resource}]", request, why))
    return errors


_MAX_MILLI = (2**63 - 1) // 1000
"""What the reference counts in thousandths is below."""


def _ratio_errors(found: Mapping[str, str | None], path: str) -> list[FieldError]:
    ratio, low, high = found[_RATIO], found["min"], found["max"]
    if ratio is None:
        return []
    errors: list[FieldError] = []
    if amount(ratio) < NANO:
        errors.append(invalid(path, ratio, f"ratio {ratio} is less than 1"))
    if low is not None and high is not None and amount(low):
        fits = all(whole_value(text) < _MAX_MILLI for text in (ratio, low, high))
        wanted = milli_value(ratio) / 1000 if fits else float(whole_value(ratio))
        most, least = (milli_value(text) if fits else whole_value(text) for text in (high, low))
        limit = (
            most / least if least else math.copysign(math.inf, most)
        )  # 0 is what amounts beyond 64 bits may count as
        if wanted > limit:
            errors.append(invalid(path, ratio, f"ratio {ratio} is greater than max/min = {limit:f}"))
    return errors
