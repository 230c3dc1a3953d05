"""The rules of pod-level resources and of claims to devices."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from watchkeeper.apis.core.pod_resources import HUGEPAGES, container_sums
from watchkeeper.apis.quantities import compare
from watchkeeper.apis.validation.internal_form import InternalForm, internal_form
from watchkeeper.apis.validation.names import is_dns1123_label, is_dns1123_subdomain
from watchkeeper.apis.validation.resources import pod_resource_name, validate_requirements
from watchkeeper.meta.field import FieldError, duplicate, forbidden, invalid, required

Object = Mapping[str, Any]

_CLAIM: InternalForm = {
    "name": ("Name", ""),
    "resourceClaimName": ("ResourceClaimName", None),
    "resourceClaimTemplateName": ("ResourceClaimTemplateName", None),
}


def validate_resource_claims(claims: Sequence[Object], pod: Object | None, path: str) -> list[FieldError]:
    """A Pod's claims to devices: distinct names, one reference each. `pod` is the Pod's metadata."""
    errors: list[FieldError] = []
    names: set[str] = set()
    static = pod is not None and "kubernetes.io/config.mirror" in (pod.get("annotations") or ())
    for i, claim in enumerate(claims):
        if static:
            errors.append(forbidden("[]", "static pods do not support resource claims"))
            continue
        at, name = f"{path}[{i}]", claim.get("name") or ""
        if not name:
            errors.append(required(f"{at}.name"))
        elif name in names:
            errors.append(duplicate(f"{at}.name", name))
        else:
            errors += [invalid(f"{at}.name", name, text) for text in is_dns1123_label(name)]
            names.add(name)
        given = [f for f in ("resourceClaimName", "resourceClaimTemplateName") if claim.get(f) is not None]
        if len(given) > 1:
            text = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            errors.append(invalid(at, internal_form(claim, _CLAIM), text))
        if not given:
            text = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            errors.append(invalid(at, internal_form(claim, _CLAIM), text))
        for field in given:
            value = claim[field]
            errors += [invalid(f"{at}.{field}", value, text) for text in is_dns1123_subdomain(value)]
    return errors


def validate_pod_resources(spec: Object, path: str, *, claim_names: Collection[str]) -> list[FieldError]:
    """What the Pod asks for as a whole must cover what its containers ask for."""
    resources = spec["resources"] or {}
    at = f"{path}.resources"
    if (spec.get("os") or {}).get("name") == "windows":
        return [forbidden(at, "may not be set for a windows pod")]
    errors: list[FieldError] = []
    if resources.get("claims") is not None:
        errors.append(forbidden(f"{at}.claims", "claims may not be set for Resources at pod-level"))
    errors += validate_requirements(resources, at, claim_names=claim_names, name_rule=pod_resource_name)
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    for name, total in container_sums(spec, "requests").items():
        if name in requests and compare(total, requests[name]) > 0:
            text = f"must be greater than or equal to aggregate container requests of {total}"
            errors.append(invalid(f"{at}.requests[{name}]", requests[name], text))
    for name, total in container_sums(spec, "limits").items():
        if name.startswith(HUGEPAGES) and name in limits and compare(total, limits[name]) > 0:
            text = f"must be greater than or equal to aggregate container limits of {total}"
            errors.append(invalid(f"{at}.limits[{name}]", limits[name], text))
    for i, container in enumerate(spec.get("containers") or ()):
        for name, limit in ((container.get("resources") or {}).get("limits") or {}).items():
            if name in limits and compare(limit, limits[name]) > 0:
                text = f"must be less than or equal to pod limits of {limits[name]}"
                errors.append(invalid(f"{at}.containers[{i}][{name}].limits", limit, text))
    return errors
