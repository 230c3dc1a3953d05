"""The rules of what claims ask for, and of what classes add to that."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from watchkeeper.apis.core.claim_validation import template_metadata_errors
from watchkeeper.apis.resource.lists import (
    validate_driver_name,
    validate_fully_qualified_name,
    validate_label,
    validate_list,
    validate_set,
)
from watchkeeper.apis.validation.metadata import validate_annotations, validate_label_name, validate_labels
from watchkeeper.apis.validation.names import byte_length, is_dns1123_subdomain, is_label_value
from watchkeeper.apis.validation.resources import is_extended_resource
from watchkeeper.meta.field import FieldError, invalid, not_supported, required, too_long
from watchkeeper.runtime.with_empties import equal_as_stored

Object = Mapping[str, Any]
RequestNames = Mapping[str, frozenset[str]]
Compile = Callable[[str, str], list[FieldError]]
"""Says what is wrong with an expression at a path. Expressions are compiled in a layer above."""

MAX_REQUESTS = 32
MAX_CONFIGS = 32
_MAX_CONSTRAINTS = 32
_MAX_SELECTORS = 32
_MAX_ALTERNATIVES = 8
_MAX_EXPRESSION = 10 * 1024
MAX_PARAMETERS = 10 * 1024
_MODES = ("All", "ExactCount")
TAINT_EFFECTS = ("NoExecute", "NoSchedule", "None")
_ONE_KIND = "exactly one of `exactly` or `firstAvailable` is required"
_UNKNOWN_REQUEST = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
)


def unchecked(path: str, expression: str) -> list[FieldError]:
    """Finds nothing wrong."""
    return []


def request_names(spec: Object) -> RequestNames:
    """The names of a claim's requests, each with those of its alternatives."""
    requests = (spec.get("devices") or {}).get("requests") or ()
    return {
        request.get("name") or "": frozenset(sub.get("name") or "" for sub in request.get("firstAvailable") or ())
        for request in requests
    }


def validate_claim_spec(spec: Object, path: str, compiled: Compile) -> list[FieldError]:
    """The spec of a claim at `path`."""
    devices, names = spec.get("devices") or {}, request_names(spec)
    at = f"{path}.devices"
    errors = validate_set(
        devices.get("requests"), MAX_REQUESTS, lambda r, p: _request(r, p, compiled), _name, f"{at}.requests"
    )
    errors += validate_list(
        devices.get("constraints"), _MAX_CONSTRAINTS, lambda c, p: _constraint(c, p, names), f"{at}.constraints"
    )
    return errors + validate_list(
        devices.get("config"), MAX_CONFIGS, lambda c, p: _claim_config(c, p, names), f"{at}.config"
    )


def validate_template_spec(spec: Object, path: str, compiled: Compile) -> list[FieldError]:
    """A template of claims: its metadata holds nothing but labels and annotations."""
    meta, at = spec.get("metadata") or {}, f"{path}.metadata"
    errors = validate_annotations(meta.get("annotations") or {}, f"{at}.annotations")
    errors += validate_labels(meta.get("labels") or {}, f"{at}.labels")
    errors += template_metadata_errors(meta, at)
    return errors + validate_claim_spec(spec.get("spec") or {}, f"{path}.spec", compiled)


def validate_class_spec(spec: Object, old: Object, path: str, compiled: Compile) -> list[FieldError]:
    """The spec of a class of devices. Configurations that it had already, all of them, may be as long as they are."""
    kept = "config" in old and equal_as_stored(spec.get("config"), old["config"])

    def configuration(config: Object, at: str) -> list[FieldError]:
        return validate_configuration(config, at, stored=kept)

    errors = _selectors(spec, path, compiled)
    errors += validate_list(spec.get("config"), MAX_CONFIGS, configuration, f"{path}.config")
    name = spec.get("extendedResourceName")
    if name is not None and not is_extended_resource(name):
        text = "must be a valid extended resource name"
        errors.append(invalid(f"{path}.extendedResourceName", name, text))
    return errors


def _name(obj: Object) -> str:
    name: str = obj.get("name") or ""
    return name


def _request(request: Object, path: str, compiled: Compile) -> list[FieldError]:
    errors = validate_label(request.get("name"), f"{path}.name")
    exactly, alternatives = request.get("exactly"), request.get("firstAvailable")
    if exactly is None and not alternatives:
        errors.append(required(path, _ONE_KIND))
    elif exactly is not None and alternatives:
        errors.append(invalid(path, None, f"{_ONE_KIND}, but multiple fields are set"))
    elif exactly is not None:
        errors += _wanted(exactly, f"{path}.exactly", compiled)
    else:
        errors += validate_set(
            alternatives,
            _MAX_ALTERNATIVES,
            lambda each, p: _alternative(each, p, compiled),
            _name,
            f"{path}.firstAvailable",
        )
    return errors


def _alternative(request: Object, path: str, compiled: Compile) -> list[FieldError]:
    return validate_label(request.get("name"), f"{path}.name") + _wanted(request, path, compiled)


def _wanted(request: Object, path: str, compiled: Compile) -> list[FieldError]:
    name = request.get("deviceClassName")
    if name:
        errors = [invalid(f"{path}.deviceClassName", name, text) for text in is_dns1123_subdomain(name)]
    else:
        errors = [required(f"{path}.deviceClassName")]
    errors += _selectors(request, path, compiled)
    mode, count = request.get("allocationMode") or "", request.get("count") or 0
    if mode not in _MODES:
        errors.append(not_supported(f"{path}.allocationMode", mode, _MODES))
    elif mode == "All" and count:
        errors.append(invalid(f"{path}.count", count, "must not be specified when allocationMode is 'All'"))
    elif mode == "ExactCount" and count <= 0:
        errors.append(invalid(f"{path}.count", count, "must be greater than zero"))
    for i, toleration in enumerate(request.get("tolerations") or ()):
        errors += _toleration(toleration, f"{path}.tolerations[{i}]")
    return errors


def _selectors(holder: Object, path: str, compiled: Compile) -> list[FieldError]:
    """Selectors in CEL."""

    def rule(selector: Object, at: str) -> list[FieldError]:
        if selector.get("cel") is None:
            return [required(f"{at}.cel")]
        at, expression = f"{at}.cel.expression", selector["cel"].get("expression") or ""
        if byte_length(expression) > _MAX_EXPRESSION:
            return [too_long(at, expression, _MAX_EXPRESSION)]
        return compiled(at, expression)

    return validate_list(holder.get("selectors"), _MAX_SELECTORS, rule, f"{path}.selectors")


def _toleration(toleration: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    key, value = toleration.get("key") or "", toleration.get("value") or ""
    operator, effect = toleration.get("operator") or "", toleration.get("effect") or ""
    if key:
        errors += validate_label_name(key, f"{path}.key")
    if operator == "Exists":
        if value:
            errors.append(invalid(f"{path}.value", value, "must be empty for operator `Exists`"))
    elif operator == "Equal":
        errors += [invalid(f"{path}.value", value, text) for text in is_label_value(value)]
    elif not operator:
        errors.append(required(f"{path}.operator"))
    else:
        errors.append(not_supported(f"{path}.operator", operator, ("Equal", "Exists")))
    if effect and effect not in TAINT_EFFECTS:
        errors.append(not_supported(f"{path}.effect", effect, TAINT_EFFECTS))
    return errors


def _constraint(constraint: Object, path: str, names: RequestNames) -> list[FieldError]:
    errors = validate_request_references(constraint.get("requests"), f"{path}.requests", names)
    for field in ("matchAttribute", "distinctAttribute"):
        if constraint.get(field) is not None:
            return errors + validate_fully_qualified_name(constraint[field], f"{path}.{field}")
    text = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
    return [*errors, required(path, text)]


def validate_request_references(references: Any, path: str, names: RequestNames) -> list[FieldError]:
    """A set of references to requests."""
    return validate_set(
        references, MAX_REQUESTS, lambda ref, p: validate_request_reference(ref, p, names), lambda ref: ref, path
    )


def validate_request_reference(reference: str, path: str, names: RequestNames) -> list[FieldError]:
    """The name of a request, or of a request and one of its alternatives."""
    unknown = invalid(path, reference, _UNKNOWN_REQUEST)
    parts = reference.split("/")
    if len(parts) > 2:
        return [unknown]
    errors = [error for part in parts for error in validate_label(part, path)]
    known = parts[0] in names and (len(parts) == 1 or parts[1] in names[parts[0]])
    return errors if known else [*errors, unknown]


def _claim_config(config: Object, path: str, names: RequestNames) -> list[FieldError]:
    errors = validate_request_references(config.get("requests"), f"{path}.requests", names)
    return errors + validate_configuration(config, path)


def validate_configuration(config: Object, path: str, *, stored: bool = False) -> list[FieldError]:
    """What a driver is told: opaque to the server. One that is stored already may have any length."""
    opaque = config.get("opaque")
    if opaque is None:
        return [required(f"{path}.opaque")]
    errors = validate_driver_name(opaque.get("driver") or "", f"{path}.opaque.driver")
    limit = None if stored else MAX_PARAMETERS
    return errors + validate_raw(opaque.get("parameters"), f"{path}.opaque.parameters", limit)


def validate_raw(value: Any, path: str, limit: int | None) -> list[FieldError]:
    """Any JSON object of at most so many bytes, or of any number."""
    if value is None:
        return [required(path)]
    if limit is not None and len(orjson.dumps(value)) > limit:
        return [too_long(path, "", limit)]
    if not isinstance(value, Mapping):
        return [invalid(path, "<value omitted>", "must be a valid JSON object")]
    return []
