"""The rules of where a Pod may run: node selectors, affinities, topology spread, tolerations, taints."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from watchkeeper.apis.core.pod_options import PodOptions
from watchkeeper.apis.validation.enums import validate_optional_enum
from watchkeeper.apis.validation.internal_form import InternalForm, internal_form
from watchkeeper.apis.validation.metadata import validate_label_name
from watchkeeper.apis.validation.names import is_dns1123_label, is_dns1123_subdomain, is_label_value
from watchkeeper.apis.validation.numbers import validate_positive
from watchkeeper.apis.validation.selectors import validate_label_selector
from watchkeeper.meta.field import (
    ErrorType,
    FieldError,
    JsonText,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from watchkeeper.meta.go_numbers import parse_int

Object = Mapping[str, Any]

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_NOT_AN_OPERATOR = "not a valid selector operator"
_COMPARING = ("Lt", "Gt")
"""The operators of tolerations that compare numbers."""
TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def validate_node_selector_requirement(
    requirement: Object, path: str, *, allow_invalid_values: bool = False
) -> list[FieldError]:
    """One requirement on a node's labels."""
    errors: list[FieldError] = []
    operator, values = requirement.get("operator") or "", requirement.get("values") or ()
    if operator in ("In", "NotIn"):
        if not values:
            errors.append(required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            errors.append(forbidden(f"{path}.values", text))
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            text = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            errors.append(required(f"{path}.values", text))
    else:
        errors.append(invalid(f"{path}.operator", JsonText(operator), _NOT_AN_OPERATOR))
    errors += validate_label_name(requirement.get("key") or "", f"{path}.key")
    if not allow_invalid_values:
        for i, value in enumerate(values):
            errors += [invalid(f"{path}.values[{i}]", value, text) for text in is_label_value(value)]
    return errors


def _field_requirement(requirement: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    operator, values = requirement.get("operator") or "", requirement.get("values") or ()
    if operator not in ("In", "NotIn"):
        errors.append(invalid(f"{path}.operator", JsonText(operator), _NOT_AN_OPERATOR))
    elif len(values) != 1:
        text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        errors.append(required(f"{path}.values", text))
    key = requirement.get("key") or ""
    if key != "metadata.name":
        errors.append(invalid(f"{path}.key", key, "not a valid field selector key"))
        return errors
    for i, value in enumerate(values):
        errors += [invalid(f"{path}.values[{i}]", value, text) for text in is_dns1123_subdomain(value)]
    return errors


def validate_node_selector_term(term: Object, path: str, *, allow_invalid_values: bool = False) -> list[FieldError]:
    """One of several alternatives: requirements that must all hold."""
    errors: list[FieldError] = []
    for i, requirement in enumerate(term.get("matchExpressions") or ()):
        errors += validate_node_selector_requirement(
            requirement, f"{path}.matchExpressions[{i}]", allow_invalid_values=allow_invalid_values
        )
    for i, requirement in enumerate(term.get("matchFields") or ()):
        errors += _field_requirement(requirement, f"{path}.matchFields[{i}]")
    return errors


def validate_node_selector(selector: Object, path: str, *, allow_invalid_values: bool = False) -> list[FieldError]:
    """A node selector: at least one term."""
    terms = selector.get("nodeSelectorTerms") or ()
    if not terms:
        return [required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")]
    errors: list[FieldError] = []
    for i, term in enumerate(terms):
        at = f"{path}.nodeSelectorTerms[{i}]"
        errors += validate_node_selector_term(term, at, allow_invalid_values=allow_invalid_values)
    return errors


def validate_affinity(affinity: Object, path: str, options: PodOptions) -> list[FieldError]:
    """A Pod's affinities."""
    errors: list[FieldError] = []
    node = affinity.get("nodeAffinity")
    if node is not None:
        at = f"{path}.nodeAffinity"
        selector = node.get(_REQUIRED)
        if selector is not None:
            allow = options.allow_invalid_node_affinity_values
            errors += validate_node_selector(selector, f"{at}.{_REQUIRED}", allow_invalid_values=allow)
        for i, term in enumerate(node.get(_PREFERRED) or ()):
            errors += _weight_errors(term, f"{at}.{_PREFERRED}[{i}]")
            preference, place = term.get("preference") or {}, f"{at}.{_PREFERRED}[{i}].preference"
            errors += validate_node_selector_term(preference, place, allow_invalid_values=True)
    for kind in ("podAffinity", "podAntiAffinity"):
        pods = affinity.get(kind)
        if pods is not None:
            errors += _pod_affinity(pods, f"{path}.{kind}", options)
    return errors


def _weight_errors(term: Object, path: str) -> list[FieldError]:
    weight = term.get("weight") or 0
    return [] if 0 < weight <= 100 else [invalid(f"{path}.weight", weight, "must be in the range 1-100")]


def _pod_affinity(affinity: Object, path: str, options: PodOptions) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, term in enumerate(affinity.get(_REQUIRED) or ()):
        errors += _pod_affinity_term(term, f"{path}.{_REQUIRED}[{i}]", options)
    for i, weighted in enumerate(affinity.get(_PREFERRED) or ()):
        at = f"{path}.{_PREFERRED}[{i}]"
        errors += _weight_errors(weighted, at)
        errors += _pod_affinity_term(weighted.get("podAffinityTerm") or {}, f"{at}.podAffinityTerm", options)
    return errors


def _pod_affinity_term(term: Object, path: str, options: PodOptions) -> list[FieldError]:
    errors: list[FieldError] = []
    for name in ("labelSelector", "namespaceSelector"):
        allow = options.allow_invalid_selector_values
        errors += validate_label_selector(term.get(name), f"{path}.{name}", allow_invalid_values=allow)
    for namespace in term.get("namespaces") or ():
        errors += [invalid(f"{path}.namespace", namespace, text) for text in is_dns1123_label(namespace)]
    match, mismatch = term.get("matchLabelKeys") or (), term.get("mismatchLabelKeys") or ()
    errors += _label_keys(path, match, mismatch, term.get("labelSelector"))
    key = term.get("topologyKey") or ""
    if not key:
        errors.append(required(f"{path}.topologyKey", "can not be empty"))
    return errors + validate_label_name(key, f"{path}.topologyKey")


def _label_keys(path: str, match: Sequence[str], mismatch: Sequence[str], selector: Object | None) -> list[FieldError]:
    errors: list[FieldError] = []
    for name, keys in (("matchLabelKeys", match), ("mismatchLabelKeys", mismatch)):
        if keys and selector is None:
            text = "must not be specified when labelSelector is not set"
            errors.append(forbidden(f"{path}.{name}", text))
            continue
        for i, key in enumerate(keys):
            errors += validate_label_name(key, f"{path}.{name}[{i}]")
    if selector is not None and match:
        at = {key: i for i, key in enumerate(match)}
        known = set(selector.get("matchLabels") or ())
        for expression in selector.get("matchExpressions") or ():
            key = expression.get("key") or ""
            if key in at and key in known:
                text = "exists in both matchLabelKeys and labelSelector"
                errors.append(invalid(f"{path}[{at[key]}]", key, text))
            known.add(key)
    both = "exists in both matchLabelKeys and mismatchLabelKeys"
    errors += [invalid(f"{path}.matchLabelKeys[{i}]", key, both) for i, key in enumerate(match) if key in mismatch]
    return errors


def validate_topology_spread(constraints: Sequence[Object], path: str, options: PodOptions) -> list[FieldError]:
    """How a Pod's peers are to be spread."""
    errors: list[FieldError] = []
    left = Counter(map(_spread_identity, constraints))
    for i, constraint in enumerate(constraints):
        at = f"{path}[{i}]"
        key, action = _spread_identity(constraint)
        errors += validate_positive(constraint.get("maxSkew") or 0, f"{at}.maxSkew")
        if not key:
            errors.append(required(f"{at}.topologyKey", "can not be empty"))
        if action not in ("DoNotSchedule", "ScheduleAnyway"):
            supported = ("DoNotSchedule", "ScheduleAnyway")
            errors.append(not_supported(f"{at}.whenUnsatisfiable", action, supported))
        left[key, action] -= 1
        if left[key, action]:
            errors.append(duplicate(f"{at}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {action}}}"))
        errors += _min_domains(constraint.get("minDomains"), action, f"{at}.minDomains")
        for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            errors += validate_optional_enum(constraint.get(name), f"{at}.{name}", ("Honor", "Ignore"))
        selector = constraint.get("labelSelector")
        if not options.allow_invalid_spread_keys:
            errors += validate_spread_keys(constraint, at)
        if not options.allow_invalid_spread_selector:
            errors += validate_label_selector(selector, f"{at}.labelSelector")
    return errors


def validate_spread_keys(constraint: Object, path: str) -> list[FieldError]:
    """The labels of its own that a Pod adds to the selector of a constraint."""
    return _label_keys(path, constraint.get("matchLabelKeys") or (), (), constraint.get("labelSelector"))


def _spread_identity(constraint: Object) -> tuple[str, str]:
    return constraint.get("topologyKey") or "", constraint.get("whenUnsatisfiable") or ""


def _min_domains(minimum: int | None, action: str, path: str) -> list[FieldError]:
    if minimum is None:
        return []
    errors = validate_positive(minimum, path)
    if action != "DoNotSchedule":
        text = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        errors.append(invalid(path, minimum, text))
    return errors


def compares_numbers(tolerations: Sequence[Object]) -> bool:
    """Whether any of them compares numbers, which new ones may not."""
    return any(toleration.get("operator") in _COMPARING for toleration in tolerations)


def validate_tolerations(
    tolerations: Sequence[Object], path: str, *, allow_comparing: bool = False
) -> list[FieldError]:
    """Which taints a Pod tolerates. `allow_comparing`: those that compare numbers, too."""
    errors: list[FieldError] = []
    for i, toleration in enumerate(tolerations):
        operator = toleration.get("operator") or ""
        effect, key = toleration.get("effect") or "", toleration.get("key") or ""
        if (
            operator == "Exists"
            and effect == "NoExecute"
            and key
            and not toleration.get("value")
            and not validate_label_name(key, "")
        ):
            continue
        errors += _toleration_errors(toleration, f"{path}[{i}]", allow_comparing)
    return errors


def _toleration_errors(toleration: Object, path: str, allow_comparing: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    key, operator = toleration.get("key") or "", toleration.get("operator") or ""
    value, effect = toleration.get("value") or "", toleration.get("effect") or ""
    if key:
        errors += validate_label_name(key, f"{path}.key")
    elif operator != "Exists":
        text = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        errors.append(invalid(f"{path}.operator", operator, text))
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        text = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        errors.append(invalid(f"{path}.effect", effect, text))
    if operator in ("Equal", ""):
        wrong = is_label_value(value)
        if wrong:
            errors.append(invalid(f"{path}.operator", value, ";".join(wrong)))
    elif operator == "Exists":
        if value:
            errors.append(invalid(f"{path}.operator", value, "value must be empty when `operator` is 'Exists'"))
    elif operator in _COMPARING and allow_comparing:
        errors += _number_errors(value, f"{path}.value")
    else:
        known = ("Equal", "Exists", *_COMPARING) if operator in _COMPARING else ("Equal", "Exists")
        errors.append(not_supported(f"{path}.operator", operator, known))
    if effect and effect not in TAINT_EFFECTS:
        errors.append(not_supported(f"{path}.effect", effect, TAINT_EFFECTS))
    return errors


def _number_errors(value: str, path: str) -> list[FieldError]:
    errors = []
    if not value:
        errors.append(invalid(path, value, "must be non-empty"))
    elif _integer_match(value) is None:
        errors.append(invalid(path, value, "must be a valid decimal integer in canonical form"))
    try:
        parse_int(value)
    except ValueError as problem:
        errors.append(invalid(path, value, str(problem)))
    return errors


_integer_match = re.compile("0|-?[1-9][0-9]*", re.ASCII).fullmatch

_TAINT: InternalForm = {
    "key": ("Key", ""),
    "value": ("Value", ""),
    "effect": ("Effect", ""),
    "timeAdded": ("TimeAdded", None),
}


def validate_taints(taints: Iterable[Object], path: str) -> list[FieldError]:
    """A node's taints: each pair of key and effect once."""
    errors: list[FieldError] = []
    seen: set[tuple[str, str]] = set()
    for i, taint in enumerate(taints):
        at = f"{path}[{i}]"
        key, value, effect = taint.get("key") or "", taint.get("value") or "", taint.get("effect") or ""
        errors += validate_label_name(key, f"{at}.key")
        wrong = is_label_value(value)
        if wrong:
            errors.append(invalid(f"{at}.value", value, ";".join(wrong)))
        if not effect:
            errors.append(required(f"{at}.effect"))
        elif effect not in TAINT_EFFECTS:
            errors.append(not_supported(f"{at}.effect", effect, TAINT_EFFECTS))
        if (key, effect) in seen:
            text = "taints must be unique by key and effect pair"
            errors.append(FieldError(ErrorType.DUPLICATE, at, internal_form(taint, _TAINT), text))
        seen.add((key, effect))
    return errors
