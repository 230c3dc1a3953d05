"""The checks that the restricted level has besides, in the reference's words."""

from __future__ import annotations

from watchkeeper.admission.podsecurity.baseline import PROFILES, seccomp
from watchkeeper.admission.podsecurity.words import (
    Check,
    Part,
    Violation,
    containers,
    in_user_namespace,
    is_windows,
    named,
    plural,
    quoted,
    security,
    setters,
)

_VOLUMES = frozenset(
    [
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "image",
        "persistentVolumeClaim",
        "projected",
        "secret",
    ]
)
_OTHER_VOLUMES = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "gitRepo",
    "nfs",
    "iscsi",
    "glusterfs",
    "rbd",
    "flexVolume",
    "cinder",
    "cephfs",
    "flocker",
    "fc",
    "azureFile",
    "vsphereVolume",
    "quobyte",
    "azureDisk",
    "photonPersistentDisk",
    "portworxVolume",
    "scaleIO",
    "storageos",
]


def not_on_windows(check: Check) -> Check:
    """A check that Pods on Windows are exempt from."""
    return lambda metadata, spec: None if is_windows(spec) else check(metadata, spec)


def of_host_users(check: Check) -> Check:
    """A check that Pods in a user namespace are exempt from."""
    return lambda metadata, spec: None if in_user_namespace(spec) else check(metadata, spec)


def privilege_escalation(_metadata: Part, spec: Part) -> Violation | None:
    """Every container says that it does not gain privileges."""
    bad = [c["name"] for c in containers(spec) if security(c).get("allowPrivilegeEscalation") is not False]
    if not bad:
        return None
    words = f"{named(bad)} must set securityContext.allowPrivilegeEscalation=false"
    return Violation("allowPrivilegeEscalation != false", words)


def capabilities(_metadata: Part, spec: Part) -> Violation | None:
    """Every container drops all capabilities, and adds at most the one to bind low ports."""
    keeping: list[str] = []
    adding: list[str] = []
    added: set[str] = set()
    for container in containers(spec):
        found = security(container).get("capabilities") or {}
        if "ALL" not in (found.get("drop") or ()):
            keeping.append(container["name"])
        more = set(found.get("add") or ()) - {"NET_BIND_SERVICE"}
        if more:
            adding.append(container["name"])
            added |= more
    told: list[str] = []
    if keeping:
        told.append(f'{named(keeping)} must set securityContext.capabilities.drop=["ALL"]')
    if adding:
        told.append(f"{named(adding)} must not include {quoted(sorted(added))} in securityContext.capabilities.add")
    return Violation("unrestricted capabilities", "; ".join(told)) if told else None


def volumes(_metadata: Part, spec: Part) -> Violation | None:
    """Volumes are of the kinds that do not reach into the host or the network by themselves."""
    bad: list[str] = []
    kinds: set[str] = set()
    for volume in spec.get("volumes") or ():
        if any(volume.get(kind) is not None for kind in _VOLUMES):
            continue
        bad.append(volume["name"])
        kinds.add(next((kind for kind in _OTHER_VOLUMES if volume.get(kind) is not None), "unknown"))
    if not bad:
        return None
    what = plural("restricted volume type", kinds)
    words = f"{plural('volume', bad)} {quoted(bad)} {plural('uses', bad, 'use')} {what} {quoted(sorted(kinds))}"
    return Violation("restricted volume types", words)


def run_as_non_root(_metadata: Part, spec: Part) -> Violation | None:
    """Every container says, or the Pod does for it, that it does not run as root."""
    pod = security(spec).get("runAsNonRoot")
    stated = [(c["name"], security(c).get("runAsNonRoot")) for c in containers(spec)]
    bad = [name for name, value in stated if value is False]
    if pod is False or bad:
        words = f"{setters(pod is False, bad)} must not set securityContext.runAsNonRoot=false"
        return Violation("runAsNonRoot != true", words)
    silent = [name for name, value in stated if value is None]
    if pod or not silent:
        return None
    return Violation("runAsNonRoot != true", f"pod or {named(silent)} must set securityContext.runAsNonRoot=true")


def run_as_user(_metadata: Part, spec: Part) -> Violation | None:
    """Nothing says that it runs as root."""
    pod = security(spec).get("runAsUser") == 0
    bad = [c["name"] for c in containers(spec) if security(c).get("runAsUser") == 0]
    return Violation("runAsUser=0", f"{setters(pod, bad)} must not set runAsUser=0") if pod or bad else None


def seccomp_set(metadata: Part, spec: Part) -> Violation | None:
    """Every container says, or the Pod does for it, which system calls it is limited to."""
    wrong = seccomp(metadata, spec)
    if wrong is not None:
        return wrong
    silent = [c["name"] for c in containers(spec) if security(c).get("seccompProfile") is None]
    if not silent or (security(spec).get("seccompProfile") or {}).get("type") in PROFILES:
        return None
    words = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return Violation("seccompProfile", f"pod or {named(silent)} {words}")
