"""MutatingAdmissionPolicies and their bindings."""

from __future__ import annotations

from collections.abc import Mapping
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
from watchkeeper.apis.admissionregistration.rules import (
    REINVOCATION_POLICIES,
    validate_expression,
    validate_match_conditions,
    validate_mutable_operations,
)
from watchkeeper.apis.admissionregistration.static_names import static_name_warnings
from watchkeeper.apis.admissionregistration.webhooks import GROUP
from watchkeeper.apis.behavior import KindBehavior
from watchkeeper.apis.validation.enums import validate_enum
from watchkeeper.meta.field import FieldError, invalid, not_supported, required
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind

Object = dict[str, Any]
Part = Mapping[str, Any]

_APPLY = "ApplyConfiguration"
_JSON_PATCH = "JSONPatch"
_FIELDS = {
    _APPLY: ("applyConfiguration", Use.APPLY_CONFIGURATION),
    _JSON_PATCH: ("jsonPatch", Use.JSON_PATCH),
}


def _validator(expressions: Expressions) -> PolicyValidator:
    def validate(policy: Object, old: Object | None) -> list[FieldError]:
        spec = policy.get("spec") or {}
        params = spec.get("paramKind") is not None
        errors = validate_policy_head(spec)
        errors += validate_mutable_operations(spec.get("matchConstraints") or {}, "spec.matchConstraints")
        if old is None or conditions_may_differ(policy, old):
            scope = expressions.scope(params=params, variables=False)
            errors += validate_match_conditions(spec.get("matchConditions"), "spec.matchConditions", scope)
        scope = expressions.scope(params=params, variables=True)
        errors += validate_variables(spec.get("variables"), scope)
        mutations = spec.get("mutations") or ()
        if not mutations:
            errors.append(required("spec.mutations", "mutations must contain at least one item"))
        for i, mutation in enumerate(mutations):
            errors += _mutation_errors(mutation, f"spec.mutations[{i}]", scope)
        return errors + validate_enum(spec.get("reinvocationPolicy"), "spec.reinvocationPolicy", REINVOCATION_POLICIES)

    return validate


def _mutation_errors(mutation: Part, path: str, scope: Scope) -> list[FieldError]:
    patch_type = mutation.get("patchType") or ""
    if not patch_type:
        return [required(f"{path}.patchType")]
    if patch_type not in _FIELDS:
        return [not_supported(f"{path}.patchType", patch_type, tuple(_FIELDS))]
    name, use = _FIELDS[patch_type]
    other, _ = _FIELDS[_APPLY if patch_type == _JSON_PATCH else _JSON_PATCH]
    given = mutation.get(name)
    if given is None:
        errors = [required(f"{path}.{name}", f"must be specified when patchType is {patch_type}")]
    else:
        errors = validate_expression((given.get("expression") or "").strip(), use, scope, f"{path}.{name}")
    if mutation.get(other) is not None:
        why = f"must not be specified when patchType is {patch_type}"
        errors.append(invalid(f"{path}.{other}", f"{{{other}}}", why))
    return errors


def _validate_binding(binding: Object) -> list[FieldError]:
    spec = binding.get("spec") or {}
    resources = spec.get("matchResources") or {}
    return validate_binding_spec(spec) + validate_mutable_operations(resources, "spec.matchResources")


def mutating_behaviors(expressions: Expressions) -> list[KindBehavior]:
    """The behavior of mutating policies, with what can compile their expressions, and of their bindings."""
    validate = _validator(expressions)
    policy = KindBehavior(
        kind=GroupKind(GROUP, "MutatingAdmissionPolicy"),
        validate=lambda policy: validate(policy, None),
        validate_update=validate,
        allow_unconditional_update=False,
        has_status=False,
        has_generation=True,
        warnings_on_create=static_name_warnings,
        warnings_on_update=static_name_warnings,
        table=policy_table("mutations", "Mutations", "How many changes it makes."),
    )
    return [policy, binding_behavior("MutatingAdmissionPolicyBinding", _validate_binding)]


BEHAVIORS = mutating_behaviors(Unchecked())
DEFAULTS = {
    GroupVersionKind(GROUP, "v1", "MutatingAdmissionPolicy"): default_policy,
    GroupVersionKind(GROUP, "v1", "MutatingAdmissionPolicyBinding"): default_binding,
}
