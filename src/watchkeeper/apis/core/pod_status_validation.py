"""The rules of changes of a Pod's status."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from watchkeeper.apis.core.pod_annotations import (
    DELETION_COST,
    is_deletion_cost,
    validate_annotation_changes,
    validate_pod_annotations,
)
from watchkeeper.apis.core.security_validation import validate_id
from watchkeeper.apis.validation.metadata import validate_immutable
from watchkeeper.apis.validation.names import byte_length, is_dns1123_label, is_dns1123_subdomain, is_qualified_name
from watchkeeper.apis.validation.net import parse_ip, validate_legacy_ip
from watchkeeper.meta.field import (
    FieldError,
    duplicate,
    forbidden,
    internal_error,
    invalid,
    not_supported,
    required,
    too_long,
)

Object = Mapping[str, Any]

_SYSTEM_CONDITIONS = frozenset(("PodScheduled", "Ready", "Initialized"))
_HEALTHS = ("Healthy", "Unhealthy", "Unknown")
_RESTARTABLE = {"containerStatuses": "containers", "initContainerStatuses": "initContainers"}
"""Where the spec has the containers of a list of statuses that may run again."""
_MAX_MESSAGE = 1024
_NOT_NEGATIVE = "must be a non-negative integer"
_ONE_IP_EACH = "may specify no more than one IP for each IP family"


def validate_pod_status_update(new: Object, old: Object) -> list[FieldError]:
    """What is wrong with a new status, besides metadata."""
    errors = _annotation_errors(new, old)
    status: Object = new.get("status") or {}
    old_status: Object = old.get("status") or {}
    spec: Object = old.get("spec") or {}
    errors += _condition_errors(status.get("conditions") or ())
    errors += _nomination_errors(status.get("nominatedNodeName"), old_status.get("nominatedNodeName"), spec)
    observed = status.get("observedGeneration") or 0
    if observed < 0:
        errors.append(invalid("status.observedGeneration", observed, _NOT_NEGATIVE))
    errors += validate_immutable(status.get("qosClass") or "", old_status.get("qosClass") or "", "status.qosClass")
    errors += _transitions(status, old_status, spec)
    errors += _claim_statuses(status.get("resourceClaimStatuses") or (), new.get("spec") or {})
    errors += _extended_claim_errors(status.get("extendedResourceClaimStatus"), new.get("spec") or {})
    errors += _ip_errors(status.get("podIPs") or (), old_status.get("podIPs") or (), "status.podIPs")
    host_ips = status.get("hostIPs") or ()
    if host_ips:
        first = host_ips[0].get("ip") or ""
        if (status.get("hostIP") or "") != first:
            errors.append(invalid("status.hostIPs[0].ip", first, "must be equal to `hostIP`"))
        errors += _ip_errors(host_ips, old_status.get("hostIPs") or (), "status.hostIPs")
    for kind in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"):
        errors += _user_errors(status.get(kind) or (), spec, f"status.{kind}")
    for kind, containers in (("containerStatuses", "containers"), ("initContainerStatuses", "initContainers")):
        errors += _device_errors(status.get(kind) or (), spec.get(containers) or (), f"status.{kind}")
    for i, container in enumerate(status.get("ephemeralContainerStatuses") or ()):
        if container.get("allocatedResourcesStatus"):
            at = f"status.ephemeralContainerStatuses[{i}].allocatedResourcesStatus"
            errors.append(forbidden(at, "must not be specified in container status"))
    return errors


def _annotation_errors(new: Object, old: Object) -> list[FieldError]:
    annotations = new["metadata"].get("annotations") or {}
    before = old["metadata"].get("annotations") or {}
    if not annotations and not before:
        return []
    errors = validate_annotation_changes(annotations, before, "metadata.annotations")
    cost = before.get(DELETION_COST)
    check_cost = cost is None or is_deletion_cost(cost)
    spec = new.get("spec") or {}
    return errors + validate_pod_annotations(annotations, spec, "metadata.annotations", check_cost=check_cost)


def _condition_errors(conditions: Sequence[Object]) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, condition in enumerate(conditions):
        observed, kind = condition.get("observedGeneration") or 0, condition.get("type") or ""
        if observed < 0:
            errors.append(invalid(f"status.conditions[{i}].observedGeneration", observed, _NOT_NEGATIVE))
        if kind not in _SYSTEM_CONDITIONS:
            at = f"status.conditions[{i}].Type"
            errors += [invalid(at, kind, text) for text in is_qualified_name(kind)]
    return errors


def _nomination_errors(new: str | None, old: str | None, spec: Object) -> list[FieldError]:
    path = "status.nominatedNodeName"
    if not new or new == old:
        return []
    errors = [invalid(path, new, text) for text in is_dns1123_subdomain(new)]
    if spec.get("nodeName"):
        errors.append(forbidden(path, "may not be set on pods that are already bound to a node"))
    return errors


def _transitions(status: Object, old: Object, spec: Object) -> list[FieldError]:
    """A container that has ended stays ended, unless its restart policy or a rule about all lets it start again.

    Where the spec does not name it, nothing does.
    """
    errors: list[FieldError] = []
    pod_policy = spec.get("restartPolicy") or ""
    all_may = any(_restarts_all(container) for name in _RESTARTABLE.values() for container in spec.get(name) or ())
    for kind in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"):
        before = old.get(kind) or ()
        if not before or (all_may and kind in _RESTARTABLE):
            continue
        now = {c.get("name"): c for c in status.get(kind) or ()}
        named = {c.get("name"): c for c in spec.get(_RESTARTABLE.get(kind, "")) or ()}
        for i, container in enumerate(before):
            name, ended = container.get("name"), (container.get("state") or {}).get("terminated")
            if ended is None or name not in now or (now[name].get("state") or {}).get("terminated") is not None:
                continue
            if name not in named or not _may_restart(named[name], ended.get("exitCode") or 0, pod_policy):
                text = "may not be transitioned to non-terminated state"
                errors.append(forbidden(f"status.{kind}[{i}].state", text))
    return errors


def _restarts_all(container: Object) -> bool:
    return any(rule.get("action") == "RestartAllContainers" for rule in container.get("restartPolicyRules") or ())


def _may_restart(container: Object, exit_code: int, pod_policy: str) -> bool:
    for rule in container.get("restartPolicyRules") or ():
        codes = rule.get("exitCodes") or {}
        listed = exit_code in (codes.get("values") or ())
        if listed if codes.get("operator") == "In" else not listed:
            return True
    policy = container.get("restartPolicy") or pod_policy
    return policy == "Always" or (policy == "OnFailure" and exit_code != 0)


def _claim_statuses(statuses: Sequence[Object], spec: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    known = {claim.get("name") for claim in spec.get("resourceClaims") or ()}
    seen: set[str] = set()
    for i, status in enumerate(statuses):
        name, at = status.get("name") or "", f"status.resourceClaimStatuses[{i}].name"
        if name not in known:
            errors.append(invalid(at, name, "must match the name of an entry in `spec.resourceClaims`"))
        if name in seen:
            errors.append(duplicate(at, name))
        seen.add(name)
        claim = status.get("resourceClaimName")
        if claim is not None:
            at = f"status.resourceClaimStatuses[{i}].resourceClaimName"
            errors += [invalid(at, claim, text) for text in is_dns1123_subdomain(claim)]
    return errors


def _extended_claim_errors(status: Object | None, spec: Object) -> list[FieldError]:
    if status is None:
        return []
    path = "status.extendedResourceClaimStatus"
    errors: list[FieldError] = []
    containers = {c.get("name"): c for kind in ("initContainers", "containers") for c in spec.get(kind) or ()}
    mappings = status.get("requestMappings") or ()
    if not mappings:
        errors.append(required(f"{path}.requestMappings", "at least one request mapping is required"))
    seen: set[tuple[str, str, str]] = set()
    for i, mapping in enumerate(mappings):
        at = f"{path}.requestMappings[{i}]"
        name, resource = mapping.get("containerName") or "", mapping.get("resourceName") or ""
        request = mapping.get("requestName") or ""
        both = "spec.initContainers{0} or spec.containers{0}"
        if name not in containers:
            text = f"must match the name of an entry in {both.format('.name')}"
            errors.append(invalid(f"{at}.containerName", name, text))
        elif resource not in ((containers[name].get("resources") or {}).get("requests") or {}):
            text = f"must match the extended resource name of an entry in {both.format('.resources.requests')}"
            errors.append(invalid(f"{at}.resourceName", resource, text))
        errors += [invalid(f"{path}.requestName", request, text) for text in is_dns1123_label(request)]
        if (name, resource, request) in seen:
            errors += [duplicate(f"{at}.containerName", name), duplicate(f"{at}.resourceName", resource)]
            errors.append(duplicate(f"{at}.requestName", request))
        seen.add((name, resource, request))
    claim = status.get("resourceClaimName") or ""
    if not claim:
        errors.append(required(f"{path}.resourceClaimName"))
        return errors
    return errors + [invalid(f"{path}.resourceClaimName", claim, text) for text in is_dns1123_subdomain(claim)]


def _ip_errors(addresses: Sequence[Object], old: Sequence[Object], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    allowed = tuple(address.get("ip") or "" for address in old)
    texts = [address.get("ip") or "" for address in addresses]
    for i, text in enumerate(texts):
        errors += validate_legacy_ip(text, f"{path}[{i}]", allowed=allowed)
    if len(texts) > 1:
        parsed = [parse_ip(text) for text in texts]
        versions = {address.version for address in parsed if address is not None}
        if None in parsed:
            i = parsed.index(None)
            text = f"failed to check for dual stack with error:invalid IP[{i}]: {texts[i]}"
            errors.append(internal_error(path, text))
        if None in parsed or len(versions) < 2 or len(texts) > 2:
            errors.append(invalid(path, [{"IP": text} for text in texts], _ONE_IP_EACH))
    return errors


def _user_errors(statuses: Sequence[Object], spec: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    windows = (spec.get("os") or {}).get("name") == "windows"
    for i, status in enumerate(statuses):
        user = (status.get("user") or {}).get("linux")
        if user is None:
            continue
        at = f"{path}[{i}].user.linux"
        if windows:
            errors.append(forbidden(at, "cannot be set for a windows pod"))
            continue
        errors += validate_id(user.get("uid"), f"{at}.uid")
        errors += validate_id(user.get("gid"), f"{at}.gid")
        for j, group in enumerate(user.get("supplementalGroups") or ()):
            errors += validate_id(group, f"{at}.supplementalGroups[{j}]")
    return errors


def _device_errors(statuses: Sequence[Object], containers: Sequence[Object], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    by_name = {container.get("name"): container for container in containers}
    for i, status in enumerate(statuses):
        for j, allocated in enumerate(status.get("allocatedResourcesStatus") or ()):
            at = f"{path}[{i}].allocatedResourcesStatus[{j}]"
            container = by_name.get(status.get("name"))
            if container is not None:
                errors += _allocated_name_errors(allocated.get("name") or "", container, f"{at}.name")
            seen: set[str] = set()
            for k, resource in enumerate(allocated.get("resources") or ()):
                health, identity = resource.get("health") or "", resource.get("resourceID") or ""
                if health not in _HEALTHS:
                    errors.append(not_supported(f"{at}.resources[{k}].health", health, _HEALTHS))
                errors += _message_errors(resource.get("message"), f"{at}.resources[{k}].message")
                if identity in seen:
                    errors.append(duplicate(f"{at}.resources[{k}].resourceID", identity))
                seen.add(identity)
    return errors


def _message_errors(message: str | None, path: str) -> list[FieldError]:
    if message is None:
        return []
    if not message:
        return [required(path, "must be non-empty if specified")]
    return [too_long(path, message, _MAX_MESSAGE)] if byte_length(message) > _MAX_MESSAGE else []


def _allocated_name_errors(name: str, container: Object, path: str) -> list[FieldError]:
    resources = container.get("resources") or {}
    if name.startswith("claim:"):
        claims = resources.get("claims") or ()
        known = {"claim:" + "/".join(filter(None, (c.get("name"), c.get("request")))) for c in claims}
        text = (
            "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' "
            "or 'claim:<claimName>' if request is empty"
        )
    else:
        known = set(resources.get("requests") or ())
        text = "must match one of the container's resource requests"
    return [] if name in known else [invalid(path, name, text)]
