"""The rules of what a Job says about failed pods and about its own success."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from watchkeeper.apis.batch.indexes import IndexesError, count_indexes
from watchkeeper.apis.validation.internal_form import InternalForm, Listed, Reference
from watchkeeper.apis.validation.names import byte_length, is_qualified_name
from watchkeeper.apis.validation.numbers import validate_nonnegative
from watchkeeper.meta.field import (
    OMIT_VALUE,
    FieldError,
    duplicate,
    go_quote,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
)

Object = Mapping[str, Any]

SUCCESS_POLICY: InternalForm = {
    "rules": (
        "Rules",
        Listed(succeededIndexes=("SucceededIndexes", None), succeededCount=("SucceededCount", None)),
    )
}
"""How errors show a successPolicy."""
FAILURE_POLICY: InternalForm = {
    "rules": (
        "Rules",
        Listed(
            action=("Action", ""),
            onExitCodes=(
                "OnExitCodes",
                Reference(containerName=("ContainerName", None), operator=("Operator", ""), values=("Values", None)),
            ),
            onPodConditions=("OnPodConditions", Listed(type=("Type", ""), status=("Status", ""))),
        ),
    )
}
"""How errors show a podFailurePolicy."""
_MAX_RULES = 20
_MAX_EXIT_CODES = 255
_MAX_CONDITIONS = 20
_MAX_INDEXES = 64 * 1024
_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS = ("In", "NotIn")
_STATUSES = ("False", "True", "Unknown")


def validate_failure_policy(spec: Object, path: str) -> list[FieldError]:
    """A Job's podFailurePolicy."""
    rules = spec["podFailurePolicy"].get("rules") or ()
    errors: list[FieldError] = []
    if len(rules) > _MAX_RULES:
        errors.append(too_many(f"{path}.rules", len(rules), _MAX_RULES))
    pod = (spec.get("template") or {}).get("spec") or {}
    names = {c.get("name") for kind in ("containers", "initContainers") for c in pod.get(kind) or ()}
    for i, rule in enumerate(rules):
        errors += _failure_rule(spec, rule, f"{path}.rules[{i}]", names)
    return errors


def _one_of(value: str, path: str, supported: tuple[str, ...]) -> list[FieldError]:
    if not value:
        return [required(path, f"valid values: [{' '.join(map(go_quote, supported))}]")]
    return [] if value in supported else [not_supported(path, value, supported)]


def _failure_rule(spec: Object, rule: Object, path: str, names: Collection[str]) -> list[FieldError]:
    action = rule.get("action") or ""
    errors: list[FieldError] = []
    if action == "FailIndex":
        if spec.get("backoffLimitPerIndex") is None:
            errors.append(invalid(f"{path}.action", action, "requires the backoffLimitPerIndex to be set"))
    else:
        errors += _one_of(action, f"{path}.action", _ACTIONS)
    codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions") or ()
    if codes is not None:
        errors += _exit_codes(codes, f"{path}.onExitCodes", names)
    if len(conditions) > _MAX_CONDITIONS:
        errors.append(too_many(f"{path}.onPodConditions", len(conditions), _MAX_CONDITIONS))
    for i, pattern in enumerate(conditions):
        at = f"{path}.onPodConditions[{i}]"
        kind = pattern.get("type") or ""
        errors += [invalid(f"{at}.type", kind, text) for text in is_qualified_name(kind)]
        errors += _one_of(pattern.get("status") or "", f"{at}.status", _STATUSES)
    if codes is not None and conditions:
        text = "specifying both OnExitCodes and OnPodConditions is not supported"
        errors.append(invalid(path, OMIT_VALUE, text))
    elif codes is None and not conditions:
        text = "specifying one of OnExitCodes and OnPodConditions is required"
        errors.append(invalid(path, OMIT_VALUE, text))
    return errors


def _exit_codes(codes: Object, path: str, names: Collection[str]) -> list[FieldError]:
    operator = codes.get("operator") or ""
    errors = _one_of(operator, f"{path}.operator", _OPERATORS)
    name = codes.get("containerName")
    if name is not None and name not in names:
        text = "must be one of the container or initContainer names in the pod template"
        errors.append(invalid(f"{path}.containerName", name, text))
    at = f"{path}.values"
    values: list[int] = codes.get("values") or []
    if not values:
        errors.append(invalid(at, codes.get("values"), "at least one value is required"))
    elif len(values) > _MAX_EXIT_CODES:
        errors.append(too_many(at, len(values), _MAX_EXIT_CODES))
    seen = set()
    for i, value in enumerate(values):
        if operator == "In" and value == 0:
            errors.append(invalid(f"{at}[{i}]", value, "must not be 0 for the In operator"))
        if value in seen:
            errors.append(duplicate(f"{at}[{i}]", value))
        seen.add(value)
    if values != sorted(values):
        errors.append(invalid(at, values, "must be ordered"))
    return errors


def validate_success_policy(spec: Object, path: str) -> list[FieldError]:
    """The successPolicy of an indexed Job."""
    rules = spec["successPolicy"].get("rules") or ()
    errors: list[FieldError] = []
    if not rules:
        text = "at least one rules must be specified when the successPolicy is specified"
        errors.append(required(f"{path}.rules", text))
    if len(rules) > _MAX_RULES:
        errors.append(too_many(f"{path}.rules", len(rules), _MAX_RULES))
    for i, rule in enumerate(rules):
        errors += _success_rule(rule, spec.get("completions") or 0, f"{path}.rules[{i}]")
    return errors


def _success_rule(rule: Object, completions: int, path: str) -> list[FieldError]:
    count, indexes = rule.get("succeededCount"), rule.get("succeededIndexes")
    errors: list[FieldError] = []
    if count is None and indexes is None:
        text = "at least one of succeededCount or succeededIndexes must be specified"
        errors.append(required(path, text))
    total = 0
    if indexes is not None:
        at = f"{path}.succeededIndexes"
        if byte_length(indexes) > _MAX_INDEXES:
            errors.append(too_long(at, indexes, _MAX_INDEXES))
        try:
            total = count_indexes(indexes, completions)
        except IndexesError as error:
            errors.append(invalid(at, indexes, f"error parsing succeededIndexes: {error}"))
    if count is not None:
        at = f"{path}.succeededCount"
        errors += validate_nonnegative(count, at)
        if count > completions:
            limit = f"{completions} (the number of specified completions)"
            errors.append(invalid(at, count, f"must be less than or equal to {limit}"))
        if indexes is not None and count > total:
            limit = f"{total} (the number of indexes in the specified succeededIndexes field)"
            errors.append(invalid(at, count, f"must be less than or equal to {limit}"))
    return errors
