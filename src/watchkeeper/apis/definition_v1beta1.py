"""CustomResourceDefinitions as kube-apiserver stores them: at v1beta1, where versions could share what they have."""

from __future__ import annotations

import copy
from typing import Any

Object = dict[str, Any]

_SHARED = {
    "validation": "schema",
    "subresources": "subresources",
    "additionalPrinterColumns": "additionalPrinterColumns",
    "selectableFields": "selectableFields",
}
"""What v1beta1 says once for all versions, and where v1 says it in each."""


def definition_at_v1(obj: Object) -> Object:
    """A definition at v1beta1 in the form of v1, with the defaults of v1beta1. Consumes `obj`."""
    spec = obj.setdefault("spec", {})
    first = spec.pop("version", None)
    versions: list[Object] = spec.get("versions") or []
    if not versions and first:
        versions = [{"name": first, "served": True, "storage": True}]
    for shared, own in _SHARED.items():
        found = spec.pop(shared, None)
        if found is not None:
            for version in versions:
                version[own] = copy.deepcopy(found)
    for version in versions:
        for column in version.get("additionalPrinterColumns") or ():
            if "JSONPath" in column:
                column["jsonPath"] = column.pop("JSONPath")
    spec["versions"] = versions
    spec.setdefault("scope", "Namespaced")
    spec.setdefault("preserveUnknownFields", True)
    _convert_conversion(spec)
    obj["apiVersion"] = "apiextensions.k8s.io/v1"
    return obj


def _convert_conversion(spec: Object) -> None:
    """The webhook has an object of its own at v1."""
    conversion = spec.setdefault("conversion", {"strategy": "None"})
    client = conversion.pop("webhookClientConfig", None)
    reviews = conversion.pop("conversionReviewVersions", None)
    if conversion.get("strategy") == "Webhook" and not reviews:
        reviews = ["v1beta1"]
    if client is not None or reviews is not None:
        conversion["webhook"] = {"conversionReviewVersions": reviews}
        if client is not None:
            conversion["webhook"]["clientConfig"] = client
