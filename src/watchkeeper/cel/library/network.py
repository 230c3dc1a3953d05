"""IP addresses and CIDRs."""

from __future__ import annotations

import ipaddress
from typing import Any

from watchkeeper.cel.decls import Overload, overload
from watchkeeper.cel.library.parsing import can
from watchkeeper.cel.types import opaque
from watchkeeper.cel.values import EvalError, NoSuchOverload, register_value_type
from watchkeeper.meta.addresses import Address, AddressError, parse_address, parse_prefix
from watchkeeper.meta.field import go_quote


class CIDR:
    """An address with the length of its network prefix."""

    __slots__ = ("address", "length")

    def __init__(self, address: Address, length: int) -> None:
        self.address, self.length = address, length

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CIDR) and (other.address, other.length) == (self.address, self.length)

    def __hash__(self) -> int:
        return hash((self.address, self.length))

    def __str__(self) -> str:
        return f"{self.address}/{self.length}"

    @property
    def network(self) -> Any:
        """The network that the address is in."""
        return ipaddress.ip_network(str(self), strict=False)


register_value_type(ipaddress.IPv4Address, opaque("net.IP"))
register_value_type(ipaddress.IPv6Address, opaque("net.IP"))
register_value_type(CIDR, opaque("net.CIDR"))


def parse_ip(text: Any) -> Address:
    """Read an address. Zones and IPv4-mapped IPv6 addresses are refused. Raises EvalError."""
    if not isinstance(text, str):
        raise NoSuchOverload
    quoted = go_quote(text)
    try:
        address, zone = parse_address(text)
    except AddressError as problem:
        raise EvalError(f"IP Address {quoted} parse error during conversion from string: {problem}") from None
    if zone:
        raise EvalError(f"IP address {quoted} with zone value is not allowed")
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        raise EvalError(f"IPv4-mapped IPv6 address {quoted} is not allowed")
    return address


def parse_cidr(text: Any) -> CIDR:
    """Read a CIDR. Raises EvalError."""
    if not isinstance(text, str):
        raise NoSuchOverload
    words = "network address parse error during conversion from string: "
    try:
        address, length = parse_prefix(text)
    except AddressError as problem:
        raise EvalError(f"{words}{words}{problem}") from None
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        raise EvalError(f"{words}IPv4-mapped IPv6 address {go_quote(text)} is not allowed")
    return CIDR(address, length)


def declarations() -> list[tuple[str, Overload]]:
    """All overloads of the libraries."""
    return [
        overload("string_to_ip", "::ip(string) -> net.IP", parse_ip),
        overload("is_ip", "::isIP(string) -> bool", can(parse_ip)),
        overload("ip_is_canonical", "::ip.isCanonical(string) -> bool", lambda text: str(parse_ip(text)) == text),
        overload("ip_family", "net.IP.family() -> int", lambda ip: ip.version),
        overload("ip_is_unspecified", "net.IP.isUnspecified() -> bool", lambda ip: ip.is_unspecified),
        overload("ip_is_loopback", "net.IP.isLoopback() -> bool", lambda ip: ip.is_loopback),
        overload("ip_is_link_local_multicast", "net.IP.isLinkLocalMulticast() -> bool", _link_local_multicast),
        overload("ip_is_link_local_unicast", "net.IP.isLinkLocalUnicast() -> bool", lambda ip: ip.is_link_local),
        overload("ip_is_global_unicast", "net.IP.isGlobalUnicast() -> bool", _global_unicast),
        overload("ip_to_string", "::string(net.IP) -> string", str),
        overload("string_to_cidr", "::cidr(string) -> net.CIDR", parse_cidr),
        overload("is_cidr", "::isCIDR(string) -> bool", can(parse_cidr)),
        overload("cidr_contains_ip_string", "net.CIDR.containsIP(string) -> bool", _contains_text),
        overload("cidr_contains_ip_ip", "net.CIDR.containsIP(net.IP) -> bool", _contains_ip),
        overload("cidr_contains_cidr_string", "net.CIDR.containsCIDR(string) -> bool", _contains_cidr_text),
        overload("cidr_contains_cidr", "net.CIDR.containsCIDR(net.CIDR) -> bool", _contains_cidr),
        overload("cidr_ip", "net.CIDR.ip() -> net.IP", lambda cidr: cidr.address),
        overload("cidr_prefix_length", "net.CIDR.prefixLength() -> int", lambda cidr: cidr.length),
        overload("cidr_masked", "net.CIDR.masked() -> net.CIDR", _masked),
        overload("cidr_to_string", "::string(net.CIDR) -> string", str),
    ]


def _link_local_multicast(ip: Address) -> bool:
    network = "224.0.0.0/24" if ip.version == 4 else "ff02::/16"
    return ip in ipaddress.ip_network(network)


def _global_unicast(ip: Address) -> bool:
    if ip.version == 4 and str(ip) == "255.255.255.255":
        return False
    return not (ip.is_unspecified or ip.is_loopback or ip.is_multicast or ip.is_link_local)


def _contains_ip(cidr: CIDR, ip: Address) -> bool:
    return ip.version == cidr.address.version and ip in cidr.network


def _contains_text(cidr: CIDR, text: str) -> bool:
    try:
        return _contains_ip(cidr, parse_ip(text))
    except EvalError:
        raise NoSuchOverload from None


def _contains_cidr(cidr: CIDR, other: CIDR) -> bool:
    return _contains_ip(cidr, other.address) and cidr.length <= other.length


def _contains_cidr_text(cidr: CIDR, text: str) -> bool:
    return _contains_cidr(cidr, parse_cidr(text))


def _masked(cidr: CIDR) -> CIDR:
    return CIDR(cidr.network.network_address, cidr.length)
