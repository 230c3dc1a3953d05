"""Which versions of TLS are spoken, with which ciphers, by the names that Go has for them."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from dataclasses import dataclass

from watchkeeper.meta.field import go_quote
from watchkeeper.server.errors import StartupError

_VERSIONS = {"VersionTLS12": ssl.TLSVersion.TLSv1_2, "VersionTLS13": ssl.TLSVersion.TLSv1_3}
_TOO_OLD = ("VersionTLS10", "VersionTLS11")
_TLS_13 = frozenset({"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"})
"""Spoken whatever is asked for: these are no choice of servers in Go, and none of them is weak."""
_RSA = {
    "TLS_RSA_WITH_AES_128_CBC_SHA": "AES128-SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA256": "AES128-SHA256",
    "TLS_RSA_WITH_AES_128_GCM_SHA256": "AES128-GCM-SHA256",
    "TLS_RSA_WITH_AES_256_CBC_SHA": "AES256-SHA",
    "TLS_RSA_WITH_AES_256_GCM_SHA384": "AES256-GCM-SHA384",
}
_EPHEMERAL = {
    "AES_128_CBC_SHA": "AES128-SHA",
    "AES_128_CBC_SHA256": "AES128-SHA256",
    "AES_128_GCM_SHA256": "AES128-GCM-SHA256",
    "AES_256_CBC_SHA": "AES256-SHA",
    "AES_256_GCM_SHA384": "AES256-GCM-SHA384",
    "CHACHA20_POLY1305": "CHACHA20-POLY1305",
    "CHACHA20_POLY1305_SHA256": "CHACHA20-POLY1305",
}
_TLS_12 = _RSA | {
    f"TLS_ECDHE_{signature}_WITH_{name}": f"ECDHE-{signature}-{cipher}"
    for signature in ("ECDSA", "RSA")
    for name, cipher in _EPHEMERAL.items()
}
"""What OpenSSL calls the ciphers of TLS 1.2. Go knows a few more that no OpenSSL of today speaks."""
_DEFAULT = ("AES_128_GCM_SHA256", "AES_256_GCM_SHA384", "CHACHA20_POLY1305")


def _openssl(names: Sequence[str]) -> str:
    return ":".join(dict.fromkeys(_TLS_12[name] for name in names))


@dataclass(frozen=True, slots=True)
class TlsProtocol:
    """What is spoken: no version below a minimum, and of TLS 1.2 these ciphers, as OpenSSL lists them."""

    minimum: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2
    ciphers: str = _openssl([f"TLS_ECDHE_{kind}_WITH_{name}" for name in _DEFAULT for kind in ("ECDSA", "RSA")])


DEFAULT_PROTOCOL = TlsProtocol()


def tls_protocol(min_version: str, suites: Sequence[str]) -> TlsProtocol:
    """Read names such as `VersionTLS13` and `TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256`; none is the default.

    Raises StartupError.
    """
    if min_version in _TOO_OLD:
        raise StartupError(f"--tls-min-version {min_version}: no version before TLS 1.2 is spoken")
    if min_version and min_version not in _VERSIONS:
        raise StartupError(f"--tls-min-version: unknown tls version {go_quote(min_version)}")
    minimum = _VERSIONS.get(min_version, ssl.TLSVersion.TLSv1_2)
    for name in suites:
        if name not in _TLS_12 and name not in _TLS_13:
            raise StartupError(f"--tls-cipher-suites: Cipher suite {name} not supported or doesn't exist")
    chosen = [name for name in suites if name in _TLS_12]
    if not suites:
        return TlsProtocol(minimum)
    if not chosen:
        # Only ciphers of TLS 1.3 leave nothing for TLS 1.2.
        return TlsProtocol(ssl.TLSVersion.TLSv1_3)
    return TlsProtocol(minimum, _openssl(chosen))
