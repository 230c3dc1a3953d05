"""The rules of label selectors within objects (metav1.LabelSelector)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchkeeper.apis.validation.metadata import validate_label_name, validate_labels
from watchkeeper.apis.validation.names import is_label_value
from watchkeeper.meta.field import FieldError, JsonText, forbidden, invalid, required

_WITH_VALUES = ("In", "NotIn")
_WITHOUT_VALUES = ("Exists", "DoesNotExist")


def validate_label_selector(
    selector: Mapping[str, Any] | None,
    path: str,
    *,
    allow_invalid_values: bool = False,
    allow_unknown_operator: bool = False,
) -> list[FieldError]:
    """What is wrong with a selector; an absent one is fine.

    `allow_invalid_values` is for updates of objects that already hold an invalid value.
    """
    if not selector:
        return []
    errors: list[FieldError] = []
    labels = selector.get("matchLabels")
    if labels:
        errors += validate_labels(labels, f"{path}.matchLabels")
    for i, requirement in enumerate(selector.get("matchExpressions") or ()):
        errors += validate_requirement(
            requirement,
            f"{path}.matchExpressions[{i}]",
            allow_invalid_values=allow_invalid_values,
            allow_unknown_operator=allow_unknown_operator,
        )
    return errors


def validate_requirement(
    requirement: Mapping[str, Any],
    path: str,
    *,
    allow_invalid_values: bool = False,
    allow_unknown_operator: bool = False,
) -> list[FieldError]:
    """One of a selector's matchExpressions."""
    errors: list[FieldError] = []
    operator = requirement.get("operator") or ""
    values = requirement.get("values") or ()
    if operator in _WITH_VALUES:
        if not values:
            errors.append(required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in _WITHOUT_VALUES:
        if values:
            text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            errors.append(forbidden(f"{path}.values", text))
    elif not allow_unknown_operator:
        errors.append(invalid(f"{path}.operator", JsonText(operator), "not a valid selector operator"))
    errors += validate_label_name(requirement.get("key") or "", f"{path}.key")
    if not allow_invalid_values:
        for i, value in enumerate(values):
            errors += [invalid(f"{path}.values[{i}]", value, text) for text in is_label_value(value)]
    return errors


def has_invalid_values(selector: Mapping[str, Any] | None) -> bool:
    """Whether a selector holds a value that is no label value: an update may then keep such values."""
    if not selector:
        return False
    return any(
        is_label_value(value)
        for requirement in selector.get("matchExpressions") or ()
        for value in requirement.get("values") or ()
    )


def is_empty_selector(selector: Mapping[str, Any] | None) -> bool:
    """Whether a selector, if there is one, selects everything."""
    return not selector or not (selector.get("matchLabels") or selector.get("matchExpressions"))


def selector_matches(selector: Mapping[str, Any] | None, labels: Mapping[str, str]) -> bool:
    """Whether labels satisfy a valid selector. An absent selector matches nothing, an empty one everything."""
    if selector is None:
        return False
    for key, value in (selector.get("matchLabels") or {}).items():
        if labels.get(key) != value:
            return False
    return all(_requirement_holds(r, labels) for r in selector.get("matchExpressions") or ())


def _requirement_holds(requirement: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, operator = requirement.get("key", ""), requirement.get("operator")
    values = requirement.get("values") or ()
    if operator == "In":
        return key in labels and labels[key] in values
    if operator == "NotIn":
        return key not in labels or labels[key] not in values
    if operator == "Exists":
        return key in labels
    return key not in labels
