"""Puts the layers together: from a key-value store to an ASGI application."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from watchkeeper.admission.expression.checking import CheckedExpressions
from watchkeeper.admission.expression.device_selectors import device_selecting_behaviors
from watchkeeper.admission.interface import Chain, Plugin
from watchkeeper.admission.pods import DEFAULT_TOLERATION_SECONDS
from watchkeeper.admission.podsecurity.metrics import PodSecurityMetrics
from watchkeeper.admission.quota.plugin import ResourceQuotas
from watchkeeper.admission.read_only import ReadOnly
from watchkeeper.admission.readiness import ConfigurationKnown
from watchkeeper.aio.together import close_all
from watchkeeper.apis.admissionregistration.behaviors import checked_behaviors
from watchkeeper.apis.behavior import Behaviors
from watchkeeper.apis.builtin import builtin_behaviors, builtin_scheme
from watchkeeper.apis.catalog import ResourceInfo
from watchkeeper.apis.core.persistentvolumeclaim import equate_sources
from watchkeeper.apis.schema_data import resources
from watchkeeper.authn.interface import TokenReviewer
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
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.registry.address_repair import SERVICES
from watchkeeper.registry.allocators import DEFAULT_NETWORK, DEFAULT_NODE_PORTS, ServiceAllocator
from watchkeeper.registry.builtin import BuiltinOptions, BuiltinRegistry
from watchkeeper.registry.issued_certificates import IssuedCertificates
from watchkeeper.registry.service_families import complete_stored
from watchkeeper.registry.service_networks import SERVICE_CIDRS
from watchkeeper.registry.store import Store
from watchkeeper.runtime.scheme import Scheme
from watchkeeper.server import admission_policies, admission_webhooks, api_services, flow_schemas, policy_feed
from watchkeeper.server.admission_choice import chosen
from watchkeeper.server.admission_configuration import NOTHING_SAID, AdmissionConfiguration
from watchkeeper.server.admission_plugins import builtin_plugins
from watchkeeper.server.admission_policies import AdmissionPolicies
from watchkeeper.server.admission_webhooks import MUTATING, VALIDATING, AdmissionWebhooks
from watchkeeper.server.aggregation.settings import AggregationSettings
from watchkeeper.server.api_availability import ApiAvailability
from watchkeeper.server.api_registration import ApiRegistration
from watchkeeper.server.api_services import ApiServices
from watchkeeper.server.backends.settings import KubeletSettings
from watchkeeper.server.components import Components
from watchkeeper.server.custom_resources import DEFINITIONS, STORES, CustomResourceSupport, with_definitions
from watchkeeper.server.equivalents import ServedEquivalents
from watchkeeper.server.field_managers import field_manager_for
from watchkeeper.server.flow_control_upkeep import FlowControlUpkeep
from watchkeeper.server.flow_schemas import FlowSchemas
from watchkeeper.server.followed_store import FollowedStore
from watchkeeper.server.ownership import Ownership
from watchkeeper.server.policy_feed import Followed
from watchkeeper.server.quota_store import ServedQuotas
from watchkeeper.server.resource_storage import Completion, ResourceStorage
from watchkeeper.server.service_allocation import ServiceAllocation
from watchkeeper.server.stored_objects import StoredObjects
from watchkeeper.server.token_tracking import TokenUses
from watchkeeper.server.version import KUBERNETES_MAJOR, KUBERNETES_MINOR
from watchkeeper.server.virtual import VirtualResources
from watchkeeper.storage.factory import StorageFactory

if TYPE_CHECKING:
    from watchkeeper.endpoints.response import Response
    from watchkeeper.registry.backends import Backend
    from watchkeeper.request.request import Request
    from watchkeeper.server.aggregation.remotes import Remotes
    from watchkeeper.server.backends.backends import Backends
    from watchkeeper.webhook import ServiceResolver

log = logging.getLogger(__name__)

Object = dict[str, Any]
_CLAIMS = GroupResource("", "persistentvolumeclaims")
SIGNING_REQUESTS = GroupResource("certificates.k8s.io", "certificatesigningrequests")
FOLLOWED = (
    *policy_feed.RESOURCES.values(),
    *admission_policies.RESOURCES.values(),
    *admission_webhooks.RESOURCES.values(),
    *api_services.RESOURCES.values(),
    *flow_schemas.RESOURCES.values(),
    SERVICE_CIDRS,
)
"""What requests are judged by."""


@dataclass(slots=True, kw_only=True)
class AssemblyOptions:
    """What the operator decides about the API."""

    event_ttl: int = 3600
    authorizer: Authorizer
    resolver: RuleResolver
    tokens: TokenReviewer
    signer: ServiceAccountTokens
    resources: Sequence[ResourceInfo] = field(default_factory=resources)
    """The built-in resources to serve, in the order of discovery."""
    max_body_bytes: int = 3 * 1024 * 1024
    service_networks: Sequence[str] = (DEFAULT_NETWORK,)
    node_ports: tuple[int, int] = DEFAULT_NODE_PORTS
    plugins: Sequence[Plugin] = field(default_factory=tuple)
    """Rules of whoever embeds the server."""
    extra_plugins: Sequence[Plugin] = field(default_factory=tuple)
    disabled_plugins: Sequence[str] = ()
    """Rules of kube-apiserver to leave out."""
    admission: AdmissionConfiguration = NOTHING_SAID
    """What rules are told."""
    toleration_seconds: tuple[int, int] = (DEFAULT_TOLERATION_SECONDS, DEFAULT_TOLERATION_SECONDS)
    """How long Pods stay on nodes that are not ready, and that are unreachable."""
    aggregation: AggregationSettings = field(default_factory=AggregationSettings)
    """How requests are passed on to other API servers."""
    kubelets: KubeletSettings = field(default_factory=KubeletSettings)
    """How kubelets are reached."""
    read_only: bool = False
    """Whether nothing may be written."""


class Assembly:
    """All built-in resources over the storages of one factory, ready to be routed to."""

    def __init__(self, storage: StorageFactory, options: AssemblyOptions) -> None:
        """`storage` is open, and closed by whoever opened it."""
        self.storage = storage
        self.options = options
        self.scheme: Scheme = builtin_scheme()
        self.ownership = Ownership(self.scheme)
        self.service_allocation = ServiceAllocation(
            storage,
            self.scheme,
            self.ownership,
            lambda resource: self.registry.find(resource),
            networks=options.service_networks,
            ports=options.node_ports,
            read_only=options.read_only,
        )
        self.issued = IssuedCertificates()
        self._resources = ResourceStorage(storage, self.scheme, self._completions())
        self.registry = self._make_registry()
        self.stored = StoredObjects(self.registry)
        self.served = ServedTable()
        self.equivalents = ServedEquivalents(self.served)
        self.pod_security = PodSecurityMetrics()
        self.policies = AdmissionPolicies(
            self.scheme,
            self.served,
            equivalents=self.equivalents,
            authorizer=options.authorizer,
            read_namespace=self.stored.find_namespace,
        )
        self.webhooks = self._make_webhooks()
        self.flow_schemas = FlowSchemas()
        self.quotas = ResourceQuotas(
            ServedQuotas(self.served, self.stored.list_in), options.admission.limited_resources
        )
        self.configuration = ConfigurationKnown()
        self.services = Services(
            scheme=self.scheme,
            admission=Chain(self._plugins()),
            authorizer=options.authorizer,
            pass_on=self._pass_on,
            max_body_bytes=options.max_body_bytes,
        )
        self._backends: Backends | None = None
        self.virtual = VirtualResources(
            self.registry,
            options.authorizer,
            options.resolver,
            options.tokens,
            options.signer,
            self.scheme,
            Components(storage.checks),
            options.kubelets.places,
        )
        options.signer.find = self.stored.find_core
        self._installer = Installer(
            self.services,
            self.served,
            self.registry,
            field_managers=lambda kind, hub, sub: field_manager_for(self.scheme, kind, hub, sub),
            virtual=self.virtual.find,
        )
        self._open_stores()
        self._installer.install(options.resources)
        self.discovery = Discovery(groups_of(options.resources, lambda gvk: self.scheme.kind(gvk).hub))
        self.api_services = ApiServices(self.served, self.discovery, self._make_remotes)
        self.openapi = OpenAPI(options.resources, f"{KUBERNETES_MAJOR}.{KUBERNETES_MINOR}")
        self.custom = self._make_custom()

    def _make_webhooks(self) -> AdmissionWebhooks:
        admission = self.options.admission
        return AdmissionWebhooks(
            equivalents=self.equivalents,
            authorizer=self.options.authorizer,
            read_namespace=self.stored.find_namespace,
            resolver=self._resolver,
            credentials={MUTATING: admission.mutating_webhooks, VALIDATING: admission.validating_webhooks},
        )

    def _make_custom(self) -> CustomResourceSupport:
        definitions = next(info for info in resources() if info.group_resource == DEFINITIONS)
        return CustomResourceSupport(
            self.services,
            self.served,
            self.discovery,
            self.openapi,
            self.storage,
            self.served.find(*definitions.gvr) or self._installer.make(definitions),
            self.webhooks.clients,
            read_only=self.options.read_only,
        )

    def _completions(self) -> dict[GroupResource, Completion]:
        return {
            SERVICES: lambda service: complete_stored(service, self.allocator.families),
            _CLAIMS: lambda claim: equate_sources(claim.get("spec") or {}),
        }

    def _make_registry(self) -> BuiltinRegistry:
        return BuiltinRegistry(
            self.scheme,
            with_definitions(self.scheme, _behaviors()),
            self._resources.open,
            BuiltinOptions(
                event_ttl=self.options.event_ttl,
                hooks=self.service_allocation.hooks(),
                part_hooks={(SIGNING_REQUESTS, "status"): self.issued},
                stores={**STORES, **dict.fromkeys(FOLLOWED, FollowedStore)},
                root=self.storage.root,
            ),
        )

    def _open_stores(self) -> None:
        """Those of all built-in resources: what is not served is still there for the server's own use."""
        for info in resources():
            if self.virtual.find(info, "") is None:
                self.registry.store(info)
        if not self.options.read_only:
            self.options.signer.note_use = TokenUses(self.stored.store("", "secrets"), self.ownership).note

    @property
    def allocator(self) -> ServiceAllocator:
        """Who gives addresses and ports to Services."""
        return self.service_allocation.allocator

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

    def followed(self) -> list[tuple[str, Followed, Mapping[str, GroupResource]]]:
        """What this server knows of stored objects: a name, who is to be kept up to date, and the resources by kind."""
        return [
            *self.service_allocation.followed(),
            ("admission-policies", self.policies, admission_policies.RESOURCES),
            ("admission-webhooks", self.webhooks, admission_webhooks.RESOURCES),
            ("api-services", self.api_services, api_services.RESOURCES),
            ("flow-control", self.flow_schemas, flow_schemas.RESOURCES),
        ]

    def _resolver(self) -> ServiceResolver:
        from watchkeeper.webhook import ServiceResolver

        told = self.options.aggregation
        slices = self.stored.find_slices if told.endpoints else None
        return ServiceResolver(self.stored.find_service, slices, told.own)

    def _pass_on(self, request: Request, backend: Backend) -> Awaitable[Response]:
        if self._backends is None:
            from watchkeeper.server.backends.backends import Backends

            self._backends = Backends(self.options.kubelets)
        return self._backends.pass_on(request, backend)

    def _make_remotes(self) -> Remotes:
        from watchkeeper.server.aggregation.remotes import Remotes

        return Remotes(self.options.aggregation, self._resolver(), self.api_services.tell, self.openapi)

    def registration(self) -> ApiRegistration:
        """Who keeps the APIServices of custom resources."""
        builtin = frozenset(each["metadata"]["name"] for each in self.builtin_services())
        return ApiRegistration(
            self.api_services,
            self.registry.find(api_services.API_SERVICES),
            self.discovery,
            self.ownership,
            builtin,
            self.custom.controller.wait_until_all_known,
        )

    def availability(self) -> ApiAvailability:
        """Who tells which remote APIServices can be reached."""
        store = self.registry.find(api_services.API_SERVICES)
        return ApiAvailability(self.api_services, store, self.stored, self.ownership)

    def flow_control(self) -> FlowControlUpkeep:
        """Who keeps what flow schemas say of their levels."""
        info = next(info for info in resources() if info.group_resource == flow_schemas.SCHEMAS)
        served = self.served.find(*info.gvr) or self._installer.make(info)
        status = served.subresources["status"]
        return FlowControlUpkeep(self.flow_schemas, self.registry.find(flow_schemas.SCHEMAS), status)

    def builtin_services(self) -> list[dict[str, Any]]:
        """The APIServices of what is built in."""
        return api_services.builtin_services(self.options.resources)

    def _plugins(self) -> list[Plugin]:
        plugins = [
            *([ReadOnly()] if self.options.read_only else []),
            *builtin_plugins(
                self.stored,
                self.options.authorizer,
                self.served,
                self.pod_security,
                self.options.admission,
                self.options.toleration_seconds,
            ),
            self.configuration,
            *self.options.plugins,
            self.policies.mutating,
            self.webhooks.mutating,
            self.policies.validating,
            self.webhooks.validating,
            self.quotas,
            *self.options.extra_plugins,
        ]
        return chosen(plugins, self.options.disabled_plugins)

    def store(self, group: str, resource: str) -> Store:
        """The registry store of a built-in resource."""
        return self.stored.store(group, resource)

    async def load_allocations(self) -> None:
        """Learn what existing Services have been allocated. Called once, before anything is served.

        Raises StartupError.
        """
        await self.service_allocation.load(self.stored, self._resources)

    # -- the end ----------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """End all watches."""
        self.services.stopping = True
        for watcher in list(self.services.watchers):
            watcher.close()
        self.webhooks.close()
        if self.options.admission.image_policy is not None:
            self.options.admission.image_policy[1].close()
        await close_all(
            [
                self.quotas.close,
                self.api_services.close,
                *([self._backends.close] if self._backends is not None else []),
                self.custom.close,
                self.service_allocation.close,
            ]
        )


def _behaviors() -> Behaviors:
    """Those of the built-in kinds, with rules for the expressions that some of them hold."""
    return builtin_behaviors().including([*checked_behaviors(CheckedExpressions()), *device_selecting_behaviors()])
