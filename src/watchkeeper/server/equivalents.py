"""Which served resources are the same objects: read off the table of what is served."""

from __future__ import annotations

from collections.abc import Sequence

from watchkeeper.admission.matching import Equivalent
from watchkeeper.endpoints.scope import ServedResource, ServedTable
from watchkeeper.meta.gvk import GroupVersionResource

_EVENTS = "events"
_EVENT_GROUPS = ("", "events.k8s.io")


class ServedEquivalents:
    """All versions of a resource are equivalent, and so are both kinds of Events. Implements `Equivalents`."""

    def __init__(self, served: ServedTable) -> None:
        self._served = served
        self._generation = -1
        self._known: dict[tuple[GroupVersionResource, str], Sequence[Equivalent]] = {}

    def of(self, resource: GroupVersionResource, subresource: str) -> Sequence[Equivalent]:
        """All names under which the resource is served, itself among them."""
        if self._generation != self._served.generation:
            self._generation = self._served.generation
            self._known.clear()
        key = (resource, subresource)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = tuple(self._find(resource, subresource))
        return found

    def _find(self, resource: GroupVersionResource, subresource: str) -> list[Equivalent]:
        shared = resource.resource == _EVENTS and resource.group in _EVENT_GROUPS
        found: list[Equivalent] = []
        for group in _EVENT_GROUPS if shared else (resource.group,):
            for version in self._served.versions(group):
                served = self._served.find(group, version, resource.resource)
                if served is not None and (equivalent := _equivalent(served, subresource)) is not None:
                    found.append(equivalent)
        return found


def _equivalent(served: ServedResource, subresource: str) -> Equivalent | None:
    info = served.info
    if not subresource:
        return Equivalent(info.gvr, info.kind)
    kinds = (sub.kind for sub in info.subresources if sub.name == subresource)
    kind = next(kinds, None)
    return None if kind is None else Equivalent(info.gvr, kind)
