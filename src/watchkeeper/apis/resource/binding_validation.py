"""The rules of the conditions that decide whether a device can be bound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchkeeper.apis.resource.lists import validate_list
from watchkeeper.apis.validation.metadata import validate_label_name
from watchkeeper.meta.field import FieldError, duplicate, invalid

_MAX = 4


def validate_binding_conditions(device: Mapping[str, Any], path: str) -> list[FieldError]:
    """Conditions that bind a device, and such that keep it from that: both or none, each once, none in both."""
    names = ("bindingConditions", "bindingFailureConditions")
    conditions, failures = (device.get(name) or () for name in names)
    errors: list[FieldError] = []
    for name, items in zip(names, (conditions, failures), strict=True):
        errors += validate_list(items, _MAX, validate_label_name, f"{path}.{name}")
    for name, items in zip(names, (conditions, failures), strict=True):
        for i, item in enumerate(items):
            at = f"{path}.{name}[{i}]"
            if item in items[:i]:
                errors.append(duplicate(at, item))
            if items is failures and item in conditions:
                text = "bindingFailureConditions must not overlap with bindingConditions"
                errors.append(invalid(at, item, text))
    if failures and not conditions:
        text = "bindingConditions are required to use bindingFailureConditions"
        errors.append(invalid(f"{path}.bindingConditions", device.get("bindingConditions"), text))
    if conditions and not failures:
        text = "bindingFailureConditions are required to use bindingConditions"
        errors.append(invalid(f"{path}.bindingFailureConditions", device.get("bindingFailureConditions"), text))
    return errors
