"""The server's own certificates: an authority made at the first start, and serving certificates that it signs.

Everything is ECDSA P-256. Files in the data directory, for the owner alone:

    ca.crt ca.key               the authority, good for ten years
    serving.crt serving.key     the serving certificate, good for one year, renewed a month before it ends
    serving.names               for which names and until when it is good, so that a start need not parse it
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import json
import socket
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from watchkeeper.server.errors import StartupError
from watchkeeper.server.files import write_private

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

_CA_DAYS = 3650
_SERVING_DAYS = 365
_RENEW_DAYS = 30
_CLUSTER_NAMES = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
    "127.0.0.1",
    "::1",
    "10.0.0.1",
)


@dataclass(frozen=True, slots=True)
class ServingCertificate:
    """Where the certificate, its key and the authority's certificate are; the last in PEM, for kubeconfigs."""

    cert: Path
    key: Path
    ca_pem: bytes


def serving_certificate(directory: Path, bind: str) -> ServingCertificate:
    """The certificate to serve `bind` with: the one that is there, if it is good for a while yet, else a new one.

    Raises StartupError for an authority that is there and spoilt: clients trust it, so no other takes its place.
    """
    names = _names(bind)
    found = ServingCertificate(directory / "serving.crt", directory / "serving.key", b"")
    ca = directory / "ca.crt"
    try:
        noted = json.loads((directory / "serving.names").read_bytes())
        good = set(noted["names"]) >= set(names) and noted["until"] > _now().timestamp() + _RENEW_DAYS * 86400
        if good:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(found.cert, found.key)
            ca_pem = ca.read_bytes()
            ssl.PEM_cert_to_DER_cert(ca_pem.decode("ascii"))
            return ServingCertificate(found.cert, found.key, ca_pem)
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return _issue(directory, names)


def _names(bind: str) -> list[str]:
    names = list(_CLUSTER_NAMES)
    if bind in ("0.0.0.0", "::", ""):
        names.append(socket.gethostname())
    else:
        names.append(bind)
    return list(dict.fromkeys(names))


def _issue(directory: Path, names: Sequence[str]) -> ServingCertificate:
    # Loaded only here: a later start of the same server needs none of it.
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    ca_cert, ca_key = _authority(directory)
    key = ec.generate_private_key(ec.SECP256R1())
    until = _now() + dt.timedelta(days=_SERVING_DAYS)
    names_extension = x509.SubjectAlternativeName([_general_name(name) for name in names])
    usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
    certificate = (
        _builder("watchkeeper", ca_cert.subject, key, until)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(names_extension, critical=False)
        .add_extension(usage, critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    assert certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    ca_pem = ca_cert.public_bytes(serialization.Encoding.PEM)
    write_private(directory / "serving.crt", certificate.public_bytes(serialization.Encoding.PEM) + ca_pem)
    write_private(directory / "serving.key", _key_pem(key))
    noted = {"names": list(names), "until": until.timestamp()}
    write_private(directory / "serving.names", json.dumps(noted).encode())
    return ServingCertificate(directory / "serving.crt", directory / "serving.key", ca_pem)


def _authority(directory: Path) -> tuple[x509.Certificate, EllipticCurvePrivateKey]:
    """The authority that is there, else a new one."""
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    cert_path, key_path = directory / "ca.crt", directory / "ca.key"
    if cert_path.exists() and key_path.exists():
        try:
            certificate = x509.load_pem_x509_certificate(cert_path.read_bytes())
            loaded = serialization.load_pem_private_key(key_path.read_bytes(), None)
            if certificate.public_key() != loaded.public_key():
                raise ValueError("the key of another certificate")
        except (OSError, ValueError, TypeError, UnsupportedAlgorithm) as error:
            raise StartupError(
                f"{cert_path} and {key_path} are no certificate with its key; restore them, or remove both for new ones"
            ) from error
        lasting = certificate.not_valid_after_utc > _now() + dt.timedelta(days=_SERVING_DAYS)
        if lasting and isinstance(loaded, ec.EllipticCurvePrivateKey):
            return certificate, loaded
    key = ec.generate_private_key(ec.SECP256R1())
    until = _now() + dt.timedelta(days=_CA_DAYS)
    name = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, "watchkeeper-ca")])
    usage = x509.KeyUsage(
        digital_signature=True, key_cert_sign=True, crl_sign=True, content_commitment=False, key_encipherment=False,
        data_encipherment=False, key_agreement=False, encipher_only=False, decipher_only=False,
    )  # fmt: skip
    certificate = (
        _builder("watchkeeper-ca", name, key, until)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    write_private(cert_path, certificate.public_bytes(serialization.Encoding.PEM))
    write_private(key_path, _key_pem(key))
    return certificate, key


def _builder(
    common_name: str, issuer: x509.Name, key: EllipticCurvePrivateKey, until: dt.datetime
) -> x509.CertificateBuilder:
    from cryptography import x509

    subject = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, common_name)])
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_now() - dt.timedelta(minutes=5))
        .not_valid_after(until)
    )


def _general_name(name: str) -> x509.GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _key_pem(key: EllipticCurvePrivateKey) -> bytes:
    from cryptography.hazmat.primitives import serialization

    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)
