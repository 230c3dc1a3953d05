"""The rules of metav1.Condition, which statuses hold lists of."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from watchkeeper.apis.validation.metadata import validate_label_name
from watchkeeper.apis.validation.names import byte_length, regex_error
from watchkeeper.meta.field import FieldError, duplicate, invalid, not_supported, required, too_long

_STATUSES = ("False", "True", "Unknown")
_REASON = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_REASON_WORDS = (
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_'"
)
_REASON_EXAMPLES = ("my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB")
_MAX_REASON = 1024
_MAX_MESSAGE = 32 * 1024
_reason_match = re.compile(_REASON).fullmatch


def validate_conditions(conditions: Sequence[Mapping[str, Any]] | None, path: str) -> list[FieldError]:
    """What is wrong with a list of conditions; each type appears once."""
    errors: list[FieldError] = []
    seen = set()
    for i, condition in enumerate(conditions or ()):
        kind = condition.get("type") or ""
        if kind in seen:
            errors.append(duplicate(f"{path}[{i}].type", kind))
        seen.add(kind)
        errors += validate_condition(condition, f"{path}[{i}]")
    return errors


def validate_condition(condition: Mapping[str, Any], path: str) -> list[FieldError]:
    """What is wrong with one condition."""
    errors = validate_label_name(condition.get("type") or "", f"{path}.type")
    status = condition.get("status") or ""
    if status not in _STATUSES:
        errors.append(not_supported(f"{path}.status", status, _STATUSES))
    generation = condition.get("observedGeneration") or 0
    if generation < 0:
        errors.append(invalid(f"{path}.observedGeneration", generation, "must be greater than or equal to zero"))
    if not condition.get("lastTransitionTime"):
        errors.append(required(f"{path}.lastTransitionTime"))
    reason = condition.get("reason") or ""
    if not reason:
        errors.append(required(f"{path}.reason"))
    else:
        if not _reason_match(reason):
            errors.append(invalid(f"{path}.reason", reason, regex_error(_REASON_WORDS, _REASON, *_REASON_EXAMPLES)))
        if byte_length(reason) > _MAX_REASON:
            errors.append(too_long(f"{path}.reason", reason, _MAX_REASON))
    message = condition.get("message") or ""
    if byte_length(message) > _MAX_MESSAGE:
        errors.append(too_long(f"{path}.message", message, _MAX_MESSAGE))
    return errors
