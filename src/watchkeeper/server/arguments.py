"""The command line: every option of `serve` may also stand in the environment as WATCHKEEPER_…."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from watchkeeper.admission.pods import DEFAULT_TOLERATION_SECONDS
from watchkeeper.meta.field import go_bool
from watchkeeper.registry.allocators import DEFAULT_NETWORK, DEFAULT_NODE_PORTS
from watchkeeper.registry.kubelet import KUBELET_PORT, PREFERRED_ADDRESS_TYPES
from watchkeeper.server.durations import seconds
from watchkeeper.server.logs import VERBOSE, verbose_modules
from watchkeeper.server.options import (
    CONTROLLERS,
    DEFAULT_CONTROLLERS,
    DEFAULT_PORT,
    ISSUER,
    ServeOptions,
    default_data_dir,
)
from watchkeeper.server.tls_files import NamedPair, named_pair
from watchkeeper.storage.compactor import DEFAULT_INTERVAL
from watchkeeper.storage.interface import RESOURCE_PREFIX
from watchkeeper.storage.leases import REUSE_SECONDS

PREFIX = "WATCHKEEPER_"
_NO = "--no-"
_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off", ""})


class UsageError(ValueError):
    """A value in the environment that cannot be meant."""


class _Arguments:
    """Adds options whose default comes from the environment."""

    def __init__(
        self, parser: argparse.ArgumentParser, environ: Mapping[str, str], *, given_only: Collection[str] = ()
    ) -> None:
        """`given_only` are the flags that the environment cannot stand for."""
        self._parser = parser
        self._environ = environ
        self._given_only = given_only

    def add(
        self,
        flag: str,
        help_text: str,
        *,
        default: Any = None,
        kind: Any = str,
        metavar: str = "",
        alias: str = "",
        action: Any = "store",
    ) -> None:
        flags = (flag, alias) if alias else (flag,)
        if default and "(default" not in help_text:
            help_text += f" (default: {_spelled(default).replace('%', '%%')})"
        if flag not in self._given_only:
            names = [variable(each) for each in flags]
            help_text += f" [{', '.join(names)}]"
            for name in reversed(names):
                default = self._from_environment(name, kind, default)
        self._parser.add_argument(
            *flags, default=default, type=_told(kind), metavar=metavar or None, help=help_text, action=action
        )

    def _from_environment(self, name: str, kind: Any, default: Any) -> Any:
        if name not in self._environ:
            return default
        try:
            return kind(self._environ[name])
        except ValueError as error:
            why = f"{self._environ[name]!r} is no number" if kind in (int, float) else error
            raise UsageError(f"{name}: {why}") from error

    def add_secret(self, option: str) -> None:
        """What may stand in the environment only: command lines are for everybody to see."""
        self._parser.set_defaults(**{option: self._environ.get(PREFIX + option.upper(), "")})

    def add_switch(self, flag: str, help_text: str, *, default: bool) -> None:
        name = variable(flag)
        help_text += f" (default: {'yes' if default else 'no'})"
        given = self._environ.get(name, "").lower()
        if given not in _TRUE | _FALSE:
            raise UsageError(f"{name}: {given!r} is neither true nor false")
        if given:
            default = given in _TRUE
        self._parser.add_argument(flag, action=_Switch, default=default, help=f"{help_text} [{name}]")


class _Switch(argparse.Action):
    """`--flag` and `--no-flag`, and `--flag=true` and `--flag=false` as kube-apiserver has it."""

    def __init__(self, option_strings: Sequence[str], dest: str, default: bool, help: str) -> None:
        flags = [form for flag in option_strings for form in (flag, _NO + flag.removeprefix("--"))]
        super().__init__(flags, dest, nargs="?", default=default, help=help, metavar="true|false")

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        on = True if values is None else go_bool(values)
        if on is None:
            parser.error(f"argument {option}: {values!r} is neither true nor false")
        setattr(namespace, self.dest, on != (option or "").startswith(_NO))


class _Collected(argparse.Action):
    """Of an option that may be given several times, what all of them say; the environment does not count then."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        before = getattr(namespace, self.dest)
        setattr(namespace, self.dest, values if before is self.default else (*before, *values))


def _told(kind: Any) -> Any:
    """A type whose errors are told in its own words."""
    if isinstance(kind, type):
        return kind

    def convert(text: str) -> Any:
        try:
            return kind(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return convert


def variable(flag: str) -> str:
    """The environment variable of an option."""
    return PREFIX + flag.removeprefix("--").replace("-", "_").upper()


def _spelled(default: object) -> str:
    """A default as it would be written on the command line."""
    match default:
        case tuple():
            return ",".join(default)
        case float():
            return f"{default:g}"
    return str(default)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _values(text: str) -> tuple[str, ...]:
    """Values as they are, which may be wrong."""
    return tuple(text.split(",")) if text else ()


def _one_text(text: str) -> tuple[str, ...]:
    return (text,) if text else ()


def _paths(text: str) -> tuple[Path, ...]:
    return tuple(map(Path, _names(text)))


def _required_claim(text: str) -> tuple[str, ...]:
    if "=" not in text:
        raise ValueError(f"malformed pair, expect string=string: {text}")
    return (text,)


def _named_pairs(text: str) -> tuple[NamedPair, ...]:
    return tuple(map(named_pair, text.split(";")))


def add_data_dir(parser: argparse.ArgumentParser, environ: Mapping[str, str]) -> None:
    """The one option that most commands share."""
    _Arguments(parser, environ).add(
        "--data-dir", "where certificates, tokens and the database are kept", default=default_data_dir(environ),
        kind=Path, metavar="DIR",
    )  # fmt: skip


def add_serve_options(parser: argparse.ArgumentParser, environ: Mapping[str, str]) -> None:
    """All options of `serve`. Raises UsageError for what stands in the environment and cannot be read."""
    add_data_dir(parser, environ)
    a = _Arguments(parser, environ)
    _add_storage_options(a, " (default: a SQLite file in --data-dir)")
    a.add_switch("--read-only", "write nothing to the storage, for whoever asks and by itself", default=False)
    a.add_switch("--unsafe-no-fsync", "do not wait until writes have reached the disk: SQLite files may be damaged when"
                 " the machine crashes", default=False)  # fmt: skip
    a.add_switch("--encryption-provider-config-automatic-reload", "read that file again when it changes", default=False)
    a.add("--bind", "address to serve on", default="127.0.0.1", metavar="ADDRESS", alias="--bind-address")
    a.add("--advertise-address", "address at which others reach this server (default: that of --bind or the machine)",
          default="", metavar="ADDRESS")  # fmt: skip
    a.add("--port", f"port to serve on, 0 for a free one (default: {DEFAULT_PORT})", kind=int, metavar="PORT",
          alias="--secure-port")  # fmt: skip
    a.add("--unix-socket", "serve plain HTTP on this socket; on TCP too if --port is given", kind=Path, metavar="PATH")
    a.add_switch("--insecure-http", "plain HTTP without TLS, on loopback addresses only", default=False)
    a.add("--tls-cert", "certificate to serve with (default: one of an own authority)", kind=Path, metavar="FILE",
          alias="--tls-cert-file")  # fmt: skip
    a.add("--tls-key", "key of --tls-cert", kind=Path, metavar="FILE", alias="--tls-private-key-file")
    a.add("--tls-sni-cert-key", "a certificate and key for clients that ask for one of some names, unless given those"
          " that the certificate has; may be given several times", kind=_named_pairs, default=(),
          metavar="CERT,KEY[:NAME,…]", action=_Collected)  # fmt: skip
    a.add("--tls-min-version", "VersionTLS12 or VersionTLS13", default="", metavar="VERSION")
    a.add("--tls-cipher-suites", "ciphers of TLS 1.2 to speak (default: those with forward secrecy and authenticated"
          " encryption)", kind=_names, default=(), metavar="LIST", action=_Collected)  # fmt: skip
    a.add("--strict-transport-security-directives", "what browsers are told: max-age=SECONDS,includeSubDomains,preload",
          kind=_names, default=(), metavar="LIST", action=_Collected)  # fmt: skip
    a.add("--client-ca", "accept client certificates of these authorities: CN is the user, O the groups", kind=Path,
          metavar="FILE", alias="--client-ca-file")  # fmt: skip
    _add_front_proxy_options(a)
    _add_aggregation_options(a)
    _add_kubelet_options(a)
    a.add("--admin-token", "bearer token of the administrator (default: made once and kept)", default="",
          metavar="TOKEN")  # fmt: skip
    a.add("--token-auth-file", 'further tokens, CSV: token,user,uid,"group1,group2"', kind=Path, metavar="FILE")
    a.add("--service-account-signing-key-file", "RSA or EC key that signs service account tokens, the same for all"
          " servers of a store", kind=Path, metavar="FILE")  # fmt: skip
    a.add("--service-account-key-file", "keys that their tokens are recognized by besides; may be given several times",
          kind=_paths, default=(), metavar="FILE", action=_Collected)  # fmt: skip
    a.add("--service-account-issuer", "what their tokens say to be issued by; may be given several times, the first for"
          " new tokens, all being taken", kind=_one_text, default=(ISSUER,), metavar="ISSUER",
          action=_Collected)  # fmt: skip
    a.add("--api-audiences", "whom tokens have to be for (default: the issuers)", kind=_names, default=(),
          metavar="LIST", action=_Collected)  # fmt: skip
    a.add("--service-account-jwks-uri", "where others read the keys of these tokens (default: at this server)",
          default="", metavar="URL")  # fmt: skip
    a.add("--service-account-max-token-expiration", "how long tokens hold at most, whatever clients ask for",
          default=0.0, kind=seconds, metavar="S")  # fmt: skip
    a.add_switch("--service-account-extend-token-expiration", "let tokens that are mounted into pods hold for a year",
                 default=True)  # fmt: skip
    a.add("--service-cluster-ip-range", "networks that Services get addresses from, one per IP family", kind=_names,
          default=(DEFAULT_NETWORK,), metavar="CIDR")  # fmt: skip
    a.add("--service-node-port-range", "ports that Services get as node ports", metavar="RANGE",
          default="-".join(map(str, DEFAULT_NODE_PORTS)))  # fmt: skip
    a.add_switch("--anonymous-auth", "let requests without credentials be system:anonymous", default=True)
    a.add("--authentication-config", "an AuthenticationConfiguration: which paths need no credentials, issuers",
          kind=Path, metavar="FILE")  # fmt: skip
    _add_oidc_options(a)
    a.add("--authorization", "RBAC, AlwaysAllow, or both with a comma, asked in turn", default="RBAC", metavar="MODES",
          alias="--authorization-mode")  # fmt: skip
    a.add("--kubeconfig", "where to write a kubeconfig (default: in --data-dir)", kind=Path, metavar="PATH")
    a.add("--controllers", f"controllers to run, of {', '.join(CONTROLLERS)}; '' for none", default=DEFAULT_CONTROLLERS,
          kind=_names, metavar="NAMES")  # fmt: skip
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
    a.add("--crds", "install the CustomResourceDefinitions in a file or directory", kind=Path, metavar="DIR")
    a.add("--runtime-config", "built-in APIs to turn on or off: apps/v1beta1=true,api/ga=false,…", default=(),
          kind=_names, metavar="LIST", action=_Collected)  # fmt: skip
    a.add("--feature-gates", "kube-apiserver's names for what may be on or off; refused if it would change what is"
          " served; may be given several times", default=(), kind=_names, metavar="NAME=true|false,…",
          action=_Collected)  # fmt: skip
    a.add("--app", "serve kinds declared in Python, such as shop.kinds:registry", default="", metavar="MODULE:NAME")
    a.add("--max-requests-inflight", "reads worked on at a time, 0 for no limit", default=400, kind=int, metavar="N")
    a.add("--max-mutating-requests-inflight", "writes worked on at a time, 0 for no limit", default=200, kind=int,
          metavar="N")  # fmt: skip
    a.add("--request-timeout", "how long a request may take", default=60.0, kind=seconds, metavar="S")
    a.add("--goaway-chance", "how likely an answer closes its connection, up to 0.02: for several servers behind a"
          " balancer", default=0.0, kind=float, metavar="P")  # fmt: skip
    a.add("--min-request-timeout", "how long a watch lasts at least", default=1800.0, kind=seconds, metavar="S")
    a.add("--compaction-interval", "how much history is kept at least, 0 to keep all", default=DEFAULT_INTERVAL,
          kind=seconds, metavar="S", alias="--etcd-compaction-interval")  # fmt: skip
    a.add("--event-ttl", "how long Events are kept", default=3600.0, kind=seconds, metavar="S")
    a.add("--lease-reuse-duration-seconds", "how long one lease serves objects that expire", default=REUSE_SECONDS,
          kind=int, metavar="N")  # fmt: skip
    a.add_switch("--watch-cache", "answer reads and watches from memory", default=True)
    a.add("--watch-cache-sizes", "resources to leave out of that: deployments.apps#0,…", default=(), kind=_names,
          metavar="LIST", action=_Collected)  # fmt: skip
    a.add("--watch-cache-check-interval", "how often caches are compared with the storage, 0 for never", default=300.0,
          kind=seconds, metavar="S")  # fmt: skip
    for verb in ("enable", "disable"):
        a.add(f"--{verb}-admission-plugins", f"rules for writes to {verb}, by kube-apiserver's names", default=(),
              kind=_names, metavar="LIST", action=_Collected)  # fmt: skip
    for what, text in (("not-ready", "not ready"), ("unreachable", "unreachable")):
        a.add(f"--default-{what}-toleration-seconds", f"how long Pods stay on nodes that are {text}",
              default=DEFAULT_TOLERATION_SECONDS, kind=int, metavar="S")  # fmt: skip
    a.add("--admission-control-config-file", "an AdmissionConfiguration: defaults and exemptions of PodSecurity, what"
          " webhooks are shown", kind=Path, metavar="FILE")  # fmt: skip
    a.add("--allow-metric-labels", "values that a label of a metric has, all others being unexpected; may be given"
          " several times", kind=_one_text, default=(), metavar="METRIC,LABEL=VALUES", action=_Collected)  # fmt: skip
    a.add(
        "--allow-metric-labels-manifest", "a YAML file that says so, if the option does not", kind=Path, metavar="FILE"
    )
    a.add("--disabled-metrics", "metrics that are not told of", default=(), kind=_names, metavar="NAMES",
          action=_Collected)  # fmt: skip
    _add_audit_options(a)
    a.add("--shutdown-delay-duration", "how long the server serves on, being not ready, before it stops", default=0.0,
          kind=seconds, metavar="S")  # fmt: skip
    a.add("--shutdown-grace", "how long requests may go on when the server stops", default=10.0, kind=seconds,
          metavar="S")  # fmt: skip
    a.add("--log-format", "text or json", default="text", metavar="FORMAT", alias="--logging-format")
    a.add("--log-level", "debug, info, warning or error", default="info", metavar="LEVEL")
    a.add("--v", f"the level as kube-apiserver counts it: {VERBOSE} and more is debug, less is --log-level",
          default=0, kind=int, metavar="N")  # fmt: skip
    a.add("--vmodule", "the same for files whose names, without .py, fit a pattern", default=(), kind=verbose_modules,
          metavar="PATTERN=N,…", action=_Collected)  # fmt: skip


def _add_oidc_options(a: _Arguments) -> None:
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
    a.add("--oidc-signing-algs", "how tokens may be signed", kind=_names, default=("RS256",), metavar="LIST",
          action=_Collected)  # fmt: skip
    a.add("--oidc-required-claim", "a claim that they must have; may be given several times", kind=_required_claim,
          default=(), metavar="CLAIM=VALUE", action=_Collected)  # fmt: skip


def _add_front_proxy_options(a: _Arguments) -> None:
    a.add("--requestheader-client-ca-file", "who shows a certificate of these authorities is a front proxy, which may"
          " name users in headers", kind=Path, metavar="FILE")  # fmt: skip
    for name, text in (
        ("allowed-names", "what the certificates of front proxies may be called (CN), anything unless given"),
        ("username-headers", "which headers tell a user's name, such as X-Remote-User"),
        ("uid-headers", "which headers tell a user's uid, such as X-Remote-Uid"),
        ("group-headers", "which headers tell a user's groups, such as X-Remote-Group"),
        ("extra-headers-prefix", "how headers begin that tell more of a user, such as X-Remote-Extra-"),
    ):
        a.add(f"--requestheader-{name}", text, kind=_values, default=(), metavar="LIST", action=_Collected)


def _add_aggregation_options(a: _Arguments) -> None:
    a.add("--proxy-client-cert-file", "certificate to show to the servers behind APIServices, signed by an authority of"
          " their --requestheader-client-ca-file", kind=Path, metavar="FILE")  # fmt: skip
    a.add("--proxy-client-key-file", "key of --proxy-client-cert-file", kind=Path, metavar="FILE")
    a.add_switch("--enable-aggregator-routing", "reach Services at the addresses of their endpoints, not at cluster"
                 " IPs", default=False)  # fmt: skip
    a.add_switch("--aggregator-reject-forwarding-redirect", "do not let the servers behind APIServices send clients"
                 " elsewhere", default=True)  # fmt: skip


def add_storage_options(parser: argparse.ArgumentParser, environ: Mapping[str, str]) -> None:
    """Those that say where a store is and how it is encrypted; which store must be said, not stand in the environment.

    Raises UsageError.
    """
    add_data_dir(parser, environ)
    _add_storage_options(_Arguments(parser, environ, given_only={"--storage"}), "; unless given, a server is asked")


def storage_options(parsed: argparse.Namespace) -> ServeOptions:
    """The options of a store as they were given."""
    return ServeOptions(**{n: getattr(parsed, n) for n in ServeOptions.__dataclass_fields__ if hasattr(parsed, n)})


def _add_storage_options(a: _Arguments, default: str) -> None:
    a.add("--storage", f"sqlite:PATH, memory: or etcd://HOST:PORT,HOST:PORT…{default}",
          default="", metavar="URL", alias="--etcd-servers")  # fmt: skip
    a.add("--storage-backend", "what --storage has to be: etcd3, sqlite or memory", default="", metavar="TYPE")
    a.add("--etcd-prefix", "what the keys of all objects begin with", default=RESOURCE_PREFIX, metavar="PREFIX")
    _add_etcd_options(a)
    a.add("--etcd-servers-overrides", "resources kept elsewhere: group/resource#server;server, with commas between",
          default=(), kind=_names, metavar="LIST", action=_Collected)  # fmt: skip
    a.add("--encryption-provider-config", "encrypt as this EncryptionConfiguration says", kind=Path, metavar="FILE")


def _add_etcd_options(a: _Arguments) -> None:
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


def _add_audit_options(a: _Arguments) -> None:
    a.add("--audit-policy-file", "an audit.k8s.io/v1 Policy: which requests are told of", kind=Path, metavar="FILE")
    a.add("--audit-log-path", "where they are told of, - for standard output", default="", metavar="FILE")
    a.add("--audit-log-mode", "batch to write when there is time, blocking to do so before the answer, blocking-strict"
          " to refuse what cannot be told of", default="blocking", metavar="MODE")  # fmt: skip
    a.add("--audit-log-format", "json, or legacy for lines of text that tell less", default="json", metavar="FORMAT")
    a.add_switch("--audit-log-compress", "compress older files", default=False)
    a.add("--audit-log-maxsize", "megabytes after which a new file is begun, 0 for never", default=100, kind=int,
          metavar="MB")  # fmt: skip
    a.add("--audit-log-maxbackup", "how many older files are kept, 0 for all", default=100, kind=int, metavar="N")
    a.add("--audit-log-maxage", "how many days older files are kept, 0 for ever", default=366, kind=int, metavar="DAYS")
    a.add("--audit-webhook-config-file", "a kubeconfig that says where they are sent", kind=Path, metavar="FILE")
    a.add("--audit-webhook-mode", "the same as --audit-log-mode", default="batch", metavar="MODE")
    a.add("--audit-webhook-initial-backoff", "after how long what could not be sent is sent again", default=10.0,
          kind=seconds, metavar="S", alias="--audit-webhook-batch-initial-backoff")  # fmt: skip
    for plugin, size, wait, throttle, qps, burst in (
        ("log", 1, 0.0, False, 0.0, 0),
        ("webhook", 400, 30.0, True, 10.0, 15),
    ):
        flag = f"--audit-{plugin}-batch"
        done = "written" if plugin == "log" else "sent"
        a.add(f"{flag}-buffer-size", "how many may wait in mode batch", default=10_000, kind=int, metavar="N")
        a.add(f"{flag}-max-size", f"how many are {done} at a time", default=size, kind=int, metavar="N")
        a.add(f"{flag}-max-wait", "how long they wait for others", default=wait, kind=seconds, metavar="S")
        a.add_switch(f"{flag}-throttle-enable", f"so many batches are {done} a second only", default=throttle)
        a.add(f"{flag}-throttle-qps", "how many", default=qps, kind=float, metavar="N")
        a.add(f"{flag}-throttle-burst", "how many at once before that", default=burst, kind=int, metavar="N")
    for plugin in ("log", "webhook"):
        flag = f"--audit-{plugin}"
        a.add(f"{flag}-version", "version of the events", default="audit.k8s.io/v1", metavar="VERSION")
        a.add_switch(f"{flag}-truncate-enabled", "take the objects out of events that are too large", default=False)
        a.add(f"{flag}-truncate-max-event-size", "how many bytes an event may have then", default=100 * 1024, kind=int,
              metavar="BYTES")  # fmt: skip
        a.add(f"{flag}-truncate-max-batch-size", "how many bytes are written at a time then", kind=int,
              default=10 * 1024 * 1024, metavar="BYTES")  # fmt: skip


def serve_options(parsed: argparse.Namespace) -> ServeOptions:
    """The options as they were given. Raises UsageError."""
    values = {name: getattr(parsed, name) for name in ServeOptions.__dataclass_fields__ if hasattr(parsed, name)}
    values["tcp"] = parsed.port is not None or parsed.unix_socket is None
    values["port"] = DEFAULT_PORT if parsed.port is None else parsed.port
    _one_of("--log-format", parsed.log_format, ("text", "json"))
    _one_of("--log-level", parsed.log_level, ("debug", "info", "warning", "error"))
    if parsed.v >= VERBOSE:
        values["log_level"] = "debug"
    return ServeOptions(**values)


def _one_of(flag: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise UsageError(f"{flag} {value!r} is none of {', '.join(known)}")


def _add_kubelet_options(a: _Arguments) -> None:
    a.add("--kubelet-client-certificate", "certificate to show to kubelets, for logs, exec and proxies", kind=Path,
          metavar="FILE")  # fmt: skip
    a.add("--kubelet-client-key", "key of --kubelet-client-certificate", kind=Path, metavar="FILE")
    a.add("--kubelet-certificate-authority", "who has signed the certificates of kubelets (default: any is taken)",
          kind=Path, metavar="FILE")  # fmt: skip
    a.add("--kubelet-preferred-address-types", "at which of their addresses nodes are reached, best first",
          default=PREFERRED_ADDRESS_TYPES, kind=_names, metavar="LIST")  # fmt: skip
    a.add("--kubelet-port", "port of kubelets whose nodes do not tell it", default=KUBELET_PORT, kind=int, metavar="N")
    a.add("--kubelet-timeout", "taken for the sake of scripts; kube-apiserver holds no request to it either",
          default=5.0, kind=seconds, metavar="S")  # fmt: skip
