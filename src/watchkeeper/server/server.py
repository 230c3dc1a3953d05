"""A server: all layers, from the key-value store to the sockets, started and stopped as one."""

from __future__ import annotations

import asyncio
import enum
import functools
import logging
import secrets
import socket
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Self

from watchkeeper.admission.rbac_escalation import RbacEscalation
from watchkeeper.authz.rbac.escalation import EscalationCheck
from watchkeeper.authz.rbac.policy import Policy
from watchkeeper.controllers.manager import Controller, ControllerManager
from watchkeeper.endpoints.app import App
from watchkeeper.endpoints.router import Router
from watchkeeper.kv.interface import KV
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.registry.kubelet import KubeletPlaces
from watchkeeper.server.access import Access, make_access
from watchkeeper.server.admission_configuration import load_admission_configuration
from watchkeeper.server.aggregation.settings import SHOWN, AggregationSettings
from watchkeeper.server.assembly import Assembly, AssemblyOptions
from watchkeeper.server.audit import open_audit_log
from watchkeeper.server.backends.settings import KubeletSettings
from watchkeeper.server.bootstrap import Bootstrap
from watchkeeper.server.client_trust import Trust
from watchkeeper.server.controllers import elected_controllers
from watchkeeper.server.credentials import Credentials, load_credentials
from watchkeeper.server.extensions import Extensions
from watchkeeper.server.files import make_private_dir
from watchkeeper.server.followed_store import FollowedStore
from watchkeeper.server.front_proxy import check_front_proxy
from watchkeeper.server.health import LOG, Check, Health, Unhealthy, ping
from watchkeeper.server.http.limits import HttpLimits
from watchkeeper.server.http.listener import Listener
from watchkeeper.server.identity import ExpiredLeases, IdentityLease, server_id
from watchkeeper.server.kubeconfig import write_kubeconfig
from watchkeeper.server.metrics.allocators import allocator_collector
from watchkeeper.server.metrics.certificates import certificates_collector
from watchkeeper.server.metrics.endpoint import Metrics
from watchkeeper.server.metrics.etcd import etcd_collector
from watchkeeper.server.metrics.pod_security import pod_security_collector
from watchkeeper.server.metrics.shaping import shaping
from watchkeeper.server.metrics.storage import StorageMetrics
from watchkeeper.server.openid import OpenID
from watchkeeper.server.options import DEFAULT_PORT, ServeOptions
from watchkeeper.server.own_endpoints import AddressLeases, OwnEndpoints
from watchkeeper.server.own_service import advertised_address
from watchkeeper.server.paths import served_paths
from watchkeeper.server.pki import serving_certificate
from watchkeeper.server.policy_feed import RESOURCES, Followed, PolicyFeed
from watchkeeper.server.request_filters import request_filters
from watchkeeper.server.runtime_config import served_resources
from watchkeeper.server.service_ranges import node_ports, service_networks
from watchkeeper.server.service_sharing import is_shared
from watchkeeper.server.sockets import close_sockets, host_of, open_tcp, open_unix, port_of
from watchkeeper.server.start_hooks import hooks_taken
from watchkeeper.server.storage import check_encryption, open_factory, storage_factory
from watchkeeper.server.tls import Tls
from watchkeeper.server.tls_upkeep import TlsUpkeep
from watchkeeper.server.upkeep import Upkeep
from watchkeeper.storage.factory import StorageFactory

if TYPE_CHECKING:
    from watchkeeper.webhook.services import OwnServer

log = logging.getLogger(__name__)

_ENDPOINTS = "endpoints"
_NAMESPACES_SECONDS = 60.0
_FLOW_CONTROL_SECONDS = 60.0
_OWN_SERVICE_SECONDS = 10.0
"""How often what somebody may have changed or deleted is put right."""


class State(enum.Enum):
    """Where a server is in its life: new → starting → ready → stopping → stopped."""

    NEW = "new"
    STARTING = "starting"
    READY = "ready"
    STOPPING = "stopping"
    STOPPED = "stopped"


class Server:
    """One API server, on the event loop that starts it.

    `start()` returns once it answers; `stop()` ends watches, lets requests finish and frees everything; `async with`
    does both. What fails in `start()` is undone before it raises.
    """

    def __init__(self, options: ServeOptions, extensions: Extensions = Extensions()) -> None:
        """Raises StartupError for options that cannot be meant."""
        options.check()
        check_front_proxy(options)
        self.options = options
        self.extensions = extensions
        self.state = State.NEW
        self.policy = Policy()
        self.health = Health()
        self.metrics = Metrics(
            self.health.collect,
            shaping(options.allow_metric_labels, options.allow_metric_labels_manifest, options.disabled_metrics),
        )
        self.urls: list[str] = []
        """How it is reached, the first one best."""
        self._undo: list[tuple[str, Callable[[], object]]] = []
        """What `stop` does, last first."""
        self._feeds: list[PolicyFeed] = []
        self.credentials: Credentials
        self.storage: StorageFactory
        self.assembly: Assembly
        self._certificates: TlsUpkeep | None = None
        self._own_upkeep: Upkeep | None = None
        self._own_token = secrets.token_urlsafe(32)
        """By what the server knows itself where it calls itself, as for webhooks behind its own Service."""
        self._listener: Listener

    def __repr__(self) -> str:
        return f"<Server {self.state.value} on {', '.join(self.urls) or 'nothing yet'}>"

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def kv(self) -> KV:
        """Where objects are that have no place of their own."""
        return self.storage.main.kv

    @property
    def kubeconfig(self) -> Path:
        """The file that was written for the administrator."""
        return self.options.kubeconfig_path

    # -- start ----------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Begin to serve. Raises StartupError."""
        if self.state is not State.NEW:
            raise RuntimeError(f"{self!r} cannot be started")
        self.state = State.STARTING
        try:
            await self._start()
        except BaseException:
            await self.stop()
            raise
        self.state = State.READY

    async def _start(self) -> None:
        options = self.options
        make_private_dir(options.data_dir)
        sockets = self._open_sockets()
        port = port_of(sockets)
        self._load_credentials()
        self.storage = storage_factory(options)
        self._undo.append(("storage", self.storage.close))
        await open_factory(self.storage)
        access = self._access()
        self.assembly = Assembly(self.storage, self._choices(access, port))
        self._undo.append(("assembly", self.assembly.close))
        await check_encryption(self.storage, self.assembly.registry.stores())
        self.assembly.services.min_request_timeout = options.min_request_timeout
        await self.assembly.load_allocations()
        if not options.read_only:
            await self._bootstrap(port)
        await self._follow_all()
        await self._serve_custom_resources()
        if not options.read_only:
            self._start_upkeep(port)
        await self._listen(sockets, await self._app(access))
        if options.read_only:
            log.info("read-only: nothing is written to the storage")
        else:
            self._start_controllers()
            if is_shared(self.storage):
                self._show_itself(port or DEFAULT_PORT)
        self._write_kubeconfig(self.credentials.ca_pem)

    def _load_credentials(self) -> None:
        self.credentials = load_credentials(self.options)
        if self.credentials.files is not None:
            self._certificates = TlsUpkeep(
                self.credentials.files,
                self._use_certificates,
                renew=self._renew_certificate if self.credentials.own else None,
            )

    def _access(self) -> Access:
        """Who asks, and what they may do. Raises StartupError."""
        access = make_access(
            self.options,
            self.credentials,
            self.policy,
            authorizers=self.extensions.authorizers,
            tokens=self.extensions.tokens,
            own_token=self._own_token,
            server_id=server_id(socket.gethostname().lower(), self.urls[0]),
        )
        if access.issuers is not None:
            self.metrics.add(access.issuers.collect)
            self._undo.append(("issuers", access.issuers.close))
            access.issuers.start()
        return access

    def _choices(self, access: Access, port: int) -> AssemblyOptions:
        """What the operator has decided about the API. Raises StartupError."""
        options = self.options
        return AssemblyOptions(
            authorizer=access.authorizer,
            resolver=access.resolver,
            tokens=access.authenticator,
            signer=access.signer,
            resources=served_resources(options.runtime_config),
            event_ttl=int(options.event_ttl),
            service_networks=service_networks(options.service_cluster_ip_range),
            node_ports=node_ports(options.service_node_port_range),
            plugins=self.extensions.admission,
            extra_plugins=[RbacEscalation(EscalationCheck(self.policy, access.authorizer))],
            read_only=options.read_only,
            toleration_seconds=(
                options.default_not_ready_toleration_seconds,
                options.default_unreachable_toleration_seconds,
            ),
            admission=load_admission_configuration(
                options.admission_control_config_file,
                options.disable_admission_plugins,
                options.enable_admission_plugins,
            ),
            disabled_plugins=options.disable_admission_plugins,
            aggregation=self._aggregation(port),
            kubelets=self._kubelets(),
        )

    async def _follow_all(self) -> None:
        """Know what requests are judged by, and keep to know it."""
        if "RBAC" in self.options.authorization_modes:
            await self._follow("rbac-policy", self.policy, RESOURCES)
        for name, followed, followed_resources in self.assembly.followed():
            feed = await self._follow(name, followed, followed_resources)
            if followed is self.assembly.policies or followed is self.assembly.webhooks:
                self.assembly.configuration.until(feed.missing)

    async def _serve_custom_resources(self) -> None:
        custom = self.assembly.custom
        custom.start()
        await custom.wait()
        if self.options.app:
            custom.declare(self.options.app)
        if self.options.crds is not None:
            await custom.install(self.options.crds)

    async def _listen(self, sockets: list[socket.socket], app: App) -> None:
        """Answer from now on."""
        tls = self.credentials.tls
        self._listener = Listener(
            app,
            ssl_context=tls.context if tls is not None else None,
            authorities=tls.authorities if tls is not None else None,
            limits=HttpLimits(leave_chance=self.options.goaway_chance),
        )
        self._undo.append(("listener", lambda: self._listener.stop(self.options.shutdown_grace)))
        if self._certificates is not None:
            self._undo.append(("certificates", self._certificates.close))
            self._certificates.start()
        self._add_checks()
        for sock in sockets:
            await self._listener.listen(sock, plain=sock.family == socket.AF_UNIX)

    def _aggregation(self, port: int) -> AggregationSettings:
        """How requests are passed on. Raises StartupError for a certificate that cannot be shown."""
        options = self.options
        certificate, key = options.proxy_client_cert_file, options.proxy_client_key_file
        if certificate is not None and key is not None:
            from watchkeeper.server.passing.client_certificate import check

            check(SHOWN, certificate, key)
        return AggregationSettings(
            certificate=certificate,
            key=key,
            endpoints=options.enable_aggregator_routing,
            reject_redirects=options.aggregator_reject_forwarding_redirect,
            request_timeout=options.request_timeout,
            own=lambda: self._reach_itself(port),
        )

    def _kubelets(self) -> KubeletSettings:
        """How kubelets are reached. Raises StartupError for files that are of no use."""
        options = self.options
        settings = KubeletSettings(
            certificate=options.kubelet_client_certificate,
            key=options.kubelet_client_key,
            authority=options.kubelet_certificate_authority,
            places=KubeletPlaces(options.kubelet_preferred_address_types, options.kubelet_port),
        )
        if settings.certificate is not None or settings.authority is not None:
            from watchkeeper.server.backends.trust import check_files

            check_files(settings)
        return settings

    def _reach_itself(self, port: int) -> OwnServer | None:
        if not self.options.tls:
            return None
        from watchkeeper.webhook.services import OwnServer

        host = host_of(self.options.bind).strip("[]")
        ca_pem = self.credentials.ca_pem
        if not ca_pem and self._certificates is not None:
            ca_pem = self._certificates.serving.encode()  # whoever has signed it, it is known here
        return OwnServer(host, port, ca_pem, self._own_token)

    def _write_kubeconfig(self, ca_pem: bytes) -> None:
        write_kubeconfig(self.kubeconfig, self.urls[0], self.credentials.admin_token, ca_pem)

    def _use_certificates(self, tls: Tls) -> None:
        """Take over files that have changed, and let other API servers know whom to trust now."""
        self._listener.use(tls.context, tls.authorities)
        if self._own_upkeep is not None:
            self._own_upkeep.now()

    def _renew_certificate(self) -> None:
        """In a thread."""
        made = serving_certificate(self.options.data_dir, self.options.bind)
        if made.ca_pem != self.credentials.ca_pem:
            self._write_kubeconfig(made.ca_pem)

    def _start_upkeep(self, port: int) -> None:
        """Keep what the API tells of the server itself, and what every cluster begins with, as it has to be."""
        bootstrap = self._make_bootstrap()
        own_service = functools.partial(self._own_service, bootstrap, port)
        self._own_upkeep = Upkeep("own service", own_service, every=_OWN_SERVICE_SECONDS)
        availability = self.assembly.availability()
        self.metrics.add(availability.collect)
        for keeper in (
            self.assembly.registration(),
            availability,
            self.assembly.flow_control(),
            Upkeep("objects of flow control", bootstrap.flow_control, every=_FLOW_CONTROL_SECONDS),
            Upkeep("namespaces", bootstrap.namespaces, every=_NAMESPACES_SECONDS),
            self._own_upkeep,
        ):
            self._undo.append((repr(keeper), keeper.close))
            keeper.start()

    def _start_controllers(self) -> None:
        """Run them here; with other servers on the same store, run them on one of these."""
        options, services, served = self.options, self.assembly.services, self.assembly.served
        discovery = self.assembly.discovery
        controllers: Controller
        if is_shared(self.storage) and options.controllers:
            controllers = elected_controllers(services, served, discovery, options)
        else:
            controllers = ControllerManager(services, served, discovery, options.controllers)
        self._undo.append(("controllers", controllers.close))
        controllers.start()

    def _show_itself(self, port: int) -> None:
        """Let clients and other servers on the same store know that this one is there."""
        leases = self.assembly.store("coordination.k8s.io", "leases")
        identity = IdentityLease(leases, self.assembly.ownership, socket.gethostname().lower(), self.urls[0])
        self._undo.append(("identity", identity.close))
        identity.start()
        expired = ExpiredLeases(leases)
        self._undo.append(("expired leases", expired.close))
        expired.start()
        if address := self._address():
            bootstrap = self._make_bootstrap()
            endpoints = OwnEndpoints(
                AddressLeases(self.storage), lambda living: bootstrap.own_endpoints(living, port), address
            )
            self._undo.append((_ENDPOINTS, endpoints.close))
            endpoints.start()

    def _address(self) -> str:
        """Where others reach this server, "" for nowhere."""
        options = self.options
        return options.advertise_address or (advertised_address(options.bind) if options.tcp else "")

    def _make_bootstrap(self) -> Bootstrap:
        assembly = self.assembly
        return Bootstrap(assembly.scheme, lambda r: assembly.store(r.group, r.resource), assembly.ownership)

    def _open_sockets(self) -> list[socket.socket]:
        options = self.options
        sockets: list[socket.socket] = []
        if options.tcp:
            sockets += open_tcp(options.bind, options.port)
            scheme = "http" if options.insecure_http else "https"
            port = sockets[0].getsockname()[1]
            self.urls.append(f"{scheme}://{host_of(options.bind)}:{port}")
        if options.unix_socket is not None:
            sockets.append(open_unix(options.unix_socket))
            path = options.unix_socket
            self.urls.append(f"unix://{path.absolute()}")
            self._undo.append(("unix socket", lambda: path.unlink(missing_ok=True)))
        self._undo.append(("sockets", lambda: close_sockets(sockets)))
        return sockets

    async def _bootstrap(self, port: int) -> None:
        """Create what every cluster begins with.

        `port` is where the server listens, 0 for nowhere but on a unix socket.
        """
        bootstrap = self._make_bootstrap()
        await bootstrap.namespaces()
        await bootstrap.priority_classes()
        await bootstrap.flow_control()
        await bootstrap.api_services(self.assembly.builtin_services())
        await self._own_service(bootstrap, port)
        await bootstrap.policy()

    async def _own_service(self, bootstrap: Bootstrap, port: int) -> None:
        """Have the server's own Service, and its endpoints unless other servers are among them."""
        networks = tuple(self.assembly.options.service_networks)
        await bootstrap.own_service(networks, port or DEFAULT_PORT, self._trust())
        address = self._address()
        if address and not is_shared(self.storage):
            await bootstrap.own_endpoints([address], port or DEFAULT_PORT)

    def _trust(self) -> Trust:
        """Whose certificates are accepted now, and what front proxies may do."""
        if self._certificates is None:
            return Trust()
        options = self.options
        return Trust(
            clients=self._certificates.client_authorities,
            proxies=self._certificates.proxy_authorities,
            names=options.requestheader_username_headers,
            uids=options.requestheader_uid_headers,
            groups=options.requestheader_group_headers,
            extra_prefixes=options.requestheader_extra_headers_prefix,
            allowed_names=options.requestheader_allowed_names,
        )

    async def _follow(self, name: str, followed: Followed, resources: Mapping[str, GroupResource]) -> PolicyFeed:
        """Keep something equal to the objects of some kinds; returns once it knows them all that it can know."""
        feed = PolicyFeed(followed)
        self._feeds.append(feed)
        self._undo.append((name, feed.close))
        for kind, resource in resources.items():
            store = self.assembly.store(resource.group, resource.resource)
            feed.follow(kind, store.storage, f"{store.prefix}/")
            if isinstance(store, FollowedStore):
                store.feed = feed
        self.health.add(Check(name, lambda: _require(not feed.missing(), f"unknown: {feed.missing()}")))
        await feed.wait()
        return feed

    async def _app(self, access: Access) -> App:
        options, assembly = self.options, self.assembly
        auditing = None
        if (opened := await open_audit_log(options)) is not None:
            auditing, audit_log = opened
            self._undo.append(("audit log", audit_log.close))
        filters = request_filters(options, access, assembly.flow_schemas, auditing, self.metrics)
        openid = OpenID(access.signer, lambda: self.urls[0], options.service_account_jwks_uri)
        paths, prefixes = served_paths(options, assembly, self.health, self.metrics, openid)
        router = Router(assembly.served)
        self.metrics.add(router.deprecated.collect)
        self._measure()
        return App(
            filters=filters, router=router, paths=paths, prefixes=prefixes, request_timeout=options.request_timeout
        )

    def _measure(self) -> None:
        """Have the metrics tell of what is stored, and of the parts that judge and allocate."""
        assembly = self.assembly
        stored = StorageMetrics(
            self.storage.monitors,
            assembly.registry.stores(),
            poll_seconds=self.options.etcd_db_metric_poll_interval,
        )
        for collector in (
            stored.collect,
            etcd_collector(lambda: assembly.storage.measured),
            allocator_collector(assembly.allocator),
            certificates_collector(assembly.issued),
            assembly.webhooks.collect,
            assembly.policies.collect,
            pod_security_collector(assembly.pod_security),
            assembly.api_services.collect,
        ):
            self.metrics.add(collector)

    def _add_checks(self) -> None:
        self.health.add(LOG)
        for name, check in self.storage.checks().items():
            group = "etcd" if name.startswith("etcd") else ""
            self.health.add(Check(name, functools.partial(_require_well, check), group=group))
        for name, check in self.storage.readiness_checks().items():
            ready = functools.partial(_require_well, check)
            self.health.add(Check(name, ready, of=("readyz",), group="etcd-readiness"))
        self.health.add(Check("informer-sync", self._check_followed, of=("readyz",)))
        for name in hooks_taken(self.options):
            self.health.add(Check(name, ping))
        stopping = Check("shutdown", lambda: _require(self.state is State.READY, f"the server is {self.state.value}"),
                         of=("readyz",))  # fmt: skip
        self.health.add(stopping)

    def _check_followed(self) -> None:
        """Whether all is known of what the server follows, under the name that kube-apiserver has for it."""
        missing = [kind for feed in self._feeds for kind in feed.missing()]
        _require(not missing, f"{len(missing)} informers not started yet: {missing}")

    # -- stop -----------------------------------------------------------------------------------------------------

    async def stop(self) -> None:
        """Not ready any more; then end watches, finish requests and free everything. Idempotent."""
        if self.state in (State.STOPPING, State.STOPPED):
            return
        self.state = State.STOPPING
        if self.options.shutdown_delay_duration > 0:
            await self._take_leave()
        while self._undo:
            await _end(*self._undo.pop())
        self.state = State.STOPPED

    async def _take_leave(self) -> None:
        """Serve on for a while, so that nobody is sent here any more when it ends."""
        announced = [entry for entry in self._undo if entry[0] == _ENDPOINTS]
        for entry in announced:
            self._undo.remove(entry)
            await _end(*entry)
        await asyncio.sleep(self.options.shutdown_delay_duration)


async def _end(name: str, undo: Callable[[], object]) -> None:
    try:
        outcome = undo()
        if asyncio.iscoroutine(outcome):
            await outcome
    except Exception:
        log.exception("%s did not end well", name)


def _require(holds: bool, problem: str) -> None:
    if not holds:
        raise Unhealthy(problem)


async def _require_well(check: Callable[[], Awaitable[str]]) -> None:
    if problem := await check():
        raise Unhealthy(problem)
