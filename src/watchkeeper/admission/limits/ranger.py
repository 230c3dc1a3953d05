"""The LimitRanger plugin."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any

from watchkeeper.admission.interface import Attributes, BasePlugin, Operation
from watchkeeper.admission.limits.constraints import claim_faults, container_faults, pod_resources
from watchkeeper.admission.refusal import forbidden
from watchkeeper.meta.gvk import GroupResource

Object = dict[str, Any]
Limit = Mapping[str, Any]
"""One entry of a LimitRange's spec.limits."""
Ranges = Sequence[Mapping[str, Any]]
ReadRanges = Callable[[str], "Ranges | Awaitable[Ranges]"]
"""Namespace -> its LimitRanges, as fresh as can be had at no great cost, ordered by name. An awaitable when memory
cannot tell."""

ANNOTATION = "kubernetes.io/limit-ranger"
_KINDS = frozenset({"Pod", "PersistentVolumeClaim"})


class LimitRanger(BasePlugin):
    """Gives containers what LimitRanges say they get by default, and refuses what is out of bounds."""

    name = "LimitRanger"
    deep = False  # of updates it changes those of the resize subresource only, which share nothing
    operations = frozenset({Operation.CREATE, Operation.UPDATE})
    resources = frozenset({GroupResource("", "pods"), GroupResource("", "persistentvolumeclaims")})

    def __init__(self, read: ReadRanges) -> None:
        self._read = read

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        """Fill in defaults of new Pods (and of Pods that are resized)."""
        if not _concerns(attributes) or attributes.resource.resource != "pods":
            return None
        ranges = self._read(attributes.namespace)
        return self._admit(attributes, ranges) if ranges else None

    @staticmethod
    async def _admit(attributes: Attributes, ranges: Ranges | Awaitable[Ranges]) -> None:
        assert attributes.obj is not None
        for limit_range in await ranges if isinstance(ranges, Awaitable) else ranges:
            _set_defaults(attributes.obj, _limits(limit_range))

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        """Raise a 403 that tells all that is out of the bounds of the first LimitRange that is broken."""
        if not _concerns(attributes):
            return None
        ranges = self._read(attributes.namespace)
        return self._validate(attributes, ranges) if ranges else None

    @staticmethod
    async def _validate(attributes: Attributes, ranges: Ranges | Awaitable[Ranges]) -> None:
        assert attributes.obj is not None
        for limit_range in await ranges if isinstance(ranges, Awaitable) else ranges:
            faults = _faults(attributes.obj, _limits(limit_range), attributes.resource.resource)
            if distinct := list(dict.fromkeys(faults)):
                raise forbidden(attributes, distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]")


def _limits(limit_range: Mapping[str, Any]) -> Sequence[Limit]:
    limits: Sequence[Limit] = (limit_range.get("spec") or {}).get("limits") or ()
    return limits


def _concerns(attributes: Attributes) -> bool:
    """Whether limits apply: to Pods when they are created or resized, to claims whenever they are written."""
    kind = attributes.kind
    if kind.kind not in _KINDS or kind.group or attributes.obj is None:
        return False
    update = attributes.operation is Operation.UPDATE
    if update and ((attributes.old or {}).get("metadata") or {}).get("deletionTimestamp") is not None:
        return False
    if attributes.subresource:
        return update and attributes.subresource == "resize" and kind.kind == "Pod"
    return not update or kind.kind == "PersistentVolumeClaim"


def _set_defaults(pod: Object, limits: Sequence[Limit]) -> None:
    requests: dict[str, str] = {}
    most: dict[str, str] = {}
    for limit in limits:
        if limit.get("type") == "Container":
            requests.update(limit.get("defaultRequest") or {})
            most.update(limit.get("default") or {})
    if not requests and not most:
        return
    notes: list[str] = []
    for field, words in (("containers", "container"), ("initContainers", "init container")):
        for container in pod["spec"].get(field) or ():
            for part, verb, defaults in (("requests", "request", requests), ("limits", "limit", most)):
                if added := _complete(container, part, defaults):
                    notes.append(f"{', '.join(added)} {verb} for {words} {container.get('name', '')}")
    if notes:
        metadata = pod["metadata"]
        text = f"LimitRanger plugin set: {'; '.join(notes)}"
        metadata["annotations"] = {**(metadata.get("annotations") or {}), ANNOTATION: text}


def _complete(container: Object, part: str, defaults: dict[str, str]) -> list[str]:
    """Add what is missing; returns the names of what was added."""
    resources = container.get("resources") or {}
    given = resources.get(part) or {}
    added = sorted(name for name in defaults if name not in given)
    if added:
        container["resources"] = {**resources, part: {**given, **{name: defaults[name] for name in added}}}
    return added


def _faults(obj: Object, limits: Sequence[Limit], resource: str) -> Iterator[str]:
    spec = obj.get("spec") or {}
    for limit in limits:
        kind = limit.get("type")
        if resource == "persistentvolumeclaims":
            if kind == "PersistentVolumeClaim":
                yield from claim_faults(limit, (spec.get("resources") or {}).get("requests") or {})
        elif kind == "Container":
            for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
                yield from container_faults(limit, container.get("resources") or {})
        elif kind == "Pod":
            yield from container_faults(limit, pod_resources(spec))
