"""What is wrong with a certificate and its key in PEM, in the words of Go's crypto/tls."""

from __future__ import annotations

from collections.abc import Sequence

from watchkeeper.runtime.pem import blocks
from watchkeeper.runtime.x509 import certificate_fault

_CERTIFICATE = "CERTIFICATE"
_KEY = "PRIVATE KEY"


def key_pair_fault(certificates: bytes, key: bytes) -> str:
    """Why these are no chain of certificates and the private key of the first; "" when they are."""
    found = list(blocks(certificates))
    chain = [block.content for block in found if block.kind == _CERTIFICATE]
    if not chain:
        return _no_certificate([block.kind for block in found])
    found = list(blocks(key))
    keys = [block.content for block in found if block.kind == _KEY or block.kind.endswith(f" {_KEY}")]
    if not keys:
        return _no_key([block.kind for block in found])
    return _mismatch(chain[0], keys[0])


def _no_certificate(kinds: Sequence[str]) -> str:
    if not kinds:
        return "tls: failed to find any PEM data in certificate input"
    if len(kinds) == 1 and kinds[0].endswith(_KEY):
        return (
            "tls: failed to find certificate PEM data in certificate input, but did find a private key;"
            " PEM inputs may have been switched"
        )
    skipped = f"after skipping PEM blocks of the following types: [{' '.join(kinds)}]"
    return f'tls: failed to find "{_CERTIFICATE}" PEM block in certificate input {skipped}'


def _no_key(kinds: Sequence[str]) -> str:
    if not kinds:
        return "tls: failed to find any PEM data in key input"
    if list(kinds) == [_CERTIFICATE]:
        return "tls: found a certificate rather than a key in the PEM for the private key"
    skipped = f"after skipping PEM blocks of the following types: [{' '.join(kinds)}]"
    return f'tls: failed to find PEM block with type ending in "{_KEY}" in key input {skipped}'


def _mismatch(certificate: bytes, key: bytes) -> str:
    # Loaded only for Secrets that hold both: the library takes long to load.
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_der_private_key

    if fault := certificate_fault(certificate):
        return fault
    try:
        public = x509.load_der_x509_certificate(certificate).public_key()
    except (ValueError, UnsupportedAlgorithm):
        return "x509: malformed certificate"
    try:
        own = load_der_private_key(key, None).public_key()
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return "tls: failed to parse private key"
    if type(own) is not type(public):
        return "tls: private key type does not match public key type"
    form = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    same = own.public_bytes(*form) == public.public_bytes(*form)
    return "" if same else "tls: private key does not match public key"
