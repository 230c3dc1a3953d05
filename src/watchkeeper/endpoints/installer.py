"""Puts resources into the table of what is served: a scope per version and subresource."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from watchkeeper.apis import scale
from watchkeeper.apis.behavior import KindBehavior
from watchkeeper.apis.catalog import ResourceInfo, SubresourceInfo
from watchkeeper.endpoints.scope import (
    APPLY_PATCH,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_PATCH,
    FieldManager,
    Scope,
    ServedResource,
    ServedTable,
    Services,
)
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.registry.builtin import BuiltinRegistry
from watchkeeper.runtime.scheme import Kind

FieldManagerProvider = Callable[[Kind, GroupVersionKind, str], FieldManager | None]
"""(kind at the served version, hub, subresource) -> who keeps track of fields there, if anybody does."""

VirtualProvider = Callable[[ResourceInfo, str], Any]
"""(resource, subresource or "") -> the object that answers for what is stored nowhere, such as access reviews."""

_CONNECT = frozenset({"attach", "exec", "log", "portforward", "proxy"})


class Installer:
    """Serves resources of the registry."""

    def __init__(
        self,
        services: Services,
        served: ServedTable,
        registry: BuiltinRegistry,
        *,
        field_managers: FieldManagerProvider,
        virtual: VirtualProvider,
    ) -> None:
        self.services = services
        self.served = served
        self.registry = registry
        self._field_managers = field_managers
        self._virtual = virtual

    def install(self, resources: Iterable[ResourceInfo]) -> None:
        """Serve built-in resources."""
        for info in resources:
            self.served.add(self.make(info))

    def make(self, info: ResourceInfo) -> ServedResource:
        """A resource that is not served yet."""
        kind = self.services.scheme.kind(info.kind)
        hub = kind.hub
        behavior = self.registry.behavior(hub)
        store = self._virtual(info, "")
        if store is None:
            store = self.registry.store(info)
        scope = self._scope(info, kind, hub, behavior, store)
        subresources = {s.name: self._subscope(info, s, behavior) for s in info.subresources}
        return ServedResource(info, scope, subresources, warning=kind.warning)

    def _scope(
        self, info: ResourceInfo, kind: Kind, hub: GroupVersionKind, behavior: KindBehavior, store: Any
    ) -> Scope:
        return Scope(
            services=self.services,
            info=info,
            kind=kind,
            hub=hub,
            behavior=behavior,
            store=store,
            verbs=frozenset(info.verbs),
            patch_types=patch_types(kind),
            field_manager=self._field_managers(kind, hub, ""),
        )

    def _subscope(self, info: ResourceInfo, sub: SubresourceInfo, behavior: KindBehavior) -> Scope:
        scheme = self.services.scheme
        parent = scheme.kind(info.kind)
        connects = sub.name in _CONNECT
        kind = parent if connects or not scheme.recognizes(sub.kind) else scheme.kind(sub.kind)
        store = self._virtual(info, sub.name)
        if store is None:
            store = self.registry.subresource(info, sub.name)
        hub = kind.hub
        return Scope(
            services=self.services,
            info=info,
            kind=kind,
            hub=hub,
            behavior=scale.BEHAVIOR if hub.group_kind == scale.SCALE else behavior,
            store=store,
            subresource=sub.name,
            verbs=frozenset({"connect"}) if connects else frozenset(sub.verbs),
            patch_types=patch_types(kind),
            field_manager=self._field_managers(kind, parent.hub, sub.name),
            parent_kind=parent.gvk,
        )


def patch_types(kind: Kind) -> tuple[str, ...]:
    """The media types that a PATCH of this kind may have."""
    if kind.builtin:
        return (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH)
    return (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)
