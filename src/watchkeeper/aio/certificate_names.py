"""Says for whom a server's certificate is, when it is for somebody else: in Go's words."""

from __future__ import annotations

import asyncio
import ipaddress
import ssl
from collections.abc import Sequence
from typing import Any

MISMATCHES = frozenset({62, 64})
"""OpenSSL's codes for a certificate of another host, or of another address."""
_SECONDS = 5.0


async def name_problem(host: str, port: int, wanted: str, context: ssl.SSLContext) -> str:
    """What is wrong with the names in the certificate of who answers at `host`, if it is trusted otherwise.

    Nothing is sent over the connection that is made for that.
    """
    try:
        async with asyncio.timeout(_SECONDS):
            return _problem(await _certificate(host, port, context), wanted)
    except (OSError, TimeoutError):
        return f"certificate is not valid for any names, but wanted to match {wanted}"


async def _certificate(host: str, port: int, context: ssl.SSLContext) -> dict[str, Any]:
    probe = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    probe.check_hostname = False
    probe.verify_flags = context.verify_flags
    # Certificates of servers that are trusted themselves are not among these; whoever is asked has been found trusted.
    authorities = b"".join(context.get_ca_certs(binary_form=True))
    probe.load_verify_locations(cadata=authorities or await _shown(host, port))
    _, writer = await asyncio.open_connection(host, port, ssl=probe)
    try:
        found: dict[str, Any] = writer.get_extra_info("peercert") or {}
        return found
    finally:
        writer.close()


async def _shown(host: str, port: int) -> bytes:
    """The certificate that a server shows, in DER."""
    probe = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    probe.check_hostname, probe.verify_mode = False, ssl.CERT_NONE
    _, writer = await asyncio.open_connection(host, port, ssl=probe)
    try:
        found: bytes = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        return found
    finally:
        writer.close()


def _problem(certificate: dict[str, Any], wanted: str) -> str:
    names: Sequence[tuple[str, str]] = certificate.get("subjectAltName") or ()
    by_address = is_address(wanted)
    if by_address:
        valid = [str(ipaddress.ip_address(value)) for kind, value in names if kind == "IP Address"]
    else:
        valid = [value for kind, value in names if kind == "DNS"]
    if by_address and not valid:
        return f"cannot validate certificate for {wanted} because it doesn't contain any IP SANs"
    if not valid:
        return f"certificate is not valid for any names, but wanted to match {wanted}"
    return f"certificate is valid for {', '.join(valid)}, not {wanted}"


def is_address(text: str) -> bool:
    """Whether it is an address, and no name."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
