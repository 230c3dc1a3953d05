"""TLS contexts for servers whose authorities somebody names in an object."""

from __future__ import annotations

import ssl

from watchkeeper.aio.http_client import trusting
from watchkeeper.runtime.x509 import authorities, authorities_fault


def context_trusting(bundle: bytes) -> ssl.SSLContext:
    """A client's context that trusts the authorities of a bundle in PEM; of an empty one, those that the system does.

    Raises ValueError in the words of client-go.
    """
    if not bundle:
        return ssl.create_default_context()
    try:
        return trusting(bundle.decode("ascii", "replace"))
    except ssl.SSLError as problem:
        # Asked only now: the library that can tell takes long to load.
        if fault := authorities_fault(bundle):
            raise ValueError(f"unable to load root certificates: {fault}") from problem
        return trusting(b"".join(authorities(bundle)))


def context_trusting_anybody() -> ssl.SSLContext:
    """A client's context that takes any certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context
