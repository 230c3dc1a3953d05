"""Keys that sign the tokens of service accounts, and keys that these are recognized by."""

from __future__ import annotations

import base64
import datetime
import hashlib

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from jwt import PyJWK

from watchkeeper.authn.service_account_keys import (
    NoKey,
    PrivateKey,
    TokenKeys,
    VerifyingKey,
    read_private_key,
    read_public_keys,
)

RSA = rsa.generate_private_key(65537, 2048)
EC = ec.generate_private_key(ec.SECP256R1())
PARAMETERS = b"-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"


def private_pem(key: PrivateKey | ed25519.Ed25519PrivateKey, form: PrivateFormat = PrivateFormat.PKCS8) -> bytes:
    return key.private_bytes(Encoding.PEM, form, NoEncryption())


def public_pem(key: PrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def certificate_pem(key: PrivateKey) -> bytes:
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "sa")])
    start = datetime.datetime(2020, 1, 1)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).serial_number(1)
    builder = builder.public_key(key.public_key()).not_valid_before(start)
    made = builder.not_valid_after(start + datetime.timedelta(days=1)).sign(key, hashes.SHA256())
    return made.public_bytes(Encoding.PEM)


@pytest.mark.parametrize("key", [RSA, EC], ids=["RSA", "EC"])
@pytest.mark.parametrize("form", [PrivateFormat.PKCS8, PrivateFormat.TraditionalOpenSSL])
def test_the_first_private_key_of_a_file_is_read_in_either_form(key: PrivateKey, form: PrivateFormat) -> None:
    data = b"a comment\n" + PARAMETERS + certificate_pem(EC) + private_pem(key, form) + private_pem(EC)
    assert read_private_key(data).private_numbers() == key.private_numbers()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no key",
        public_pem(RSA),
        private_pem(ed25519.Ed25519PrivateKey.generate()),
        private_pem(RSA)[:-40],
        RSA.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")),
    ],
    ids=["empty", "text", "public", "of another kind", "cut", "encrypted"],
)
def test_a_file_without_a_private_key_is_refused(data: bytes) -> None:
    with pytest.raises(NoKey, match="data does not contain a valid RSA or ECDSA private key"):
        read_private_key(data)


def test_a_curve_that_no_algorithm_has_is_refused() -> None:
    key = ec.generate_private_key(ec.SECP224R1())
    with pytest.raises(NoKey, match="unknown private key curve, must be 256, 384, or 521"):
        read_private_key(private_pem(key))
    with pytest.raises(NoKey, match="unknown private key curve"):
        TokenKeys(EC, [key.public_key()])


def test_public_keys_are_read_bare_and_out_of_certificates_and_private_keys() -> None:
    other = ec.generate_private_key(ec.SECP384R1())
    data = public_pem(RSA) + PARAMETERS + certificate_pem(EC) + b"\n" + private_pem(other)
    found = [key.public_numbers() for key in read_public_keys(data)]
    assert found == [key.public_key().public_numbers() for key in (RSA, EC, other)]
    for nothing in (b"", PARAMETERS, private_pem(ed25519.Ed25519PrivateKey.generate())):
        with pytest.raises(NoKey, match="data does not contain any valid RSA or ECDSA public keys"):
            read_public_keys(nothing)


def test_the_name_of_a_key_is_a_digest_of_it_as_in_kube_apiserver() -> None:
    der = RSA.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    name = VerifyingKey.of(RSA.public_key()).name
    assert base64.urlsafe_b64decode(f"{name}=") == hashlib.sha256(der).digest()


@pytest.mark.parametrize(
    ("key", "algorithm", "fields"),
    [
        (RSA, "RS256", {"n", "e"}),
        (EC, "ES256", {"crv", "x", "y"}),
        (ec.generate_private_key(ec.SECP384R1()), "ES384", {"crv", "x", "y"}),
        (ec.generate_private_key(ec.SECP521R1()), "ES512", {"crv", "x", "y"}),
    ],
    ids=["RSA", "P-256", "P-384", "P-521"],
)
def test_others_can_read_what_is_published(key: PrivateKey, algorithm: str, fields: set[str]) -> None:
    own = TokenKeys(key).own
    published = own.jwk()
    assert set(published) == {"use", "kid", "alg", "kty"} | fields
    assert (published["kid"], published["alg"], published["use"]) == (own.name, algorithm, "sig")
    assert PyJWK(published).key.public_numbers() == key.public_key().public_numbers()


def test_a_token_is_recognized_by_the_key_that_it_names_or_by_any() -> None:
    keys = TokenKeys(EC, [RSA.public_key(), RSA.public_key()])
    rsa_key = VerifyingKey.of(RSA.public_key())
    assert keys.verifying == (keys.own, rsa_key)
    assert keys.find("") == keys.verifying
    assert keys.find(rsa_key.name) == (rsa_key,)
    assert keys.find("another") == ()
    in_order = TokenKeys(EC, [RSA.public_key(), EC.public_key()])
    assert [key.name for key in in_order.verifying] == [rsa_key.name, keys.own.name]
