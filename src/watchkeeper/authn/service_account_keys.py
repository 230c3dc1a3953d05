"""Keys of service account tokens: what signs them, what they are recognized by, and how others learn of that.

RSA keys sign by RS256, elliptic curve keys by the algorithm of their curve (RFC 7518, as kube-apiserver has it).
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

PrivateKey = RSAPrivateKey | EllipticCurvePrivateKey
PublicKey = RSAPublicKey | EllipticCurvePublicKey

_OF_CURVE = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}
_OF_RSA = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_JWK_FIELDS = ("kty", "crv", "x", "y", "n", "e")
_PEM_BLOCK = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----.*?-----END \1-----", re.DOTALL)


class NoKey(ValueError):
    """A file without such a key as it should hold; the message says so in kube-apiserver's words."""


@dataclass(frozen=True, slots=True)
class VerifyingKey:
    """A public key that tokens are recognized by. `name` stands as `kid` in the header of what it belongs to."""

    name: str
    algorithm: str
    """By which tokens are signed with the key that belongs to it."""
    key: PublicKey

    @classmethod
    def of(cls, key: PublicKey) -> VerifyingKey:
        """With a digest of the key as its name. Raises NoKey for a curve that no algorithm of tokens has."""
        encoded = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        name = base64.urlsafe_b64encode(hashlib.sha256(encoded).digest()).rstrip(b"=").decode()
        return cls(name, _algorithm(key), key)

    @property
    def algorithms(self) -> tuple[str, ...]:
        """By which a token may be signed to be recognized."""
        return _OF_RSA if isinstance(self.key, RSAPublicKey) else (self.algorithm,)

    def jwk(self) -> dict[str, Any]:
        """The key as a JSON Web Key (RFC 7517)."""
        from jwt.algorithms import ECAlgorithm, RSAAlgorithm

        if isinstance(self.key, RSAPublicKey):
            found = RSAAlgorithm.to_jwk(self.key, as_dict=True)
        else:
            found = ECAlgorithm.to_jwk(self.key, as_dict=True)
        numbers = {field: found[field] for field in _JWK_FIELDS if field in found}
        return {"use": "sig", "kid": self.name, "alg": self.algorithm} | numbers


class TokenKeys:
    """What one server signs tokens with, and all that it recognizes them by."""

    def __init__(self, signing: PrivateKey, others: Iterable[PublicKey] = ()) -> None:
        """`others` are those of tokens that somebody else has signed, or this server before it got another key."""
        self.signing = signing
        self.own = VerifyingKey.of(signing.public_key())
        named = {key.name: key for key in map(VerifyingKey.of, others)}
        self.verifying = tuple(named.values() if self.own.name in named else (self.own, *named.values()))
        """The server's own and the others, each once."""

    def __repr__(self) -> str:
        return f"<TokenKeys: signs as {self.own.name}, {len(self.verifying)} in all>"

    def find(self, name: str) -> tuple[VerifyingKey, ...]:
        """What a token may be recognized by whose header names a key: all where it names none."""
        return tuple(key for key in self.verifying if key.name == name) if name else self.verifying


def read_private_key(data: bytes) -> PrivateKey:
    """The first private key among PEM blocks. Raises NoKey."""
    for block in _blocks(data):
        try:
            found = load_pem_private_key(block, None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            continue
        if isinstance(found, RSAPrivateKey | EllipticCurvePrivateKey):
            _algorithm(found.public_key())
            return found
    raise NoKey("data does not contain a valid RSA or ECDSA private key")


def read_public_keys(data: bytes) -> list[PublicKey]:
    """The public keys in PEM blocks: bare, of certificates and of private keys. Raises NoKey when there is none."""
    keys = [key for block in _blocks(data) if (key := _public_key(block)) is not None]
    if not keys:
        raise NoKey("data does not contain any valid RSA or ECDSA public keys")
    return keys


def _blocks(data: bytes) -> Iterator[bytes]:
    return (found[0] for found in _PEM_BLOCK.finditer(data))


def _public_key(block: bytes) -> PublicKey | None:
    readers = (
        load_pem_public_key,
        lambda pem: load_pem_private_key(pem, None).public_key(),
        lambda pem: x509.load_pem_x509_certificate(pem).public_key(),
    )
    for read in readers:
        try:
            found = read(block)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            continue
        if isinstance(found, RSAPublicKey | EllipticCurvePublicKey):
            return found
    return None


def _algorithm(key: PublicKey) -> str:
    if isinstance(key, RSAPublicKey):
        return "RS256"
    algorithm = _OF_CURVE.get(key.curve.name)
    if algorithm is None:
        raise NoKey("unknown private key curve, must be 256, 384, or 521")
    return algorithm
