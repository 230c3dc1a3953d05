"""Roles and ClusterRoles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchkeeper.apis.behavior import KindBehavior
from watchkeeper.apis.validation.names import name_of_rbac
from watchkeeper.apis.validation.selectors import has_invalid_values, validate_label_selector
from watchkeeper.apis.workloads import is_usable_selector
from watchkeeper.meta.field import FieldError, invalid, required
from watchkeeper.meta.gvk import GroupKind

Object = dict[str, Any]
GROUP = "rbac.authorization.k8s.io"


def validate_rule(rule: Mapping[str, Any], path: str, *, namespaced: bool) -> list[FieldError]:
    """What is wrong with a policy rule."""
    errors: list[FieldError] = []
    if not rule.get("verbs"):
        errors.append(required(f"{path}.verbs", "verbs must contain at least one value"))
    urls = rule.get("nonResourceURLs")
    if urls:
        if namespaced:
            why = "namespaced rules cannot apply to non-resource URLs"
            errors.append(invalid(f"{path}.nonResourceURLs", urls, why))
        if any(rule.get(name) for name in ("apiGroups", "resources", "resourceNames")):
            why = "rules cannot apply to both regular resources and non-resource URLs"
            errors.append(invalid(f"{path}.nonResourceURLs", urls, why))
        return errors
    if not rule.get("apiGroups"):
        errors.append(required(f"{path}.apiGroups", "resource rules must supply at least one api group"))
    if not rule.get("resources"):
        errors.append(required(f"{path}.resources", "resource rules must supply at least one resource"))
    return errors


def _rule_errors(role: Object, *, namespaced: bool) -> list[FieldError]:
    rules = role.get("rules") or ()
    return [e for i, rule in enumerate(rules) for e in validate_rule(rule, f"rules[{i}]", namespaced=namespaced)]


def _validate_role(role: Object) -> list[FieldError]:
    return _rule_errors(role, namespaced=True)


def _validate_role_update(new: Object, _old: Object) -> list[FieldError]:
    return _validate_role(new)


def _selectors(role: Object) -> list[Mapping[str, Any]] | None:
    found: list[Mapping[str, Any]] | None = (role.get("aggregationRule") or {}).get("clusterRoleSelectors")
    return found


def _validate_cluster_role_update(new: Object, old: Object) -> list[FieldError]:
    """As for new roles; label values that are none may stay."""
    lenient = any(has_invalid_values(selector) for selector in _selectors(old) or ())
    return _validate_cluster_role(new, lenient=lenient)


def _validate_cluster_role(role: Object, *, lenient: bool = False) -> list[FieldError]:
    errors = _rule_errors(role, namespaced=False)
    if role.get("aggregationRule") is None:
        return errors
    selectors = _selectors(role)
    if not selectors:
        why = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        return [*errors, required("aggregationRule.clusterRoleSelectors", why)]
    for index, selector in enumerate(selectors):
        path = f"aggregationRule.clusterRoleSelectors[{index}]"
        errors += validate_label_selector(selector, path, allow_invalid_values=lenient)
        if not is_usable_selector(selector):
            errors.append(invalid(path, None, "invalid label selector."))
    return errors


BEHAVIORS = [
    KindBehavior(
        kind=GroupKind(GROUP, "Role"),
        validate=_validate_role,
        validate_update=_validate_role_update,
        name_rule=name_of_rbac,
        allow_create_on_update=True,
        has_status=False,
    ),
    KindBehavior(
        kind=GroupKind(GROUP, "ClusterRole"),
        validate=_validate_cluster_role,
        validate_update=_validate_cluster_role_update,
        name_rule=name_of_rbac,
        allow_create_on_update=True,
        has_status=False,
    ),
]
