"""Which ciphers a server chooses of those that clients offer."""

from __future__ import annotations

import ssl

import pytest
from handshakes import shake_hands, trusting_client

from watchkeeper.server.openssl import native, openssl
from watchkeeper.server.pki import serving_certificate
from watchkeeper.server.tls import server_context

AES_128, AES_256, CHACHA = "TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"

pytestmark = pytest.mark.skipif(openssl() is None, reason="OpenSSL cannot be reached")


def chosen(server: ssl.SSLContext, *offered: str) -> str:
    client = trusting_client()
    assert openssl().SSL_CTX_set_ciphersuites(native(client), ":".join(offered).encode())
    return shake_hands(client, server).cipher()[0]


@pytest.mark.parametrize(
    ("offered", "expected"),
    [
        ((AES_256, CHACHA, AES_128), AES_128),
        ((AES_128, AES_256), AES_128),
        ((AES_256, CHACHA), AES_256),
        ((CHACHA, AES_256, AES_128), CHACHA),
        ((AES_256,), AES_256),
    ],
)
def test_the_server_prefers_short_keys_but_to_clients_without_aes(tmp_path, offered, expected):
    good = serving_certificate(tmp_path, "127.0.0.1")
    assert chosen(server_context(good.cert, good.key), *offered) == expected
