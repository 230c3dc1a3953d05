"""Reads a set of keys (RFC 7517). A set is used as a whole or not at all: one key that is none spoils it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from watchkeeper.authn.jwt.go_values import field_of, url_base64
from watchkeeper.runtime.base64_text import Base64Error, canonical_base64
from watchkeeper.runtime.json_text import JsonError, read_json
from watchkeeper.runtime.unmarshal import described

_TEXTS = ("use", "kty", "kid", "crv", "alg", "x5t", "x5t#S256")
_NUMBERS = ("k", "x", "y", "n", "e", "d", "p", "q", "dp", "dq", "qi")
_CURVES: Mapping[str, tuple[ec.EllipticCurve, int]] = {
    "P-256": (ec.SECP256R1(), 32),
    "P-384": (ec.SECP384R1(), 48),
    "P-521": (ec.SECP521R1(), 66),
}
_THUMBPRINTS = (("x5t", hashlib.sha1), ("x5t#S256", hashlib.sha256))
_JOSE = "go-jose/go-jose: "


class KeySetError(ValueError):
    """What is no set of keys; the message tells why."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key that tokens may be signed with."""

    name: str
    public: Any
    """What `cryptography` calls an RSAPublicKey or an EllipticCurvePublicKey."""


def read_key_set(body: bytes) -> list[Key]:
    """The keys of a set that may verify tokens. Raises KeySetError where any of its keys is none."""
    try:
        found = read_json(body)
    except JsonError as error:
        raise KeySetError(str(error)) from error
    if found is None:
        return []
    if not isinstance(found, dict):
        raise KeySetError(f"json: cannot unmarshal {described(found)} into Go value of type jose.JSONWebKeySet")
    given = field_of(found, "keys")
    if given is None:
        return []
    if not isinstance(given, list):
        what = "Go struct field JSONWebKeySet.keys of type []jose.JSONWebKey"
        raise KeySetError(f"json: cannot unmarshal {described(given)} into {what}")
    return [key for key in map(_key, given) if key is not None]


def _key(given: Any) -> Key | None:
    """A key; None for one that verifies no token: a secret, or a private key."""
    if not isinstance(given, dict | None):
        raise KeySetError(f"json: cannot unmarshal {described(given)} into Go value of type jose.rawJSONWebKey")
    given = given or {}
    texts = {name: _text(given.get(name)) for name in _TEXTS}
    numbers = {name: _number(given[name]) for name in _NUMBERS if given.get(name) is not None}
    if not isinstance(given.get("x5u"), dict | None):
        raise KeySetError(f"json: cannot unmarshal {described(given['x5u'])} into Go value of type url.URL")
    certificates = _certificates(given.get("x5c"))
    public = _public(texts["kty"], texts["crv"], numbers, has_certificates=bool(certificates))
    if certificates and public is not None and _encoded(public) != _encoded(certificates[0].public_key()):
        raise KeySetError(f"{_JOSE}invalid JWK, public keys in key and x5c fields to not match")
    _check_thumbprints(texts, certificates)
    if public is None or "d" in numbers or texts["kty"] == "OKP":
        return None
    return Key(texts["kid"], public)


def _public(kind: str, curve: str, numbers: Mapping[str, bytes], *, has_certificates: bool) -> Any:
    """The public half; None where nothing can be verified by it."""
    if kind == "EC":
        return _elliptic(curve, numbers)
    if kind == "RSA":
        return _rsa(numbers)
    if kind == "oct":
        if has_certificates:
            raise KeySetError(f"{_JOSE}invalid JWK, found 'oct' (symmetric) key with cert chain")
        if "k" not in numbers:
            raise KeySetError(f"{_JOSE}invalid OCT (symmetric) key, missing k value")
        return None
    if kind == "OKP":
        if curve != "Ed25519" or "x" not in numbers:
            raise KeySetError(f"{_JOSE}unknown curve {curve}'")
        return None
    raise KeySetError(f"{_JOSE}unknown json web key type '{kind}'")


def _elliptic(name: str, numbers: Mapping[str, bytes]) -> ec.EllipticCurvePublicKey:
    if name not in _CURVES:
        raise KeySetError(f"{_JOSE}unsupported elliptic curve '{name}'")
    curve, size = _CURVES[name]
    wanted = ("x", "y", "d") if "d" in numbers else ("x", "y")
    what = "EC private key" if "d" in numbers else "EC key"
    if not numbers.keys() >= set(wanted):
        raise KeySetError(f"{_JOSE}invalid {what}, missing {'/'.join(wanted)} values")
    for each in wanted:
        if len(numbers[each]) != size:
            which = "private" if "d" in numbers else "public"
            raise KeySetError(f"{_JOSE}invalid EC {which} key, wrong length for {each}")
    x, y = (int.from_bytes(numbers[each], "big") for each in "xy")
    try:
        return ec.EllipticCurvePublicNumbers(x, y, curve).public_key()
    except ValueError:
        raise KeySetError(f"{_JOSE}invalid {what}, X/Y are not on declared curve") from None


def _rsa(numbers: Mapping[str, bytes]) -> rsa.RSAPublicKey | None:
    if "d" in numbers:
        for each in "nedpq":
            if each not in numbers:
                raise KeySetError(f"{_JOSE}invalid RSA private key, missing {each.upper()} value(s)")
    elif not numbers.keys() >= {"n", "e"}:
        raise KeySetError(f"{_JOSE}invalid RSA key, missing n/e values")
    n, e = (int.from_bytes(numbers[each], "big") for each in "ne")
    try:
        return rsa.RSAPublicNumbers(e, n).public_key()
    except ValueError:
        # It is a key, of a size by which nothing is verified.
        return None


def _certificates(given: Any) -> list[x509.Certificate]:
    if not isinstance(given, list | None):
        raise KeySetError(f"json: cannot unmarshal {described(given)} into Go value of type []string")
    found: list[x509.Certificate] = []
    for text in map(_text, given or ()):
        try:
            encoded = base64.b64decode(canonical_base64(text))
        except Base64Error as error:
            raise KeySetError(f"{_JOSE}failed to unmarshal x5c field: {error}") from error
        try:
            found.append(x509.load_der_x509_certificate(encoded))
        except ValueError:
            raise KeySetError(f"{_JOSE}failed to unmarshal x5c field: x509: malformed certificate") from None
    return found


def _check_thumbprints(texts: Mapping[str, str], certificates: Sequence[x509.Certificate]) -> None:
    for name, digest in _THUMBPRINTS:
        size = digest().digest_size
        try:
            told = url_base64(texts[name])
        except ValueError:
            raise KeySetError(f"{_JOSE}invalid JWK, {name} header has invalid encoding") from None
        if len(told) == 2 * size:
            try:
                told = bytes.fromhex(told.decode())
            except ValueError as error:
                raise KeySetError(f"{_JOSE}invalid JWK, unable to hex decode {name}: {error}") from error
        if len(told) not in (0, size):
            raise KeySetError(f"{_JOSE}invalid JWK, {name} header is of incorrect size")
        if told and certificates and told != digest(certificates[0].public_bytes(Encoding.DER)).digest():
            raise KeySetError(f"{_JOSE}invalid JWK, x5c thumbprint does not match {name} value")


def _encoded(public: Any) -> bytes:
    return bytes(public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo))


def _text(given: Any) -> str:
    if not isinstance(given, str | None):
        raise KeySetError(f"json: cannot unmarshal {described(given)} into Go value of type string")
    return given or ""


def _number(given: Any) -> bytes:
    try:
        return url_base64(_text(given))
    except ValueError as error:
        raise KeySetError(str(error)) from error
