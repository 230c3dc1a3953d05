"""The rules of a Service's cluster IPs and IP families, which depend on each other.

The allocator asks for them too, before it fills in what is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchkeeper.apis.core import service_traits as traits
from watchkeeper.apis.core.service_traits import is_headless
from watchkeeper.apis.validation.net import parse_ip, validate_legacy_ip
from watchkeeper.meta.field import FieldError, duplicate, invalid, not_supported, required

Spec = Mapping[str, Any]

_IPS, _FAMILIES, _POLICY = "spec.clusterIPs", "spec.ipFamilies", "spec.ipFamilyPolicy"
_KNOWN_FAMILIES = (traits.IPV4, traits.IPV6)
_KNOWN_POLICIES = (traits.PREFER_DUAL_STACK, traits.REQUIRE_DUAL_STACK, traits.SINGLE_STACK)
_SET_ONCE = "may not change once set"


def is_ipv6(text: str) -> bool:
    """Whether a text is an IPv6 address that holds no IPv4 one."""
    address = parse_ip(text)
    return address is not None and address.version == 6 and getattr(address, "ipv4_mapped", None) is None


def validate_addresses(spec: Spec, old: Spec | None) -> list[FieldError]:
    """What is wrong with cluster IPs and families by themselves; `old` is the spec before an update."""
    if spec.get("type") == traits.EXTERNAL_NAME:
        return []
    addresses = spec.get("clusterIPs") or []
    errors = _singular_errors(spec, addresses)
    errors += _family_errors(spec)
    malformed = _address_errors(addresses, (old or {}).get("clusterIPs") or ())
    errors += malformed
    if len(addresses) > 2:
        errors.append(invalid(_IPS, addresses, "may only hold up to 2 values"))
    if malformed:
        return errors
    if len(addresses) > 1 and len({is_ipv6(a) for a in addresses}) < 2:
        errors.append(invalid(_IPS, addresses, "may specify no more than one IP for each IP family"))
    if not is_headless(spec):
        errors += _mismatches(addresses, spec.get("ipFamilies") or ())
    return errors


def _singular_errors(spec: Spec, addresses: list[str]) -> list[FieldError]:
    first = spec.get("clusterIP")
    if first:
        if not addresses:
            return [required(_IPS)]
        if addresses[0] != first:
            return [invalid(_IPS, addresses, "first value must match `clusterIP`")]
    elif addresses:
        return [invalid(_IPS, addresses, "must be empty when `clusterIP` is not specified")]
    return []


def _family_errors(spec: Spec) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for i, family in enumerate(spec.get("ipFamilies") or ()):
        if family not in _KNOWN_FAMILIES:
            errors.append(not_supported(f"{_FAMILIES}[{i}]", family, _KNOWN_FAMILIES))
        if family in seen:
            errors.append(duplicate(f"{_FAMILIES}[{i}]", family))
        seen.add(family)
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in _KNOWN_POLICIES:
        errors.append(not_supported(_POLICY, policy, _KNOWN_POLICIES))
    return errors


def _address_errors(addresses: list[str], old: Any) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, address in enumerate(addresses):
        if i == 0 and address == traits.NONE:
            if len(addresses) > 1:
                errors.append(invalid(_IPS, addresses, "'None' must be the first and only value"))
            continue
        errors += validate_legacy_ip(address, f"{_IPS}[{i}]", allowed=tuple(old))
    return errors


def _mismatches(addresses: list[str], families: Any) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, (address, family) in enumerate(zip(addresses, families, strict=False)):
        if family in _KNOWN_FAMILIES and is_ipv6(address) != (family == traits.IPV6):
            why = f"expected an {family} value as indicated by `ipFamilies[{i}]`"
            errors.append(invalid(f"{_IPS}[{i}]", address, why))
    return errors


def validate_address_change(new: Spec, old: Spec) -> list[FieldError]:
    """Addresses and families can be added and taken back, but the first of each stays what it is."""
    if traits.EXTERNAL_NAME in (new.get("type"), old.get("type")):
        return []
    return _ip_change(new, old) + _family_change(new, old)


def _ip_change(new: Spec, old: Spec) -> list[FieldError]:
    if is_headless(old) and is_headless(new):
        return []
    was, now = old.get("clusterIPs") or [], new.get("clusterIPs") or []
    shown = new.get("clusterIPs")
    if len(was) == len(now):
        changed = [i for i, address in enumerate(was) if address != now[i]]
        return [invalid(f"{_IPS}[{i}]", shown, _SET_ONCE) for i in changed]
    errors: list[FieldError] = []
    if len(was) > len(now) and not now:
        errors.append(invalid(f"{_IPS}[0]", shown, "primary clusterIP can not be unset"))
    if was and now and was[0] != now[0]:
        errors.append(invalid(f"{_IPS}[0]", shown, _SET_ONCE))
    if len(was) > len(now) == 1 and new.get("ipFamilyPolicy") != traits.SINGLE_STACK:
        why = "must be set to 'SingleStack' when releasing the secondary clusterIP"
        errors.append(invalid(_POLICY, new.get("ipFamilyPolicy"), why))
    return errors


def _family_change(new: Spec, old: Spec) -> list[FieldError]:
    if is_headless(new) or is_headless(old):
        return []
    was, now = old.get("ipFamilies") or [], new.get("ipFamilies") or []
    at = f"{_FAMILIES}[0]"
    if len(was) == len(now):
        changed = [i for i, family in enumerate(was) if family != now[i]]
        return [invalid(at, now, _SET_ONCE) for _ in changed]
    errors: list[FieldError] = []
    if len(was) > len(now) and not new.get("clusterIPs"):
        errors.append(invalid(at, new.get("ipFamilies"), "primary ipFamily can not be unset"))
    if was and now and was[0] != now[0]:
        errors.append(invalid(at, new.get("clusterIPs"), _SET_ONCE))
    if len(was) > len(now) == 1 and new.get("ipFamilyPolicy") != traits.SINGLE_STACK:
        why = "must be set to 'SingleStack' when releasing the secondary ipFamily"
        errors.append(invalid(_POLICY, new.get("ipFamilyPolicy"), why))
    return errors
