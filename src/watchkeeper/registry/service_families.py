"""Which IP families a Service has: what the client asked for, completed from what the cluster has (KEP-563)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from watchkeeper.apis.core import service_traits as traits
from watchkeeper.apis.core.service_address_validation import is_ipv6, validate_addresses
from watchkeeper.meta.field import FieldError, invalid

Spec = dict[str, Any]

_POLICY = "spec.ipFamilyPolicy"


def keeps_preferred(new: Spec, old: Spec | None) -> bool:
    """Whether an update leaves the addresses of a Service that prefers two families as they are.

    Such a Service is not given, or deprived of, an address because the cluster has got or lost a family meanwhile.
    """
    if old is None or new.get("type") != old.get("type"):
        return False
    if new.get("type") not in (traits.CLUSTER_IP, traits.NODE_PORT, traits.LOAD_BALANCER):
        return False
    policies = (new.get("ipFamilyPolicy"), old.get("ipFamilyPolicy") or traits.PREFER_DUAL_STACK)
    if policies != (traits.PREFER_DUAL_STACK, traits.PREFER_DUAL_STACK):
        return False
    return all((new.get(name) or []) == (old.get(name) or []) for name in ("clusterIPs", "ipFamilies"))


def complete_families(new: Spec, old: Spec | None, configured: Sequence[str]) -> list[FieldError]:
    """Fill in ipFamilyPolicy and ipFamilies, in place; returns what makes that impossible.

    `old` is the spec before an update; `configured` are the cluster's families, the preferred one first.
    """
    if new.get("type") == traits.EXTERNAL_NAME or keeps_preferred(new, old):
        return []
    if new.get("ipFamilyPolicy") is None:
        new["ipFamilyPolicy"] = _default_policy(new, old)
    wrong = validate_addresses(new, old)
    if wrong:
        return wrong
    wrong = _change_errors(new, old) + _single_errors(new) + _infer(new, configured)
    if wrong:
        return wrong
    if _is_free(new):
        _complete_free(new, configured)
        return []
    wrong = _configuration_errors(new, configured)
    if wrong:
        return wrong
    families = list(new.get("ipFamilies") or configured[:1])
    if new["ipFamilyPolicy"] != traits.SINGLE_STACK and len(families) == 1 and len(configured) == 2:
        families.append(_other(families[0]))
    new["ipFamilies"] = families
    return []


def complete_stored(service: Spec, configured: Sequence[str]) -> None:
    """Fill in, in place, what a Service lacks that was stored when addresses and families were no lists."""
    spec = service.setdefault("spec", {})
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    if not traits.needs_cluster_ip(spec) or spec.get("ipFamilies"):
        return
    primary = configured[0]
    if not traits.is_headless(spec):
        families = [traits.IPV6 if is_ipv6(address) else traits.IPV4 for address in spec.get("clusterIPs") or ()]
    elif spec.get("selector"):
        families = [primary]
    else:
        families = [primary, _other(primary)]  # whatever somebody puts into its Endpoints
    if families:
        spec["ipFamilies"] = families
        spec["ipFamilyPolicy"] = traits.SINGLE_STACK if len(families) == 1 else traits.REQUIRE_DUAL_STACK


def _is_free(spec: Spec) -> bool:
    """Headless and without a selector: its endpoints are whatever somebody writes."""
    return spec.get("clusterIP") == traits.NONE and not spec.get("selector")


def _other(family: str) -> str:
    return traits.IPV6 if family == traits.IPV4 else traits.IPV4


def _default_policy(new: Spec, old: Spec | None) -> str:
    if old is not None and old.get("ipFamilyPolicy") is not None:
        return str(old["ipFamilyPolicy"])
    return traits.REQUIRE_DUAL_STACK if _is_free(new) else traits.SINGLE_STACK


def _change_errors(new: Spec, old: Spec | None) -> list[FieldError]:
    """To ask for one family is to give the second up; to name fewer without asking is an error."""
    if old is None:
        return []
    policy = new["ipFamilyPolicy"]
    if policy == traits.SINGLE_STACK:
        for name in ("clusterIPs", "ipFamilies"):
            values = new.get(name) or []
            if len(values) > 1 and values == (old.get(name) or []):
                new[name] = values[:1]
        return []
    errors: list[FieldError] = []
    for name, what in (("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")):
        if 0 < len(new.get(name) or ()) < len(old.get(name) or ()):
            errors.append(invalid(_POLICY, policy, f"must be 'SingleStack' to release the secondary {what}"))
    return errors


def _single_errors(spec: Spec) -> list[FieldError]:
    if spec["ipFamilyPolicy"] != traits.SINGLE_STACK:
        return []
    return [
        invalid(
            _POLICY,
            spec["ipFamilyPolicy"],
            f"must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified",
        )
        for name, what in (("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families"))
        if len(spec.get(name) or ()) == 2
    ]


def _infer(spec: Spec, configured: Sequence[str]) -> list[FieldError]:
    """Take the families of the addresses that are given."""
    addresses = spec.get("clusterIPs") or []
    families = list(spec.get("ipFamilies") or ())
    errors: list[FieldError] = []
    for i, address in enumerate(addresses):
        if address == traits.NONE:
            break
        if i < len(families):
            continue
        family = traits.IPV6 if is_ipv6(address) else traits.IPV4
        if family in configured:
            families.append(family)
        else:
            why = f"{family} is not configured on this cluster"
            errors.append(invalid(f"spec.clusterIPs[{i}]", addresses, why))
    if families:
        spec["ipFamilies"] = families
    return errors


def _complete_free(spec: Spec, configured: Sequence[str]) -> None:
    families = list(spec.get("ipFamilies") or configured[:1])
    if len(families) < 2 and spec["ipFamilyPolicy"] != traits.SINGLE_STACK:
        families.append(_other(families[0]))
    spec["ipFamilies"] = families


def _configuration_errors(spec: Spec, configured: Sequence[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    if spec["ipFamilyPolicy"] == traits.REQUIRE_DUAL_STACK and len(configured) < 2:
        why = "this cluster is not configured for dual-stack services"
        errors.append(invalid(_POLICY, spec["ipFamilyPolicy"], why))
    for i, family in enumerate(spec.get("ipFamilies") or ()):
        if family not in configured:
            errors.append(invalid(f"spec.ipFamilies[{i}]", family, "not configured on this cluster"))
    return errors
