"""kube-apiserver's command line, as its flags are read there, and what becomes of each flag here."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from watchkeeper.meta.field import go_bool, go_quote


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


WITHOUT_EFFECT = _names(
    """
    apiserver-count authentication-token-webhook-cache-ttl authentication-token-webhook-version
    authorization-webhook-cache-authorized-ttl authorization-webhook-cache-unauthorized-ttl
    authorization-webhook-version contention-profiling coordinated-leadership-lease-duration
    coordinated-leadership-renew-deadline coordinated-leadership-retry-period default-watch-cache-size
    delete-collection-workers disable-http2-serving emulation-forward-compatible enable-garbage-collector
    enable-logs-handler enable-priority-and-fairness endpoint-reconciler-type etcd-count-metric-poll-period
    external-hostname http2-max-streams-per-connection kubelet-read-only-port livez-grace-period log-flush-frequency
    log-json-info-buffer-size log-json-split-stream log-text-info-buffer-size log-text-split-stream
    max-connection-bytes-per-sec peer-advertise-ip peer-advertise-port peer-ca-file permit-address-sharing
    permit-port-sharing profiling runtime-config-emulation-forward-compatible send-retry-after-while-not-ready-once
    show-hidden-metrics-for-version shutdown-send-retry-after shutdown-watch-termination-grace-period
    storage-initialization-timeout storage-media-type tls-curve-preferences
    """
)
"""Taken, because nothing that tests could see depends on them here."""

ONLY: Mapping[str, Sequence[str]] = {
    "admission-control": (),
    "allow-privileged": ("true",),
    "authentication-token-webhook-config-file": (),
    "authorization-config": (),
    "authorization-policy-file": (),
    "authorization-webhook-config-file": (),
    "cors-allowed-origins": (),
    "debug-socket-path": (),
    "egress-selector-config-file": (),
    "emulated-version": ("1.36", "kube=1.36"),
    "enable-bootstrap-token-auth": ("false",),
    "kubernetes-service-node-port": ("0",),
    "min-compatibility-version": ("1.35", "kube=1.35"),
    "service-account-lookup": ("true",),
    "service-account-signing-endpoint": (),
    "tracing-config-file": (),
}
"""What there is one way of here: the values that say so, besides none at all."""

_SWITCHES = _names(
    """
    allow-privileged contention-profiling disable-http2-serving emulation-forward-compatible
    enable-bootstrap-token-auth enable-garbage-collector enable-logs-handler enable-priority-and-fairness
    log-json-split-stream log-text-split-stream permit-address-sharing permit-port-sharing profiling
    runtime-config-emulation-forward-compatible send-retry-after-while-not-ready-once service-account-lookup
    shutdown-send-retry-after
    """
)
"""Those of the above that are true or false, and true without a value."""

NOT_FLAGS = _names(
    """
    admin-token app authorization bind client-ca compaction-interval controllers crds data-dir etcd-password-file
    etcd-request-timeout etcd-start-timeout etcd-username help insecure-http kubeconfig leader-elect-lease-duration
    leader-elect-renew-deadline leader-elect-retry-period log-format log-level port read-only shutdown-grace storage
    tls-cert tls-key unix-socket unsafe-no-fsync watch-cache-check-interval
    """
)
"""Options of the server that kube-apiserver has not, or under other names."""

CERT_DIR, ETCD_SERVERS, AUTHORIZATION = "cert-dir", "etcd-servers", "authorization-mode"
OWN = frozenset({CERT_DIR, ETCD_SERVERS, AUTHORIZATION})
"""What this program sees to by itself."""
_IDLE_MODES = frozenset({"Node"})
"""Who is authorized by them does not come to tests: kubelets."""


class FlagError(ValueError):
    """A command line that is refused; the text says why, as kube-apiserver would."""


def read_flags(argv: Iterable[str], values: Collection[str], switches: Collection[str]) -> list[tuple[str, str]]:
    """The flags in their order, each with its value; of switches that is "true" or "false".

    `values` and `switches` are the names that the server itself has. Raises FlagError for what kube-apiserver does not
    take either, and for what cannot be had here.
    """
    found: list[tuple[str, str]] = []
    rest = iter(argv)
    for argument in rest:
        name, equals, value = _named(argument)
        if name in switches or name in _SWITCHES:
            value = _switch(name, value if equals else "true")
        elif not (name in values or name in WITHOUT_EFFECT or name in ONLY or name in OWN):
            raise FlagError(f"unknown flag: --{name}")
        elif not equals:
            following = next(rest, None)
            if following is None:
                raise FlagError(f"flag needs an argument: --{name}")
            value = following
        _check(name, value)
        found.append((name, value))
    return found


def _named(argument: str) -> tuple[str, str, str]:
    """The name of a flag, "=" if its value is with it, and that. Names may be written with underscores."""
    if argument.startswith("-v") and not argument.startswith("-version"):
        value = argument[2:].removeprefix("=")
        return "v", "=" if value else "", value
    if not argument.startswith("-") or argument in ("-", "--"):
        raise FlagError(f'"kube-apiserver" does not take any arguments, got [{go_quote(argument)}]')
    if not argument.startswith("--"):
        raise FlagError(f"unknown shorthand flag: {go_quote(argument[1])[1:-1]!r} in {argument}")
    name, equals, value = argument[2:].partition("=")
    return name.replace("_", "-"), equals, value


def _switch(name: str, value: str) -> str:
    on = go_bool(value)
    if on is None:
        why = f"strconv.ParseBool: parsing {go_quote(value)}: invalid syntax"
        raise FlagError(f'invalid argument {go_quote(value)} for "--{name}" flag: {why}')
    return "true" if on else "false"


def _check(name: str, value: str) -> None:
    if value and value not in ONLY.get(name, (value,)):
        can = f"watchkeeper knows {' and '.join(ONLY[name])} only" if ONLY[name] else "watchkeeper has no such thing"
        raise FlagError(f'invalid argument {go_quote(value)} for "--{name}" flag: {can}')


def server_arguments(flags: Iterable[tuple[str, str]]) -> list[str]:
    """What the server is told, in the form of its own command line."""
    return [f"--{name}={value}" for name, value in flags if name not in WITHOUT_EFFECT | OWN and name not in ONLY]


def authorization(flags: Iterable[tuple[str, str]]) -> str:
    """The modes that the server is told, with commas between."""
    modes = [mode for name, value in flags if name == AUTHORIZATION for mode in value.split(",")] or ["AlwaysAllow"]
    return ",".join(mode for mode in modes if mode not in _IDLE_MODES)


def last(flags: Iterable[tuple[str, str]], name: str, default: str) -> str:
    """The value of a flag that counts when it is given several times: the last one."""
    found = default
    for each, value in flags:
        if each == name:
            found = value
    return found


def etcd_servers(flags: Iterable[tuple[str, str]]) -> list[str]:
    """The URLs of all etcd servers. Raises FlagError when there is none."""
    found = [url for name, value in flags if name == ETCD_SERVERS for url in value.split(",") if url]
    if not found:
        raise FlagError("--etcd-servers must be specified")
    return found
