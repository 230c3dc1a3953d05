"""Which versions of TLS and which ciphers a server speaks when it is told."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
from handshakes import shake_hands, trusting_client

from watchkeeper.server.errors import StartupError
from watchkeeper.server.pki import serving_certificate
from watchkeeper.server.tls import server_context
from watchkeeper.server.tls_protocol import DEFAULT_PROTOCOL, tls_protocol

GCM, CBC = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA"


def spoken(server: ssl.SSLContext, version: ssl.TLSVersion) -> str:
    """The cipher of a connection at a version. Raises ssl.SSLError."""
    client = trusting_client()
    client.minimum_version = client.maximum_version = version
    client.set_ciphers("ALL")
    return shake_hands(client, server).cipher()[0]


@pytest.mark.parametrize(
    ("min_version", "suites", "at_12"),
    [
        ("", (), "ECDHE-ECDSA-AES128-GCM-SHA256"),
        ("VersionTLS12", (GCM,), "ECDHE-ECDSA-AES256-GCM-SHA384"),
        ("", (CBC, "TLS_AES_128_GCM_SHA256"), "ECDHE-ECDSA-AES128-SHA"),
        ("VersionTLS13", (), None),
        ("", ("TLS_AES_128_GCM_SHA256",), None),
    ],
)
def test_what_is_spoken(tmp_path: Path, min_version: str, suites: tuple[str, ...], at_12: str | None) -> None:
    own = serving_certificate(tmp_path, "127.0.0.1")
    server = server_context(own.cert, own.key, protocol=tls_protocol(min_version, suites))
    if at_12 is None:
        with pytest.raises(ssl.SSLError):
            spoken(server, ssl.TLSVersion.TLSv1_2)
    else:
        assert spoken(server, ssl.TLSVersion.TLSv1_2) == at_12
    assert spoken(server, ssl.TLSVersion.TLSv1_3).startswith("TLS_")


def test_nothing_said_is_the_default() -> None:
    assert tls_protocol("", ()) == DEFAULT_PROTOCOL


@pytest.mark.parametrize(
    ("min_version", "suites", "why"),
    [
        ("TLS12", (), '--tls-min-version: unknown tls version "TLS12"'),
        ("VersionTLS10", (), "--tls-min-version VersionTLS10: no version before TLS 1.2 is spoken"),
        ("", ("FOO",), "--tls-cipher-suites: Cipher suite FOO not supported or doesn't exist"),
    ],
)
def test_what_there_is_not_is_refused(min_version: str, suites: tuple[str, ...], why: str) -> None:
    with pytest.raises(StartupError) as refused:
        tls_protocol(min_version, suites)
    assert str(refused.value) == why
