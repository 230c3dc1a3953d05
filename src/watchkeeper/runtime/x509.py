"""Certificates and requests for them, and what is wrong with them in the words of Go's crypto/x509 and of client-go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.runtime.der import (
    DerFault,
    at_version_3,
    certificate_form_fault,
    request_form_fault,
    split_certificates,
)
from watchkeeper.runtime.pem import PemBlock, blocks, next_block

if TYPE_CHECKING:
    from cryptography.x509 import CertificateSigningRequest

_CERTIFICATE = "CERTIFICATE"
_REQUEST = "CERTIFICATE REQUEST"


def signing_request(pem: bytes) -> CertificateSigningRequest:
    """The PKCS#10 request in the first block, with a subject that can be read. Raises ValueError with Go's words."""
    # Loaded at the first request only: few servers ever see one, and the library takes long to load.
    from cryptography import x509

    block = next_block(pem)
    if block is None or block.kind != _REQUEST:
        raise ValueError("PEM block type must be CERTIFICATE REQUEST")
    if fault := request_form_fault(block.content):
        raise ValueError(fault)
    try:
        request = x509.load_der_x509_csr(block.content)
        _ = request.subject
    except (ValueError, x509.InvalidVersion):
        raise ValueError("x509: malformed certificate request") from None
    try:
        _ = request.extensions
    except x509.DuplicateExtension:
        raise ValueError("x509: certificate request contains duplicate requested extensions") from None
    except (ValueError, x509.UnsupportedGeneralNameType):
        return request
    return request


def certificates_fault(der: bytes) -> str:
    """Why these are no certificates, one after the other; "" when they are."""
    # Loaded at the first certificate only: the library takes long to load.
    from cryptography import x509

    try:
        found = split_certificates(der)
    except DerFault as broken:
        return str(broken)
    for each in found:
        if fault := certificate_form_fault(each):
            return fault
        try:
            x509.load_der_x509_certificate(at_version_3(each))
        except (ValueError, x509.InvalidVersion):
            return "x509: malformed certificate"
    return ""


def certificate_fault(der: bytes) -> str:
    """Why this is no certificate; "" when it is one."""
    fault = certificates_fault(der)
    if fault:
        return fault
    count = len(split_certificates(der))
    return "" if count == 1 else "x509: trailing data" if count else "x509: malformed certificate"


def authorities(pem: bytes) -> list[bytes]:
    """The certificates in a bundle that can be read; the others do no harm."""
    found = (block.content for block in blocks(pem) if _is_certificate(block))
    return [der for der in found if not certificate_fault(der)]


def authorities_fault(pem: bytes) -> str:
    """Why there is no certificate of an authority in a bundle; "" when there is one."""
    if authorities(pem):
        return ""
    end = 0
    while end < len(pem):
        block = next_block(pem, end)
        if block is None:
            return "unable to parse bytes as PEM block"
        if _is_certificate(block):
            return f"failed to parse certificate: {certificate_fault(block.content)}"
        end = block.end
    return "no valid certificate authority data seen"


def _is_certificate(block: PemBlock) -> bool:
    return block.kind == _CERTIFICATE and not block.has_headers
