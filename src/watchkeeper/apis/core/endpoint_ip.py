"""The rules of addresses that traffic is sent to: those of endpoints, and external addresses of Services."""

from __future__ import annotations

from watchkeeper.apis.validation.net import IPAddress, parse_ip
from watchkeeper.meta.field import FieldError, invalid


def validate_endpoint_ip(text: str, path: str) -> list[FieldError]:
    """An address that is no loopback, link-local or unspecified one."""
    address = parse_ip(text)
    if address is None:
        return [invalid(path, text, "must be a valid IP address")]
    mapped: IPAddress | None = getattr(address, "ipv4_mapped", None)
    address = mapped or address
    errors: list[FieldError] = []
    if address.is_unspecified:
        errors.append(invalid(path, text, f"may not be unspecified ({text})"))
    if address.is_loopback:
        errors.append(invalid(path, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)"))
    if address.is_link_local:
        errors.append(invalid(path, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"))
    if _is_link_local_multicast(address):
        errors.append(invalid(path, text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"))
    return errors


def _is_link_local_multicast(address: IPAddress) -> bool:
    packed = address.packed
    if address.version == 4:
        return packed[:3] == b"\xe0\x00\x00"
    return packed[0] == 0xFF and packed[1] & 0x0F == 0x02
