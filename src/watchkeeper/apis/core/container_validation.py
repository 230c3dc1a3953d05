"""The rules of containers of all sorts.

Pods are validated on every write, so the usual container must pass at little cost: paths are put together only for
errors, and texts are judged by cached functions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from watchkeeper.apis.core.env_validation import FileKeys, validate_env, validate_env_from
from watchkeeper.apis.core.pod_options import PodOptions
from watchkeeper.apis.core.probe_validation import (
    validate_lifecycle,
    validate_liveness_probe,
    validate_readiness_probe,
)
from watchkeeper.apis.core.security_validation import validate_container_security
from watchkeeper.apis.core.volume_mount_validation import validate_devices, validate_mounts
from watchkeeper.apis.core.volume_sources import PULL_POLICIES
from watchkeeper.apis.validation.names import is_dns1123_label, is_port_name, is_port_number
from watchkeeper.apis.validation.resources import validate_requirements
from watchkeeper.meta.field import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
    too_many,
)

Object = Mapping[str, Any]

PROTOCOLS = ("SCTP", "TCP", "UDP")
_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
_RESTART_POLICIES = ("Always", "Never", "OnFailure")
_RESTART_ACTIONS = ("Restart", "RestartAllContainers")
_NEEDS_POLICY = "must specify restartPolicy when restart rules are used"
_MAX_RESTART_RULES = 20
_MAX_EXIT_CODES = 255
_NOT_IN_EPHEMERAL = (
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerContext:
    """What containers share with their pod."""

    volumes: Mapping[str, Object]
    claim_names: Collection[str]
    restart_policy: str
    grace_period: int | None
    os_name: str | None
    host_users: bool
    options: PodOptions
    file_keys: FileKeys
    """Filled while containers are validated."""


def validate_containers(containers: Sequence[Object], path: str, context: ContainerContext) -> list[FieldError]:
    """The main containers: at least one, with distinct names and host ports."""
    if not containers:
        return [required(path)]
    errors: list[FieldError] = []
    names: set[str] = set()
    for i, container in enumerate(containers):
        at = f"{path}[{i}]"
        errors += _common_errors(container, at, context)
        name = container.get("name") or ""
        if name in names:
            errors.append(duplicate(f"{at}.name", name))
        names.add(name)
        errors += _running_errors(container, at, context)
        if "restartPolicy" in container or "restartPolicyRules" in container:
            errors += _restart_errors(container, at)
    return errors + _host_port_conflicts(containers, path)


def _running_errors(container: Object, path: str, context: ContainerContext) -> list[FieldError]:
    """Hooks and probes, which only containers have that keep running."""
    errors: list[FieldError] = []
    if "lifecycle" in container:
        errors += validate_lifecycle(
            container["lifecycle"],
            f"{path}.lifecycle",
            grace_period=context.grace_period,
            os_name=context.os_name,
        )
    if "livenessProbe" in container:
        errors += validate_liveness_probe(container["livenessProbe"], f"{path}.livenessProbe")
    if "readinessProbe" in container:
        errors += validate_readiness_probe(container["readinessProbe"], f"{path}.readinessProbe")
    if "startupProbe" in container:
        errors += validate_liveness_probe(container["startupProbe"], f"{path}.startupProbe")
    return errors


def validate_init_containers(
    containers: Sequence[Object], main: Sequence[Object], path: str, context: ContainerContext
) -> list[FieldError]:
    """Init containers: names distinct from the main ones too; only sidecars have probes and hooks."""
    errors: list[FieldError] = []
    names = {container.get("name") or "" for container in main}
    for i, container in enumerate(containers):
        at = f"{path}[{i}]"
        errors += _common_errors(container, at, context)
        policy = container.get("restartPolicy")
        if policy is not None:
            errors += _restart_errors(container, at)
        elif container.get("restartPolicyRules"):
            errors.append(required(f"{at}.restartPolicy", _NEEDS_POLICY))
        name = container.get("name") or ""
        if name in names:
            errors.append(duplicate(f"{at}.name", name))
        elif name:
            names.add(name)
        errors += _host_port_conflicts([container], path)
        if policy == "Always":
            errors += _running_errors(container, at, context)
        else:
            text = "may not be set for init containers without restartPolicy=Always"
            wrong = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
            errors += [forbidden(f"{at}.{field}", text) for field in wrong if container.get(field) is not None]
            if not context.options.allow_restarts_to_resize_init:
                errors += _init_resize_errors(container, at)
    return errors


def restarts_to_resize_init(container: Object) -> bool:
    """Whether a container that runs before the others would be started again to resize it."""
    return container.get("restartPolicy") != "Always" and bool(_init_resize_errors(container, ""))


def _init_resize_errors(container: Object, path: str) -> list[FieldError]:
    text = "must not be set to 'RestartContainer' for non-sidecar initContainers"
    return [
        invalid(f"{path}.resizePolicy[{i}].restartPolicy", "RestartContainer", text)
        for i, policy in enumerate(container.get("resizePolicy") or ())
        if policy.get("restartPolicy") == "RestartContainer"
    ]


def validate_ephemeral_containers(spec: Object, path: str, context: ContainerContext) -> list[FieldError]:
    """Ephemeral containers: names distinct from all others, a target that exists, and few fields."""
    errors: list[FieldError] = []
    others = {c.get("name") or "" for kind in ("containers", "initContainers") for c in spec.get(kind) or ()}
    names = set(others)
    for i, container in enumerate(spec.get("ephemeralContainers") or ()):
        at = f"{path}[{i}]"
        errors += _common_errors(container, at, context)
        errors += image_padding_errors(container, at)
        name, target = container.get("name") or "", container.get("targetContainerName")
        if name in names:
            errors.append(duplicate(f"{at}.name", name))
        names.add(name)
        if target and target not in others:
            errors.append(not_found(f"{at}.targetContainerName", target))
        text = "cannot be set for an Ephemeral Container"
        errors += [forbidden(f"{at}.{field}", text) for field in _NOT_IN_EPHEMERAL if _is_set(container, field)]
        for j, mount in enumerate(container.get("volumeMounts") or ()):
            wrong = [field for field in ("subPath", "subPathExpr") if mount.get(field)]
            errors += [forbidden(f"{at}.volumeMounts[{j}].{field}", text) for field in wrong]
    return errors


def _is_set(container: Object, field: str) -> bool:
    """Whether a container has a field; all but its resources are there even if they are empty."""
    value = container.get(field)
    return value is not None and (field != "resources" or bool(value))


def image_padding_errors(container: Object, path: str) -> list[FieldError]:
    """The image of a pod's container may not be padded; templates may hold what somebody fills in."""
    image = container.get("image") or ""
    if image and (image[0].isspace() or image[-1].isspace()):
        return [invalid(f"{path}.image", image, "must not have leading or trailing whitespace")]
    return []


def _common_errors(container: Object, path: str, context: ContainerContext) -> list[FieldError]:
    errors: list[FieldError] = []
    name = container.get("name")
    if not name:
        errors.append(required(f"{path}.name"))
    elif wrong := is_dns1123_label(name):
        errors += [invalid(f"{path}.name", name, text) for text in wrong]
    if not container.get("image"):
        errors.append(required(f"{path}.image"))
    policy = container.get("terminationMessagePolicy") or ""
    if policy not in _MESSAGE_POLICIES:
        at = f"{path}.terminationMessagePolicy"
        errors.append(not_supported(at, policy, _MESSAGE_POLICIES) if policy else required(at))
    if "ports" in container:
        errors += validate_container_ports(container["ports"] or (), f"{path}.ports")
    if "env" in container:
        errors += validate_env(container["env"] or (), f"{path}.env", context.file_keys)
    if "envFrom" in container:
        errors += validate_env_from(container["envFrom"] or (), f"{path}.envFrom")
    if "volumeMounts" in container:
        errors += validate_mounts(container, path, context.volumes)
    if "volumeDevices" in container:
        errors += validate_devices(container, path, context.volumes)
    pull = container.get("imagePullPolicy") or ""
    if pull not in PULL_POLICIES:
        at = f"{path}.imagePullPolicy"
        errors.append(not_supported(at, pull, PULL_POLICIES) if pull else required(at))
    resources = container.get("resources")
    if resources:
        errors += validate_requirements(
            resources,
            f"{path}.resources",
            claim_names=context.claim_names,
            allow_indivisible=context.options.allow_indivisible_huge_pages,
        )
    if "resizePolicy" in container:
        errors += _resize_errors(container["resizePolicy"] or (), f"{path}.resizePolicy", context.restart_policy)
    security = container.get("securityContext")
    if security:
        errors += validate_container_security(security, f"{path}.securityContext", host_users=context.host_users)
    return errors


def validate_container_ports(ports: Sequence[Object], path: str) -> list[FieldError]:
    """Ports of a container: valid numbers and protocols, names distinct."""
    errors: list[FieldError] = []
    names: set[str] = set()
    for i, port in enumerate(ports):
        name = port.get("name")
        if name:
            wrong = is_port_name(name)
            if wrong:
                errors += [invalid(f"{path}[{i}].name", name, text) for text in wrong]
            elif name in names:
                errors.append(duplicate(f"{path}[{i}].name", name))
            else:
                names.add(name)
        number, host_port = port.get("containerPort"), port.get("hostPort")
        if not number:
            errors.append(required(f"{path}[{i}].containerPort"))
        elif not 1 <= number <= 65535:
            errors += [invalid(f"{path}[{i}].containerPort", number, text) for text in is_port_number(number)]
        if host_port and not 1 <= host_port <= 65535:
            errors += [invalid(f"{path}[{i}].hostPort", host_port, text) for text in is_port_number(host_port)]
        protocol = port.get("protocol") or ""
        if protocol not in PROTOCOLS:
            at = f"{path}[{i}].protocol"
            errors.append(not_supported(at, protocol, PROTOCOLS) if protocol else required(at))
    return errors


def _host_port_conflicts(containers: Sequence[Object], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    taken: set[str] = set()
    for i, container in enumerate(containers):
        for j, port in enumerate(container.get("ports") or ()):
            number = port.get("hostPort")
            if not number:
                continue
            text = f"{port.get('protocol') or ''}/{port.get('hostIP') or ''}/{number}"
            if text in taken:
                errors.append(duplicate(f"{path}[{i}].ports[{j}].hostPort", text))
            taken.add(text)
    return errors


def _resize_errors(policies: Sequence[Object], path: str, pod_restart: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for i, policy in enumerate(policies):
        resource, restart = policy.get("resourceName") or "", policy.get("restartPolicy") or ""
        if resource in seen:
            errors.append(duplicate(f"{path}[{i}]", resource))
        seen.add(resource)
        for value, supported in ((resource, ("cpu", "memory")), (restart, ("NotRequired", "RestartContainer"))):
            if value not in supported:
                errors.append(not_supported(path, value, supported) if value else required(path))
        if pod_restart == "Never" and restart != "NotRequired":
            text = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            errors.append(invalid(path, restart, text))
    return errors


def _restart_errors(container: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or ()
    at = f"{path}.restartPolicy"
    if policy is None:
        if rules:
            errors.append(required(at, _NEEDS_POLICY))
    elif policy not in _RESTART_POLICIES:
        errors.append(not_supported(at, policy, _RESTART_POLICIES))
    if len(rules) > _MAX_RESTART_RULES:
        errors.append(too_many(f"{path}.restartPolicyRules", len(rules), _MAX_RESTART_RULES))
    for i, rule in enumerate(rules):
        errors += _restart_rule_errors(rule, f"{path}.restartPolicyRules[{i}]")
    return errors


def _restart_rule_errors(rule: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    action, codes = rule.get("action") or "", rule.get("exitCodes")
    if action not in _RESTART_ACTIONS:
        errors.append(not_supported(f"{path}.action", action, _RESTART_ACTIONS))
    if codes is None:
        errors.append(required(f"{path}.exitCodes", "must be specified"))
        return errors
    operator, values = codes.get("operator") or "", codes.get("values") or ()
    if operator not in ("In", "NotIn"):
        errors.append(not_supported(f"{path}.exitCodes.operator", operator, ("In", "NotIn")))
    if len(values) > _MAX_EXIT_CODES:
        errors.append(too_many(f"{path}.exitCodes.values", len(values), _MAX_EXIT_CODES))
    return errors
