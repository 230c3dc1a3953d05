"""Which checks a level has in a version of Kubernetes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from watchkeeper.admission.podsecurity import baseline, restricted
from watchkeeper.admission.podsecurity.level import Level, LevelVersion
from watchkeeper.admission.podsecurity.restricted import not_on_windows, of_host_users
from watchkeeper.admission.podsecurity.words import Check, Part, Violation

NEWEST = 35
"""The minor version after which nothing has changed."""

_SYSCTLS = (
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range",
    "net.ipv4.ip_unprivileged_port_start",
)
_SYSCTLS_27 = (*_SYSCTLS, "net.ipv4.ip_local_reserved_ports")
_SYSCTLS_29 = (
    *_SYSCTLS_27,
    *(f"net.ipv4.tcp_{name}" for name in ("keepalive_time", "fin_timeout", "keepalive_intvl", "keepalive_probes")),
)
_SYSCTLS_32 = (*_SYSCTLS_29, "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem")
_SE_LINUX = ("container_t", "container_init_t", "container_kvm_t")


@dataclass(frozen=True, slots=True)
class _Standard:
    """One check through the versions: (minor version from which on, check). `overrides` is the id of a baseline check
    that it takes the place of."""

    id: str
    versions: Sequence[tuple[int, Check]]
    overrides: str = ""

    def at(self, minor: int) -> Check | None:
        found = [check for since, check in self.versions if since <= minor]
        return found[-1] if found else None


_BASELINE = (
    _Standard("appArmorProfile", [(0, baseline.app_armor)]),
    _Standard("capabilities_baseline", [(0, baseline.capabilities)]),
    _Standard("hostNamespaces", [(0, baseline.host_namespaces)]),
    _Standard("hostPathVolumes", [(0, baseline.host_path_volumes)]),
    _Standard("hostPorts", [(0, baseline.host_ports)]),
    _Standard("hostProbesAndHostLifecycle", [(34, baseline.host_probes)]),
    _Standard("privileged", [(0, baseline.privileged)]),
    _Standard("procMount", [(0, baseline.proc_mount), (35, baseline.proc_mount_of_host_users)]),
    _Standard(
        "seLinuxOptions",
        [(0, baseline.se_linux(*_SE_LINUX)), (31, baseline.se_linux(*_SE_LINUX, "container_engine_t"))],
    ),
    _Standard("seccompProfile_baseline", [(0, baseline.seccomp_annotations), (19, baseline.seccomp)]),
    _Standard(
        "sysctls",
        [
            (0, baseline.sysctls(*_SYSCTLS)),
            (27, baseline.sysctls(*_SYSCTLS_27)),
            (29, baseline.sysctls(*_SYSCTLS_29)),
            (32, baseline.sysctls(*_SYSCTLS_32)),
        ],
    ),
    _Standard("windowsHostProcess", [(0, baseline.windows_host_process)]),
)
"""In the order in which violations are told."""
_RESTRICTED = (
    _Standard(
        "allowPrivilegeEscalation",
        [(8, restricted.privilege_escalation), (25, not_on_windows(restricted.privilege_escalation))],
    ),
    _Standard(
        "capabilities_restricted",
        [(22, restricted.capabilities), (25, not_on_windows(restricted.capabilities))],
        "capabilities_baseline",
    ),
    _Standard("procMount_restricted", [(35, baseline.proc_mount)], "procMount"),
    _Standard("restrictedVolumes", [(0, restricted.volumes)], "hostPathVolumes"),
    _Standard("runAsNonRoot", [(0, restricted.run_as_non_root), (35, of_host_users(restricted.run_as_non_root))]),
    _Standard("runAsUser", [(23, restricted.run_as_user), (35, of_host_users(restricted.run_as_user))]),
    _Standard(
        "seccompProfile_restricted",
        [(19, restricted.seccomp_set), (25, not_on_windows(restricted.seccomp_set))],
        "seccompProfile_baseline",
    ),
)


@lru_cache(128)
def checks_of(level: Level, minor: int) -> tuple[Check, ...]:
    """The checks of a level, those of the baseline first."""
    minor = min(minor, NEWEST)
    stricter = [s for s in _RESTRICTED if level is Level.RESTRICTED and s.at(minor) is not None]
    overridden = {standard.overrides for standard in stricter}
    weaker = [s for s in _BASELINE if level is not Level.PRIVILEGED and s.id not in overridden]
    return tuple(check for s in (*weaker, *stricter) if (check := s.at(minor)) is not None)


def violations(wanted: LevelVersion, metadata: Part, spec: Part) -> list[Violation]:
    """All that a Pod breaks."""
    found = (check(metadata, spec) for check in checks_of(wanted.level, wanted.minor))
    return [violation for violation in found if violation is not None]


def in_detail(found: Sequence[Violation]) -> str:
    """Violations as errors and warnings about one Pod tell them."""
    return ", ".join(f"{v.reason} ({v.detail})" if v.detail else v.reason for v in found)


def in_short(found: Sequence[Violation]) -> str:
    """Violations as warnings about many Pods tell them."""
    return ", ".join(violation.reason for violation in found)
