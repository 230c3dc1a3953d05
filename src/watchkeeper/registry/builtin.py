"""The registry of built-in resources: a Store for each stored resource, and the stores of their subresources."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from watchkeeper.apis.behavior import Behaviors, KindBehavior, PartHooks
from watchkeeper.apis.catalog import ResourceInfo
from watchkeeper.meta.field import FieldError
from watchkeeper.meta.gvk import GroupResource, GroupVersionKind
from watchkeeper.registry.events import EventStore
from watchkeeper.registry.namespaces import (
    FinalizeStrategy,
    NamespaceStatusStrategy,
    NamespaceStore,
    NamespaceStrategy,
)
from watchkeeper.registry.services import ServiceStore
from watchkeeper.registry.signing_requests import SigningRequestStore
from watchkeeper.registry.store import Hooks, StatusStore, Store, StoreConfig
from watchkeeper.registry.strategy import StatusStrategy, Strategy
from watchkeeper.runtime.scheme import Scheme
from watchkeeper.storage.interface import RESOURCE_PREFIX, Interface
from watchkeeper.storage.prefixes import resource_prefix

Object = dict[str, Any]

_RETURNS_DELETED = frozenset(
    GroupResource(group, name)
    for group, names in {
        "": (
            "persistentvolumeclaims",
            "persistentvolumes",
            "pods",
            "podtemplates",
            "resourcequotas",
            "serviceaccounts",
            "services",
        ),
        "resource.k8s.io": ("deviceclasses", "resourceclaims", "resourceclaimtemplates", "resourceslices"),
        "storage.k8s.io": (
            "csidrivers",
            "csinodes",
            "storageclasses",
            "volumeattachments",
            "volumeattributesclasses",
        ),
    }.items()
    for name in names
)
"""Resources whose DELETE answers with the object instead of a Status."""


_STORES: Mapping[GroupResource, type[Store]] = {
    GroupResource("", "events"): EventStore,
    GroupResource("", "namespaces"): NamespaceStore,
    GroupResource("", "services"): ServiceStore,
    GroupResource("certificates.k8s.io", "certificatesigningrequests"): SigningRequestStore,
}
"""Stores that do more than the generic one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageSpec:
    """What storage for one resource needs to know."""

    resource: GroupResource
    kind: GroupVersionKind
    prefix: str
    namespaced: bool
    behavior: KindBehavior


StorageProvider = Callable[[StorageSpec], Interface]
"""Opens the storage of a resource: cached or not, encrypted or not, wherever the options say."""


@dataclass(slots=True, kw_only=True)
class BuiltinOptions:
    """What the operator decides about built-in resources."""

    event_ttl: int = 3600
    """Seconds that Events are kept."""
    root: str = RESOURCE_PREFIX
    """What all keys begin with."""
    hooks: Mapping[GroupResource, Hooks] = field(default_factory=dict)
    part_hooks: Mapping[tuple[GroupResource, str], Hooks] = field(default_factory=dict)
    """By resource and subresource."""
    stores: Mapping[GroupResource, type[Store]] = field(default_factory=dict)
    """Resources whose verbs do otherwise than the generic store's."""


class BuiltinRegistry:
    """Built-in stores. Resources that share stored objects (core and events.k8s.io Events) share a Store's parts."""

    def __init__(
        self,
        scheme: Scheme,
        behaviors: Behaviors,
        storage: StorageProvider,
        options: BuiltinOptions | None = None,
    ) -> None:
        self._scheme = scheme
        self._behaviors = behaviors
        self._storage = storage
        self._options = options or BuiltinOptions()
        self._stores: dict[GroupResource, Store] = {}
        self._views: dict[GroupResource, Store] = {}

    def stores(self) -> list[Store]:
        """All stores made so far."""
        return list(self._stores.values())

    def behavior(self, hub: GroupVersionKind) -> KindBehavior:
        """The behavior of a kind."""
        return self._behaviors.of(hub.group_kind)

    def find(self, resource: GroupResource) -> Store:
        """The store of a stored resource by its hub group. Raises KeyError."""
        return self._stores[resource]

    def store(self, info: ResourceInfo) -> Store:
        """The store behind a resource, made at first need."""
        hub = self._scheme.kind(info.kind).hub
        resource = GroupResource(hub.group, info.gvr.resource)
        found = self._stores.get(resource)
        if found is None:
            found = self._stores[resource] = self._make(info, hub, resource)
        if info.gvr.group != hub.group:
            return self._view(found, GroupResource(info.gvr.group, info.gvr.resource))
        return found

    def _view(self, store: Store, resource: GroupResource) -> Store:
        """The store as another group knows it: refusals and answers name the resource that was asked for."""
        view = self._views.get(resource)
        if view is None:
            view = self._views[resource] = copy.copy(store)
            view.resource = resource
        return view

    def _make(self, info: ResourceInfo, hub: GroupVersionKind, resource: GroupResource) -> Store:
        behavior = self.behavior(hub)
        prefix = resource_prefix(resource.group, resource.resource, root=self._options.root)
        spec = StorageSpec(resource=resource, kind=hub, prefix=prefix, namespaced=info.namespaced, behavior=behavior)
        has_status = any(s.name == "status" for s in info.subresources)
        namespaces = resource == GroupResource("", "namespaces")
        strategy_class = NamespaceStrategy if namespaces else Strategy
        strategy = strategy_class(hub, behavior, namespaced=info.namespaced, has_status=has_status)
        config = StoreConfig(
            resource=resource,
            storage=self._storage(spec),
            strategy=strategy,
            prefix=prefix,
            ttl=self._event_ttl if resource == GroupResource("", "events") else None,
            returns_deleted_object=resource in _RETURNS_DELETED,
            hooks=self._options.hooks.get(resource),
            make_blank=lambda: self._blank(hub),
        )
        make = self._options.stores.get(resource) or _STORES.get(resource, Store)
        return make(config)

    def _blank(self, hub: GroupVersionKind) -> Object:
        empty: Object = {"apiVersion": hub.api_version, "kind": hub.kind, "metadata": {}}
        blank = self._scheme.kind(hub).decode(empty, None)
        fill = self.behavior(hub).fill_blank
        if fill is not None:
            fill(blank)
        return blank

    def _event_ttl(self, _obj: Object) -> int:
        return self._options.event_ttl

    def subresource(self, info: ResourceInfo, name: str) -> Any:
        """The store of a subresource that changes part of the object, or None for another kind of subresource."""
        store = self.store(info)
        behavior, namespaced = store.strategy.behavior, info.namespaced
        special = behavior.extra.get("subresources", {}).get(name)
        if special is not None:
            part_hooks = self._options.part_hooks.get((store.resource, name))
            strategy = PartStrategy(store.kind, behavior, special, namespaced=namespaced, part_hooks=part_hooks)
            return StatusStore(store, strategy)
        if name == "status":
            of_namespace = isinstance(store, NamespaceStore)
            make = NamespaceStatusStrategy if of_namespace else StatusStrategy
            return StatusStore(store, make(store.kind, behavior, namespaced=namespaced, has_status=True))
        if name == "finalize":
            return StatusStore(store, FinalizeStrategy(store.kind, behavior, namespaced=namespaced, has_status=True))
        return None


class PartStrategy(StatusStrategy):
    """A strategy whose rules are the kind's own."""

    def __init__(
        self,
        kind: GroupVersionKind,
        behavior: KindBehavior,
        hooks: PartHooks,
        *,
        namespaced: bool,
        part_hooks: Hooks | None = None,
    ) -> None:
        super().__init__(kind, behavior, namespaced=namespaced, has_status=True)
        self.hooks = hooks
        self.part_hooks = part_hooks

    def prepare_for_update(self, obj: Object, old: Object) -> None:
        """As the kind says."""
        self.hooks.prepare(obj, old)

    def _update_errors(self, obj: Object, old: Object, *, sound: bool) -> list[FieldError]:
        return self.hooks.validate(obj, old)
