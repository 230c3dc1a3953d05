"""The options of `serve` by what they are about."""

from __future__ import annotations

from pathlib import Path

from watchkeeper.admission.pods import DEFAULT_TOLERATION_SECONDS
from watchkeeper.registry.allocators import DEFAULT_NETWORK, DEFAULT_NODE_PORTS
from watchkeeper.registry.kubelet import KUBELET_PORT, PREFERRED_ADDRESS_TYPES
from watchkeeper.server.durations import seconds
from watchkeeper.server.logs import VERBOSE, verbose_modules
from watchkeeper.server.option_parsing import (
    Arguments,
    Collected,
    named_pairs,
    names,
    one_text,
    paths,
    required_claim,
    values,
)
from watchkeeper.server.options import CONTROLLERS, DEFAULT_CONTROLLERS, DEFAULT_PORT, ISSUER
from watchkeeper.storage.compactor import DEFAULT_INTERVAL
from watchkeeper.storage.interface import RESOURCE_PREFIX
from watchkeeper.storage.leases import REUSE_SECONDS


def add_storage(a: Arguments, default: str) -> None:
    """Where objects are kept. `default` says what there is without --storage."""
    a.add("--storage", f"sqlite:PATH, memory: or etcd://HOST:PORT,HOST:PORT…{default}",
          default="", metavar="URL", alias="--etcd-servers")  # fmt: skip
    a.add("--storage-backend", "what --storage has to be: etcd3, sqlite or memory", default="", metavar="TYPE")
    a.add("--etcd-prefix", "what the keys of all objects begin with", default=RESOURCE_PREFIX, metavar="PREFIX")
    _add_etcd(a)
    a.add("--etcd-servers-overrides", "resources kept elsewhere: group/resource#server;server, with commas between",
          default=(), kind=names, metavar="LIST", action=Collected)  # fmt: skip
    a.add("--encryption-provider-config", "encrypt as this EncryptionConfiguration says", kind=Path, metavar="FILE")


def _add_etcd(a: Arguments) -> None:
    a.add("--etcd-cafile", "authorities that may have signed etcd's certificates", kind=Path, metavar="FILE")
    a.add("--etcd-certfile", "certificate to show to etcd", kind=Path, metavar="FILE")
    a.add("--etcd-keyfile", "key of --etcd-certfile", kind=Path, metavar="FILE")
    a.add("--etcd-username", "user of an etcd with authentication; its password stands in WATCHKEEPER_ETCD_PASSWORD"
          " or a file", default="", metavar="NAME")  # fmt: skip
    a.add("--etcd-password-file", "file with the password of --etcd-username", kind=Path, metavar="FILE")
    a.add_secret("etcd_password")
    for flag, text, default in (
        ("--etcd-start-timeout", "how long an etcd that does not answer is waited for at the start", 20.0),
        ("--etcd-request-timeout", "how long a request waits for an answer of etcd", 10.0),
        ("--etcd-healthcheck-timeout", "how long health checks wait for the storage", 2.0),
        ("--etcd-readycheck-timeout", "how long the readiness check waits for the storage", 2.0),
        ("--etcd-db-metric-poll-interval", "how old the storage's size in metrics may be, 0 to leave it out", 30.0),
    ):
        a.add(flag, text, default=default, kind=seconds, metavar="S")


def add_addresses(a: Arguments) -> None:
    """Where the server is reached, and how it leaves."""
    a.add("--bind", "address to serve on", default="127.0.0.1", metavar="ADDRESS", alias="--bind-address")
    a.add("--advertise-address", "address at which others reach this server (default: that of --bind or the machine)",
          default="", metavar="ADDRESS")  # fmt: skip
    a.add("--port", f"port to serve on, 0 for a free one (default: {DEFAULT_PORT})", kind=int, metavar="PORT",
          alias="--secure-port")  # fmt: skip
    a.add("--unix-socket", "serve plain HTTP on this socket; on TCP too if --port is given", kind=Path, metavar="PATH")
    a.add_switch("--insecure-http", "plain HTTP without TLS, on loopback addresses only", default=False)
    a.add("--shutdown-delay-duration", "how long the server serves on, being not ready, before it stops", default=0.0,
          kind=seconds, metavar="S")  # fmt: skip
    a.add("--shutdown-grace", "how long requests may go on when the server stops", default=10.0, kind=seconds,
          metavar="S")  # fmt: skip
    a.add("--goaway-chance", "how likely an answer closes its connection, up to 0.02: for several servers behind a"
          " balancer", default=0.0, kind=float, metavar="P")  # fmt: skip


def add_tls(a: Arguments) -> None:
    """How it is reached safely."""
    a.add("--tls-cert", "certificate to serve with (default: one of an own authority)", kind=Path, metavar="FILE",
          alias="--tls-cert-file")  # fmt: skip
    a.add("--tls-key", "key of --tls-cert", kind=Path, metavar="FILE", alias="--tls-private-key-file")
    a.add("--tls-sni-cert-key", "a certificate and key for clients that ask for one of some names, unless given those"
          " that the certificate has; may be given several times", kind=named_pairs, default=(),
          metavar="CERT,KEY[:NAME,…]", action=Collected)  # fmt: skip
    a.add("--tls-min-version", "VersionTLS12 or VersionTLS13", default="", metavar="VERSION")
    a.add("--tls-cipher-suites", "ciphers of TLS 1.2 to speak (default: those with forward secrecy and authenticated"
          " encryption)", kind=names, default=(), metavar="LIST", action=Collected)  # fmt: skip
    a.add("--strict-transport-security-directives", "what browsers are told: max-age=SECONDS,includeSubDomains,preload",
          kind=names, default=(), metavar="LIST", action=Collected)  # fmt: skip


def add_authentication(a: Arguments) -> None:
    """Whom it recognizes, and by what, and who decides what they may do."""
    a.add("--admin-token", "bearer token of the administrator (default: made once and kept)", default="",
          metavar="TOKEN")  # fmt: skip
    a.add("--kubeconfig", "where to write a kubeconfig (default: in --data-dir)", kind=Path, metavar="PATH")
    a.add("--token-auth-file", 'further tokens, CSV: token,user,uid,"group1,group2"', kind=Path, metavar="FILE")
    a.add_switch("--anonymous-auth", "let requests without credentials be system:anonymous", default=True)
    a.add("--authentication-config", "an AuthenticationConfiguration: which paths need no credentials, issuers",
          kind=Path, metavar="FILE")  # fmt: skip
    a.add("--client-ca", "accept client certificates of these authorities: CN is the user, O the groups", kind=Path,
          metavar="FILE", alias="--client-ca-file")  # fmt: skip
    a.add("--authorization", "RBAC, AlwaysAllow, or both with a comma, asked in turn", default="RBAC", metavar="MODES",
          alias="--authorization-mode")  # fmt: skip


def add_front_proxies(a: Arguments) -> None:
    """Who may name users in headers."""
    a.add("--requestheader-client-ca-file", "who shows a certificate of these authorities is a front proxy, which may"
          " name users in headers", kind=Path, metavar="FILE")  # fmt: skip
    for name, text in (
        ("allowed-names", "what the certificates of front proxies may be called (CN), anything unless given"),
        ("username-headers", "which headers tell a user's name, such as X-Remote-User"),
        ("uid-headers", "which headers tell a user's uid, such as X-Remote-Uid"),
        ("group-headers", "which headers tell a user's groups, such as X-Remote-Group"),
        ("extra-headers-prefix", "how headers begin that tell more of a user, such as X-Remote-Extra-"),
    ):
        a.add(f"--requestheader-{name}", text, kind=values, default=(), metavar="LIST", action=Collected)


def add_oidc(a: Arguments) -> None:
    """A single issuer of OpenID Connect."""
    for name, text, default in (
        ("issuer-url", "take the ID tokens of this OpenID Connect issuer", ""),
        ("client-id", "for whom they have to be", ""),
        ("username-claim", "the claim that is the user's name", "sub"),
        ("username-prefix", "what goes before it, - for nothing (default: the issuer and #, unless it is email)", ""),
        ("groups-claim", "the claim that is the user's groups", ""),
        ("groups-prefix", "what goes before these", ""),
    ):
        a.add(f"--oidc-{name}", text, default=default, metavar="TEXT")
    a.add("--oidc-ca-file", "authorities that may have signed the issuer's certificate", kind=Path, metavar="FILE")
    a.add("--oidc-signing-algs", "how tokens may be signed", kind=names, default=("RS256",), metavar="LIST",
          action=Collected)  # fmt: skip
    a.add("--oidc-required-claim", "a claim that they must have; may be given several times", kind=required_claim,
          default=(), metavar="CLAIM=VALUE", action=Collected)  # fmt: skip


def add_service_accounts(a: Arguments) -> None:
    """The tokens of service accounts."""
    a.add("--service-account-signing-key-file", "RSA or EC key that signs service account tokens, the same for all"
          " servers of a store", kind=Path, metavar="FILE")  # fmt: skip
    a.add("--service-account-key-file", "keys that their tokens are recognized by besides; may be given several times",
          kind=paths, default=(), metavar="FILE", action=Collected)  # fmt: skip
    a.add("--service-account-issuer", "what their tokens say to be issued by; may be given several times, the first for"
          " new tokens, all being taken", kind=one_text, default=(ISSUER,), metavar="ISSUER",
          action=Collected)  # fmt: skip
    a.add("--api-audiences", "whom tokens have to be for (default: the issuers)", kind=names, default=(),
          metavar="LIST", action=Collected)  # fmt: skip
    a.add("--service-account-jwks-uri", "where others read the keys of these tokens (default: at this server)",
          default="", metavar="URL")  # fmt: skip
    a.add("--service-account-max-token-expiration", "how long tokens hold at most, whatever clients ask for",
          default=0.0, kind=seconds, metavar="S")  # fmt: skip
    a.add_switch("--service-account-extend-token-expiration", "let tokens that are mounted into pods hold for a year",
                 default=True)  # fmt: skip


def add_apis(a: Arguments) -> None:
    """What is served, and what Services are given."""
    a.add("--runtime-config", "built-in APIs to turn on or off: apps/v1beta1=true,api/ga=false,…", default=(),
          kind=names, metavar="LIST", action=Collected)  # fmt: skip
    a.add("--feature-gates", "kube-apiserver's names for what may be on or off; refused if it would change what is"
          " served; may be given several times", default=(), kind=names, metavar="NAME=true|false,…",
          action=Collected)  # fmt: skip
    a.add("--crds", "install the CustomResourceDefinitions in a file or directory", kind=Path, metavar="DIR")
    a.add("--app", "serve kinds declared in Python, such as shop.kinds:registry", default="", metavar="MODULE:NAME")
    a.add("--service-cluster-ip-range", "networks that Services get addresses from, one per IP family", kind=names,
          default=(DEFAULT_NETWORK,), metavar="CIDR")  # fmt: skip
    a.add("--service-node-port-range", "ports that Services get as node ports", metavar="RANGE",
          default="-".join(map(str, DEFAULT_NODE_PORTS)))  # fmt: skip
    a.add("--event-ttl", "how long Events are kept", default=3600.0, kind=seconds, metavar="S")


def add_aggregation(a: Arguments) -> None:
    """The servers behind APIServices."""
    a.add("--proxy-client-cert-file", "certificate to show to the servers behind APIServices, signed by an authority of"
          " their --requestheader-client-ca-file", kind=Path, metavar="FILE")  # fmt: skip
    a.add("--proxy-client-key-file", "key of --proxy-client-cert-file", kind=Path, metavar="FILE")
    a.add_switch("--enable-aggregator-routing", "reach Services at the addresses of their endpoints, not at cluster"
                 " IPs", default=False)  # fmt: skip
    a.add_switch("--aggregator-reject-forwarding-redirect", "do not let the servers behind APIServices send clients"
                 " elsewhere", default=True)  # fmt: skip


def add_kubelets(a: Arguments) -> None:
    """The kubelets that logs, exec and proxies lead to."""
    a.add("--kubelet-client-certificate", "certificate to show to kubelets, for logs, exec and proxies", kind=Path,
          metavar="FILE")  # fmt: skip
    a.add("--kubelet-client-key", "key of --kubelet-client-certificate", kind=Path, metavar="FILE")
    a.add("--kubelet-certificate-authority", "who has signed the certificates of kubelets (default: any is taken)",
          kind=Path, metavar="FILE")  # fmt: skip
    a.add("--kubelet-preferred-address-types", "at which of their addresses nodes are reached, best first",
          default=PREFERRED_ADDRESS_TYPES, kind=names, metavar="LIST")  # fmt: skip
    a.add("--kubelet-port", "port of kubelets whose nodes do not tell it", default=KUBELET_PORT, kind=int, metavar="N")
    a.add("--kubelet-timeout", "taken for the sake of scripts; kube-apiserver holds no request to it either",
          default=5.0, kind=seconds, metavar="S")  # fmt: skip


def add_controllers(a: Arguments) -> None:
    """What runs beside the API."""
    a.add("--controllers", f"controllers to run, of {', '.join(CONTROLLERS)}; '' for none", default=DEFAULT_CONTROLLERS,
          kind=names, metavar="NAMES")  # fmt: skip
    for flag, text, default in (
        (
            "--leader-elect-lease-duration",
            "of servers on one etcd one runs them; after so long another takes over",
            15.0,
        ),
        ("--leader-elect-renew-deadline", "how long it tries to renew its lease before it gives up", 10.0),
        ("--leader-elect-retry-period", "how long servers wait between attempts to get or renew the lease", 2.0),
    ):
        a.add(flag, text, default=default, kind=seconds, metavar="S")


def add_admission(a: Arguments) -> None:
    """The rules for writes."""
    for verb in ("enable", "disable"):
        a.add(f"--{verb}-admission-plugins", f"rules for writes to {verb}, by kube-apiserver's names", default=(),
              kind=names, metavar="LIST", action=Collected)  # fmt: skip
    for what, text in (("not-ready", "not ready"), ("unreachable", "unreachable")):
        a.add(f"--default-{what}-toleration-seconds", f"how long Pods stay on nodes that are {text}",
              default=DEFAULT_TOLERATION_SECONDS, kind=int, metavar="S")  # fmt: skip
    a.add("--admission-control-config-file", "an AdmissionConfiguration: defaults and exemptions of PodSecurity, what"
          " webhooks are shown", kind=Path, metavar="FILE")  # fmt: skip


def add_limits(a: Arguments) -> None:
    """How many requests are worked on, and for how long."""
    a.add("--max-requests-inflight", "reads worked on at a time, 0 for no limit", default=400, kind=int, metavar="N")
    a.add("--max-mutating-requests-inflight", "writes worked on at a time, 0 for no limit", default=200, kind=int,
          metavar="N")  # fmt: skip
    a.add("--request-timeout", "how long a request may take", default=60.0, kind=seconds, metavar="S")
    a.add("--min-request-timeout", "how long a watch lasts at least", default=1800.0, kind=seconds, metavar="S")


def add_caching(a: Arguments) -> None:
    """What is kept in memory, and how much history."""
    a.add_switch("--watch-cache", "answer reads and watches from memory", default=True)
    a.add("--watch-cache-sizes", "resources to leave out of that: deployments.apps#0,…", default=(), kind=names,
          metavar="LIST", action=Collected)  # fmt: skip
    a.add("--watch-cache-check-interval", "how often caches are compared with the storage, 0 for never", default=300.0,
          kind=seconds, metavar="S")  # fmt: skip
    a.add("--compaction-interval", "how much history is kept at least, 0 to keep all", default=DEFAULT_INTERVAL,
          kind=seconds, metavar="S", alias="--etcd-compaction-interval")  # fmt: skip
    a.add("--lease-reuse-duration-seconds", "how long one lease serves objects that expire", default=REUSE_SECONDS,
          kind=int, metavar="N")  # fmt: skip


def add_metrics(a: Arguments) -> None:
    """What the metrics tell."""
    a.add("--allow-metric-labels", "values that a label of a metric has, all others being unexpected; may be given"
          " several times", kind=one_text, default=(), metavar="METRIC,LABEL=VALUES", action=Collected)  # fmt: skip
    a.add(
        "--allow-metric-labels-manifest", "a YAML file that says so, if the option does not", kind=Path, metavar="FILE"
    )
    a.add("--disabled-metrics", "metrics that are not told of", default=(), kind=names, metavar="NAMES",
          action=Collected)  # fmt: skip


def add_logs(a: Arguments) -> None:
    """What the log tells."""
    a.add("--log-format", "text or json", default="text", metavar="FORMAT", alias="--logging-format")
    a.add("--log-level", "debug, info, warning or error", default="info", metavar="LEVEL")
    a.add("--v", f"the level as kube-apiserver counts it: {VERBOSE} and more is debug, less is --log-level",
          default=0, kind=int, metavar="N")  # fmt: skip
    a.add("--vmodule", "the same for files whose names, without .py, fit a pattern", default=(), kind=verbose_modules,
          metavar="PATTERN=N,…", action=Collected)  # fmt: skip
