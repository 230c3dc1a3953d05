"""What validating and mutating policies and their bindings have in common."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from watchkeeper.apis import printing
from watchkeeper.apis.admissionregistration.expressions import Scope
from watchkeeper.apis.admissionregistration.rules import (
    FAILURE_POLICIES,
    default_match_resources,
    validate_match_resources,
)
from watchkeeper.apis.admissionregistration.static_names import static_name_warnings
from watchkeeper.apis.admissionregistration.webhooks import GROUP
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.apis.validation.names import (
    is_dns1035_label,
    is_dns1123_subdomain,
    is_path_segment_name,
    name_is_dns_subdomain,
)
from watchkeeper.apis.validation.selectors import validate_label_selector
from watchkeeper.meta.field import FieldError, forbidden, invalid, not_supported, required
from watchkeeper.meta.gvk import GroupKind

Object = dict[str, Any]
Part = Mapping[str, Any]

_NOT_FOUND_ACTIONS = ("Deny", "Allow")
_IDENTIFIER = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
_RESERVED = re.compile(
    "true|false|null|in|as|break|const|continue|else|for|function|if|import|let|loop|package|namespace|return|var|void"
    "|while"
)


def default_policy(policy: Object) -> None:
    """A policy fails closed, and its constraints match what is equivalent."""
    spec = policy.setdefault("spec", {})
    if spec.get("failurePolicy") is None:
        spec["failurePolicy"] = "Fail"
    default_match_resources(spec.get("matchConstraints"))


def default_binding(binding: Object) -> None:
    """Fill in what a binding narrows its policy to."""
    default_match_resources((binding.get("spec") or {}).get("matchResources"))


def validate_policy_head(spec: Part) -> list[FieldError]:
    """The failurePolicy, the kind of parameters and the constraints of a policy."""
    errors: list[FieldError] = []
    failure = spec.get("failurePolicy")
    if failure is None:
        errors.append(required("spec.failurePolicy"))
    elif failure not in FAILURE_POLICIES:
        errors.append(not_supported("spec.failurePolicy", failure, FAILURE_POLICIES))
    if spec.get("paramKind") is not None:
        errors += _param_kind_errors(spec["paramKind"], "spec.paramKind")
    constraints = spec.get("matchConstraints")
    if constraints is None:
        return [*errors, required("spec.matchConstraints")]
    errors += validate_match_resources(constraints, "spec.matchConstraints")
    if not constraints.get("resourceRules"):
        errors.append(required("spec.matchConstraints.resourceRules"))
    return errors


def _param_kind_errors(kind: Part, path: str) -> list[FieldError]:
    api_version, name = kind.get("apiVersion") or "", kind.get("kind") or ""
    errors = _api_version_errors(api_version, f"{path}.apiVersion")
    if not name:
        errors.append(required(f"{path}.kind"))
    elif wrong := is_dns1035_label(name.lower()):
        why = f"may have mixed case, but should otherwise match: {','.join(wrong)}"
        errors.append(invalid(f"{path}.kind", name, why))
    return errors


def _api_version_errors(text: str, path: str) -> list[FieldError]:
    if not text:
        return [required(path)]
    if text != "/" and text.count("/") > 1:
        return [invalid(path, text, f"unexpected GroupVersion string: {text}")]
    group, _, version = text.rpartition("/")
    errors: list[FieldError] = []
    if group and (wrong := is_dns1123_subdomain(group)):
        errors.append(invalid(path, group, ",".join(wrong)))
    if not version:
        errors.append(invalid(path, text, "version must be specified"))
    elif wrong := is_dns1035_label(version):
        errors.append(invalid(path, version, ",".join(wrong)))
    return errors


def conditions_may_differ(new: Object, old: Object) -> bool:
    """Whether an update touches what the validity of match conditions depends on."""
    spec, was = new.get("spec") or {}, old.get("spec") or {}
    return any((spec.get(name) or None) != (was.get(name) or None) for name in ("paramKind", "matchConditions"))


def validate_variables(variables: Sequence[Part] | None, scope: Scope) -> list[FieldError]:
    """The named expressions of a policy; each may use those before it."""
    errors: list[FieldError] = []
    for i, variable in enumerate(variables or ()):
        path = f"spec.variables[{i}]"
        name, expression = variable.get("name") or "", variable.get("expression") or ""
        if not name.strip():
            errors.append(required(f"{path}.name", "name is not specified"))
        elif not _IDENTIFIER.fullmatch(name) or _RESERVED.fullmatch(name):
            errors.append(invalid(f"{path}.name", name, "must be a valid CEL identifier"))
        if not expression.strip():
            errors.append(required(f"{path}.expression", "expression is not specified"))
        elif (problem := scope.declare(name, expression)) is not None:
            errors.append(problem.at(f"{path}.expression", expression))
    return errors


def validate_binding_spec(spec: Part) -> list[FieldError]:
    """What both kinds of bindings say: the policy, its parameters, what it is narrowed to."""
    name, path = spec.get("policyName") or "", "spec.policyName"
    errors = [invalid(path, name, text) for text in name_is_dns_subdomain(name)] if name else [required(path)]
    if spec.get("paramRef") is not None:
        errors += _param_ref_errors(spec["paramRef"], "spec.paramRef")
    if spec.get("matchResources") is not None:
        errors += validate_match_resources(spec["matchResources"], "spec.matchResources")
    return errors


def _param_ref_errors(ref: Part, path: str) -> list[FieldError]:
    name, selector, action = ref.get("name") or "", ref.get("selector"), ref.get("parameterNotFoundAction")
    both = "name and selector are mutually exclusive"
    errors: list[FieldError] = []
    if name:
        errors += [invalid(f"{path}.name", name, text) for text in is_path_segment_name(name)]
        if selector is not None:
            errors.append(forbidden(f"{path}.name", both))
    if selector is not None:
        errors += validate_label_selector(selector, f"{path}.selector")
        if name:
            errors.append(forbidden(f"{path}.selector", both))
    if not name and selector is None:
        errors.append(required(path, "one of name or selector must be specified"))
    if not action:
        errors.append(required(f"{path}.parameterNotFoundAction"))
    elif action not in _NOT_FOUND_ACTIONS:
        errors.append(not_supported(f"{path}.parameterNotFoundAction", action, _NOT_FOUND_ACTIONS))
    return errors


def policy_table(field: str, column: str, description: str) -> TableSpec:
    """How a policy prints whose rules are in `spec.<field>`."""

    def cells(policy: Object, now: float) -> list[Any]:
        spec = policy.get("spec") or {}
        kind = spec.get("paramKind")
        shown = printing.UNSET if kind is None else f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}"
        return [printing.name_of(policy), len(spec.get(field) or ()), shown, printing.age(policy, now)]

    parameters = Column("ParamKind", "string", "The kind of its parameters.")
    return TableSpec(
        columns=(printing.NAME, Column(column, "integer", description), parameters, printing.AGE), cells=cells
    )


def _binding_cells(binding: Object, now: float) -> list[Any]:
    spec = binding.get("spec") or {}
    ref = _shown_ref(spec.get("paramRef") or {})
    return [printing.name_of(binding), spec.get("policyName") or "", ref, printing.age(binding, now)]


def _shown_ref(ref: Part) -> str:
    if name := ref.get("name"):
        return f"{ref.get('namespace') or '*'}/{name}"
    selector = ref.get("selector")
    if selector is None:
        return printing.UNSET
    labels = "".join(f"{key}: {value}," for key, value in sorted((selector.get("matchLabels") or {}).items()))
    requirements = "".join(_shown_requirement(each) for each in selector.get("matchExpressions") or ())
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{requirements}}},}}"
    )


def _shown_requirement(requirement: Part) -> str:
    values = " ".join(requirement.get("values") or ())
    key, operator = requirement.get("key", ""), requirement.get("operator", "")
    return f"LabelSelectorRequirement{{Key:{key},Operator:{operator},Values:[{values}],}},"


_BINDING_TABLE = TableSpec(
    columns=(
        printing.NAME,
        Column("PolicyName", "string", "The policy it puts in force."),
        Column("ParamRef", "string", "Where the parameters are."),
        printing.AGE,
    ),
    cells=_binding_cells,
)

PolicyValidator = Callable[[Object, Object | None], list[FieldError]]
"""(new, old or None when the policy is new) -> all that is wrong."""


def binding_behavior(kind: str, validate: Callable[[Object], list[FieldError]]) -> KindBehavior:
    """The behavior of bindings of a kind, which are checked at each write as at the first."""
    return KindBehavior(
        kind=GroupKind(GROUP, kind),
        validate=validate,
        validate_update=lambda new, _old: validate(new),
        allow_unconditional_update=False,
        has_status=False,
        has_generation=True,
        warnings_on_create=static_name_warnings,
        warnings_on_update=static_name_warnings,
        table=_BINDING_TABLE,
    )
