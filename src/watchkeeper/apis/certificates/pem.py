"""What is wrong with certificates and requests for them, in PEM."""

from __future__ import annotations

import base64
import re

_BLOCK = re.compile(
    rb"-----BEGIN (?P<type>[^\n-]*)-----[ \t\r]*\n(?P<body>.*?)-----END (?P=type)-----[ \t\r]*(?:\n|$)", re.DOTALL
)
_REQUEST = b"CERTIFICATE REQUEST"
_CERTIFICATE = b"CERTIFICATE"


def _decoded(body: bytes) -> bytes | None:
    try:
        return base64.b64decode(b"".join(body.split()), validate=True)
    except ValueError:
        return None


def request_fault(pem: bytes) -> str:
    """Why this is no PKCS#10 request signed by the key it is for; "" when it is one."""
    # Loaded at the first request only: few servers ever see one, and the library takes long to load.
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

    found = _BLOCK.search(pem)
    der = _decoded(found["body"]) if found is not None else None
    if found is None or der is None or found["type"] != _REQUEST:
        return "PEM block type must be CERTIFICATE REQUEST"
    try:
        request = x509.load_der_x509_csr(der)
        valid = request.is_signature_valid
    except (ValueError, UnsupportedAlgorithm, InvalidSignature) as error:
        return f"asn1: structure error: {error}"
    return "" if valid else "x509: the signature does not match the key of the request"


def certificates_fault(pem: bytes) -> str:
    """Why this is no sequence of certificates; "" when it is one, or empty."""
    from cryptography import x509

    if not pem:
        return ""
    blocks = list(_BLOCK.finditer(pem))
    if not blocks:
        return "must contain at least one CERTIFICATE PEM block"
    for block in blocks:
        if block["type"] != _CERTIFICATE:
            shown = block["type"].decode(errors="replace")
            return f'only CERTIFICATE PEM blocks are allowed, found "{shown}"'
        if b":" in block["body"]:
            return "no PEM block headers are permitted"
        der = _decoded(block["body"])
        try:
            x509.load_der_x509_certificate(der or b"")
        except ValueError as error:
            return f"x509: malformed certificate: {error}"
    return ""
