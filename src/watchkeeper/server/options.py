"""What a server is told on its command line, or in the environment, or by a test."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from watchkeeper.admission.pods import DEFAULT_TOLERATION_SECONDS
from watchkeeper.meta.field import go_quote
from watchkeeper.registry.allocators import DEFAULT_NETWORK, DEFAULT_NODE_PORTS
from watchkeeper.registry.kubelet import KUBELET_PORT, PREFERRED_ADDRESS_TYPES
from watchkeeper.server.admission_choice import check_choice
from watchkeeper.server.audit_options import check_audit
from watchkeeper.server.errors import StartupError
from watchkeeper.server.feature_gates import check_feature_gates
from watchkeeper.server.own_service import is_advertisable
from watchkeeper.server.service_ranges import node_ports, service_networks
from watchkeeper.server.tls_files import NamedPair
from watchkeeper.server.tls_protocol import tls_protocol
from watchkeeper.storage.compactor import DEFAULT_INTERVAL
from watchkeeper.storage.interface import RESOURCE_PREFIX
from watchkeeper.storage.leases import REUSE_SECONDS

if TYPE_CHECKING:
    from watchkeeper.apiextensions.declared.registry import Registry

DEFAULT_PORT = 6443
ISSUER = "https://kubernetes.default.svc.cluster.local"
"""What tokens of service accounts say to be issued by unless told otherwise."""
AUTHORIZATION_MODES = ("RBAC", "AlwaysAllow")
DEFAULT_CONTROLLERS = ("namespace", "garbage-collector")
CONTROLLERS = (
    *DEFAULT_CONTROLLERS,
    "resourcequota",
    "clusterrole-aggregation",
    "pvc-protection",
    "pv-protection",
    "vac-protection",
    "service-cidr",
)
"""All that there are."""
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


def default_data_dir(environ: Mapping[str, str]) -> Path:
    """Where data lives unless told otherwise: the user's XDG data directory."""
    home = environ.get("XDG_DATA_HOME") or str(Path(environ.get("HOME", "~")).expanduser() / ".local" / "share")
    return Path(home) / "watchkeeper"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """All that `watchkeeper serve` can be told. Times in seconds."""

    data_dir: Path
    """Certificates, tokens and, by default, the database."""
    storage: str = ""
    """`sqlite:PATH`, `memory:` or `etcd://HOST:PORT,…`; "" is a SQLite file in the data directory."""
    storage_backend: str = ""
    """What `storage` is held to be: `etcd3`, `sqlite` or `memory`; "" is whatever it says."""
    etcd_prefix: str = RESOURCE_PREFIX
    """What the keys of all objects begin with, in any storage."""
    etcd_cafile: Path | None = None
    """Who may have signed the certificates of etcd servers."""
    etcd_certfile: Path | None = None
    etcd_keyfile: Path | None = None
    """The certificate to show to etcd servers, and its key."""
    etcd_username: str = ""
    etcd_password: str = field(default="", repr=False)
    etcd_password_file: Path | None = None
    """For an etcd with authentication; the file wins."""
    etcd_start_timeout: float = 20.0
    """How long an etcd that does not answer is waited for at the start."""
    etcd_request_timeout: float = 10.0
    """How long a request waits for an answer of etcd."""
    etcd_healthcheck_timeout: float = 2.0
    etcd_readycheck_timeout: float = 2.0
    etcd_db_metric_poll_interval: float = 30.0
    """How old the size of the storage may be that metrics tell; 0 leaves it out."""
    etcd_servers_overrides: tuple[str, ...] = ()
    """Resources that live elsewhere, such as `/events#https://one:2379;https://two:2379`."""
    unsafe_no_fsync: bool = False
    """Whether writes to SQLite files are acknowledged before they have reached the disk, as etcd calls it."""
    read_only: bool = False
    """Whether nothing is ever written to the storage: no objects, no history forgotten, no controllers."""
    encryption_provider_config: Path | None = None
    """An EncryptionConfiguration: which resources are encrypted, with which keys."""
    encryption_provider_config_automatic_reload: bool = False
    """Whether that file is read again when it changes."""
    bind: str = "127.0.0.1"
    advertise_address: str = ""
    """Where others reach this server; "" is where it serves, or the machine's address when it serves on all."""
    port: int = DEFAULT_PORT
    """0 picks a free one."""
    unix_socket: Path | None = None
    """Serve plain HTTP on this socket; TCP too only when a port was given explicitly."""
    tcp: bool = True
    insecure_http: bool = False
    """Plain HTTP on TCP; loopback only."""
    tls_cert: Path | None = None
    tls_key: Path | None = None
    tls_min_version: str = ""
    """`VersionTLS12` or `VersionTLS13`; "" is the former."""
    tls_cipher_suites: tuple[str, ...] = ()
    """The ciphers of TLS 1.2, by their names in Go; () is all that nobody should avoid."""
    strict_transport_security_directives: tuple[str, ...] = ()
    """What browsers are told about TLS with every answer: `max-age=SECONDS`, `includeSubDomains`, `preload`."""
    client_ca: Path | None = None
    """Clients may show certificates of these authorities."""
    tls_sni_cert_key: tuple[NamedPair, ...] = ()
    """Further certificates, for clients that ask for certain names."""
    requestheader_client_ca_file: Path | None = None
    """Who shows a certificate of these authorities is a front proxy, and may name users in headers."""
    requestheader_allowed_names: tuple[str, ...] = ()
    """What the certificates of front proxies may be called; none is anything."""
    requestheader_username_headers: tuple[str, ...] = ()
    requestheader_uid_headers: tuple[str, ...] = ()
    requestheader_group_headers: tuple[str, ...] = ()
    requestheader_extra_headers_prefix: tuple[str, ...] = ()
    """Which headers tell a user's name, uid and groups, and how those begin that tell more."""
    proxy_client_cert_file: Path | None = None
    proxy_client_key_file: Path | None = None
    """The certificate to show to the servers behind APIServices, and its key."""
    enable_aggregator_routing: bool = False
    """Whether Services are reached at their endpoints, not at their cluster IPs."""
    aggregator_reject_forwarding_redirect: bool = True
    """Whether the servers behind APIServices may not send clients elsewhere."""
    kubelet_client_certificate: Path | None = None
    kubelet_client_key: Path | None = None
    """What kubelets are shown, and its key."""
    kubelet_certificate_authority: Path | None = None
    """Who has signed the certificates of kubelets; None believes any."""
    kubelet_preferred_address_types: tuple[str, ...] = PREFERRED_ADDRESS_TYPES
    """At which of their addresses nodes are reached, those that are preferred first."""
    kubelet_port: int = KUBELET_PORT
    """For nodes that do not tell which port their kubelet has."""
    kubelet_timeout: float = 5.0
    """Taken and left alone, as kube-apiserver does: it holds no request to it."""
    admin_token: str = field(default="", repr=False)
    """"": one that is made at the first start and kept."""
    token_auth_file: Path | None = None
    service_account_signing_key_file: Path | None = None
    """The key that signs service account tokens, which servers on one store share; None is one of this server's own."""
    service_account_key_file: tuple[Path, ...] = ()
    """What tokens are recognized by besides: of each file all keys that there are."""
    service_account_issuer: tuple[str, ...] = (ISSUER,)
    """What the tokens of service accounts say to be issued by: the first is what new ones say, all are taken."""
    api_audiences: tuple[str, ...] = ()
    """Whom tokens have to be for; () is the issuers."""
    service_account_jwks_uri: str = ""
    """Where others read the keys of these tokens; "" is at this server."""
    service_account_extend_token_expiration: bool = True
    """Whether tokens that are mounted into pods hold for a year."""
    service_account_max_token_expiration: float = 0.0
    """For how many seconds other tokens hold at most; 0 is as long as clients ask for."""
    anonymous_auth: bool = True
    """Whether requests without credentials are `system:anonymous`; with `AlwaysAllow` only where TLS is not served."""
    authentication_config: Path | None = None
    """An AuthenticationConfiguration: which requests need no credentials, in place of `anonymous_auth`, and issuers."""
    oidc_issuer_url: str = ""
    oidc_client_id: str = ""
    """Whose tokens are taken, and for whom they have to be."""
    oidc_ca_file: Path | None = None
    """Who may have signed the issuer's certificate; None: whoever the system trusts."""
    oidc_username_claim: str = "sub"
    oidc_username_prefix: str = ""
    """"" is the issuer and `#` unless the claim is `email`, and `-` is none."""
    oidc_groups_claim: str = ""
    oidc_groups_prefix: str = ""
    oidc_signing_algs: tuple[str, ...] = ("RS256",)
    oidc_required_claim: tuple[str, ...] = ()
    """`CLAIM=VALUE` that tokens must have."""
    service_cluster_ip_range: tuple[str, ...] = (DEFAULT_NETWORK,)
    """The networks that Services get addresses from: one, or one per IP family, the preferred family first."""
    service_node_port_range: str = "-".join(map(str, DEFAULT_NODE_PORTS))
    """The ports that Services get as node ports, such as `30000-32767`."""
    kubeconfig: Path | None = None
    """Where to write a kubeconfig; None is in the data directory."""
    controllers: tuple[str, ...] = DEFAULT_CONTROLLERS
    leader_elect_lease_duration: float = 15.0
    leader_elect_renew_deadline: float = 10.0
    leader_elect_retry_period: float = 2.0
    """How long the server that runs the controllers counts as alive, tries to renew that, and waits in between."""
    authorization: str = "RBAC"
    """`RBAC`, `AlwaysAllow` for everybody who is authenticated, or both with a comma, asked in turn."""
    max_requests_inflight: int = 400
    max_mutating_requests_inflight: int = 200
    crds: Path | None = None
    """A file or directory with CustomResourceDefinitions to install at start."""
    runtime_config: tuple[str, ...] = ()
    """Built-in versions and resources to serve or not: `apps/v1beta1=true`, `api/beta=false`, …"""
    feature_gates: tuple[str, ...] = ()
    """What is said to be on or off of all that kube-apiserver knows, such as `WatchList=true`."""
    app: str | Registry = ""
    """Kinds declared in Python: a `watchkeeper.kinds.Registry`, or where one is, as `module:registry`."""
    request_timeout: float = 60.0
    goaway_chance: float = 0.0
    """How likely an answer closes its connection, so that clients find other servers; at most 0.02."""
    min_request_timeout: float = 1800.0
    """The shortest time that a watch without a timeout of its own lasts."""
    compaction_interval: float = DEFAULT_INTERVAL
    """How often history that is older than this is forgotten; 0 never forgets."""
    event_ttl: float = 3600.0
    """How long Events are kept."""
    lease_reuse_duration_seconds: int = REUSE_SECONDS
    """How long one lease serves objects that expire."""
    watch_cache: bool = True
    """Whether reads and watches are answered from memory."""
    watch_cache_sizes: tuple[str, ...] = ()
    """Resources to leave out of that, such as `deployments.apps#0`; caches of other sizes fit by themselves."""
    watch_cache_check_interval: float = 300.0
    """How often what is in memory is compared with what is stored; 0 is never."""
    enable_admission_plugins: tuple[str, ...] = ()
    """Rules for writes that have to be there, by kube-apiserver's names; all that there are here are on anyway."""
    disable_admission_plugins: tuple[str, ...] = ()
    """Rules for writes to leave out."""
    default_not_ready_toleration_seconds: int = DEFAULT_TOLERATION_SECONDS
    default_unreachable_toleration_seconds: int = DEFAULT_TOLERATION_SECONDS
    """How long Pods stay on nodes that are not ready or unreachable, unless they say otherwise."""
    admission_control_config_file: Path | None = None
    """An AdmissionConfiguration: what rules for writes are told."""
    allow_metric_labels: tuple[str, ...] = ()
    """`METRIC,LABEL=VALUE`, as a line of CSV each: all other values of the label are told as `unexpected`."""
    allow_metric_labels_manifest: Path | None = None
    """A YAML file that maps `METRIC,LABEL` to values, in place of `allow_metric_labels`."""
    disabled_metrics: tuple[str, ...] = ()
    """Metrics that are not told of."""
    audit_policy_file: Path | None = None
    """An audit.k8s.io/v1 Policy: which requests are told of in the audit log."""
    audit_log_path: str = ""
    """The file of the audit log, `-` for standard output, "" for none."""
    audit_log_maxsize: int = 100
    """Megabytes after which a new file is begun; 0 is never."""
    audit_log_maxbackup: int = 100
    """How many older files are kept, 0 for all of them."""
    audit_log_maxage: int = 366
    """How many days older files are kept, 0 for ever."""
    audit_log_mode: str = "blocking"
    """`batch`: events are written when there is time; `blocking`: before the answer; `blocking-strict`: or it fails."""
    audit_log_format: str = "json"
    """`json`, or `legacy` for lines of text."""
    audit_log_compress: bool = False
    """Whether older files are compressed."""
    audit_log_batch_buffer_size: int = 10_000
    audit_log_batch_max_size: int = 1
    audit_log_batch_max_wait: float = 0.0
    audit_log_batch_throttle_enable: bool = False
    audit_log_batch_throttle_qps: float = 0.0
    audit_log_batch_throttle_burst: int = 0
    """In mode `batch`, the same as the options of the webhook below."""
    audit_log_version: str = "audit.k8s.io/v1"
    audit_log_truncate_enabled: bool = False
    audit_log_truncate_max_event_size: int = 100 * 1024
    audit_log_truncate_max_batch_size: int = 10 * 1024 * 1024
    audit_webhook_config_file: Path | None = None
    """A kubeconfig that says where events are sent."""
    audit_webhook_mode: str = "batch"
    audit_webhook_version: str = "audit.k8s.io/v1"
    audit_webhook_initial_backoff: float = 10.0
    """Seconds after which what could not be sent is sent again for the first time."""
    audit_webhook_batch_buffer_size: int = 10_000
    audit_webhook_batch_max_size: int = 400
    audit_webhook_batch_max_wait: float = 30.0
    """How many events wait at most, how many are sent at a time, and how many seconds they wait for others."""
    audit_webhook_batch_throttle_enable: bool = True
    audit_webhook_batch_throttle_qps: float = 10.0
    audit_webhook_batch_throttle_burst: int = 15
    """How many batches are sent a second, after a burst."""
    audit_webhook_truncate_enabled: bool = False
    audit_webhook_truncate_max_event_size: int = 100 * 1024
    audit_webhook_truncate_max_batch_size: int = 10 * 1024 * 1024
    shutdown_delay_duration: float = 0.0
    """How long the server goes on serving, while it is not ready any more, before it stops."""
    shutdown_grace: float = 10.0
    log_format: str = "text"
    log_level: str = "info"
    vmodule: tuple[str, ...] = ()
    """Patterns for the names of files, without `.py`, of which everything is logged."""

    @property
    def tls(self) -> bool:
        """Whether it serves TLS; otherwise plain HTTP alone."""
        return self.tcp and not self.insecure_http

    def check(self) -> None:
        """Raises StartupError for what cannot be meant."""
        if self.insecure_http and self.tcp and self.bind not in LOOPBACK:
            raise StartupError(
                f"--insecure-http serves loopback addresses only, not {self.bind}; drop it, or choose one with --bind"
            )
        if (self.tls_cert is None) != (self.tls_key is None):
            raise StartupError("--tls-cert and --tls-key go together")
        if self.insecure_http and (
            self.tls_cert or self.client_ca or self.requestheader_client_ca_file or self.tls_sni_cert_key
        ):
            raise StartupError("--insecure-http leaves no room for certificates")
        self._check_issuers()
        self._check_authorization()
        tls_protocol(self.tls_min_version, self.tls_cipher_suites)
        if (self.proxy_client_cert_file is None) != (self.proxy_client_key_file is None):
            raise StartupError("--proxy-client-cert-file and --proxy-client-key-file go together")
        if (self.kubelet_client_certificate is None) != (self.kubelet_client_key is None):
            raise StartupError("--kubelet-client-certificate and --kubelet-client-key go together")
        if not 0 < self.kubelet_port <= 65535:
            raise StartupError(f"--kubelet-port {self.kubelet_port} is not between 1 and 65535")
        if self.advertise_address and not is_advertisable(self.advertise_address):
            raise StartupError(f"--advertise-address {self.advertise_address} is no address that others could reach")
        service_networks(self.service_cluster_ip_range)
        node_ports(self.service_node_port_range)
        if not 0 <= self.port <= 65535:
            raise StartupError(f"--port {self.port} is not between 0 and 65535")
        if not self.tcp and self.unix_socket is None:
            raise StartupError("nothing to serve on: neither a port nor a unix socket")
        if self.encryption_provider_config_automatic_reload and self.encryption_provider_config is None:
            raise StartupError(
                "--encryption-provider-config-automatic-reload must be set with --encryption-provider-config"
            )
        if (self.etcd_certfile is None) != (self.etcd_keyfile is None):
            raise StartupError("--etcd-certfile and --etcd-keyfile go together")
        if (self.etcd_password or self.etcd_password_file is not None) and not self.etcd_username:
            raise StartupError("an etcd password needs --etcd-username")
        check_audit(self)
        for directive in self.strict_transport_security_directives:
            if directive not in ("includeSubDomains", "preload") and not re.fullmatch("max-age=[^=]*", directive):
                allowed = "max-age=expireTime, includeSubDomains, preload"
                raise StartupError(f"--strict-transport-security-directives {directive!r} is none of {allowed}")
        check_feature_gates(self.feature_gates)
        check_choice(self.enable_admission_plugins, self.disable_admission_plugins)
        for name in self.controllers:
            if name not in CONTROLLERS:
                raise StartupError(f"--controllers: {name!r} is none of {', '.join(CONTROLLERS)}")
        if self.read_only and self.crds is not None:
            raise StartupError("--crds would write definitions, which --read-only does not let it")
        if self.read_only and self.storage_url.startswith("memory:"):
            raise StartupError("--read-only needs a --storage that holds something: sqlite:PATH or etcd://HOST:PORT")
        if self.event_ttl < 1:
            raise StartupError(f"--event-ttl {self.event_ttl:g} is less than a second")
        if self.request_timeout <= 0:
            raise StartupError(f"--request-timeout {self.request_timeout:g} leaves no time for any request")
        for flag, limit in (
            ("--max-requests-inflight", self.max_requests_inflight),
            ("--max-mutating-requests-inflight", self.max_mutating_requests_inflight),
        ):
            if limit < 0:
                raise StartupError(f"{flag} {limit} is negative; 0 is no limit")
        if self.goaway_chance < 0 or self.goaway_chance > 0.02:
            raise StartupError("--goaway-chance can not be less than 0 or greater than 0.02")
        if self.compaction_interval < 0:
            raise StartupError(f"--compaction-interval {self.compaction_interval:g} is negative")

    def _check_issuers(self) -> None:
        if not self.service_account_issuer:
            raise StartupError("service-account-issuer is a required flag")
        for number, issuer in enumerate(self.service_account_issuer):
            if not issuer:
                raise StartupError("service-account-issuer should not be an empty string")
            if issuer in self.service_account_issuer[:number]:
                raise StartupError(f"service-account-issuer {go_quote(issuer)} is already specified")
        keys = self.service_account_jwks_uri
        if keys and not keys.lower().startswith("https://"):
            raise StartupError(f"service-account-jwks-uri requires https scheme, parsed as: {keys}")
        most = self.service_account_max_token_expiration
        if most and not 3600 <= most <= 1 << 32:
            raise StartupError("the service-account-max-token-expiration must be between 1 hour and 2^32 seconds")

    def _check_authorization(self) -> None:
        modes = self.authorization_modes
        if not modes:
            raise StartupError("at least one authorization-mode must be passed")
        for mode in modes:
            if mode not in AUTHORIZATION_MODES:
                known = ", ".join(AUTHORIZATION_MODES)
                raise StartupError(f"authorization-mode {go_quote(mode)} is none of {known}")
        if len(set(modes)) != len(modes):
            listed = " ".join(map(go_quote, modes))
            raise StartupError(f"authorization-mode [{listed}] has mode specified more than once")

    @property
    def authorization_modes(self) -> tuple[str, ...]:
        """Who decides what a user may do, in the order in which they are asked."""
        return tuple(self.authorization.split(",")) if self.authorization else ()

    @property
    def kubeconfig_path(self) -> Path:
        """Where the kubeconfig is written."""
        return self.kubeconfig or self.data_dir / "kubeconfig"

    @property
    def storage_url(self) -> str:
        """The storage, spelled out."""
        return self.storage or f"sqlite:{self.data_dir / 'watchkeeper.db'}"
