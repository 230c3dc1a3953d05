"""What is answered without being stored as it is: reviews, connections to nodes, bindings, evictions, tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from watchkeeper.apis.catalog import ResourceInfo
from watchkeeper.authn.interface import TokenAuthenticator
from watchkeeper.authz.interface import Authorizer
from watchkeeper.authz.reviews import RuleResolver
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.registry.builtin import BuiltinRegistry
from watchkeeper.registry.component_statuses import ComponentStatuses
from watchkeeper.registry.connect import NodeProxy, PodConnect, PodLog, ServiceProxy
from watchkeeper.registry.reviews import review_stores
from watchkeeper.registry.store import Store


class VirtualResources:
    """Finds who answers for a resource or subresource that is no part of a stored object's own life."""

    def __init__(
        self,
        registry: BuiltinRegistry,
        authorizer: Authorizer,
        resolver: RuleResolver,
        tokens: TokenAuthenticator,
    ) -> None:
        self._registry = registry
        self._whole: dict[str, Any] = dict(review_stores(authorizer, resolver, tokens))
        self._whole["componentstatuses"] = ComponentStatuses()
        self._parts: dict[tuple[str, str], Callable[[], Any]] = {
            ("nodes", "proxy"): lambda: NodeProxy(self._store("nodes")),
            ("services", "proxy"): lambda: ServiceProxy(self._store("services")),
            ("pods", "log"): lambda: PodLog(self._store("pods"), self._store("nodes"), "log"),
        }
        for name in ("attach", "exec", "portforward", "proxy"):
            self._parts["pods", name] = self._connect(name)

    def _store(self, resource: str) -> Store:
        return self._registry.find(GroupResource("", resource))

    def _connect(self, name: str) -> Callable[[], Any]:
        return lambda: PodConnect(self._store("pods"), self._store("nodes"), name)

    def find(self, info: ResourceInfo, subresource: str) -> Any:
        """The object that answers, or None when the registry does."""
        if not subresource:
            return self._whole.get(info.gvr.resource)
        make = self._parts.get((info.gvr.resource, subresource))
        return make() if make is not None else None
