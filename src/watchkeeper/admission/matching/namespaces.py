"""The namespace of a request, as selectors and expressions see it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from watchkeeper.admission.interface import Attributes, Operation
from watchkeeper.meta import errors
from watchkeeper.meta.gvk import GroupResource

Object = dict[str, Any]

NamespaceReader = Callable[[str], "Object | Awaitable[Object | None] | None"]
"""Name -> the Namespace as it is stored; None when it does not exist. An awaitable when memory cannot tell."""

_NAMESPACES = GroupResource("", "namespaces")
_NO_LABELS: Mapping[str, str] = {}


class Namespaces:
    """Reads namespaces for one request and remembers what was read; do not keep it longer."""

    __slots__ = ("_known", "_read")

    def __init__(self, read: NamespaceReader) -> None:
        self._read = read
        self._known: dict[str, Object] = {}

    async def get(self, name: str) -> Object:
        """The Namespace, not to be changed. Raises a 404."""
        known = self._known.get(name)
        if known is not None:
            return known
        found = self._read(name)
        if isinstance(found, Awaitable):
            found = await found
        if found is None:
            raise errors.not_found(_NAMESPACES, name)
        self._known[name] = found
        return found

    async def labels(self, attributes: Attributes) -> Mapping[str, str]:
        """The labels that a request's namespaceSelector is about.

        A Namespace that is being written is judged by its new labels. Raises a 404 when there is no namespace.
        """
        if is_namespace(attributes) and attributes.operation in (Operation.CREATE, Operation.UPDATE):
            assert attributes.obj is not None
            return labels_of(attributes.obj) or _NO_LABELS
        return labels_of(await self.get(attributes.namespace)) or _NO_LABELS


def is_namespace(attributes: Attributes) -> bool:
    """Whether the request writes a Namespace itself."""
    return attributes.resource.resource == "namespaces" and not attributes.subresource


def labels_of(obj: Object | None) -> Mapping[str, str] | None:
    """An object's labels; None when it has no metadata at all."""
    metadata = obj.get("metadata") if obj is not None else None
    if metadata is None:
        return None
    labels: Mapping[str, str] = metadata.get("labels") or _NO_LABELS
    return labels
