"""What is wrong with certificates and requests for them, in PEM."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.meta.field import go_quote
from watchkeeper.runtime.pem import blocks
from watchkeeper.runtime.x509 import certificates_fault as certificates_form_fault
from watchkeeper.runtime.x509 import signing_request

if TYPE_CHECKING:
    from cryptography.x509 import CertificateSigningRequest

_CERTIFICATE = "CERTIFICATE"


def request_fault(pem: bytes) -> str:
    """Why this is no PKCS#10 request signed by the key it is for; "" when it is one."""
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        return _signature_fault(signing_request(pem))
    except UnsupportedAlgorithm:
        return "x509: cannot verify signature: algorithm unimplemented"
    except ValueError as fault:
        return str(fault)


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
    if not pem:
        return ""
    found = list(blocks(pem))
    for block in found:
        if block.kind != _CERTIFICATE:
            return f"only CERTIFICATE PEM blocks are allowed, found {go_quote(block.kind)}"
        if block.has_headers:
            return "no PEM block headers are permitted"
        if not block.content:
            return "found CERTIFICATE PEM block containing 0 certificates"
        if fault := certificates_form_fault(block.content):
            return fault
    return "" if found else "must contain at least one CERTIFICATE PEM block"
