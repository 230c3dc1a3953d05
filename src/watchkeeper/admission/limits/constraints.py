"""Single constraints of a LimitRange, in the reference's words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from watchkeeper.apis.core.pod_resources import container_sums
from watchkeeper.apis.quantities import NANO, amount, milli_value, whole_value

Limit = Mapping[str, Any]
Resources = Mapping[str, str]
"""Quantities by resource."""

_MAX_MILLI = (2**63 - 1) // 1000
_NONE: Resources = {}
_POD_LEVEL = ("cpu", "memory")


def container_faults(limit: Limit, resources: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with what a container, or a Pod as a whole, asks for."""
    kind = limit["type"]
    requests, limits = resources.get("requests") or _NONE, resources.get("limits") or _NONE
    for name, bound in sorted((limit.get("min") or _NONE).items()):
        yield from _minimum(kind, name, bound, requests, limits)
    for name, bound in sorted((limit.get("max") or _NONE).items()):
        yield from _maximum(kind, name, bound, requests, limits)
    for name, bound in sorted((limit.get("maxLimitRequestRatio") or _NONE).items()):
        yield from _ratio(kind, name, bound, requests, limits)


def claim_faults(limit: Limit, requests: Resources) -> Iterator[str]:
    """What is wrong with what a claim asks for; claims have no limits."""
    kind = limit["type"]
    for name, bound in sorted((limit.get("min") or _NONE).items()):
        yield from _minimum(kind, name, bound, requests, _NONE)
    for name, bound in sorted((limit.get("max") or _NONE).items()):
        request = requests.get(name)
        if request is None:
            yield f"maximum {name} usage per {kind} is {bound}.  No request is specified"
        elif amount(request) > amount(bound):
            yield f"maximum {name} usage per {kind} is {bound}, but request is {request}"


def pod_resources(spec: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """What a Pod asks for as a whole: what its containers do together, unless it says so itself of CPU or memory."""
    found: dict[str, dict[str, str]] = {}
    own = spec.get("resources") or {}
    for field in ("requests", "limits"):
        total = container_sums(spec, field)
        for name, text in (own.get(field) or _NONE).items():
            if name in _POD_LEVEL:
                total[name] = text
        found[field] = total
    return found


def _minimum(kind: str, name: str, bound: str, requests: Resources, limits: Resources) -> Iterator[str]:
    request, limit = requests.get(name), limits.get(name)
    words = f"minimum {name} usage per {kind} is {bound}"
    if request is None:
        yield f"{words}.  No request is specified"
    elif amount(request) < amount(bound):
        yield f"{words}, but request is {request}"
    elif limit is not None and amount(limit) < amount(bound):
        yield f"{words}, but limit is {limit}"


def _maximum(kind: str, name: str, bound: str, requests: Resources, limits: Resources) -> Iterator[str]:
    request, limit = requests.get(name), limits.get(name)
    words = f"maximum {name} usage per {kind} is {bound}"
    if limit is None:
        yield f"{words}.  No limit is specified"
    elif amount(limit) > amount(bound):
        yield f"{words}, but limit is {limit}"
    elif request is not None and amount(request) > amount(bound):
        yield f"{words}, but request is {request}"


def _ratio(kind: str, name: str, bound: str, requests: Resources, limits: Resources) -> Iterator[str]:
    request, limit = requests.get(name, "0"), limits.get(name, "0")
    words = f"{name} max limit to request ratio per {kind} is {bound}"
    # Amounts are compared in thousandths where they fit, as in the reference.
    fits = all(whole_value(text) <= _MAX_MILLI for text in (request, limit, bound))
    measure = milli_value if fits else whole_value
    asked, most = measure(request), measure(limit)
    if asked == 0:
        yield f"{words}, but no request is specified or request is 0"
    elif most == 0:
        yield f"{words}, but no limit is specified or limit is 0"
    elif most / asked > amount(bound) / NANO:
        yield f"{words}, but provided ratio is {most / asked:f}"
