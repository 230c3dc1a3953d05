"""Puts the layers together: from a key-value store to an ASGI application."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from watchkeeper.admission.certificates import (
    CertificateApproval,
    CertificateSigning,
    CertificateSubjectRestriction,
)
from watchkeeper.admission.expression.checking import CheckedExpressions
from watchkeeper.admission.interface import Chain, Plugin
from watchkeeper.admission.limits.ranger import LimitRanger
from watchkeeper.admission.namespace_lifecycle import NamespaceLifecycle
from watchkeeper.admission.objects import (
    DefaultIngressClass,
    DefaultStorageClass,
    PersistentVolumeClaimResize,
    StorageObjectInUseProtection,
    TaintNodesByCondition,
)
from watchkeeper.admission.pod_topology_labels import PodTopologyLabels
from watchkeeper.admission.pods import DefaultTolerationSeconds, Priority
from watchkeeper.admission.podsecurity.plugin import PodSecurity
from watchkeeper.admission.quota.plugin import ResourceQuotas
from watchkeeper.admission.readiness import ConfigurationKnown
from watchkeeper.admission.runtime_class import RuntimeClass
from watchkeeper.aio.http_client import ResolveError
from watchkeeper.apis.admissionregistration.behaviors import checked_behaviors
from watchkeeper.apis.builtin import builtin_behaviors, builtin_scheme
from watchkeeper.apis.catalog import ResourceInfo
from watchkeeper.apis.protobuf import object_of
from watchkeeper.apis.schema_data import resources
from watchkeeper.authn.interface import TokenAuthenticator
from watchkeeper.authn.service_account_tokens import ServiceAccountTokens
from watchkeeper.authz.interface import Authorizer
from watchkeeper.authz.reviews import RuleResolver
from watchkeeper.endpoints.app import PathHandler
from watchkeeper.endpoints.discovery import Discovery, groups_of
from watchkeeper.endpoints.handlers.discovery import DiscoveryPaths
from watchkeeper.endpoints.handlers.openapi import OpenAPIPaths
from watchkeeper.endpoints.installer import Installer
from watchkeeper.endpoints.openapi.documents import OpenAPI
from watchkeeper.endpoints.scope import ServedTable, Services
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.registry.allocators import DEFAULT_NETWORK, DEFAULT_NODE_PORTS, ServiceAllocator
from watchkeeper.registry.builtin import BuiltinOptions, BuiltinRegistry, StorageSpec
from watchkeeper.registry.errors import to_api_error
from watchkeeper.registry.service_records import ServiceRecords
from watchkeeper.registry.store import Store
from watchkeeper.runtime.scheme import Scheme, gvk_of
from watchkeeper.server import admission_policies, admission_webhooks, policy_feed
from watchkeeper.server.admission_policies import AdmissionPolicies
from watchkeeper.server.admission_webhooks import AdmissionWebhooks
from watchkeeper.server.custom_resources import DEFINITIONS, STORES, CustomResourceSupport, with_definitions
from watchkeeper.server.equivalents import ServedEquivalents
from watchkeeper.server.field_managers import field_manager_for
from watchkeeper.server.followed_store import FollowedStore
from watchkeeper.server.policy_feed import Followed
from watchkeeper.server.quota_store import ServedQuotas
from watchkeeper.server.security_labels import SecurityLabels
from watchkeeper.server.service_sharing import ServiceSharing, is_shared
from watchkeeper.server.version import version_info
from watchkeeper.server.virtual import VirtualResources
from watchkeeper.storage.codec import JsonCodec
from watchkeeper.storage.errors import CorruptObjects, KeyNotFound, StorageError
from watchkeeper.storage.factory import StorageFactory
from watchkeeper.storage.interface import Interface, ListOptions, StoredObject

log = logging.getLogger(__name__)

Object = dict[str, Any]
SERVICES = GroupResource("", "services")
FOLLOWED = (
    *policy_feed.RESOURCES.values(),
    *admission_policies.RESOURCES.values(),
    *admission_webhooks.RESOURCES.values(),
)
"""What requests are judged by."""


@dataclass(slots=True, kw_only=True)
class AssemblyOptions:
    """What the operator decides about the API."""

    event_ttl: int = 3600
    authorizer: Authorizer
    resolver: RuleResolver
    tokens: TokenAuthenticator
    signer: ServiceAccountTokens
    resources: Sequence[ResourceInfo] = field(default_factory=resources)
    """The built-in resources to serve, in the order of discovery."""
    max_body_bytes: int = 3 * 1024 * 1024
    service_networks: Sequence[str] = (DEFAULT_NETWORK,)
    node_ports: tuple[int, int] = DEFAULT_NODE_PORTS
    extra_plugins: Sequence[Plugin] = field(default_factory=tuple)


class Assembly:
    """All built-in resources over the storages of one factory, ready to be routed to."""

    def __init__(self, storage: StorageFactory, options: AssemblyOptions) -> None:
        """`storage` is open, and closed by whoever opened it."""
        self.storage = storage
        self.options = options
        self._cached: set[GroupResource] = set()
        self.scheme: Scheme = builtin_scheme()
        self.records = ServiceRecords(lambda resource: self.registry.find(resource))
        self.allocator = ServiceAllocator(options.service_networks, options.node_ports, self.records)
        self.sharing: ServiceSharing | None = None
        """Set when other servers may allocate for Services too."""
        if is_shared(storage):
            self.sharing = ServiceSharing(
                storage, lambda resource: self.registry.find(resource), self.allocator, options.node_ports
            )
        self.registry = BuiltinRegistry(
            self.scheme,
            with_definitions(self.scheme, builtin_behaviors().including(checked_behaviors(CheckedExpressions()))),
            self._open_storage,
            BuiltinOptions(
                event_ttl=options.event_ttl,
                hooks={SERVICES: self.allocator},
                stores={**STORES, **dict.fromkeys(FOLLOWED, FollowedStore)},
                root=storage.root,
            ),
        )
        self.served = ServedTable()
        self.equivalents = ServedEquivalents(self.served)
        self.policies = AdmissionPolicies(
            self.scheme,
            self.served,
            equivalents=self.equivalents,
            authorizer=options.authorizer,
            read_namespace=self.find_namespace,
        )
        self.webhooks = AdmissionWebhooks(
            equivalents=self.equivalents,
            authorizer=options.authorizer,
            read_namespace=self.find_namespace,
            find_service=self._find_service,
        )
        self.quotas = ResourceQuotas(ServedQuotas(self.served, self.list_in))
        self.configuration = ConfigurationKnown()
        self.services = Services(
            scheme=self.scheme,
            admission=Chain([*self._plugins(), *options.extra_plugins]),
            authorizer=options.authorizer,
            max_body_bytes=options.max_body_bytes,
        )
        self.virtual = VirtualResources(
            self.registry, options.authorizer, options.resolver, options.tokens, options.signer
        )
        options.signer.find_uid = self._find_uid
        installer = Installer(
            self.services,
            self.served,
            self.registry,
            field_managers=lambda kind, hub, sub: field_manager_for(self.scheme, kind, hub, sub),
            virtual=self.virtual.find,
        )
        for info in resources():
            # What is not served is still there for the server's own use.
            if self.virtual.find(info, "") is None:
                self.registry.store(info)
        installer.install(options.resources)
        self.discovery = Discovery(groups_of(options.resources, lambda gvk: self.scheme.kind(gvk).hub))
        self.openapi = OpenAPI(options.resources, version_info()["gitVersion"])
        definitions = next(info for info in resources() if info.group_resource == DEFINITIONS)
        self.custom = CustomResourceSupport(
            self.services,
            self.served,
            self.discovery,
            self.openapi,
            storage,
            self.served.find(*definitions.gvr) or installer.make(definitions),
            self.webhooks.clients,
        )

    def paths(self) -> tuple[dict[str, PathHandler], dict[str, PathHandler]]:
        """The paths that describe what is served: exact ones, and all below a path."""
        discovery = DiscoveryPaths(self.discovery).handle
        openapi = OpenAPIPaths(self.openapi)
        exact: dict[str, PathHandler] = {
            "/api": discovery,
            "/apis": discovery,
            "/openapi/v2": openapi.handle_v2,
            "/openapi/v3": openapi.handle_v3,
        }
        below: dict[str, PathHandler] = {
            "/api/": discovery,
            "/apis/": discovery,
            "/openapi/v3/": openapi.handle_v3,
        }
        return exact, below

    def _open_storage(self, spec: StorageSpec) -> Interface:
        behavior = spec.behavior
        codec = JsonCodec(
            spec.kind,
            behavior.selectable_fields,
            decode_old=self._decode_old(spec),
            protobuf=object_of,
        )
        fields = (behavior.trigger_field,) if behavior.trigger_field else ()
        return self.storage.storage(spec.resource, codec, index_fields=fields)

    def _decode_old(self, spec: StorageSpec) -> Callable[[Object], Object]:
        def decode(obj: Object) -> Object:
            kind = self.scheme.kind(gvk_of(obj))
            decoded = kind.decode(obj, None)
            if kind.default is not None:
                kind.default(decoded)
            return self.scheme.convert(decoded, spec.kind)

        return decode

    # -- admission --------------------------------------------------------------------------------------------

    def followed(self) -> list[tuple[str, Followed, Mapping[str, GroupResource]]]:
        """What this server knows of stored objects: a name, who is to be kept up to date, and the resources by kind."""
        shared: list[tuple[str, Followed, Mapping[str, GroupResource]]] = []
        if self.sharing is not None:
            shared.append(("services", self.allocator, {"Service": SERVICES}))
        return [
            *shared,
            ("admission-policies", self.policies, admission_policies.RESOURCES),
            ("admission-webhooks", self.webhooks, admission_webhooks.RESOURCES),
        ]

    def _plugins(self) -> list[Plugin]:
        return [
            NamespaceLifecycle(self._namespace_is_ending),
            LimitRanger(lambda namespace: self.list_in(GroupResource("", "limitranges"), namespace)),
            TaintNodesByCondition(),
            PodSecurity(
                SecurityLabels(lambda: self.store("", "namespaces")),
                lambda namespace: self.list_in(GroupResource("", "pods"), namespace),
            ),
            Priority(self._find_priority_class),
            DefaultTolerationSeconds(),
            StorageObjectInUseProtection(),
            DefaultStorageClass(lambda: self.list_objects(GroupResource("storage.k8s.io", "storageclasses"))),
            PersistentVolumeClaimResize(lambda: self.list_objects(GroupResource("storage.k8s.io", "storageclasses"))),
            RuntimeClass(lambda name: self._find(self.store("node.k8s.io", "runtimeclasses"), name)),
            CertificateApproval(self.options.authorizer),
            CertificateSigning(self.options.authorizer),
            CertificateSubjectRestriction(),
            DefaultIngressClass(lambda: self.list_objects(GroupResource("networking.k8s.io", "ingressclasses"))),
            PodTopologyLabels(lambda name: self._find(self.store("", "nodes"), name)),
            self.configuration,
            self.policies.mutating,
            self.webhooks.mutating,
            self.policies.validating,
            self.webhooks.validating,
            self.quotas,
        ]

    def store(self, group: str, resource: str) -> Store:
        """The registry store of a built-in resource."""
        return self.registry.find(GroupResource(group, resource))

    async def load_allocations(self) -> None:
        """Learn what existing Services have been allocated. Called once, before anything is served."""
        try:
            services = await self._list(SERVICES)
        except CorruptObjects:
            self.allocator.load(await self._readable(SERVICES))
            return  # what records are left over cannot be told
        self.allocator.load(services)
        if self.sharing is not None:
            await self.sharing.start()
        else:
            await self.records.reconcile(services)

    async def _readable(self, resource: GroupResource) -> list[Object]:
        codec = self.registry.find(resource).storage.codec
        assert isinstance(codec, JsonCodec)
        found: list[Object] = []
        async for item in self.storage.scan(resource, codec):
            if isinstance(item, StoredObject):
                found.append(item.data())
            else:
                log.error("not everything is known of %s: %s", resource, item)
        return found

    async def _find_uid(self, resource: str, namespace: str, name: str) -> str | None:
        found = await self._get(self.store("", resource), f"{namespace}/{name}" if namespace else name)
        return found.attributes.uid if found is not None else None

    async def list_objects(self, resource: GroupResource) -> list[Object]:
        """All objects of a resource, as the cache has them. Raises ApiError."""
        try:
            return await self._list(resource)
        except StorageError as error:
            raise to_api_error(error, resource, "", "list") from error

    async def _list(self, resource: GroupResource, namespace: str = "") -> list[Object]:
        store = self.registry.find(resource)
        prefix = f"{store.prefix}/{namespace}/" if namespace else f"{store.prefix}/"
        found = await store.storage.get_list(prefix, ListOptions(resource_version="0"))
        return [item.data() for item in found.items]

    async def list_in(self, resource: GroupResource, namespace: str) -> list[Object]:
        """The objects of a namespace, as the cache has them after taking in what has been written here.

        Costs next to nothing when there are none. Raises ApiError.
        """
        store = self.registry.find(resource)
        try:
            # The first list starts the cache; from then on it knows how many there are.
            if resource in self._cached and not await store.storage.count(f"{store.prefix}/{namespace}/"):
                return []
            found = await self._list(resource, namespace)
        except StorageError as error:
            raise to_api_error(error, resource, "", "list") from error
        self._cached.add(resource)
        return found

    def _namespace_is_ending(self, name: str) -> bool | Awaitable[bool | None] | None:
        store = self.store("", "namespaces")
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
        found = await self._find(self.store("", "namespaces"), name)
        return None if found is None else (found.get("status") or {}).get("phase") == "Terminating"

    def find_namespace(self, name: str) -> Object | Awaitable[Object | None] | None:
        """A Namespace as it is stored, None when it does not exist; an awaitable when memory cannot tell.

        Raises ApiError.
        """
        store = self.store("", "namespaces")
        found = store.storage.get_nowait(f"{store.prefix}/{name}", resource_version="")
        return found.data() if found is not None else self._find(store, name)

    async def _find_service(self, namespace: str, name: str) -> Object | None:
        try:
            return await self._find(self.store("", "services"), f"{namespace}/{name}")
        except ApiError as error:
            # So that a webhook behind it counts as one that cannot be reached.
            raise ResolveError(error.message) from error

    async def _find(self, store: Store, key: str) -> Object | None:
        found = await self._get(store, key)
        return found.data() if found is not None else None

    async def _get(self, store: Store, key: str) -> StoredObject | None:
        try:
            return await store.storage.get(f"{store.prefix}/{key}")
        except KeyNotFound:
            return None
        except StorageError as error:
            raise to_api_error(error, store.resource, key.rpartition("/")[2], "get") from error

    async def _find_priority_class(self, name: str) -> Object | None:
        store = self.store("scheduling.k8s.io", "priorityclasses")
        if name:
            return await self._find(store, name)
        try:
            classes = await store.storage.get_list(f"{store.prefix}/", ListOptions(resource_version="0"))
        except StorageError as error:
            raise to_api_error(error, store.resource, "", "list") from error
        marked = (item.data() for item in classes.items if b'"globalDefault":true' in item.tail)
        return min((c for c in marked if c.get("globalDefault")), key=lambda c: c.get("value", 0), default=None)

    # -- the end ----------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """End all watches."""
        self.services.stopping = True
        for watcher in list(self.services.watchers):
            watcher.close()
        await self.quotas.close()
        await self.custom.close()
        await self.records.close()
        if self.sharing is not None:
            await self.sharing.close()
        self.webhooks.close()


__all__ = ["Assembly", "AssemblyOptions", "StorageError"]
