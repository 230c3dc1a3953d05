"""The checks of the baseline level, in the reference's words."""

from __future__ import annotations

from collections.abc import Iterator

from watchkeeper.admission.podsecurity.words import (
    Check,
    Part,
    Violation,
    containers,
    in_user_namespace,
    named,
    plural,
    quoted,
    security,
    setters,
)
from watchkeeper.meta.field import go_quote

_CAPABILITIES = frozenset(
    [
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    ]
)
_APPARMOR = "container.apparmor.security.beta.kubernetes.io/"
_SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
PROFILES = ("RuntimeDefault", "Localhost")
"""The types of seccomp and AppArmor profiles that are allowed."""


def privileged(_metadata: Part, spec: Part) -> Violation | None:
    """No container is privileged."""
    bad = [c["name"] for c in containers(spec) if security(c).get("privileged")]
    return Violation("privileged", f"{named(bad)} must not set securityContext.privileged=true") if bad else None


def host_namespaces(_metadata: Part, spec: Part) -> Violation | None:
    """No namespace of the host is used."""
    used = [f"{name}=true" for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name)]
    return Violation("host namespaces", ", ".join(used)) if used else None


def host_path_volumes(_metadata: Part, spec: Part) -> Violation | None:
    """No directory of the host is mounted."""
    bad = [v["name"] for v in spec.get("volumes") or () if v.get("hostPath") is not None]
    return Violation("hostPath volumes", f"{plural('volume', bad)} {quoted(bad)}") if bad else None


def host_ports(_metadata: Part, spec: Part) -> Violation | None:
    """No port of the host is taken."""
    bad: list[str] = []
    taken: set[str] = set()
    for container in containers(spec):
        ports = {str(p["hostPort"]) for p in container.get("ports") or () if p.get("hostPort")}
        if ports:
            bad.append(container["name"])
            taken |= ports
    if not bad:
        return None
    words = f"{named(bad)} {plural('uses', bad, 'use')} {plural('hostPort', taken)} {', '.join(sorted(taken))}"
    return Violation("hostPort", words)


def host_probes(_metadata: Part, spec: Part) -> Violation | None:
    """No probe or hook names a host."""
    bad: set[str] = set()
    hosts: set[str] = set()
    for container in containers(spec):
        found = set(_hosts(container))
        if found:
            bad.add(container["name"])
            hosts |= found
    if not bad:
        return None
    what = "probe or lifecycle host"
    words = f"{named(sorted(bad))} {plural('uses', bad, 'use')} {plural(what, hosts)} {quoted(sorted(hosts))}"
    return Violation(what, words)


def _hosts(container: Part) -> Iterator[str]:
    lifecycle = container.get("lifecycle") or {}
    handlers = [container.get(name) for name in ("livenessProbe", "readinessProbe", "startupProbe")]
    handlers += [lifecycle.get(name) for name in ("postStart", "preStop")]
    for handler in handlers:
        for kind in ("httpGet", "tcpSocket"):
            if host := ((handler or {}).get(kind) or {}).get("host"):
                yield host


def capabilities(_metadata: Part, spec: Part) -> Violation | None:
    """No capability is added beyond the usual ones."""
    bad: list[str] = []
    added: set[str] = set()
    for container in containers(spec):
        found = set((security(container).get("capabilities") or {}).get("add") or ()) - _CAPABILITIES
        if found:
            bad.append(container["name"])
            added |= found
    if not bad:
        return None
    words = f"{named(bad)} must not include {quoted(sorted(added))} in securityContext.capabilities.add"
    return Violation("non-default capabilities", words)


def app_armor(metadata: Part, spec: Part) -> Violation | None:
    """AppArmor is not turned off."""
    values: set[str] = set()
    pod = _bad_profile(spec, "appArmorProfile", values)
    bad = [c["name"] for c in containers(spec) if _bad_profile(c, "appArmorProfile", values)]
    annotations = sorted(
        f"{key}={go_quote(value)}"
        for key, value in (metadata.get("annotations") or {}).items()
        if key.startswith(_APPARMOR) and value not in ("", "runtime/default") and not value.startswith("localhost/")
    )
    who = [found for found in (setters(pod, bad), plural("annotation", annotations) if annotations else "") if found]
    if not who:
        return None
    shown = [*sorted(values), *annotations]
    words = f"{' and '.join(who)} must not set AppArmor profile type to {quoted(shown)}"
    return Violation(plural("forbidden AppArmor profile", shown), words)


def _bad_profile(part: Part, field: str, values: set[str]) -> bool:
    profile = security(part).get(field)
    if profile is None or profile.get("type") in PROFILES:
        return False
    values.add(profile.get("type") or "")
    return True


def seccomp(_metadata: Part, spec: Part) -> Violation | None:
    """Seccomp is not turned off."""
    values: set[str] = set()
    pod = _bad_profile(spec, "seccompProfile", values)
    bad = [c["name"] for c in containers(spec) if _bad_profile(c, "seccompProfile", values)]
    if not (pod or bad):
        return None
    words = f"{setters(pod, bad)} must not set securityContext.seccompProfile.type to {quoted(sorted(values))}"
    return Violation("seccompProfile", words)


def seccomp_annotations(metadata: Part, spec: Part) -> Violation | None:
    """Seccomp is not turned off by annotations, as it could be up to 1.18."""
    annotations = metadata.get("annotations") or {}
    keys = [_SECCOMP_POD, *(_SECCOMP_CONTAINER + c["name"] for c in containers(spec))]
    bad = {
        f"{key}={go_quote(annotations[key])}"
        for key in keys
        if key in annotations
        and annotations[key] not in ("runtime/default", "docker/default")
        and not annotations[key].startswith("localhost/")
    }
    if not bad:
        return None
    return Violation("seccompProfile", f"forbidden {plural('annotation', bad)} {', '.join(sorted(bad))}")


def se_linux(*types: str) -> Check:
    """A check that only these types are set, and neither user nor role."""
    allowed = frozenset(("", *types))

    def check(_metadata: Part, spec: Part) -> Violation | None:
        wrong: set[str] = set()
        parts: set[str] = set()

        def is_bad(part: Part) -> bool:
            options = security(part).get("seLinuxOptions")
            if options is None:
                return False
            kind = options.get("type") or ""
            found = {name for name in ("user", "role") if options.get(name)}
            if kind not in allowed:
                wrong.add(kind)
            parts.update(found)
            return kind not in allowed or bool(found)

        pod = is_bad(spec)
        bad = [c["name"] for c in containers(spec) if is_bad(c)]
        if not (pod or bad):
            return None
        told = [f"{plural('type', wrong)} {quoted(sorted(wrong))}"] if wrong else []
        told += [f"{name} may not be set" for name in ("user", "role") if name in parts]
        words = f"{setters(pod, bad)} set forbidden securityContext.seLinuxOptions: {'; '.join(told)}"
        return Violation("seLinuxOptions", words)

    return check


def proc_mount(_metadata: Part, spec: Part) -> Violation | None:
    """/proc is masked as usual."""
    bad: list[str] = []
    values: set[str] = set()
    for container in containers(spec):
        value = security(container).get("procMount")
        if value is not None and value != "Default":
            bad.append(container["name"])
            values.add(value)
    if not bad:
        return None
    return Violation("procMount", f"{named(bad)} must not set securityContext.procMount to {quoted(sorted(values))}")


def proc_mount_of_host_users(metadata: Part, spec: Part) -> Violation | None:
    """The same, but not for Pods in a user namespace."""
    return None if in_user_namespace(spec) else proc_mount(metadata, spec)


def sysctls(*names: str) -> Check:
    """A check that only these parameters of the kernel are set."""
    allowed = frozenset(names)

    def check(_metadata: Part, spec: Part) -> Violation | None:
        bad = [s["name"] for s in security(spec).get("sysctls") or () if s["name"] not in allowed]
        return Violation("forbidden sysctls", ", ".join(bad)) if bad else None

    return check


def windows_host_process(_metadata: Part, spec: Part) -> Violation | None:
    """Nothing runs as a process of a Windows host."""

    def is_host(part: Part) -> bool:
        return bool((security(part).get("windowsOptions") or {}).get("hostProcess"))

    pod, bad = is_host(spec), [c["name"] for c in containers(spec) if is_host(c)]
    if not (pod or bad):
        return None
    words = f"{setters(pod, bad)} must not set securityContext.windowsOptions.hostProcess=true"
    return Violation("hostProcess", words)
