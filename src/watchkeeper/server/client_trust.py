"""Where extension servers learn by whom client certificates are signed: a ConfigMap that kube-apiserver keeps, too.

It lists the authorities of all servers on the same store, and those that a server has trusted before, until they end.
"""

from __future__ import annotations

import functools
import ssl
import time
from typing import Any

from watchkeeper.runtime.x509 import authorities

Object = dict[str, Any]

FILE = "client-ca-file"
_OTHERS = "requestheader-"
_SLACK_SECONDS = 300.0
"""So long after its end an authority is still listed, because clocks differ."""


def trust(client_ca: str) -> Object:
    """The ConfigMap of a server that takes certificates of the authorities in a PEM file."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "extension-apiserver-authentication", "namespace": "kube-system"},
        "data": {FILE: combined("", client_ca)},
    }


def reconciled(stored: Object, expected: Object) -> Object | None:
    """The stored ConfigMap with the authorities of another, None if it has them all and nothing else."""
    data = stored.get("data") or {}
    wanted = {key: value for key, value in data.items() if key.startswith(_OTHERS)}
    if authorities := combined(data.get(FILE) or "", expected["data"][FILE]):
        wanted[FILE] = authorities
    return None if wanted == data else {**stored, "data": wanted}


def combined(ours: str, theirs: str) -> str:
    """The certificates of two PEM texts, each once; neither those that have ended nor what is no certificate."""
    since = time.time() - _SLACK_SECONDS
    found = dict.fromkeys((*_certificates(ours), *_certificates(theirs)))
    return "".join(ssl.DER_cert_to_PEM_cert(der) for der, until in found if until > since)


@functools.lru_cache(maxsize=8)
def _certificates(text: str) -> tuple[tuple[bytes, float], ...]:
    """Certificates in DER and until when they are good."""
    # Loaded only here: a server without such authorities needs none of it.
    from cryptography import x509

    found = authorities(text.encode())
    return tuple((der, x509.load_der_x509_certificate(der).not_valid_after_utc.timestamp()) for der in found)
