"""How TLS is spoken."""

from __future__ import annotations

import ssl
from pathlib import Path

from watchkeeper.server.errors import StartupError
from watchkeeper.server.tls_authorities import name_authorities

_TLS12_CIPHERS = ":".join(
    f"ECDHE-{signature}-{cipher}"
    for cipher in ("AES128-GCM-SHA256", "AES256-GCM-SHA384", "CHACHA20-POLY1305")
    for signature in ("ECDSA", "RSA")
)


def server_context(cert: Path, key: Path, client_ca: Path | None = None) -> ssl.SSLContext:
    """A context for TLS 1.2 and 1.3; with `client_ca` clients may show certificates, which must then hold.

    Raises StartupError when a file is missing or wrong.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(_TLS12_CIPHERS)
    context.set_alpn_protocols(["http/1.1"])
    # One ticket per handshake lets a client resume; more would only cost bytes.
    context.num_tickets = 1
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION
    try:
        context.load_cert_chain(cert, key)
    except (OSError, ssl.SSLError) as error:
        raise StartupError(f"cannot use the certificate {cert} with the key {key}: {_why(error)}") from error
    if client_ca is not None:
        context.verify_mode = ssl.CERT_OPTIONAL
        try:
            context.load_verify_locations(client_ca)
        except (OSError, ssl.SSLError) as error:
            raise StartupError(f"cannot use the client authorities in {client_ca}: {_why(error)}") from error
        name_authorities(context, client_ca)
    return context


def _why(error: OSError) -> str:
    return error.strerror or str(error)
