"""Which ciphers a server chooses of those that clients offer."""

from __future__ import annotations

import ssl

import pytest

from watchkeeper.server.openssl import native, openssl
from watchkeeper.server.pki import serving_certificate
from watchkeeper.server.tls import server_context

AES_128, AES_256, CHACHA = "TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"

pytestmark = pytest.mark.skipif(openssl() is None, reason="OpenSSL cannot be reached")


def chosen(server: ssl.SSLContext, *offered: str) -> str:
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.verify_mode = ssl.CERT_NONE
    assert openssl().SSL_CTX_set_ciphersuites(native(client), ":".join(offered).encode())
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [client.wrap_bio(down, up), server.wrap_bio(up, down, server_side=True)]
    for end in ends * 3:
        try:
            end.do_handshake()
        except ssl.SSLWantReadError:
            continue
    return ends[0].cipher()[0]


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
