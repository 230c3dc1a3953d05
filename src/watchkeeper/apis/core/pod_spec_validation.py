"""The rules of a pod spec, of a Pod or of a template, in the reference's order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchkeeper.apis.core.affinity_validation import (
    validate_affinity,
    validate_tolerations,
    validate_topology_spread,
)
from watchkeeper.apis.core.container_validation import (
    ContainerContext,
    validate_containers,
    validate_ephemeral_containers,
    validate_init_containers,
)
from watchkeeper.apis.core.env_validation import FileKeys
from watchkeeper.apis.core.pod_network_validation import (
    validate_dns_config,
    validate_host_aliases,
    validate_host_network_ports,
    validate_hostname_override,
)
from watchkeeper.apis.core.pod_options import PodOptions
from watchkeeper.apis.core.pod_resource_validation import validate_pod_resources, validate_resource_claims
from watchkeeper.apis.core.security_validation import validate_pod_security
from watchkeeper.apis.core.volume_validation import validate_volumes
from watchkeeper.apis.core.windows_validation import each_container, validate_host_process, validate_os
from watchkeeper.apis.validation.metadata import validate_labels
from watchkeeper.apis.validation.names import (
    inclusive_range_error,
    is_dns1123_label,
    is_dns1123_subdomain,
    is_qualified_name,
)
from watchkeeper.apis.validation.resources import validate_requirements
from watchkeeper.meta.field import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
)

Object = Mapping[str, Any]

RESTART_POLICIES = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
PREEMPTION_POLICIES = ("PreemptLowerPriority", "Never")
_MAX_INT32 = 2**31 - 1
_NAMED_OBJECTS = ("serviceAccountName", "nodeName")
_RARE_FIELDS = frozenset(
    (
        "affinity",
        "hostUsers",
        "hostnameOverride",
        "imagePullSecrets",
        "nodeSelector",
        "readinessGates",
        "schedulingGates",
        "topologySpreadConstraints",
        "resources",
        "dnsConfig",
    )
)


def validate_pod_spec(spec: Object, path: str, options: PodOptions, *, pod: Object | None = None) -> list[FieldError]:
    """What is wrong with a pod spec; `pod` is the Pod's metadata, None for a template."""
    errors: list[FieldError] = []
    grace_period = spec.get("terminationGracePeriodSeconds")
    if grace_period is None:
        errors.append(required(f"{path}.terminationGracePeriodSeconds"))
    volumes: Mapping[str, Object] = {}
    if "volumes" in spec:
        name = (pod or {}).get("name") or ""
        volumes, wrong = validate_volumes(spec["volumes"] or (), f"{path}.volumes", options, name)
        errors += wrong
    claims = spec.get("resourceClaims") or ()
    if claims:
        errors += validate_resource_claims(claims, pod, f"{path}.resourceClaims")
    context = ContainerContext(
        volumes=volumes,
        claim_names={claim["name"] for claim in claims if claim.get("name")},
        restart_policy=spec.get("restartPolicy") or "",
        grace_period=grace_period,
        os_name=spec["os"].get("name") or "" if spec.get("os") is not None else None,
        host_users=spec.get("hostUsers") is not False,
        options=options,
        file_keys=[],
    )
    main = spec.get("containers") or ()
    errors += validate_containers(main, f"{path}.containers", context)
    if "initContainers" in spec:
        init = spec["initContainers"] or ()
        errors += validate_init_containers(init, main, f"{path}.initContainers", context)
    if "ephemeralContainers" in spec:
        errors += validate_ephemeral_containers(spec, f"{path}.ephemeralContainers", context)
    if "resources" in spec:
        errors += validate_pod_resources(spec, path, claim_names=context.claim_names)
    if spec.get("hostNetwork"):
        errors += validate_host_network_ports(main, path, options)
    errors += _policies(spec, path)
    rare = not _RARE_FIELDS.isdisjoint(spec)
    if rare and "nodeSelector" in spec:
        errors += validate_labels(spec["nodeSelector"] or {}, f"{path}.nodeSelector")
    errors += validate_pod_security(spec, f"{path}.securityContext", options)
    if rare or spec.get("dnsPolicy") == "None":
        errors += _rare_fields(spec, path, options)
    if _mentions_windows(spec):
        errors += validate_host_process(spec, path)
    if rare:
        errors += _host_users(spec, path, options)
        errors += validate_hostname_override(spec, path)
    errors += _plain_fields(spec, path, options)
    if "overhead" in spec:
        lenient = options.allow_indivisible_huge_pages
        errors += validate_requirements({"limits": spec["overhead"]}, f"{path}.overhead", allow_indivisible=lenient)
    if spec.get("os") is not None:
        errors += validate_os(spec, path)
    if context.file_keys:
        errors += _file_key_errors(context.file_keys, spec)
    return errors


def _mentions_windows(spec: Object) -> bool:
    if "windowsOptions" in (spec.get("securityContext") or ()):
        return True
    for kind in ("containers", "initContainers", "ephemeralContainers"):
        for container in spec.get(kind) or ():
            if "securityContext" in container and "windowsOptions" in (container["securityContext"] or ()):
                return True
    return False


def _policies(spec: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    restart, dns = spec.get("restartPolicy") or "", spec.get("dnsPolicy") or ""
    if restart not in RESTART_POLICIES:
        at = f"{path}.restartPolicy"
        errors.append(not_supported(at, restart, RESTART_POLICIES) if restart else required(at))
    if dns not in _DNS_POLICIES:
        at = f"{path}.dnsPolicy"
        errors.append(not_supported(at, dns, _DNS_POLICIES) if dns else required(at))
    return errors


def _rare_fields(spec: Object, path: str, options: PodOptions) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, secret in enumerate(spec.get("imagePullSecrets") or ()):
        if secret.keys() - {"name"}:
            errors.append(invalid(f"{path}.imagePullSecrets[{i}]", dict(secret), "only name may be set"))
    if spec.get("affinity"):
        errors += validate_affinity(spec["affinity"], f"{path}.affinity", options)
    errors += validate_dns_config(spec, f"{path}.dnsConfig")
    for i, gate in enumerate(spec.get("readinessGates") or ()):
        kind = gate.get("conditionType") or ""
        at = f"{path}.readinessGates[{i}].conditionType"
        errors += [invalid(at, kind, text) for text in is_qualified_name(kind)]
    seen: set[str] = set()
    for i, gate in enumerate(spec.get("schedulingGates") or ()):
        name, at = gate.get("name") or "", f"{path}.schedulingGates[{i}]"
        errors += [invalid(at, name, text) for text in is_qualified_name(name)]
        if name in seen:
            errors.append(duplicate(at, name))
        seen.add(name)
    constraints = spec.get("topologySpreadConstraints")
    if constraints:
        errors += validate_topology_spread(constraints, f"{path}.topologySpreadConstraints", options)
    return errors


def _plain_fields(spec: Object, path: str, options: PodOptions) -> list[FieldError]:
    errors: list[FieldError] = []
    for field in _NAMED_OBJECTS:
        name = spec.get(field)
        if name and (wrong := is_dns1123_subdomain(name)):
            errors += [invalid(f"{path}.{field}", name, text) for text in wrong]
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _MAX_INT32:
        errors.append(invalid(f"{path}.activeDeadlineSeconds", deadline, inclusive_range_error(1, _MAX_INT32)))
    for field in ("hostname", "subdomain"):
        name = spec.get(field)
        if name and (wrong := is_dns1123_label(name)):
            errors += [invalid(f"{path}.{field}", name, text) for text in wrong]
    tolerations = spec.get("tolerations")
    if tolerations:
        comparing = options.allow_comparing_tolerations
        errors += validate_tolerations(tolerations, f"{path}.tolerations", allow_comparing=comparing)
    if "hostAliases" in spec:
        errors += validate_host_aliases(spec["hostAliases"] or (), f"{path}.hostAliases")
    name = spec.get("priorityClassName")
    if name:
        errors += [invalid(f"{path}.priorityClassName", name, text) for text in is_dns1123_subdomain(name)]
    name = spec.get("runtimeClassName")
    if name is not None:
        errors += [invalid(f"{path}.runtimeClassName", name, text) for text in is_dns1123_subdomain(name)]
    preemption = spec.get("preemptionPolicy")
    if preemption is not None and preemption not in PREEMPTION_POLICIES:
        at = f"{path}.preemptionPolicy"
        errors.append(not_supported(at, preemption, PREEMPTION_POLICIES) if preemption else required(at))
    return errors


def _host_users(spec: Object, path: str, options: PodOptions) -> list[FieldError]:
    if spec.get("hostUsers") is not False:
        return []
    text = "when `hostUsers` is false"
    shared = [("hostPID", "HostPID"), ("hostIPC", "HostIPC")]
    if not options.allow_users_on_host_network:
        shared.insert(0, ("hostNetwork", "hostNetwork"))
    errors = [forbidden(f"{path}.{shown}", text) for field, shown in shared if spec.get(field)]
    if options.allow_users_with_devices:
        return errors
    for container, at in each_container(spec, path):
        if container.get("volumeDevices"):
            errors.append(forbidden(f"{at}.volumeDevices", text))
    return errors


def _file_key_errors(file_keys: FileKeys, spec: Object) -> list[FieldError]:
    """Variables that come from a file in a volume need an emptyDir that is there."""
    errors: list[FieldError] = []
    for path, name in file_keys:
        found = [volume for volume in spec.get("volumes") or () if volume.get("name") == name]
        if not found:
            errors.append(not_found(f"{path}.volumeName", name))
        elif found[-1].get("emptyDir") is None:
            errors.append(invalid(f"{path}.volumeName", name, "referenced volume must be of type emptyDir"))
    return errors
