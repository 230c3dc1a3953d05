"""The rules of the conditions that decide whether a device can be bound."""

from __future__ import annotations

from collections.abc import Sequence

from watchkeeper.apis.resource.lists import validate_list
from watchkeeper.apis.validation.metadata import validate_label_name
from watchkeeper.meta.field import FieldError, duplicate, invalid

_MAX = 4


def validate_binding_conditions(conditions: Sequence[str], failures: Sequence[str], path: str) -> list[FieldError]:
    """Conditions that bind, and such that keep from binding: both or none, each once, none among the others."""
    names = ("bindingConditions", "bindingFailureConditions")
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
        errors.append(invalid(f"{path}.bindingConditions", None, text))
    if conditions and not failures:
        text = "bindingFailureConditions are required to use bindingConditions"
        errors.append(invalid(f"{path}.bindingFailureConditions", None, text))
    return errors
