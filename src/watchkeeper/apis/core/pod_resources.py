"""What a Pod asks for as a whole: container sums, pod-level resources and the quality-of-service class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from watchkeeper.apis.quantities import add_resources, amount, max_resources

Object = dict[str, Any]

_QOS_RESOURCES = ("cpu", "memory")
HUGEPAGES = "hugepages-"


def is_pod_level_resource(name: str) -> bool:
    """Whether a Pod may ask for a resource as a whole."""
    return name in _QOS_RESOURCES or name.startswith(HUGEPAGES)


def is_restartable_init(container: Mapping[str, Any]) -> bool:
    """Whether an init container is a sidecar, which runs beside the others."""
    return container.get("restartPolicy") == "Always"


def container_sums(spec: Mapping[str, Any], field: str) -> dict[str, str]:
    """The effective `requests` or `limits` of all containers: their sum, or what initialization needs, if more."""
    total: dict[str, str] = {}
    for container in spec.get("containers") or ():
        add_resources(total, (container.get("resources") or {}).get(field) or {})
    sidecars: dict[str, str] = {}
    during_init: dict[str, str] = {}
    for container in spec.get("initContainers") or ():
        own = (container.get("resources") or {}).get(field) or {}
        if is_restartable_init(container):
            add_resources(total, own)
            add_resources(sidecars, own)
            needed: Mapping[str, str] = sidecars
        else:
            together = dict(own)
            add_resources(together, sidecars)
            needed = together
        max_resources(during_init, needed)
    max_resources(total, during_init)
    return total


def total_resources(spec: Mapping[str, Any], part: str) -> dict[str, str]:
    """What a Pod asks for: its containers together, or the Pod itself where it does, and what running it costs."""
    total = container_sums(spec, part)
    for name, text in ((spec.get("resources") or {}).get(part) or {}).items():
        if is_pod_level_resource(name):
            total[name] = text
    overhead: Mapping[str, str] = spec.get("overhead") or {}
    if part == "limits":
        overhead = {name: text for name, text in overhead.items() if name in total}
    add_resources(total, overhead)
    return total


def default_pod_level_resources(spec: Object) -> None:
    """Complete pod-level resources that are partly given: limits of huge pages, then requests."""
    resources = spec.get("resources")
    if not resources:
        return
    limits: dict[str, str] = resources.get("limits") or {}
    requests: dict[str, str] = resources.get("requests") or {}
    if limits or requests:
        for name, text in container_sums(spec, "limits").items():
            if name.startswith(HUGEPAGES) and name not in requests:
                limits.setdefault(name, text)
        if limits:
            resources["limits"] = limits
    if not limits:
        return
    for name, text in container_sums(spec, "requests").items():
        if name in _QOS_RESOURCES:
            requests.setdefault(name, text)
    for name, text in limits.items():
        if is_pod_level_resource(name):
            requests.setdefault(name, text)
    if requests:
        resources["requests"] = requests


def qos_class(spec: Mapping[str, Any]) -> str:
    """BestEffort when nothing is asked for, Guaranteed when all is both asked for and limited alike, else Burstable."""
    if spec.get("resources") is not None:
        return _qos_of([spec["resources"]])
    containers: Sequence[Mapping[str, Any]] = spec.get("containers") or ()
    init = spec.get("initContainers")
    every = [*containers, *init] if init else containers
    return _qos_of([c.get("resources") or {} for c in every])


def _qos_of(all_resources: Sequence[Mapping[str, Any]]) -> str:
    requests: dict[str, int] = {}
    limits: dict[str, int] = {}
    guaranteed = True
    for resources in all_resources:
        for name, text in (resources.get("requests") or {}).items():
            if name in _QOS_RESOURCES and (value := amount(text)) > 0:
                requests[name] = requests.get(name, 0) + value
        limited = 0
        for name, text in (resources.get("limits") or {}).items():
            if name in _QOS_RESOURCES and (value := amount(text)) > 0:
                limited += 1
                limits[name] = limits.get(name, 0) + value
        if limited < len(_QOS_RESOURCES):
            guaranteed = False
    if not requests and not limits:
        return "BestEffort"
    if guaranteed and requests == limits:
        return "Guaranteed"
    return "Burstable"
