"""What Pods use of quotas."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from watchkeeper.admission.interface import Attributes, Operation
from watchkeeper.admission.quota.amounts import ONE, Amounts, add, read
from watchkeeper.admission.quota.evaluator import Object, ScopeSelector, count_name
from watchkeeper.apis.core.pod_resources import is_pod_level_resource, qos_class, total_resources
from watchkeeper.apis.printing import parse_time
from watchkeeper.apis.validation.resources import is_extended_resource, is_native_resource
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.meta.labels import from_spec

_PODS = GroupResource("", "pods")
_COUNT = count_name(_PODS)
_MEASURED = ("cpu", "memory", "ephemeral-storage")
_HUGEPAGES = "hugepages-"
_REQUESTS, _LIMITS = "requests.", "limits."
_BY_DEVICE_CLASS = "deviceclass.resource.kubernetes.io/"
"""Extended resources that stand for the devices of a class."""
_KNOWN = frozenset({_COUNT, "pods", *(p + name for name in _MEASURED for p in ("", _REQUESTS, _LIMITS))})
_REQUIRED = frozenset(p + name for name in ("cpu", "memory") for p in ("", _REQUESTS, _LIMITS))
"""What every container has to ask for where a quota limits it."""
_AFFINITY_TERMS = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)


class PodEvaluator:
    """Counts Pods, and what those that have not ended ask for."""

    resource = _PODS

    def handles(self, attributes: Attributes) -> bool:
        """New Pods count, Pods that are resized, and those that come under other quotas with a deadline."""
        if attributes.subresource == "resize":
            return attributes.operation in (Operation.CREATE, Operation.UPDATE)
        if attributes.subresource:
            return False
        return attributes.operation is Operation.CREATE or _gets_deadline(attributes)

    def matching(self, names: Iterable[str]) -> list[str]:
        """Counts, compute resources, huge pages and extended resources."""
        return [name for name in names if name in _KNOWN or _is_open_ended(name)]

    def missing(self, required: Collection[str], obj: Object) -> str:
        """Every container has to ask for the CPU and memory that are limited, unless the Pod does as a whole."""
        needed = _REQUIRED.intersection(required)
        spec = obj["spec"]
        if not needed or _asks_as_a_whole(spec):
            return ""
        lacking: dict[str, set[str]] = {}
        for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
            resources = container.get("resources") or {}
            asked = _compute(resources.get("requests") or {}, resources.get("limits") or {})
            for name in needed.difference(asked):
                lacking.setdefault(name, set()).add(container["name"])
        if not lacking:
            return ""
        return "must specify " + "; ".join(f"{name} for: {','.join(sorted(lacking[name]))}" for name in sorted(lacking))

    def usage(self, obj: Object) -> Amounts:
        """One, and what the Pod asks for as long as it has not ended."""
        found: Amounts = {_COUNT: ONE}
        if not _counts(obj):
            return found
        spec = obj["spec"]
        return add(found, read(_compute(total_resources(spec, "requests"), total_resources(spec, "limits"))))

    def in_scope(self, selector: ScopeSelector, obj: Object) -> bool:
        """By deadline, quality of service, priority class or affinity to other namespaces."""
        spec = obj["spec"]
        match selector["scopeName"]:
            case "Terminating":
                return _has_deadline(spec)
            case "NotTerminating":
                return not _has_deadline(spec)
            case "BestEffort":
                return qos_class(spec) == "BestEffort"
            case "NotBestEffort":
                return qos_class(spec) != "BestEffort"
            case "PriorityClass":
                return _has_priority(selector, spec.get("priorityClassName") or "")
            case "CrossNamespacePodAffinity":
                return _crosses_namespaces(spec)
        return False


def _is_open_ended(name: str) -> bool:
    if name.startswith((_HUGEPAGES, _REQUESTS + _HUGEPAGES)):
        return True
    return name.startswith(_REQUESTS + _BY_DEVICE_CLASS) or (
        name.startswith(_REQUESTS) and not is_native_resource(name)
    )


def _asks_as_a_whole(spec: Mapping[str, Any]) -> bool:
    resources = spec.get("resources") or {}
    return any(is_pod_level_resource(name) for part in ("requests", "limits") for name in resources.get(part) or ())


def _compute(requests: Mapping[str, str], limits: Mapping[str, str]) -> dict[str, str]:
    """What is asked for, by the names that quotas have for it."""
    found = {"pods": "1"}
    for name in _MEASURED:
        if name in requests:
            found[name] = found[_REQUESTS + name] = requests[name]
        if name in limits:
            found[_LIMITS + name] = limits[name]
    for name, text in requests.items():
        if name.startswith(_HUGEPAGES):
            found[name] = found[_REQUESTS + name] = text
        elif is_extended_resource(name) or name.startswith(_BY_DEVICE_CLASS):
            found[_REQUESTS + name] = text
    return found


def _counts(pod: Object) -> bool:
    """Whether a Pod uses anything: not when it has ended, or should long have."""
    if (pod.get("status") or {}).get("phase") in ("Failed", "Succeeded"):
        return False
    metadata = pod["metadata"]
    deleted, grace = metadata.get("deletionTimestamp"), metadata.get("deletionGracePeriodSeconds")
    if deleted is None or grace is None:
        return True
    return time.time() <= parse_time(deleted) + float(grace)


def _gets_deadline(attributes: Attributes) -> bool:
    new, old = attributes.obj, attributes.old
    if attributes.operation is not Operation.UPDATE or new is None or old is None:
        return False
    return _has_deadline(new["spec"]) != _has_deadline(old["spec"])


def _has_deadline(spec: Mapping[str, Any]) -> bool:
    seconds = spec.get("activeDeadlineSeconds")
    return seconds is not None and seconds >= 0


def _has_priority(selector: ScopeSelector, priority_class: str) -> bool:
    operator = selector.get("operator") or "Exists"
    if operator == "Exists":
        return bool(priority_class)
    requirement = {"key": "PriorityClass", "operator": operator, "values": selector.get("values")}
    wanted = from_spec({"matchExpressions": [requirement]})
    return wanted.matches({"PriorityClass": priority_class} if priority_class else {})


def _crosses_namespaces(spec: Mapping[str, Any]) -> bool:
    affinity = spec.get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        for field in _AFFINITY_TERMS:
            for term in (affinity.get(kind) or {}).get(field) or ():
                term = term.get("podAffinityTerm", term)
                if term.get("namespaces") or term.get("namespaceSelector") is not None:
                    return True
    return False
