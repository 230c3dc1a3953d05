"""Claims and slices as they were stored at v1beta1: a request was one exact request or a list, a device was basic."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]

_EXACT = ("deviceClassName", "selectors", "allocationMode", "count", "adminAccess", "tolerations", "capacity")
"""What v1 says of a request in `exactly`."""
_UNSET = {"deviceClassName": "", "allocationMode": "", "count": 0}
"""What protobuf holds of what nobody has set."""


def claim_at_v1(claim: Object) -> Object:
    """A ResourceClaim of v1beta1 as v1 has it (pkg/apis/resource/v1beta1/conversion.go). Consumes it."""
    _requests_at_v1(claim.get("spec") or {})
    return claim


def template_at_v1(template: Object) -> Object:
    """A ResourceClaimTemplate of v1beta1 as v1 has it. Consumes it."""
    _requests_at_v1((template.get("spec") or {}).get("spec") or {})
    return template


def slice_at_v1(resource_slice: Object) -> Object:
    """A ResourceSlice of v1beta1 as v1 has it. Consumes it."""
    spec = resource_slice.get("spec") or {}
    for name in ("nodeName", "allNodes"):
        if not spec.get(name):
            spec.pop(name, None)
    for device in spec.get("devices") or ():
        device.update(device.pop("basic", None) or {})
    return resource_slice


def _requests_at_v1(spec: Object) -> None:
    for request in (spec.get("devices") or {}).get("requests") or ():
        exactly = {name: request.pop(name) for name in _EXACT if name in request}
        exactly = {name: value for name, value in exactly.items() if value is not None and value != _UNSET.get(name)}
        if exactly:
            request["exactly"] = exactly
