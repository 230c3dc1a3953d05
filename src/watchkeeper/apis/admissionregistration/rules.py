"""Which requests webhooks and policies look at: rules, selectors, and conditions in CEL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from watchkeeper.apis.admissionregistration.expressions import Scope, Use
from watchkeeper.apis.validation.metadata import validate_label_name
from watchkeeper.apis.validation.names import is_path_segment_name
from watchkeeper.apis.validation.selectors import validate_label_selector
from watchkeeper.meta.field import FieldError, duplicate, invalid, not_supported, required, too_many

Object = dict[str, Any]
Part = Mapping[str, Any]

FAILURE_POLICIES = ("Fail", "Ignore")
MATCH_POLICIES = ("Equivalent", "Exact")
REINVOCATION_POLICIES = ("IfNeeded", "Never")
MUTABLE_OPERATIONS = ("*", "CONNECT", "CREATE", "UPDATE")
"""What a policy can change; there is nothing to change in a deletion."""
_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES = ("*", "Cluster", "Namespaced")
_MAX_CONDITIONS = 64


def default_matching(matching: Object) -> None:
    """Fill in the selectors and the policy of what webhooks and policies match."""
    if matching.get("matchPolicy") is None:
        matching["matchPolicy"] = "Equivalent"
    for name in ("namespaceSelector", "objectSelector"):
        if matching.get(name) is None:
            matching[name] = {}


def default_rules(rules: Sequence[Object] | None) -> None:
    """Rules are about resources of any scope unless they say otherwise."""
    for rule in rules or ():
        if rule.get("scope") is None:
            rule["scope"] = "*"


def default_match_resources(resources: Object | None) -> None:
    """Fill in a policy's matchConstraints or a binding's matchResources."""
    if resources is not None:
        default_matching(resources)
        default_rules(resources.get("resourceRules"))
        default_rules(resources.get("excludeResourceRules"))


def validate_rule(rule: Part, path: str) -> list[FieldError]:
    """A rule with operations."""
    operations = rule.get("operations") or ()
    errors: list[FieldError] = []
    if not operations:
        errors.append(required(f"{path}.operations"))
    errors += _alone(operations, f"{path}.operations", "operations")
    for i, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            errors.append(not_supported(f"{path}.operations[{i}]", operation, _OPERATIONS))
    for name, words in (("apiGroups", "API groups"), ("apiVersions", "API versions")):
        values = rule.get(name) or ()
        if not values:
            errors.append(required(f"{path}.{name}"))
        errors += _alone(values, f"{path}.{name}", words)
    versions = enumerate(rule.get("apiVersions") or ())
    errors += [required(f"{path}.apiVersions[{i}]") for i, version in versions if not version]
    errors += _resource_errors(rule.get("resources") or (), f"{path}.resources")
    scope = rule.get("scope")
    if scope is not None and scope not in _SCOPES:
        errors.append(not_supported(f"{path}.scope", scope, _SCOPES))
    return errors


def _alone(values: Sequence[str], path: str, words: str) -> list[FieldError]:
    if len(values) > 1 and "*" in values:
        return [invalid(path, values, f"if '*' is present, must not specify other {words}")]
    return []


def _resource_errors(resources: Sequence[str], path: str) -> list[FieldError]:
    errors: list[FieldError] = [] if resources else [required(path)]
    all_parts: set[str] = set()
    of_any: set[str] = set()
    plain = False
    for i, text in enumerate(resources):
        if not text:
            errors.append(required(f"{path}[{i}]"))
            continue
        resource, slash, part = text.partition("/")
        if not slash:
            # The last one without a subresource decides, as in the reference.
            plain = text != "*"
            continue
        if resource in all_parts:
            errors.append(invalid(f"{path}[{i}]", text, f"if '{resource}/*' is present, must not specify {text}"))
        if part in of_any:
            errors.append(invalid(f"{path}[{i}]", text, f"if '*/{part}' is present, must not specify {text}"))
        if part == "*":
            all_parts.add(resource)
        if resource == "*":
            of_any.add(part)
    if len(resources) > 1 and "*/*" in resources:
        errors.append(invalid(path, resources, "if '*/*' is present, must not specify other resources"))
    if "*" in resources and plain:
        why = "if '*' is present, must not specify other resources without subresources"
        errors.append(invalid(path, resources, why))
    return errors


def validate_match_resources(resources: Part, path: str) -> list[FieldError]:
    """A policy's matchConstraints or a binding's matchResources, with defaults filled in."""
    errors: list[FieldError] = []
    policy = resources.get("matchPolicy")
    if policy is None:
        errors.append(required(f"{path}.matchPolicy"))
    elif policy not in MATCH_POLICIES:
        errors.append(not_supported(f"{path}.matchPolicy", policy, MATCH_POLICIES))
    for name in ("namespaceSelector", "objectSelector"):
        selector = resources.get(name)
        if selector is None:
            errors.append(required(f"{path}.{name}"))
        else:
            errors += validate_label_selector(selector, f"{path}.{name}")
    for name in ("resourceRules", "excludeResourceRules"):
        for i, rule in enumerate(resources.get(name) or ()):
            errors += _named_rule_errors(rule, f"{path}.{name}[{i}]")
    return errors


def _named_rule_errors(rule: Part, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for i, name in enumerate(rule.get("resourceNames") or ()):
        at = f"{path}.resourceNames[{i}]"
        errors += [invalid(at, name, text) for text in is_path_segment_name(name)]
        if name in seen:
            errors.append(duplicate(at, name))
        seen.add(name)
    return errors + validate_rule(rule, path)


def validate_mutable_operations(resources: Part, path: str) -> list[FieldError]:
    """What is asked to be changed must be changeable."""
    return [
        not_supported(f"{path}.resourceRules.operations", operation, MUTABLE_OPERATIONS)
        for rule in resources.get("resourceRules") or ()
        for operation in rule.get("operations") or ()
        if operation not in MUTABLE_OPERATIONS
    ]


def validate_match_conditions(conditions: Sequence[Part] | None, path: str, scope: Scope) -> list[FieldError]:
    """The matchConditions of a webhook or a policy."""
    errors: list[FieldError] = []
    seen: set[str] = set()
    if conditions and len(conditions) > _MAX_CONDITIONS:
        errors.append(too_many(path, len(conditions), _MAX_CONDITIONS))
    for i, condition in enumerate(conditions or ()):
        at, name = f"{path}[{i}]", condition.get("name") or ""
        errors += validate_expression((condition.get("expression") or "").strip(), Use.CONDITION, scope, at)
        errors += validate_label_name(name, f"{at}.name") if name else [required(f"{at}.name")]
        if name in seen:
            errors.append(duplicate(f"{at}.name", name))
        if name:
            seen.add(name)
    return errors


def validate_expression(text: str, use: Use, scope: Scope, path: str, *, missing: str = "") -> list[FieldError]:
    """The field `expression` of the object at `path`; `missing` says what is wrong with none."""
    path = f"{path}.expression"
    if not text.strip():
        return [required(path, missing)]
    problem = scope.problem(text, use)
    return [] if problem is None else [problem.at(path, text)]
