"""What the server itself has to know of stored objects while it judges requests."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import Any

from watchkeeper.aio.http_client import ResolveError
from watchkeeper.apis.validation.names import is_path_segment_name
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.registry.builtin import BuiltinRegistry
from watchkeeper.registry.errors import to_api_error
from watchkeeper.registry.store import Store
from watchkeeper.storage.errors import KeyNotFound, NotReady, StorageError
from watchkeeper.storage.interface import ListOptions, StoredObject

Object = dict[str, Any]

log = logging.getLogger(__name__)

_PAUSE_SECONDS = 0.1

_NAMESPACES = GroupResource("", "namespaces")
_NODES = GroupResource("", "nodes")
_SLICES = GroupResource("discovery.k8s.io", "endpointslices")
OF_SERVICE = "kubernetes.io/service-name"
"""The label of EndpointSlices that names their Service."""
_NO_LABELS: Mapping[str, str] = {}
_PRIORITY_CLASSES = GroupResource("scheduling.k8s.io", "priorityclasses")


class StoredObjects:
    """Objects of built-in resources, read past admission and authorization."""

    def __init__(self, registry: BuiltinRegistry) -> None:
        self._registry = registry
        self._cached: set[GroupResource] = set()
        self._priority_classes: tuple[list[StoredObject], Object | None] = ([], None)
        """All priority classes as they were last time, and which of them is the default."""

    def store(self, group: str, resource: str) -> Store:
        """The registry store of a built-in resource."""
        return self._registry.find(GroupResource(group, resource))

    async def find_core(self, resource: str, namespace: str, name: str) -> Object | None:
        """An object of the core group, None when there is none. Raises ApiError."""
        return await self.find(self.store("", resource), f"{namespace}/{name}" if namespace else name)

    async def list_objects(self, resource: GroupResource) -> list[Object]:
        """All objects of a resource, as the cache has them. Raises ApiError."""
        try:
            return await self.all_of(resource)
        except StorageError as error:
            raise to_api_error(error, resource, "", "list") from error

    async def all_of(self, resource: GroupResource, namespace: str = "") -> list[Object]:
        """All objects of a resource, or of a namespace of it, as the cache has them. Raises StorageError."""
        store = self._registry.find(resource)
        prefix = f"{store.prefix}/{namespace}/" if namespace else f"{store.prefix}/"
        found = await store.storage.get_list(prefix, ListOptions(resource_version="0"))
        return [item.data() for item in found.items]

    async def first_of(self, resource: GroupResource) -> list[Object]:
        """All objects of a resource, waiting for as long as its cache takes to fill. Raises StorageError."""
        return [item.data() for item in await self.first_items(resource)]

    async def first_items(self, resource: GroupResource) -> Sequence[StoredObject]:
        """The same, not parsed yet: holding many parsed ones costs time."""
        store = self._registry.find(resource)
        while True:
            try:
                found = await store.storage.get_list(f"{store.prefix}/", ListOptions(resource_version="0"))
                return found.items
            except NotReady as error:
                log.warning("waiting for %s: %s", resource, error)
                await asyncio.sleep(_PAUSE_SECONDS)

    def list_in(self, resource: GroupResource, namespace: str) -> Sequence[Object] | Awaitable[Sequence[Object]]:
        """The objects of a namespace, as the cache has them after taking in what has been written here.

        An awaitable when memory cannot tell. Costs next to nothing when there are none. Raises ApiError.
        """
        store = self._registry.find(resource)
        found = store.storage.list_nowait(f"{store.prefix}/{namespace}/")
        return self._list_in(store, resource, namespace) if found is None else [item.data() for item in found]

    async def _list_in(self, store: Store, resource: GroupResource, namespace: str) -> Sequence[Object]:
        try:
            # The first list starts the cache; from then on it knows how many there are.
            if resource in self._cached and not await store.storage.count(f"{store.prefix}/{namespace}/"):
                return []
            found = await self.all_of(resource, namespace)
        except StorageError as error:
            raise to_api_error(error, resource, "", "list") from error
        self._cached.add(resource)
        return found

    def namespace_is_ending(self, name: str) -> bool | Awaitable[bool | None] | None:
        """Whether a Namespace is about to go, None when there is none; an awaitable when memory cannot tell.

        Raises ApiError.
        """
        store = self._registry.find(_NAMESPACES)
        key = f"{store.prefix}/{name}"
        found = store.storage.get_nowait(key, resource_version="")
        if found is not None:
            return b'"phase":"Terminating"' in found.tail
        # Whoever shares the store may have changed it a moment ago. One that is there and not ending is good enough, as
        # it is for kube-apiserver: what is created too late goes with the rest, for its contents are listed anew.
        cached = store.storage.get_nowait(key, resource_version="0")
        if cached is not None and b'"phase":"Terminating"' not in cached.tail:
            return False
        return self._read_namespace(name)

    async def _read_namespace(self, name: str) -> bool | None:
        found = await self.find(self.store("", "namespaces"), name)
        return None if found is None else (found.get("status") or {}).get("phase") == "Terminating"

    def find_namespace(self, name: str) -> Object | Awaitable[Object | None] | None:
        """A Namespace as it is stored, None when it does not exist; an awaitable when memory cannot tell.

        Raises ApiError.
        """
        store = self._registry.find(_NAMESPACES)
        found = store.storage.get_nowait(f"{store.prefix}/{name}", resource_version="")
        return found.data() if found is not None else self.find(store, name)

    def node_labels(self, name: str) -> Mapping[str, str] | Awaitable[Mapping[str, str]]:
        """The labels of a Node, none when there is no such Node; an awaitable when memory cannot tell.

        Raises ApiError.
        """
        store = self._registry.find(_NODES)
        key = f"{store.prefix}/{name}"
        found = store.storage.get_nowait(key, resource_version="")
        if found is not None:
            return found.attributes.labels
        if "/" in name or name in (".", "..") or store.storage.is_absent_nowait(key):
            return _NO_LABELS
        return self._read_labels(store, name)

    async def _read_labels(self, store: Store, key: str) -> Mapping[str, str]:
        found = await self.get(store, key)
        return found.attributes.labels if found is not None else _NO_LABELS

    async def find_service(self, namespace: str, name: str) -> Object | None:
        """A Service, None when there is none. Raises ResolveError."""
        try:
            return await self.find(self.store("", "services"), f"{namespace}/{name}")
        except ApiError as error:
            # So that a webhook behind it counts as one that cannot be reached.
            raise ResolveError(error.message) from error

    async def find_slices(self, namespace: str, name: str) -> list[Object]:
        """The EndpointSlices of a Service, as the cache has them. Raises ResolveError."""
        store = self._registry.find(_SLICES)
        try:
            found = await store.storage.get_list(f"{store.prefix}/{namespace}/", ListOptions(resource_version="0"))
        except StorageError as error:
            raise ResolveError(str(error)) from error
        return [item.data() for item in found.items if item.attributes.labels.get(OF_SERVICE) == name]

    async def find(self, store: Store, key: str) -> Object | None:
        """An object by what follows the prefix of its resource in its key, None when there is none. Raises ApiError."""
        found = await self.get(store, key)
        return found.data() if found is not None else None

    async def get(self, store: Store, key: str) -> StoredObject | None:
        """The same, as it is stored. Raises ApiError."""
        try:
            return await store.storage.get(f"{store.prefix}/{key}")
        except KeyNotFound:
            return None
        except StorageError as error:
            raise to_api_error(error, store.resource, key.rpartition("/")[2], "get") from error

    def find_priority_class(self, name: str) -> Object | Awaitable[Object | None] | None:
        """A PriorityClass; with no name the one that is for Pods that name none. An awaitable when memory cannot tell.

        Raises ApiError.
        """
        store = self._registry.find(_PRIORITY_CLASSES)
        if is_path_segment_name(name):
            return None  # no object can have such a name
        if name:
            return self.find(store, name)
        found = store.storage.list_nowait(f"{store.prefix}/")
        if found is None:
            return self._read_default_priority_class(store)
        known, default = self._priority_classes
        if found != known:  # they are the very same objects unless one has been written
            default = _default_priority_class(found)
            self._priority_classes = (found, default)
        return default

    @staticmethod
    async def _read_default_priority_class(store: Store) -> Object | None:
        try:
            classes = await store.storage.get_list(f"{store.prefix}/", ListOptions(resource_version="0"))
        except StorageError as error:
            raise to_api_error(error, store.resource, "", "list") from error
        return _default_priority_class(classes.items)


def _default_priority_class(classes: Iterable[StoredObject]) -> Object | None:
    marked = (item.data() for item in classes if b'"globalDefault":true' in item.tail)
    return min((c for c in marked if c.get("globalDefault")), key=lambda c: c.get("value", 0), default=None)
