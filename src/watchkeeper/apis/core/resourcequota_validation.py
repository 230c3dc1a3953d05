"""The rules of ResourceQuotas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from watchkeeper.apis.validation.internal_form import InternalForm, Listed, internal_form
from watchkeeper.apis.validation.metadata import IMMUTABLE
from watchkeeper.apis.validation.resources import resource_name_errors, validate_resource_quantity
from watchkeeper.meta.field import FieldError, JsonText, invalid, required

Object = dict[str, Any]

_COMPUTE = frozenset(("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"))
_POD_RESOURCES = _COMPUTE | {"pods"}
_RESOURCES = _POD_RESOURCES | {
    "configmaps",
    "ephemeral-storage",
    "limits.ephemeral-storage",
    "persistentvolumeclaims",
    "replicationcontrollers",
    "requests.ephemeral-storage",
    "requests.storage",
    "resourcequotas",
    "secrets",
    "services",
    "services.loadbalancers",
    "services.nodeports",
}
_SELECTOR: InternalForm = {
    "matchExpressions": (
        "MatchExpressions",
        Listed(scopeName=("ScopeName", ""), operator=("Operator", ""), values=("Values", None)),
    )
}
_HUGEPAGES = ("hugepages-", "requests.hugepages-")
_OF_SCOPE = {
    "Terminating": _POD_RESOURCES,
    "NotTerminating": _POD_RESOURCES,
    "NotBestEffort": _POD_RESOURCES,
    "PriorityClass": _POD_RESOURCES,
    "CrossNamespacePodAffinity": _POD_RESOURCES,
    "BestEffort": frozenset(("pods",)),
    "VolumeAttributesClass": frozenset(("persistentvolumeclaims", "requests.storage")),
}
"""Scopes, and the standard resources that each can count."""
_CONFLICTS = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
_EXISTS_ONLY = ("BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity")
_MUST_EXIST = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)


def validate_quota(quota: Object) -> list[FieldError]:
    """What is wrong with a new quota."""
    spec = quota.get("spec") or {}
    errors = _amounts(spec.get("hard"), "spec.hard")
    errors += _scope_errors(spec)
    selector = spec.get("scopeSelector")
    return errors + (_selector_errors(spec, selector) if selector is not None else [])


def validate_quota_update(new: Object, old: Object) -> list[FieldError]:
    """What is wrong with a changed quota: its scopes stay what they are."""
    now, was = ((each.get("spec") or {}).get("scopes") for each in (new, old))
    changed = set(now or ()) != set(was or ())
    return validate_quota(new) + ([invalid("spec.scopes", now, IMMUTABLE)] if changed else [])


def validate_quota_status(quota: Object) -> list[FieldError]:
    """What is wrong with what a quota says is used."""
    status = quota.get("status") or {}
    return _amounts(status.get("hard"), "status.hard") + _amounts(status.get("used"), "status.used")


def _is_standard(name: str) -> bool:
    return name in _RESOURCES or name.startswith(_HUGEPAGES)


def _amounts(amounts: Mapping[str, str] | None, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for name, text in (amounts or {}).items():
        at = f"{path}[{name}]"
        errors += [invalid(at, JsonText(name), wrong) for wrong in resource_name_errors(name)]
        if "/" not in name and not _is_standard(name):
            errors.append(invalid(at, JsonText(name), "must be a standard resource for quota"))
        errors += validate_resource_quantity(name, text, at)
    return errors


def _misfits(scope: str, hard: Mapping[str, str]) -> list[str]:
    """The resources that a scope cannot count."""
    allowed = _OF_SCOPE.get(scope)
    return [] if allowed is None else [name for name in sorted(hard) if _is_standard(name) and name not in allowed]


def _conflicts(scopes: Sequence[str]) -> int:
    return sum(set(pair) <= set(scopes) for pair in _CONFLICTS)


def _scope_errors(spec: Mapping[str, Any]) -> list[FieldError]:
    scopes, hard, path = spec.get("scopes") or [], spec.get("hard") or {}, "spec.scopes"
    errors: list[FieldError] = []
    for scope in scopes:
        if scope not in _OF_SCOPE:
            errors.append(invalid(path, scopes, "unsupported scope"))
        errors += [invalid(path, scopes, "unsupported scope applied to resource") for _ in _misfits(scope, hard)]
    return errors + [invalid(path, scopes, "conflicting scopes")] * _conflicts(scopes)


def _selector_errors(spec: Mapping[str, Any], selector: Mapping[str, Any]) -> list[FieldError]:
    path, hard = "spec.scopeSelector.matchExpressions", spec.get("hard") or {}
    errors: list[FieldError] = []
    requirements = selector.get("matchExpressions") or ()
    for requirement in requirements:
        scope, operator = requirement.get("scopeName", ""), requirement.get("operator", "")
        values = requirement.get("values") or []
        if scope not in _OF_SCOPE:
            errors.append(invalid(f"{path}.scopeName", JsonText(scope), "unsupported scope"))
        shown = internal_form(selector, _SELECTOR)
        errors += [invalid(path, shown, "unsupported scope applied to resource") for _ in _misfits(scope, hard)]
        if scope in _EXISTS_ONLY and operator != "Exists":
            errors.append(invalid(f"{path}.operator", operator, _MUST_EXIST))
        errors += _operator_errors(operator, values, path)
    scopes = [r.get("scopeName", "") for r in requirements]
    return errors + [invalid(path, spec.get("scopes"), "conflicting scopes")] * _conflicts(scopes)


def _operator_errors(operator: str, values: Sequence[str], path: str) -> list[FieldError]:
    if operator in ("In", "NotIn"):
        why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
        return [] if values else [required(f"{path}.values", why)]
    if operator in ("Exists", "DoesNotExist"):
        why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
        return [invalid(f"{path}.values", values, why)] if values else []
    return [invalid(f"{path}.operator", JsonText(operator), "not a valid selector operator")]
