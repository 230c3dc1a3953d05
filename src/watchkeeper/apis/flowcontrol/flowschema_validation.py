"""The rules of FlowSchemas: who they match, and what of their requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from watchkeeper.apis.validation.names import name_is_dns_label, name_is_dns_subdomain
from watchkeeper.meta.field import FieldError, duplicate, forbidden, invalid, not_supported, required

Part = Mapping[str, Any]

_MAX_PRECEDENCE = 10000
_METHODS = ("ByNamespace", "ByUser")
_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
_SUBJECTS = {"Group": "group", "ServiceAccount": "serviceAccount", "User": "user"}
"""Kind -> the field that such a subject is in."""
_IN_ORDER = ("ServiceAccount", "User", "Group")
_NAMESPACE = "each member of this list must be '*' or a DNS-1123 label; "


def validate_spec(spec: Part, name: str) -> list[FieldError]:
    """All that is wrong with the spec of a FlowSchema, whose name matters for its precedence."""
    precedence, path = spec.get("matchingPrecedence") or 0, "spec.matchingPrecedence"
    errors: list[FieldError] = []
    if precedence <= 0:
        errors.append(invalid(path, precedence, "must be a positive value"))
    if precedence > _MAX_PRECEDENCE:
        errors.append(invalid(path, precedence, f"must not be greater than {_MAX_PRECEDENCE}"))
    if precedence == 1 and name != "exempt":
        errors.append(invalid(path, precedence, "only the schema named 'exempt' may have matchingPrecedence 1"))
    method = spec.get("distinguisherMethod")
    if method is not None and method.get("type") not in _METHODS:
        shown = {"Type": method.get("type") or ""}
        errors.append(not_supported("spec.distinguisherMethod.type", shown, _METHODS))
    level, path = (spec.get("priorityLevelConfiguration") or {}).get("name"), "spec.priorityLevelConfiguration.name"
    if level:
        errors += [invalid(path, level, text) for text in name_is_dns_subdomain(level)]
    else:
        errors.append(required(path, "must reference a priority level"))
    for i, rule in enumerate(spec.get("rules") or ()):
        errors += _rule_errors(rule, f"spec.rules[{i}]")
    return errors


def _rule_errors(rule: Part, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, subject in enumerate(rule.get("subjects") or ()):
        errors += _subject_errors(subject, f"{path}.subjects[{i}]")
    if not rule.get("subjects"):
        errors.append(required(f"{path}.subjects", "subjects must contain at least one value"))
    resources, urls = rule.get("resourceRules") or (), rule.get("nonResourceRules") or ()
    if not resources and not urls:
        errors.append(required(path, "at least one of resourceRules and nonResourceRules has to be non-empty"))
    for i, each in enumerate(resources):
        errors += _resource_rule_errors(each, f"{path}.resourceRules[{i}]")
    for i, each in enumerate(urls):
        errors += _url_rule_errors(each, f"{path}.nonResourceRules[{i}]")
    return errors


def _subject_errors(subject: Part, path: str) -> list[FieldError]:
    kind = subject.get("kind") or ""
    if kind not in _SUBJECTS:
        return [not_supported(f"{path}.kind", kind, tuple(_SUBJECTS))]
    name = _SUBJECTS[kind]
    given, at = subject.get(name), f"{path}.{name}"
    if given is None:
        errors = [required(at, f"{name} is required when subject kind is '{kind}'")]
    else:
        errors = _account_errors(given, at) if kind == "ServiceAccount" else _named(given, at)
    for other in _IN_ORDER:
        field = _SUBJECTS[other]
        if other != kind and subject.get(field) is not None:
            errors.append(forbidden(f"{path}.{field}", f"{field} is forbidden when subject kind is not '{other}'"))
    return errors


def _named(subject: Part, path: str) -> list[FieldError]:
    return [] if subject.get("name") else [required(f"{path}.name")]


def _account_errors(account: Part, path: str) -> list[FieldError]:
    name, namespace = account.get("name") or "", account.get("namespace") or ""
    errors = _named(account, path)
    if name and name != "*":
        errors += [invalid(f"{path}.name", name, text) for text in name_is_dns_subdomain(name)]
    if namespace:
        errors += [invalid(f"{path}.namespace", namespace, text) for text in name_is_dns_label(namespace)]
    else:
        errors.append(required(f"{path}.namespace", "must specify namespace for service account"))
    return errors


def _alone(values: Sequence[str], path: str, words: str) -> list[FieldError]:
    if len(values) > 1 and "*" in values:
        return [invalid(path, values, f"if '*' is present, must not specify other {words}")]
    return []


def _verb_errors(verbs: Sequence[str], path: str) -> list[FieldError]:
    if not verbs:
        return [required(path, "verbs must contain at least one value")]
    if "*" not in verbs and not set(verbs).issubset(_VERBS):
        return [not_supported(path, verbs, _VERBS)]
    return _alone(verbs, path, "verbs")


def _resource_rule_errors(rule: Part, path: str) -> list[FieldError]:
    errors = _verb_errors(rule.get("verbs") or (), f"{path}.verbs")
    for name, one, many in (("apiGroups", "api group", "api groups"), ("resources", "resource", "resources")):
        values = rule.get(name) or ()
        if not values:
            errors.append(required(f"{path}.{name}", f"resource rules must supply at least one {one}"))
        errors += _alone(values, f"{path}.{name}", many)
    namespaces, at = rule.get("namespaces") or (), f"{path}.namespaces"
    if not namespaces and not rule.get("clusterScope"):
        why = "resource rules that are not cluster scoped must supply at least one namespace"
        errors.append(required(at, why))
    elif "*" in namespaces:
        errors += _alone(namespaces, at, "namespaces")
    else:
        for i, name in enumerate(namespaces):
            errors += [invalid(f"{at}[{i}]", name, _NAMESPACE + text) for text in name_is_dns_label(name)]
    return errors


def _url_rule_errors(rule: Part, path: str) -> list[FieldError]:
    errors = _verb_errors(rule.get("verbs") or (), f"{path}.verbs")
    urls, at = rule.get("nonResourceURLs") or (), f"{path}.nonResourceURLs"
    if not urls:
        errors.append(required(at, "nonResourceURLs must contain at least one value"))
    elif "*" in urls:
        errors += _alone(urls, at, "non-resource URLs")
    else:
        problems = ((i, url, _url_problem(url)) for i, url in enumerate(urls))
        errors += [invalid(f"{at}[{i}]", url, problem) for i, url, problem in problems if problem]
    return errors


def _url_problem(url: str) -> str:
    if not url:
        return "must not be empty"
    if url == "/":
        return ""
    if not url.startswith("/"):
        return "must start with slash"
    if " " in url:
        return "must not contain white-space"
    if "//" in url:
        return "must not contain double slash"
    if url.count("*") > 1 or ("*" in url and not url.endswith("/*")):
        return "wildcard can only do suffix matching"
    return ""


def validate_condition_types(status: Part) -> list[FieldError]:
    """The conditions of a FlowSchema's or a priority level's status: each has a type of its own."""
    errors: list[FieldError] = []
    seen: set[str] = set()
    for i, condition in enumerate(status.get("conditions") or ()):
        path, kind = f"status.conditions[{i}].type", condition.get("type") or ""
        if kind in seen:
            errors.append(duplicate(path, kind))
        seen.add(kind)
        if not kind:
            errors.append(required(path))
    return errors
