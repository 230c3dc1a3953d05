"""What an update of a Pod or template may leave as it was, although a new one could not have it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchkeeper.apis.core.affinity_validation import compares_numbers, validate_node_selector, validate_spread_keys
from watchkeeper.apis.core.container_validation import restarts_to_resize_init
from watchkeeper.apis.core.pod_options import NEW_POD, NEW_TEMPLATE, PodOptions
from watchkeeper.apis.core.security_validation import uses_host_sysctls
from watchkeeper.apis.core.windows_validation import each_container
from watchkeeper.apis.validation.paths import validate_local_non_reserved_path
from watchkeeper.apis.validation.resources import HUGEPAGES, is_divisible_huge_page
from watchkeeper.apis.validation.selectors import has_invalid_values, validate_label_selector

Object = Mapping[str, Any]

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_TELLING = frozenset(("affinity", "topologySpreadConstraints", "volumes", "hostUsers", "overhead"))


def options_for_update(old: Object, *, in_pod: bool, allow_invalid_deletion_cost: bool = False) -> PodOptions:
    """The options for an update of a spec that was `old`."""
    context = old.get("securityContext") or {}
    sysctls, policy = context.get("sysctls"), context.get("seLinuxChangePolicy")
    compares = compares_numbers(old.get("tolerations") or ())
    huge = any(
        name.startswith(HUGEPAGES)
        for container, _ in each_container(old, "")
        for name in (container.get("resources") or {}).get("requests") or ()
    )
    restarts = any(restarts_to_resize_init(container) for container in old.get("initContainers") or ())
    plain = not (allow_invalid_deletion_cost or sysctls or policy or compares or huge or restarts)
    if plain and _TELLING.isdisjoint(old):
        return NEW_POD if in_pod else NEW_TEMPLATE
    affinity = old.get("affinity") or {}
    own_users = old.get("hostUsers") is False
    return PodOptions(
        in_pod=in_pod,
        allow_invalid_deletion_cost=allow_invalid_deletion_cost,
        allow_invalid_selector_values=_has_invalid_affinity_selector(affinity),
        allow_invalid_node_affinity_values=_has_invalid_node_affinity(affinity),
        allow_invalid_spread_selector=any(
            validate_label_selector(constraint.get("labelSelector"), "")
            for constraint in old.get("topologySpreadConstraints") or ()
        ),
        allow_indivisible_huge_pages=_has_indivisible_huge_pages(old),
        allow_non_local_token_path=_has_non_local_token_path(old),
        allow_host_sysctls=bool(sysctls) and uses_host_sysctls(old),
        allow_comparing_tolerations=compares,
        allow_invalid_spread_keys=any(
            validate_spread_keys(constraint, "") for constraint in old.get("topologySpreadConstraints") or ()
        ),
        allow_users_on_host_network=own_users and bool(old.get("hostNetwork")),
        allow_users_with_devices=own_users
        and any(container.get("volumeDevices") for container, _ in each_container(old, "")),
        allow_any_selinux_policy=policy is not None,
        allow_restarts_to_resize_init=restarts,
    )


def _has_invalid_affinity_selector(affinity: Object) -> bool:
    for kind in ("podAffinity", "podAntiAffinity"):
        pods = affinity.get(kind) or {}
        terms = [*(pods.get(_REQUIRED) or ())]
        terms += [weighted.get("podAffinityTerm") or {} for weighted in pods.get(_PREFERRED) or ()]
        if any(has_invalid_values(term.get("labelSelector")) for term in terms):
            return True
    return False


def _has_invalid_node_affinity(affinity: Object) -> bool:
    selector = (affinity.get("nodeAffinity") or {}).get(_REQUIRED)
    if not selector:
        return False
    strict = validate_node_selector(selector, "")
    return bool(strict) and strict != validate_node_selector(selector, "", allow_invalid_values=True)


def _has_indivisible_huge_pages(spec: Object) -> bool:
    amounts = [spec.get("overhead")]
    for container, _ in each_container(spec, ""):
        resources = container.get("resources") or {}
        amounts += [resources.get("requests"), resources.get("limits")]
    return any(
        name.startswith(HUGEPAGES) and not is_divisible_huge_page(name, text)
        for each in amounts
        for name, text in (each or {}).items()
    )


def _has_non_local_token_path(spec: Object) -> bool:
    return any(
        validate_local_non_reserved_path((source.get("serviceAccountToken") or {}).get("path") or "", "")
        for volume in spec.get("volumes") or ()
        if "projected" in volume
        for source in volume["projected"].get("sources") or ()
    )
