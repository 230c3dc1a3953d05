"""What is wrong with certificates and requests for them, in PEM."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography.x509 import CertificateSigningRequest

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
    from cryptography.exceptions import UnsupportedAlgorithm

    found = _BLOCK.search(pem)
    der = _decoded(found["body"]) if found is not None else None
    if found is None or der is None or found["type"] != _REQUEST:
        return "PEM block type must be CERTIFICATE REQUEST"
    try:
        return _signature_fault(x509.load_der_x509_csr(der))
    except UnsupportedAlgorithm:
        return "x509: cannot verify signature: algorithm unimplemented"
    except ValueError as error:
        return f"asn1: structure error: {error}"


def _signature_fault(request: CertificateSigningRequest) -> str:
    """Unlike in certificates, SHA-1 will do in requests: all that it shows is that the requester has the key."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa

    key, digest = request.public_key(), request.signature_hash_algorithm
    signed = request.signature, request.tbs_certrequest_bytes
    if isinstance(digest, hashes.MD5):
        return "x509: cannot verify signature: insecure algorithm MD5-RSA"
    words = ""
    try:
        if isinstance(key, ed25519.Ed25519PublicKey):
            words = "x509: Ed25519 verification failure"
            key.verify(*signed)
        elif isinstance(key, rsa.RSAPublicKey) and digest is not None:
            words = "crypto/rsa: verification error"
            parameters = request.signature_algorithm_parameters
            key.verify(*signed, parameters if isinstance(parameters, padding.PSS) else padding.PKCS1v15(), digest)
        elif isinstance(key, ec.EllipticCurvePublicKey) and digest is not None:
            words = "x509: ECDSA verification failure"
            key.verify(*signed, ec.ECDSA(digest))
        else:
            return "x509: cannot verify signature: algorithm unimplemented"
    except InvalidSignature:
        return words
    return ""


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
