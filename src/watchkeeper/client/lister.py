"""Reads objects from an informer's memory, as if from the server."""

from __future__ import annotations

from watchkeeper.client.indexer import NAMESPACE, Indexer
from watchkeeper.client.interface import Object
from watchkeeper.meta import errors, labels
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.meta.label_selector import LabelSelector


class Lister:
    """One resource. Objects are shared: copy before changing."""

    def __init__(self, indexer: Indexer, resource: GroupResource, namespace: str = "") -> None:
        """In one namespace, or everywhere."""
        self._indexer = indexer
        self._resource = resource
        self._namespace = namespace

    def __repr__(self) -> str:
        return f"<Lister of {self._resource} in {self._namespace or 'all namespaces'}>"

    def within(self, namespace: str) -> Lister:
        """The same resource in one namespace."""
        return Lister(self._indexer, self._resource, namespace)

    def get(self, name: str) -> Object:
        """The object of a name. Raises ApiError, 404, when it is not there."""
        found = self._indexer.get(f"{self._namespace}/{name}" if self._namespace else name)
        if found is None:
            raise errors.not_found(self._resource, name)
        return found

    def list(self, selector: LabelSelector | str = "") -> list[Object]:
        """All objects that a label selector selects. Raises SelectorError for a text that is none."""
        wanted = labels.parse(selector) if isinstance(selector, str) else selector
        found = self._indexer.by_index(NAMESPACE, self._namespace) if self._namespace else self._indexer.list()
        if wanted.is_empty():
            return found
        return [obj for obj in found if wanted.matches(obj["metadata"].get("labels") or {})]
