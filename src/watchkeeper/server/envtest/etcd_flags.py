"""The flags of etcd: which of them the stand-in heeds, which mean nothing to it, and which ask for too much."""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SWITCHES = _names(
    """
    auto-tls client-cert-auth enable-log-rotation enable-pprof enable-v2 experimental-compact-hash-check-enabled
    experimental-enable-distributed-tracing experimental-enable-lease-checkpoint
    experimental-enable-lease-checkpoint-persist experimental-initial-corrupt-check experimental-memory-mlock
    experimental-peer-skip-client-san-verification experimental-stop-grpc-service-on-defrag
    experimental-txn-mode-write-with-shared-buffer force-new-cluster initial-election-tick-advance memory-mlock
    peer-auto-tls peer-client-cert-auth peer-skip-client-san-verification pre-vote socket-reuse-address
    socket-reuse-port strict-reconfig-check unsafe-no-fsync
    """
)
"""Those that are true or false, and true without a value."""
_VALUES = _names(
    """
    advertise-client-urls auth-token auth-token-ttl auto-compaction-mode auto-compaction-retention
    backend-batch-interval backend-batch-limit backend-bbolt-freelist-type bcrypt-cost
    bootstrap-defrag-threshold-megabytes cert-file cipher-suites client-cert-allowed-hostname client-crl-file
    compact-hash-check-time compaction-batch-limit compaction-sleep-interval corrupt-check-time cors data-dir
    discovery discovery-fallback discovery-proxy discovery-srv discovery-srv-name distributed-tracing-address
    downgrade-check-time election-timeout experimental-bootstrap-defrag-threshold-megabytes
    experimental-compact-hash-check-time experimental-compaction-batch-limit experimental-compaction-sleep-interval
    experimental-corrupt-check-time experimental-distributed-tracing-address
    experimental-distributed-tracing-instance-id experimental-distributed-tracing-sampling-rate
    experimental-distributed-tracing-service-name experimental-downgrade-check-time experimental-max-learners
    experimental-snapshot-catchup-entries experimental-warning-apply-duration
    experimental-warning-unary-request-duration experimental-watch-progress-notify-interval feature-gates
    grpc-keepalive-interval grpc-keepalive-min-time grpc-keepalive-timeout heartbeat-interval host-whitelist
    initial-advertise-peer-urls initial-cluster initial-cluster-state initial-cluster-token key-file
    listen-client-http-urls listen-client-urls listen-metrics-urls listen-peer-urls log-format log-level log-outputs
    log-rotation-config-json logger max-concurrent-streams max-learners max-request-bytes max-snapshots max-txn-ops
    max-wals metrics name peer-cert-allowed-cn peer-cert-allowed-hostname peer-cert-file peer-crl-file peer-key-file
    peer-trusted-ca-file quota-backend-bytes self-signed-cert-validity snapshot-catchup-entries snapshot-count
    tls-max-version tls-min-version trusted-ca-file v2-deprecation wal-dir warning-apply-duration
    warning-unary-request-duration watch-progress-notify-interval
    """
)
_TLS = ("auto-tls", "cert-file", "client-cert-auth", "key-file", "trusted-ca-file")
"""Those that would have clients speak TLS."""
_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_FALSE = frozenset({"0", "f", "F", "false", "FALSE", "False"})
DEFAULT_URL = "http://localhost:2379"


class FlagError(ValueError):
    """A command line that is refused; the text says why, as etcd would."""


def read_flags(argv: list[str]) -> dict[str, str]:
    """The values by the names of their flags, those of switches being "true" or "false". Raises FlagError."""
    found: dict[str, str] = {}
    rest = iter(argv)
    for argument in rest:
        if not argument.startswith("-") or argument.strip("-") == "":
            raise FlagError(f"'{argument}' is not a valid flag")
        name, equals, value = argument.removeprefix("-").removeprefix("-").partition("=")
        if name in _SWITCHES:
            found[name] = _switch(name, value if equals else "true")
        elif name not in _VALUES:
            raise FlagError(f"flag provided but not defined: -{name}")
        elif not equals and (following := next(rest, None)) is None:
            raise FlagError(f"flag needs an argument: -{name}")
        else:
            found[name] = value if equals else str(following)
    _check(found)
    return found


def _switch(name: str, value: str) -> str:
    if value not in _TRUE | _FALSE:
        raise FlagError(f'invalid boolean value "{value}" for -{name}: parse error')
    return "true" if value in _TRUE else "false"


def _check(found: dict[str, str]) -> None:
    for name in _TLS:
        if found.get(name, "false") not in ("", "false"):
            raise FlagError(f"--{name}: watchkeeper's stand-in for etcd speaks no TLS")
    for url in found.get("listen-client-urls", DEFAULT_URL).split(","):
        if not url.startswith("http://"):
            raise FlagError(f"--listen-client-urls {url}: watchkeeper's stand-in for etcd serves http://HOST:PORT")


def usage() -> str:
    """What --help prints: a line for each flag."""
    heeded = {
        "data-dir": "'default.etcd'\n\tWhere the server keeps its objects.",
        "listen-client-urls": f"'{DEFAULT_URL}'\n\tWhere health checks are answered, and the server.",
        "unsafe-no-fsync": "'false'\n\tDo not wait until writes have reached the disk.",
    }
    lines = [
        "Usage:\n\n  etcd [flags]\n\nStands in for etcd in tests: it serves no clients but watchkeeper's server.\n"
    ]
    lines += (f"  --{name} {text}" for name, text in heeded.items())
    lines.append("\nTaken, and of no effect:\n")
    lines += (f"  --{name}" for name in sorted((_SWITCHES | _VALUES) - heeded.keys() - set(_TLS)))
    return "\n".join(lines) + "\n"
