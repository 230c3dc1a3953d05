"""ValidatingAdmissionPolicies and their bindings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from watchkeeper.apis.admissionregistration.expressions import Expressions, Scope, Unchecked, Use
from watchkeeper.apis.admissionregistration.policy_parts import (
    PolicyValidator,
    binding_behavior,
    conditions_may_differ,
    default_binding,
    default_policy,
    policy_table,
    validate_binding_spec,
    validate_policy_head,
    validate_variables,
)
from watchkeeper.apis.admissionregistration.rules import validate_expression, validate_match_conditions
from watchkeeper.apis.admissionregistration.static_names import static_name_warnings
from watchkeeper.apis.admissionregistration.webhooks import GROUP
from watchkeeper.apis.behavior import KindBehavior
from watchkeeper.apis.status_metadata import keep_metadata
from watchkeeper.apis.validation.conditions import validate_conditions
from watchkeeper.apis.validation.internal_form import InternalForm, internal_form
from watchkeeper.apis.validation.metadata import validate_label_name
from watchkeeper.apis.validation.names import byte_length
from watchkeeper.meta.field import FieldError, duplicate, invalid, not_supported, required
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind
from watchkeeper.runtime.jsonpath import JSONPathError, compile_path

Object = dict[str, Any]
Part = Mapping[str, Any]

_ACTIONS = ("Audit", "Deny", "Warn")
_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_MAX_ANNOTATIONS = 20
_MAX_ANNOTATION_EXPRESSION = 5 * 1024
_ANNOTATION: InternalForm = {"key": ("Key", ""), "valueExpression": ("ValueExpression", "")}
_NOTHING = "validations or auditAnnotations must contain at least one item"


def _validator(expressions: Expressions) -> PolicyValidator:
    def validate(policy: Object, old: Object | None) -> list[FieldError]:
        spec = policy.get("spec") or {}
        params = spec.get("paramKind") is not None
        errors = validate_policy_head(spec)
        if old is None or conditions_may_differ(policy, old):
            scope = expressions.scope(params=params, variables=False)
            errors += validate_match_conditions(spec.get("matchConditions"), "spec.matchConditions", scope)
        scope = expressions.scope(params=params, variables=bool(spec.get("variables")))
        errors += validate_variables(spec.get("variables"), scope)
        validations, annotations = spec.get("validations") or (), spec.get("auditAnnotations") or ()
        if not validations and not annotations:
            return [*errors, required("spec.validations", _NOTHING), required("spec.auditAnnotations", _NOTHING)]
        for i, validation in enumerate(validations):
            errors += _validation_errors(validation, f"spec.validations[{i}]", scope)
        return errors + _annotation_errors(annotations, policy["metadata"].get("name") or "", scope)

    return validate


def _validation_errors(validation: Part, path: str, scope: Scope) -> list[FieldError]:
    expression, words = validation.get("expression") or "", validation.get("messageExpression") or ""
    missing = "expression is not specified"
    errors = validate_expression(expression, Use.VALIDATION, scope, path, missing=missing)
    if words and not words.strip():
        errors.append(invalid(f"{path}.messageExpression", words, "must be non-empty if specified"))
    elif words and (problem := scope.problem(words, Use.MESSAGE)) is not None:
        errors.append(problem.at(f"{path}.messageExpression", words))
    message, reason = validation.get("message") or "", validation.get("reason")
    if message and not message.strip():
        errors.append(invalid(f"{path}.message", message, "must be non-empty if specified"))
    elif any(ch in message.strip() for ch in "\r\n"):
        errors.append(invalid(f"{path}.message", message, "must not contain line breaks"))
    if reason is not None and reason not in _REASONS:
        errors.append(not_supported(f"{path}.reason", reason, _REASONS))
    return errors


def _annotation_errors(annotations: Sequence[Part], policy: str, scope: Scope) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    if len(annotations) > _MAX_ANNOTATIONS:
        why = f"must not have more than {_MAX_ANNOTATIONS} auditAnnotations"
        shown = [internal_form(each, _ANNOTATION) for each in annotations]
        errors.append(invalid("spec.auditAnnotations", shown, why))
    for i, annotation in enumerate(annotations):
        path, key = f"spec.auditAnnotations[{i}]", annotation.get("key") or ""
        if policy:
            errors += validate_label_name(f"{policy}/{key}", f"{path}.key")
        else:
            errors.append(invalid(f"{path}.key", key, "requires metadata.name be non-empty"))
        errors += _annotation_value_errors(annotation.get("valueExpression") or "", f"{path}.valueExpression", scope)
        if key in seen:
            errors.append(duplicate(f"{path}.key", key))
        seen.add(key)
    return errors


def _annotation_value_errors(expression: str, path: str, scope: Scope) -> list[FieldError]:
    trimmed = expression.strip()
    if not trimmed:
        return [required(path, "valueExpression is not specified")]
    if byte_length(trimmed) > _MAX_ANNOTATION_EXPRESSION:
        return [required(path, f"must not exceed {_MAX_ANNOTATION_EXPRESSION} bytes in length")]
    problem = scope.problem(trimmed, Use.AUDIT_ANNOTATION)
    return [] if problem is None else [problem.at(path, expression)]


def _validate_status(new: Object, _old: Object) -> list[FieldError]:
    status = new.get("status") or {}
    path = "status.typeChecking.expressionWarnings"
    errors: list[FieldError] = []
    for i, warning in enumerate((status.get("typeChecking") or {}).get("expressionWarnings") or ()):
        if not warning.get("warning"):
            errors.append(required(f"{path}[{i}].warning"))
        errors += _field_ref_errors((warning.get("fieldRef") or "").strip(), f"{path}[{i}].fieldRef")
    return errors + validate_conditions(status.get("conditions"), "status.conditions")


def _field_ref_errors(reference: str, path: str) -> list[FieldError]:
    if not reference:
        return [required(path)]
    try:
        compile_path(reference)
    except JSONPathError as error:
        return [invalid(path, reference, f"invalid JSONPath: {error}")]
    return []


def _validate_binding(binding: Object) -> list[FieldError]:
    spec = binding.get("spec") or {}
    return validate_binding_spec(spec) + _action_errors(spec.get("validationActions") or ())


def _action_errors(actions: Sequence[str]) -> list[FieldError]:
    path = "spec.validationActions"
    errors: list[FieldError] = []
    seen: set[str] = set()
    for i, action in enumerate(actions):
        if action not in _ACTIONS:
            errors.append(not_supported(f"{path}[{i}]", action, _ACTIONS))
        if action in seen:
            errors.append(duplicate(f"{path}[{i}]", action))
        seen.add(action)
    if {"Deny", "Warn"} <= seen:
        why = (
            "must not contain both Deny and Warn (repeating the same validation failure information in the API "
            "response and headers serves no purpose)"
        )
        errors.append(invalid(path, actions, why))
    if not seen:
        errors.append(required(path, "at least one validation action is required"))
    return errors


def validating_behaviors(expressions: Expressions) -> list[KindBehavior]:
    """The behavior of validating policies, with what can compile their expressions, and of their bindings."""
    validate = _validator(expressions)
    policy = KindBehavior(
        kind=GroupKind(GROUP, "ValidatingAdmissionPolicy"),
        prepare_for_status_update=keep_metadata,
        validate=lambda policy: validate(policy, None),
        validate_update=validate,
        validate_status_update=_validate_status,
        allow_unconditional_update=False,
        has_generation=True,
        warnings_on_create=static_name_warnings,
        warnings_on_update=static_name_warnings,
        table=policy_table("validations", "Validations", "How many rules it has."),
    )
    return [policy, binding_behavior("ValidatingAdmissionPolicyBinding", _validate_binding)]


BEHAVIORS = validating_behaviors(Unchecked())
DEFAULTS = {
    GroupVersionKind(GROUP, "v1", "ValidatingAdmissionPolicy"): default_policy,
    GroupVersionKind(GROUP, "v1", "ValidatingAdmissionPolicyBinding"): default_binding,
}
