"""Which older rules an update of a Pod or template may still follow."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PodOptions:
    """Each `allow_*` is set when the old object already breaks a rule that came after it was written."""

    in_pod: bool = True
    """Whether the spec is a Pod's, not a template's."""
    allow_invalid_deletion_cost: bool = False
    allow_invalid_selector_values: bool = False
    allow_invalid_node_affinity_values: bool = False
    allow_invalid_spread_selector: bool = False
    allow_indivisible_huge_pages: bool = False
    allow_non_local_token_path: bool = False
    allow_host_sysctls: bool = False
    allow_comparing_tolerations: bool = False
    allow_invalid_spread_keys: bool = False
    allow_users_on_host_network: bool = False
    """Whether a Pod with users of its own may use the network of its host."""
    allow_users_with_devices: bool = False
    """Whether a Pod with users of its own may use raw devices."""
    allow_any_selinux_policy: bool = False
    """Whether volumes may be labeled in each known way: the old object says how, be it the way that all may choose."""

    allow_restarts_to_resize_init: bool = False
    """Whether an init container that is no sidecar may ask for a restart when it is resized."""


NEW_POD = PodOptions()
NEW_TEMPLATE = PodOptions(in_pod=False)
