"""Whose certificates clients are told to show."""

from __future__ import annotations

import ssl

import pytest
from cryptography import x509
from handshakes import shake_hands, trusting_client

from watchkeeper.server.pki import serving_certificate
from watchkeeper.server.tls import server_context

CERTIFICATE_REQUEST = 13


def asked_for(server: ssl.SSLContext, version: ssl.TLSVersion) -> list[bytes]:
    """The messages of a handshake that ask the client for a certificate."""
    found: list[bytes] = []

    def note(_connection, direction, _version, _content, kind, data):
        if direction == "read" and kind == CERTIFICATE_REQUEST:
            found.append(data)

    client = trusting_client()
    client.maximum_version = version
    client._msg_callback = note
    assert shake_hands(client, server).version() == version.name.replace("_", ".")
    return found


def authority(directory) -> tuple[bytes, bytes]:
    """An authority's certificate in PEM and its name in DER."""
    directory.mkdir()
    serving_certificate(directory, "127.0.0.1")
    pem = (directory / "ca.crt").read_bytes()
    return pem, x509.load_pem_x509_certificate(pem).subject.public_bytes()


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_clients_are_told_the_names_of_all_authorities(tmp_path, version):
    good = serving_certificate(tmp_path, "127.0.0.1")
    ours, ours_name = authority(tmp_path / "ours")
    (tmp_path / "accepted.pem").write_bytes(ours)
    [message] = asked_for(server_context(good.cert, good.key, tmp_path / "accepted.pem"), version)
    assert message.count(len(ours_name).to_bytes(2, "big") + ours_name) == 1


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_without_authorities_no_certificate_is_asked_for(tmp_path, version):
    good = serving_certificate(tmp_path, "127.0.0.1")
    assert asked_for(server_context(good.cert, good.key), version) == []
