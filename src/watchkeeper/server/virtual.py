"""What is answered without being stored as it is: reviews, connections to nodes, bindings, evictions, tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from watchkeeper.apis.catalog import ResourceInfo
from watchkeeper.apis.scale import scalable_kinds
from watchkeeper.apis.schema_data import resources
from watchkeeper.authn.interface import TokenReviewer
from watchkeeper.authn.service_account_tokens import ServiceAccountTokens
from watchkeeper.authz.interface import Authorizer
from watchkeeper.authz.reviews import RuleResolver
from watchkeeper.meta.gvk import GroupResource, GroupVersionKind
from watchkeeper.registry.builtin import BuiltinRegistry
from watchkeeper.registry.component_statuses import Check, ComponentStatuses
from watchkeeper.registry.connect import Kubelets, NodeProxy, PodConnect, PodLog, PodProxy, ServiceProxy
from watchkeeper.registry.kubelet import KubeletPlaces
from watchkeeper.registry.pods import BindingStore, EvictionStore
from watchkeeper.registry.reviews import review_stores
from watchkeeper.registry.rollback import RollbackStore
from watchkeeper.registry.scale import ScaleStore, builtin_mapping
from watchkeeper.registry.store import Store
from watchkeeper.registry.tokens import TokenStore
from watchkeeper.runtime.scheme import Scheme
from watchkeeper.server.field_managers import field_manager_for

_BUDGET = GroupVersionKind("policy", "v1", "PodDisruptionBudget")
_SERVER = "kube-apiserver"
"""The manager of fields that the server itself writes, as clients know it."""
_BINDABLE = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}


class VirtualResources:
    """Finds who answers for a resource or subresource that is no part of a stored object's own life."""

    def __init__(
        self,
        registry: BuiltinRegistry,
        authorizer: Authorizer,
        resolver: RuleResolver,
        tokens: TokenReviewer,
        signer: ServiceAccountTokens,
        scheme: Scheme,
        components: Callable[[], Mapping[str, Check]],
        places: KubeletPlaces,
    ) -> None:
        """`components` are looked at when somebody asks how they are; `places` are where kubelets are reached."""
        self._registry = registry
        self._scheme = scheme
        self._signer = signer
        self._authorizer = authorizer
        self._places = places
        self._whole: dict[str, Any] = dict(review_stores(authorizer, resolver, tokens))
        self._whole["componentstatuses"] = ComponentStatuses(components)
        self._parts: dict[tuple[str, str], Callable[[], Any]] = {
            ("nodes", "proxy"): lambda: NodeProxy(self._kubelets()),
            ("services", "proxy"): lambda: ServiceProxy(
                self._store("services"), self._made("", "endpoints"), self._made("", "pods")
            ),
            ("pods", "proxy"): lambda: PodProxy(self._store("pods")),
            ("pods", "log"): lambda: PodLog(self._store("pods"), self._kubelets()),
        }
        self._parts["pods", "binding"] = lambda: BindingStore(self._store("pods"))
        self._parts["pods", "eviction"] = self._eviction_store
        self._parts["deployments", "rollback"] = lambda: RollbackStore(self._made("apps", "deployments"))
        self._parts["serviceaccounts", "token"] = self._token_store
        for name in ("attach", "exec", "portforward"):
            self._parts["pods", name] = self._connect(name)

    def _store(self, resource: str) -> Store:
        return self._registry.find(GroupResource("", resource))

    def _kubelets(self) -> Kubelets:
        return Kubelets(self._store("nodes"), self._places)

    def _eviction_store(self) -> EvictionStore:
        kind = self._scheme.kind(_BUDGET)
        manager = field_manager_for(self._scheme, kind, kind.hub, "status")
        assert manager is not None
        return EvictionStore(
            self._store("pods"),
            self._made("policy", "poddisruptionbudgets"),
            lambda live, new: manager.update(live, new, _SERVER),
        )

    def _token_store(self) -> TokenStore:
        bindable = {kind: self._made("", name) for kind, name in _BINDABLE.items()}
        return TokenStore(self._store("serviceaccounts"), bindable, self._signer)

    def _made(self, group: str, resource: str) -> Store:
        """The store of a resource that may come later in the catalog."""
        info = next(r for r in resources() if (r.gvr.group, r.gvr.resource) == (group, resource))
        return self._registry.store(info)

    def _scale(self, info: ResourceInfo) -> ScaleStore:
        return ScaleStore(self._registry.store(info), builtin_mapping(info.kind))

    def _connect(self, name: str) -> Callable[[], Any]:
        return lambda: PodConnect(self._store("pods"), self._kubelets(), name, self._authorizer)

    def find(self, info: ResourceInfo, subresource: str) -> Any:
        """The object that answers, or None when the registry does."""
        if not subresource:
            if info.gvr.resource == "bindings":
                return BindingStore(self._made("", "pods"))
            return self._whole.get(info.gvr.resource)
        if subresource == "scale" and info.kind.group_kind in scalable_kinds():
            return self._scale(info)
        make = self._parts.get((info.gvr.resource, subresource))
        return make() if make is not None else None
