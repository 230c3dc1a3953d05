"""Warnings about pods and templates that are accepted, but hardly meant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from watchkeeper.apis.core.node_labels import node_label_message, node_selector_term_warnings
from watchkeeper.apis.core.pod_annotations import APPARMOR_CONTAINER, SECCOMP_CONTAINER, SECCOMP_POD
from watchkeeper.apis.core.pod_create import APPARMOR_DEPRECATED, profile_of_annotation
from watchkeeper.apis.core.volume_warnings import volume_warnings
from watchkeeper.apis.core.windows_validation import each_container
from watchkeeper.apis.quantities import milli_value
from watchkeeper.apis.validation.net import ip_warnings
from watchkeeper.meta.field import go_quote

Object = Mapping[str, Any]

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_DEPRECATED_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
_RARE_FIELDS = frozenset(
    (
        "affinity",
        "dnsConfig",
        "hostAliases",
        "imagePullSecrets",
        "nodeSelector",
        "overhead",
        "topologySpreadConstraints",
    )
)
_NO_SELECTOR = "a null labelSelector results in matching no pod"
_BYTES = ("memory", "ephemeral-storage")
_SECCOMP = 'non-functional in v1.27+; use the "seccompProfile" field instead'


def warnings_for_pod(pod: Object) -> list[str]:
    """Warnings about a Pod."""
    return _warnings(pod.get("spec") or {}, pod["metadata"], "", template=False)


def warnings_for_template(template: Object, path: str) -> list[str]:
    """Warnings about a template at `path`."""
    return _warnings(template.get("spec") or {}, template.get("metadata") or {}, f"{path}.", template=True)


def _warnings(spec: Object, meta: Object, prefix: str, *, template: bool) -> list[str]:
    path = f"{prefix}spec"
    found: list[str] = []
    rare = not _RARE_FIELDS.isdisjoint(spec)
    if rare:
        found += _placement_warnings(spec, path)
    annotations: Mapping[str, str] = meta.get("annotations") or {}
    if annotations and not _DEPRECATED_ANNOTATIONS.keys().isdisjoint(annotations):
        for key, message in _DEPRECATED_ANNOTATIONS.items():
            if key in annotations:
                found.append(f"{prefix}metadata.annotations[{key}]: {message}")
    if "volumes" in spec:
        found += volume_warnings(spec["volumes"] or (), f"{path}.volumes")
    if rare:
        found += _repeated(spec.get("hostAliases"), "ip", f"{path}.hostAliases")
        found += _repeated(spec.get("imagePullSecrets"), "name", f"{path}.imagePullSecrets")
        for i, secret in enumerate(spec.get("imagePullSecrets") or ()):
            if not secret.get("name"):
                found.append(f'{path}.imagePullSecrets[{i}].name: invalid empty name ""')
        found += _fractional_bytes(spec, ("overhead",), path)
    if annotations:
        found += _profile_warnings(spec, annotations, prefix, template)
    found += _container_warnings(spec, path)
    seconds = spec.get("terminationGracePeriodSeconds")
    if seconds is not None and seconds < 0:
        text = "must be >= 0; negative values are invalid and will be treated as 1"
        found.append(f"{path}.terminationGracePeriodSeconds: {text}")
    if rare:
        found += _pod_affinity_warnings(spec.get("affinity") or {}, f"{path}.affinity")
        for i, server in enumerate((spec.get("dnsConfig") or {}).get("nameservers") or ()):
            found += ip_warnings(server, f"{path}.dnsConfig.nameservers[{i}]")
        for i, alias in enumerate(spec.get("hostAliases") or ()):
            found += ip_warnings(alias.get("ip") or "", f"{path}.hostAliases[{i}].ip")
    return found


def _placement_warnings(spec: Object, path: str) -> list[str]:
    found = [
        f"{path}.nodeSelector[{key}]: {message}"
        for key in spec.get("nodeSelector") or ()
        if (message := node_label_message(key))
    ]
    found += _node_affinity_warnings(spec.get("affinity") or {}, f"{path}.affinity.nodeAffinity")
    for i, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        at, key = f"{path}.topologySpreadConstraints[{i}]", constraint.get("topologyKey") or ""
        if message := node_label_message(key):
            found.append(f"{at}.topologyKey: {key} is {message}")
        if constraint.get("labelSelector") is None:
            found.append(f"{at}.labelSelector: {_NO_SELECTOR}")
    return found


def _node_affinity_warnings(affinity: Object, path: str) -> list[str]:
    node = affinity.get("nodeAffinity") or {}
    found: list[str] = []
    for i, term in enumerate((node.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ()):
        at = f"{path}.{_REQUIRED}.nodeSelectorTerms[{i}]"
        found += node_selector_term_warnings(term, at, weighted=False)
    for i, preferred in enumerate(node.get(_PREFERRED) or ()):
        at = f"{path}.{_PREFERRED}[{i}].preference"
        found += node_selector_term_warnings(preferred.get("preference") or {}, at, weighted=True)
    return found


def _pod_affinity_warnings(affinity: Object, path: str) -> list[str]:
    found: list[str] = []
    for kind in ("podAffinity", "podAntiAffinity"):
        pods = affinity.get(kind) or {}
        for i, term in enumerate(pods.get(_REQUIRED) or ()):
            if term.get("labelSelector") is None:
                found.append(f"{path}.{kind}.{_REQUIRED}[{i}].labelSelector: {_NO_SELECTOR}")
        for i, weighted in enumerate(pods.get(_PREFERRED) or ()):
            if (weighted.get("podAffinityTerm") or {}).get("labelSelector") is None:
                at = f"{path}.{kind}.{_PREFERRED}[{i}].podAffinityTerm.labelSelector"
                found.append(f"{at}: {_NO_SELECTOR}")
    return found


def _repeated(items: Sequence[Object] | None, field: str, path: str) -> Iterator[str]:
    seen: set[str] = set()
    for i, item in enumerate(items or ()):
        value = item.get(field) or ""
        if value in seen:
            yield f"{path}[{i}].{field}: duplicate {field} {go_quote(value)}"
        seen.add(value)


def _may_be_fractional(resources: Mapping[str, str]) -> bool:
    for name in _BYTES:
        text = resources.get(name)
        if text is not None and (len(text) > 9 or text[-1] in "mun" or text[-2:] in _GREAT or "e-" in text):
            return True
    return False


_GREAT = ("Ti", "Pi", "Ei")
"""Of these, short texts may say more than the reference can count in thousandths, which it takes for fractions."""


def _fractional_bytes(resources: Object, sides: Sequence[str], path: str) -> Iterator[str]:
    """Warnings about amounts of bytes that are no whole number, resource by resource."""
    for name in _BYTES:
        for side in sides:
            text = (resources.get(side) or {}).get(name)
            if text is not None and milli_value(text) % 1000:
                yield f'{path}.{side}[{name}]: fractional byte value "{text}" is invalid, must be an integer'


def _profile_warnings(spec: Object, annotations: Mapping[str, str], prefix: str, template: bool) -> list[str]:
    found: list[str] = []
    at = f"{prefix}metadata.annotations"
    pod = spec.get("securityContext") or {}
    if SECCOMP_POD in annotations and not pod.get("seccompProfile"):
        found.append(f"{at}[{SECCOMP_POD}]: {_SECCOMP}")
    if not any(key.startswith((SECCOMP_CONTAINER, APPARMOR_CONTAINER)) for key in annotations):
        return found
    for container, _ in each_container(spec, ""):
        name, own = container.get("name") or "", container.get("securityContext") or {}
        if SECCOMP_CONTAINER + name in annotations and not own.get("seccompProfile"):
            found.append(f"{at}[{SECCOMP_CONTAINER}{name}]: {_SECCOMP}")
        annotation = annotations.get(APPARMOR_CONTAINER + name)
        if annotation is None or not template:  # new Pods are told while the annotation is turned into the field
            continue
        field, told = own.get("appArmorProfile"), profile_of_annotation(annotation)
        if not field and (pod.get("appArmorProfile") is None or pod.get("appArmorProfile") != told):
            found.append(f"{at}[{APPARMOR_CONTAINER}{name}]: {APPARMOR_DEPRECATED}")
    return found


def _container_warnings(spec: Object, path: str) -> list[str]:
    found: list[str] = []
    ports: list[tuple[str, Object]] = []
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        if kind not in spec:
            continue
        for i, container in enumerate(spec[kind] or ()):
            resources = container.get("resources")
            if resources:
                for side, amounts in resources.items():
                    if side != "claims" and _may_be_fractional(amounts):
                        found += _fractional_bytes(resources, ("limits", "requests"), f"{path}.{kind}[{i}].resources")
                        break
            variables = container.get("env")
            if variables and len({v["name"] for v in variables if "name" in v}) < len(variables):
                found += _hidden_variables(variables, f"{path}.{kind}[{i}].env")
            if "ports" in container:
                at = f"{path}.{kind}[{i}].ports"
                ports += [(f"{at}[{j}]", port) for j, port in enumerate(container["ports"] or ())]
    plain = {(port.get("containerPort"), port.get("name")) for _, port in ports if "hostIP" not in port}
    if len({key for pair in plain for key in pair}) < 2 * len(ports):
        found += _port_warnings(ports)
        found += _port_name_warnings(ports)
    return found


def _hidden_variables(variables: Sequence[Object], path: str) -> Iterator[str]:
    """A variable that comes again is meant only where it extends its former value."""
    seen: set[str] = set()
    for i, variable in enumerate(variables):
        name, value = variable.get("name") or "", variable.get("value") or ""
        reference = f"$({name})"
        if name in seen and (variable.get("valueFrom") is not None or value == reference or reference not in value):
            text = f"hides previous definition of {go_quote(name)}, which may be dropped when using apply"
            yield f"{path}[{i}]: {text}"
        seen.add(name)


def _port_warnings(ports: Sequence[tuple[str, Object]]) -> Iterator[str]:
    by_number: dict[tuple[int, str], list[tuple[str, Object]]] = {}
    for path, port in ports:
        host_ip, host_port = port.get("hostIP") or "", port.get("hostPort") or 0
        number, protocol = port.get("containerPort") or 0, port.get("protocol") or ""
        if host_ip and not host_port:
            shown = (
                f"Name:{port.get('name') or ''} HostPort:0 ContainerPort:{number} Protocol:{protocol} HostIP:{host_ip}"
            )
            yield f"{path}: hostIP set without hostPort: {{{shown}}}"
        others = by_number.setdefault((number, protocol), [])
        for other_path, other in others:
            other_ip, other_port = other.get("hostIP") or "", other.get("hostPort") or 0
            if (host_ip, host_port) == (other_ip, other_port):
                yield f"{path}: duplicate port definition with {other_path}"
            elif not host_port or not other_port:
                yield f"{path}: overlapping port definition with {other_path}"
            elif host_port == other_port and (not host_ip) != (not other_ip):
                yield f"{path}: dangerously ambiguous port definition with {other_path}"
        others.append((path, port))


def _port_name_warnings(ports: Sequence[tuple[str, Object]]) -> Iterator[str]:
    first: dict[str, str] = {}
    for path, port in ports:
        name = port.get("name")
        if not name:
            continue
        other = first.setdefault(name, path)
        if other != path:
            use = f"services and probes that select ports by name will use {other}"
            yield f"{path}: duplicate port name {go_quote(name)} with {other}, {use}"
