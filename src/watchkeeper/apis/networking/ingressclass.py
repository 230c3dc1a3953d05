"""IngressClasses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchkeeper.apis import printing
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.apis.networking.ingress import GROUP
from watchkeeper.apis.networking.ingress_validation import named_reference_errors
from watchkeeper.apis.validation.domains import validate_domain_prefixed_path
from watchkeeper.apis.validation.metadata import validate_immutable
from watchkeeper.apis.validation.names import byte_length, is_dns1123_label, is_dns1123_subdomain
from watchkeeper.meta.field import FieldError, forbidden, invalid, not_supported, required, too_long
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind

Object = dict[str, Any]

_MAX_CONTROLLER = 250
_SCOPES = ("Cluster", "Namespace")
_PARAMETERS = "spec.parameters"


def default_ingress_class(ingress_class: Object) -> None:
    """Parameters are cluster-scoped unless they say otherwise."""
    parameters = (ingress_class.get("spec") or {}).get("parameters")
    if parameters is not None and parameters.get("scope") is None:
        parameters["scope"] = "Cluster"


def _validate(ingress_class: Object) -> list[FieldError]:
    spec = ingress_class.get("spec") or {}
    controller, path = spec.get("controller") or "", "spec.controller"
    errors: list[FieldError] = []
    if not controller:
        errors.append(required(path))
    else:
        if byte_length(controller) > _MAX_CONTROLLER:
            errors.append(too_long(path, "", _MAX_CONTROLLER))
        errors += validate_domain_prefixed_path(controller, path)
    parameters = spec.get("parameters")
    return errors + (_parameter_errors(parameters) if parameters is not None else [])


def _validate_change(new: Object, old: Object) -> list[FieldError]:
    now, was = ((each.get("spec") or {}).get("controller") or "" for each in (new, old))
    return validate_immutable(now, was, "spec.controller")


def _parameter_errors(parameters: Mapping[str, Any]) -> list[FieldError]:
    errors: list[FieldError] = []
    group = parameters.get("apiGroup")
    if group is not None:
        errors += [invalid(f"{_PARAMETERS}.apiGroup", group, text) for text in is_dns1123_subdomain(group)]
    errors += named_reference_errors(parameters, _PARAMETERS, ("kind", "name"))
    scope, namespace, at = parameters.get("scope"), parameters.get("namespace"), f"{_PARAMETERS}.namespace"
    if scope is None:
        errors.append(required(f"{_PARAMETERS}.scope"))
    elif scope not in _SCOPES:
        errors.append(not_supported(f"{_PARAMETERS}.scope", scope, _SCOPES, plain=True))
    elif scope == "Namespace":
        if namespace is None:
            errors.append(required(at, "`parameters.scope` is set to 'Namespace'"))
        else:
            errors += [invalid(at, namespace, text) for text in is_dns1123_label(namespace)]
    elif namespace is not None:
        errors.append(forbidden(at, "`parameters.scope` is set to 'Cluster'"))
    return errors


def _cells(ingress_class: Object, now: float) -> list[Any]:
    spec = ingress_class.get("spec") or {}
    parameters, shown = spec.get("parameters"), printing.NONE
    if parameters is not None:
        group = parameters.get("apiGroup")
        kind = parameters.get("kind", "") + (f".{group}" if group is not None else "")
        shown = f"{kind}/{parameters.get('name', '')}"
    annotations = ingress_class["metadata"].get("annotations") or {}
    marked = annotations.get("ingressclass.kubernetes.io/is-default-class") == "true"
    return [
        printing.name_of(ingress_class) + (" (default)" if marked else ""),
        spec.get("controller") or "",
        shown,
        printing.age(ingress_class, now),
    ]


BEHAVIORS = [
    KindBehavior(
        kind=GroupKind(GROUP, "IngressClass"),
        validate=_validate,
        validate_update=lambda new, _old: _validate(new),
        validate_change=_validate_change,
        has_status=False,
        has_generation=True,
        table=TableSpec(
            columns=(
                printing.NAME,
                Column("Controller", "string", "Who handles Ingresses of this class."),
                Column("Parameters", "string", "Where further parameters are."),
                printing.AGE,
            ),
            cells=_cells,
        ),
    )
]
DEFAULTS = {GroupVersionKind(GROUP, "v1", "IngressClass"): default_ingress_class}
