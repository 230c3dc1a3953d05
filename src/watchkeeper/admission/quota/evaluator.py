"""What is known of a resource that quotas count."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Protocol

from watchkeeper.admission.interface import Attributes, Operation
from watchkeeper.admission.quota.amounts import ONE, Amounts
from watchkeeper.meta.gvk import GroupResource

Object = Mapping[str, Any]
ScopeSelector = Mapping[str, Any]
"""A ScopedResourceSelectorRequirement."""


class Evaluator(Protocol):
    """Tells what objects of one resource use."""

    resource: GroupResource

    def handles(self, attributes: Attributes) -> bool:
        """Whether a request may change what is used."""
        ...

    def matching(self, names: Iterable[str]) -> list[str]:
        """Those of the names of a quota that objects of this resource count for."""
        ...

    def missing(self, required: Collection[str], obj: Object) -> str:
        """Why an object cannot be counted, "" when it can."""
        ...

    def usage(self, obj: Object) -> Amounts:
        """What an object uses."""
        ...

    def in_scope(self, selector: ScopeSelector, obj: Object) -> bool:
        """Whether an object is in a scope of a quota."""
        ...


def count_name(resource: GroupResource) -> str:
    """What counts all objects of a resource."""
    return f"count/{resource}"


class ObjectCount:
    """Counts objects and knows nothing else about them."""

    def __init__(self, resource: GroupResource, alias: str = "") -> None:
        """`alias`: another name that quotas have for the count."""
        self.resource = resource
        self._names = [count_name(resource), alias] if alias else [count_name(resource)]

    def handles(self, attributes: Attributes) -> bool:
        """New objects count."""
        return attributes.operation is Operation.CREATE and not attributes.subresource

    def matching(self, names: Iterable[str]) -> list[str]:
        """The names of the count."""
        return [name for name in names if name in self._names]

    def missing(self, required: Collection[str], obj: Object) -> str:
        """Everything can be counted."""
        return ""

    def usage(self, obj: Object) -> Amounts:
        """One."""
        return dict.fromkeys(self._names, ONE)

    def in_scope(self, selector: ScopeSelector, obj: Object) -> bool:
        """Scopes are for Pods."""
        return False
