"""The rules of IP addresses and CIDR blocks.

Old fields take addresses in any form that names one address without doubt; new fields take the canonical form only.
"""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache

from watchkeeper.meta.field import FieldError, go_quote, invalid

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
IPNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network

_NOT_AN_IP = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_NOT_A_CIDR = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
_NOT_AN_INTERFACE = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"
_MAPPED = ipaddress.IPv6Network("::ffff:0:0/96")

_leading_zeros = re.compile(r"(?<![0-9a-fA-F:.])0+(?=[0-9])|(?<=\.)0+(?=[0-9])")
_long_groups = re.compile(r"(?<![0-9a-fA-F.])0+(?=[0-9a-fA-F]{4}(?![0-9a-fA-F.]))")


def parse_ip(text: str) -> IPAddress | None:
    """Read an address; octets and groups may have leading zeros, which count for nothing. None if it is none."""
    if "%" in text:
        return None
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        pass
    head, colon, tail = text.rpartition(":")
    if "." in tail:
        tail = _leading_zeros.sub("", tail)
    try:
        return ipaddress.ip_address(_long_groups.sub("", head + colon + tail))
    except ValueError:
        return None


def is_mapped(address: IPAddress) -> bool:
    """Whether an IPv6 address holds an IPv4 one."""
    return isinstance(address, ipaddress.IPv6Address) and address in _MAPPED


def canonical_ip(address: IPAddress) -> str:
    """The usual text of an address; an IPv4-mapped one becomes IPv4."""
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(address)


@lru_cache(2048)
def _strict_ip_texts(text: str) -> tuple[str, ...]:
    address = parse_ip(text)
    if address is None:
        return (_NOT_AN_IP,)
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return ("must not have leading 0s",)
    return ("must not be an IPv4-mapped IPv6 address",) if is_mapped(address) else ()


def validate_legacy_ip(text: str, path: str, *, strict: bool = True, allowed: tuple[str, ...] = ()) -> list[FieldError]:
    """An address in a field that takes non-canonical forms. `allowed`: texts that the old object holds."""
    if text in allowed:
        return []
    if strict:
        return [invalid(path, text, wrong) for wrong in _strict_ip_texts(text)]
    return [] if parse_ip(text) is not None else [invalid(path, text, _NOT_AN_IP)]


def validate_ip(text: str, path: str) -> list[FieldError]:
    """An address in canonical form."""
    wrong = _strict_ip_texts(text)
    if wrong:
        return [invalid(path, text, w) for w in wrong]
    canonical = canonical_ip(ipaddress.ip_address(text))
    if text != canonical:
        return [invalid(path, text, f"must be in canonical form ({go_quote(canonical)})")]
    return []


def ip_warnings(text: str, path: str) -> list[str]:
    """Warnings about an address that is accepted but not in canonical form."""
    address = parse_ip(text)
    if address is None:
        return []
    canonical = canonical_ip(address)
    if _strict_ip_texts(text):
        return [f"{path}: non-standard IP address {go_quote(text)} is invalid: use {go_quote(canonical)}"]
    if address.version == 6 and canonical != text:
        form = f"should be in RFC 5952 canonical format ({go_quote(canonical)})"
        return [f"{path}: IPv6 address {go_quote(text)} {form}"]
    return []


def parse_cidr(text: str) -> tuple[IPAddress, IPNetwork] | None:
    """The address and the network of a CIDR text; None if it is none."""
    head, slash, bits = text.partition("/")
    address = parse_ip(head)
    if not slash or address is None or not bits.isascii() or not bits.isdigit():
        return None
    try:
        return address, ipaddress.ip_network((address, int(bits)), strict=False)
    except ValueError:
        return None


@lru_cache(1024)
def _strict_cidr_texts(text: str) -> tuple[str, ...]:
    parsed = parse_cidr(text)
    if parsed is None:
        return (_NOT_A_CIDR,)
    address, network = parsed
    head, _, bits = text.partition("/")
    if (len(bits) > 1 and bits[0] == "0") or _strict_ip_texts(head) == ("must not have leading 0s",):
        return ("must not have leading 0s in IP or prefix length",)
    if is_mapped(address):
        return ("must not have an IPv4-mapped IPv6 address",)
    if address != network.network_address:
        return ("must not have bits set beyond the prefix length",)
    return ()


def validate_legacy_cidr(
    text: str, path: str, *, strict: bool = True, allowed: tuple[str, ...] = ()
) -> list[FieldError]:
    """A block in a field that takes non-canonical forms. `allowed`: texts that the old object holds."""
    if text in allowed:
        return []
    if strict:
        return [invalid(path, text, wrong) for wrong in _strict_cidr_texts(text)]
    return [] if parse_cidr(text) is not None else [invalid(path, text, _NOT_A_CIDR)]


def validate_cidr(text: str, path: str) -> list[FieldError]:
    """A block in canonical form."""
    wrong = _strict_cidr_texts(text)
    if wrong:
        return [invalid(path, text, w) for w in wrong]
    parsed = parse_cidr(text)
    canonical = str(parsed[1]) if parsed else ""
    return [] if text == canonical else [invalid(path, text, f"must be in canonical form ({go_quote(canonical)})")]


def cidr_warnings(text: str, path: str) -> list[str]:
    """Warnings about a block that is accepted but ambiguous or not in canonical form."""
    parsed = parse_cidr(text)
    if parsed is None:
        return []
    address, network = parsed
    warnings = []
    if address != network.network_address:
        single = f"{canonical_ip(address)}/{address.max_prefixlen}"
        choice = f"(should be {go_quote(str(network))} or {go_quote(single)}?)"
        warnings.append(f"{path}: CIDR value {go_quote(text)} is ambiguous in this context {choice}")
    wrong = _strict_cidr_texts(text)
    if wrong and "beyond" not in wrong[0]:
        warnings.append(f"{path}: non-standard CIDR value {go_quote(text)} is invalid: use {go_quote(str(network))}")
    if not warnings and network.version == 6 and str(network) != text:
        form = f"should be in RFC 5952 canonical format ({go_quote(str(network))})"
        warnings.append(f"{path}: IPv6 CIDR value {go_quote(text)} {form}")
    return warnings


def validate_interface_address(text: str, path: str) -> list[FieldError]:
    """A complete address with the length of its subnet, in canonical form."""
    parsed = parse_cidr(text)
    if parsed is None:
        return [invalid(path, text, _NOT_AN_INTERFACE)]
    address, network = parsed
    length = network.prefixlen - 96 if is_mapped(address) and network.prefixlen > 32 else network.prefixlen
    canonical = f"{canonical_ip(address)}/{length}"
    return [] if text == canonical else [invalid(path, text, f"must be in canonical form ({go_quote(canonical)})")]
