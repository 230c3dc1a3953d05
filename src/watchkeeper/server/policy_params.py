"""Where policies find their parameters: objects of every kind that is served."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from watchkeeper.admission.policy.params import ParamSource
from watchkeeper.endpoints.scope import ServedResource, ServedTable
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.meta.labels import LabelSelector
from watchkeeper.registry.rest import Context, Getter, Lister
from watchkeeper.request.user import LOOPBACK
from watchkeeper.runtime.scheme import Scheme, gvk_of
from watchkeeper.storage.interface import ListOptions, StoredObject
from watchkeeper.storage.predicate import SelectionPredicate

Object = dict[str, Any]


class ServedParams:
    """The objects of one served kind. Implements `ParamSource`."""

    def __init__(self, scheme: Scheme, served: ServedResource) -> None:
        self._scheme = scheme
        self._served = served

    def __repr__(self) -> str:
        return f"<ServedParams {self._served.info.kind}>"

    @property
    def namespaced(self) -> bool:
        """Whether the objects are in namespaces."""
        return self._served.info.namespaced

    async def get(self, namespace: str, name: str) -> Object | None:
        """One object: as it is now if memory knows that, else as the cache has it."""
        store, ctx = self._served.scope.store, Context(user=LOOPBACK, namespace=namespace)
        if not isinstance(store, Getter):
            return None
        found: StoredObject | Object | None = store.get_nowait(ctx, name, "")
        if found is None:
            try:
                found = await store.get(ctx, name, "0")
            except ApiError as error:
                if error.code == 404:
                    return None
                raise
        return self._at_version(found.data() if isinstance(found, StoredObject) else found)

    async def list(self, namespace: str, selector: LabelSelector) -> Sequence[Object]:
        """The objects that a selector selects, as the cache has them."""
        store, ctx = self._served.scope.store, Context(user=LOOPBACK, namespace=namespace)
        if not isinstance(store, Lister):
            return ()
        options = ListOptions(resource_version="0", predicate=SelectionPredicate(label=selector))
        found = await store.list(ctx, options)
        return [self._at_version(item.data()) for item in found.items]

    def _at_version(self, obj: Object) -> Object:
        kind = self._served.info.kind
        return obj if gvk_of(obj) == kind else self._scheme.convert(obj, kind)


def plural_of(served: ServedTable, kind: GroupVersionKind) -> str | None:
    """What a kind is called in paths, None when it is not served at that version."""
    found = (resource.info for resource in served.resources(kind.group, kind.version))
    return next((info.gvr.resource for info in found if info.kind == kind), None)


class ServedParamSources:
    """Finds kinds in the table of what is served. Implements `ParamSources`."""

    def __init__(self, scheme: Scheme, served: ServedTable) -> None:
        self._scheme = scheme
        self._served = served
        self._generation = -1
        self._known: dict[GroupVersionKind, ParamSource | None] = {}

    def find(self, kind: GroupVersionKind) -> ParamSource | None:
        """The objects of a kind, None when it is not served at that version."""
        if self._generation != self._served.generation:
            self._generation = self._served.generation
            self._known.clear()
        if kind not in self._known:
            self._known[kind] = self._find(kind)
        return self._known[kind]

    def _find(self, kind: GroupVersionKind) -> ParamSource | None:
        plural = plural_of(self._served, kind)
        served = None if plural is None else self._served.find(kind.group, kind.version, plural)
        return None if served is None else ServedParams(self._scheme, served)
