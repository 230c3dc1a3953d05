"""The rules of the selectors that a question about lists may come with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from watchkeeper.apis.validation.selectors import validate_requirement
from watchkeeper.meta import fields, labels
from watchkeeper.meta.field import FieldError, forbidden, invalid, required
from watchkeeper.meta.label_selector import SelectorError

Part = Mapping[str, Any]

_LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
_FIELD_OPERATORS = ("In", "NotIn")


def validate_selectors(asked: Part, path: str) -> list[FieldError]:
    """What is wrong with the selectors of a review's resourceAttributes.

    Operators that this server does not know are let pass: newer clients may ask of them.
    """
    return [
        *_selector_errors(asked.get("fieldSelector"), f"{path}.fieldSelector", _field_requirement_errors),
        *_selector_errors(asked.get("labelSelector"), f"{path}.labelSelector", _label_requirement_errors),
    ]


def ignored_selectors(asked: Part, path: str) -> list[str]:
    """What to say of valid selectors that no authorizer is asked about, wholly or in part: it asks for more then."""
    extents = {
        "fieldSelector": _ignored_extent(asked.get("fieldSelector") or {}, fields.parse, _is_understood_field),
        "labelSelector": _ignored_extent(asked.get("labelSelector") or {}, labels.parse, _is_understood_label),
    }
    return [f"{path}.{name} {extent} due to parse error" for name, extent in extents.items() if extent]


def _ignored_extent(selector: Part, parse: Callable[[str], object], is_understood: Callable[[Part], bool]) -> str:
    understood = [is_understood(requirement) for requirement in selector.get("requirements") or ()]
    if understood:
        if all(understood):
            return ""
        return "partially ignored" if any(understood) else "ignored"
    try:
        parse(selector.get("rawSelector") or "")
    except SelectorError:
        return "ignored"
    return ""


def _is_understood_label(requirement: Part) -> bool:
    return requirement.get("operator") in _LABEL_OPERATORS


def _is_understood_field(requirement: Part) -> bool:
    return requirement.get("operator") in _FIELD_OPERATORS and len(requirement.get("values") or ()) == 1


def _selector_errors(
    selector: Part | None, path: str, requirement_errors: Callable[[Part, str], list[FieldError]]
) -> list[FieldError]:
    if selector is None:
        return []
    raw, requirements = selector.get("rawSelector") or "", selector.get("requirements") or ()
    errors: list[FieldError] = []
    if raw and requirements:
        errors.append(invalid(f"{path}.rawSelector", raw, "may not specified at the same time as requirements"))
    if not raw and not requirements:
        why = f"when {path} is specified, requirements or rawSelector is required"
        errors.append(required(f"{path}.requirements", why))
    for i, requirement in enumerate(requirements):
        errors += requirement_errors(requirement, f"{path}.requirements[{i}]")
    return errors


def _label_requirement_errors(requirement: Part, path: str) -> list[FieldError]:
    return validate_requirement(requirement, path, allow_unknown_operator=True)


def _field_requirement_errors(requirement: Part, path: str) -> list[FieldError]:
    operator, values = requirement.get("operator"), requirement.get("values")
    errors = [] if requirement.get("key") else [required(f"{path}.key", "must be specified")]
    if operator in ("In", "NotIn") and not values:
        errors.append(required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    if operator in ("Exists", "DoesNotExist") and values:
        why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        errors.append(forbidden(f"{path}.values", why))
    return errors
