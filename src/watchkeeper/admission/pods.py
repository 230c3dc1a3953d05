"""What the reference's default admission plugins set on new Pods: priority, and tolerations of ailing nodes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from watchkeeper.admission.interface import Attributes, BasePlugin, Operation
from watchkeeper.admission.refusal import forbidden
from watchkeeper.meta.gvk import GroupResource

Object = dict[str, Any]

SYSTEM_PRIORITIES = {"system-cluster-critical": 2000000000, "system-node-critical": 2000001000}

_PODS = GroupResource("", "pods")
_CLASSES = GroupResource("scheduling.k8s.io", "priorityclasses")

FindPriorityClass = Callable[[str], "Object | Awaitable[Object | None] | None"]
"""Name -> the PriorityClass, None when there is none; "" -> the one that is the global default. An awaitable when
memory cannot tell."""


def is_new_pod(attributes: Attributes) -> bool:
    """Whether a Pod is being created, not something on a subresource of one."""
    return attributes.resource.resource == "pods" and not attributes.resource.group and not attributes.subresource


class Priority(BasePlugin):
    """Works out a new Pod's priority and preemption policy from its priority class; keeps one class the default."""

    name = "Priority"
    deep = False
    operations = frozenset({Operation.CREATE, Operation.UPDATE})
    resources = frozenset({_PODS, _CLASSES})

    def __init__(self, find: FindPriorityClass) -> None:
        """`find` returns the class of a name, for "" the one that is the default of all pods."""
        self._find = find

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        """Set what a new Pod's class says; keep what an update leaves out."""
        if not is_new_pod(attributes):
            return None
        assert attributes.obj is not None
        spec = attributes.obj["spec"]
        if attributes.operation is Operation.UPDATE:
            before = (attributes.old or {}).get("spec") or {}
            for field in ("priority", "preemptionPolicy"):
                if spec.get(field) is None and before.get(field) is not None:
                    spec[field] = before[field]
            return None
        class_name = spec.get("priorityClassName") or ""
        found = self._find(class_name)
        if found is not None and not isinstance(found, dict):
            return self._wait(attributes, spec, class_name, found)
        self._from_class(attributes, spec, class_name, found)
        return None

    async def _wait(
        self, attributes: Attributes, spec: Object, class_name: str, found: Awaitable[Object | None]
    ) -> None:
        self._from_class(attributes, spec, class_name, await found)

    def _from_class(self, attributes: Attributes, spec: Object, class_name: str, found: Object | None) -> None:
        if found is None:
            if not class_name:
                self._set(attributes, spec, 0, "PreemptLowerPriority")
                return
            if class_name in SYSTEM_PRIORITIES:
                self._set(attributes, spec, SYSTEM_PRIORITIES[class_name], "PreemptLowerPriority")
                return
            why = f"no PriorityClass with name {class_name} was found"
            raise forbidden(attributes, why)
        spec["priorityClassName"] = found["metadata"]["name"]
        policy = found.get("preemptionPolicy") or "PreemptLowerPriority"
        self._set(attributes, spec, found.get("value", 0), policy)

    @staticmethod
    def _set(attributes: Attributes, spec: Object, value: int, policy: str) -> None:
        given = spec.get("priority")
        if given is not None and given != value:
            why = (
                f"the integer value of priority ({given}) must not be provided in pod spec; priority admission"
                f" controller computed {value} from the given PriorityClass name"
            )
            raise forbidden(attributes, why)
        spec["priority"] = value
        given_policy = spec.get("preemptionPolicy")
        if given_policy is not None and given_policy != policy:
            why = (
                f"the string value of PreemptionPolicy ({given_policy}) must not be provided in pod spec; priority"
                f" admission controller computed {policy} from the given PriorityClass name"
            )
            raise forbidden(attributes, why)
        spec["preemptionPolicy"] = policy

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        """No second PriorityClass becomes the default of all pods."""
        if attributes.resource.group_resource != _CLASSES or attributes.subresource:
            return None
        assert attributes.obj is not None
        return self._check_default(attributes) if attributes.obj.get("globalDefault") else None

    async def _check_default(self, attributes: Attributes) -> None:
        found = self._find("")
        default = found if found is None or isinstance(found, dict) else await found
        if default is None:
            return
        name = default["metadata"]["name"]
        if attributes.operation is Operation.CREATE or name != attributes.name:
            raise forbidden(
                attributes, f"PriorityClass {name} is already marked as default. Only one default can exist"
            )


DEFAULT_TOLERATION_SECONDS = 300


class DefaultTolerationSeconds(BasePlugin):
    """Pods stay for some time, by default five minutes, on a node that is not ready or unreachable.

    Unless they say otherwise.
    """

    name = "DefaultTolerationSeconds"
    deep = False
    operations = frozenset({Operation.CREATE, Operation.UPDATE})
    resources = frozenset({_PODS})

    def __init__(
        self, not_ready: int = DEFAULT_TOLERATION_SECONDS, unreachable: int = DEFAULT_TOLERATION_SECONDS
    ) -> None:
        """For how many seconds each is tolerated."""
        self._seconds = {"node.kubernetes.io/not-ready": not_ready, "node.kubernetes.io/unreachable": unreachable}

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        """Add the tolerations that are missing."""
        if not is_new_pod(attributes):
            return None
        assert attributes.obj is not None
        spec = attributes.obj["spec"]
        tolerations = spec.get("tolerations") or []
        missing = list(self._seconds)
        for toleration in tolerations:
            if (toleration.get("effect") or "") in ("", "NoExecute"):
                key = toleration.get("key") or ""
                if not key:
                    return None
                if key in missing:
                    missing.remove(key)
        if missing:
            added = [
                {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": self._seconds[key]}
                for key in missing
            ]
            spec["tolerations"] = [*tolerations, *added]
        return None
