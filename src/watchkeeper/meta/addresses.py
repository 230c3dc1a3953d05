"""Reads IP addresses and prefixes as Go's net/netip does, to say what is wrong with them in its words.

And tells, as Go's net does, which of them may lead to somebody else.
"""

from __future__ import annotations

import ipaddress
import re

from watchkeeper.meta.field import go_quote

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_GROUPS = 8
_HEX = re.compile(r"[0-9a-fA-F]*", re.ASCII)
_DIGITS = "0123456789"
_BROADCAST = ipaddress.IPv4Address("255.255.255.255")


class AddressError(ValueError):
    """What is wrong with an address or a prefix."""


class _Wrong(Exception):
    def __init__(self, why: str, at: str = "") -> None:
        super().__init__(f"{why} (at {go_quote(at)})" if at else why)


def parse_address(text: str) -> tuple[Address, str]:
    """The address and its zone. Raises AddressError."""
    try:
        return _parse(text)
    except _Wrong as problem:
        raise AddressError(f"ParseAddr({go_quote(text)}): {problem}") from None


def parse_prefix(text: str) -> tuple[Address, int]:
    """The address of a prefix and its length. Raises AddressError."""

    def wrong(why: str) -> AddressError:
        return AddressError(f"netip.ParsePrefix({go_quote(text)}): {why}")

    head, slash, bits = text.rpartition("/")
    if not slash:
        raise wrong("no '/'")
    try:
        address, zone = parse_address(head)
    except AddressError as problem:
        raise wrong(str(problem)) from None
    if zone:
        raise wrong("IPv6 zones cannot be present in a prefix")
    if not bits.isascii() or not bits.isdigit() or (len(bits) > 1 and bits[0] == "0"):
        raise wrong(f"bad bits after slash: {go_quote(bits)}")
    if int(bits) > address.max_prefixlen:
        raise wrong("prefix length out of range")
    return address, int(bits)


def is_global_unicast(text: str) -> bool:
    """Whether an address may be one of somebody else's: not of this machine or its link alone, nor of many, nor none.

    One of IPv4 that is written as one of IPv6 is what it stands for, as the system connects to that.
    """
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return not (
        address.is_unspecified
        or address.is_loopback
        or address.is_link_local
        or address.is_multicast
        or address == _BROADCAST
    )


def _parse(text: str) -> tuple[Address, str]:
    for ch in text:
        if ch == ".":
            return ipaddress.IPv4Address(_four(text)), ""
        if ch == ":":
            return _six(text)
        if ch == "%":
            raise _Wrong("missing IPv6 address")
    raise _Wrong("unable to parse IP")


def _four(text: str) -> bytes:
    """The four bytes of an IPv4 address."""
    fields: list[int] = []
    digits = ""
    for i, ch in enumerate(text):
        if ch in _DIGITS:
            if digits == "0":
                raise _Wrong("IPv4 field has octet with leading zero")
            digits += ch
            if int(digits) > 255:
                raise _Wrong("IPv4 field has value >255")
        elif ch == ".":
            if i in (0, len(text) - 1) or text[i - 1] == ".":
                raise _Wrong("IPv4 field must have at least one digit", text[i:])
            if len(fields) == 3:
                raise _Wrong("IPv4 address too long")
            fields.append(int(digits))
            digits = ""
        else:
            raise _Wrong("unexpected character", text[i:])
    if len(fields) < 3:
        raise _Wrong("IPv4 address too short")
    return bytes([*fields, int(digits)])


def _six(text: str) -> tuple[Address, str]:
    rest, percent, zone = text.partition("%")
    if percent and not zone:
        raise _Wrong("zone must be a non-empty string")
    groups, gap = _groups(rest)
    if gap is not None:
        if len(groups) == _GROUPS:
            raise _Wrong("the :: must expand to at least one field of zeros")
        groups[gap:gap] = [0] * (_GROUPS - len(groups))
    elif len(groups) < _GROUPS:
        raise _Wrong("address string too short")
    return ipaddress.IPv6Address(b"".join(group.to_bytes(2, "big") for group in groups)), zone


def _groups(rest: str) -> tuple[list[int], int | None]:
    """The groups of an IPv6 address, and before which of them groups of zeros were left out."""
    groups: list[int] = []
    gap: int | None = None
    if rest.startswith("::"):
        gap, rest = 0, rest[2:]
        if not rest:
            return groups, gap
    while len(groups) < _GROUPS:
        digits = _hex_digits(rest)
        if rest[len(digits) : len(digits) + 1] == ".":
            groups += _embedded(rest, groups, gap)
            return groups, gap
        groups.append(int(digits, 16))
        rest = rest[len(digits) :]
        if not rest:
            return groups, gap
        if rest[0] != ":":
            raise _Wrong("unexpected character, want colon", rest)
        if len(rest) == 1:
            raise _Wrong("colon must be followed by more characters", rest)
        rest = rest[1:]
        if rest[0] == ":":
            if gap is not None:
                raise _Wrong("multiple :: in address", rest)
            gap, rest = len(groups), rest[1:]
            if not rest:
                return groups, gap
    raise _Wrong("trailing garbage after address", rest)


def _hex_digits(rest: str) -> str:
    found = _HEX.match(rest)
    assert found is not None
    digits = found.group()
    if len(digits) > 4:
        raise _Wrong("each group must have 4 or less digits", rest)
    if not digits:
        raise _Wrong("each colon-separated field must have at least one digit", rest)
    return digits


def _embedded(rest: str, groups: list[int], gap: int | None) -> list[int]:
    """The last two groups, written as an IPv4 address."""
    if gap is None and len(groups) != _GROUPS - 2:
        raise _Wrong("embedded IPv4 address must replace the final 2 fields of the address", rest)
    if len(groups) > _GROUPS - 2:
        raise _Wrong("too many hex fields to fit an embedded IPv4 at the end of the address", rest)
    a, b, c, d = _four(rest)
    return [a << 8 | b, c << 8 | d]
