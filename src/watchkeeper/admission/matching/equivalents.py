"""Resources that are the same objects under other names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from watchkeeper.meta.gvk import GroupVersionKind, GroupVersionResource


class Equivalent(NamedTuple):
    """A resource, and what bodies are there (for a subresource: what its bodies are)."""

    resource: GroupVersionResource
    kind: GroupVersionKind


class Equivalents(Protocol):
    """Knows under which versions and groups a resource is served."""

    def of(self, resource: GroupVersionResource, subresource: str) -> Sequence[Equivalent]:
        """All names under which the resource (or subresource) is served, itself among them, in serving order.

        Events of the core group and of events.k8s.io are the same objects. Unknown resources have no equivalents.
        """
        ...
