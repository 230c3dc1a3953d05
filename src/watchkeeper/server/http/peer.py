"""The owner of a client certificate."""

from __future__ import annotations

import hashlib
import ssl
from dataclasses import dataclass
from typing import Any

_UID_OID = "1.3.6.1.4.1.57683.2"
"""The subject attribute from which Kubernetes takes a user's uid."""
_MAX_REMEMBERED = 4096


@dataclass(frozen=True, slots=True)
class TlsPeer:
    """What a client's certificate says of its owner; nothing when nobody has signed it who is accepted."""

    common_name: str
    organizations: tuple[str, ...] = ()
    uid: str = ""
    fingerprint: str = ""
    is_client: bool = True
    is_proxy: bool = False


class Authorities:
    """Tells the certificates of clients from those of front proxies, by the authorities of either in DER."""

    def __init__(self, clients: frozenset[bytes], proxies: frozenset[bytes]) -> None:
        self._clients = clients
        self._proxies = proxies
        self._known: dict[str, tuple[bool, bool]] = {}
        """By fingerprint: a resumed session does not say who has signed the certificate."""

    def kinds(self, fingerprint: str, ssl_object: Any) -> tuple[bool, bool]:
        """Whether a certificate is a client's, and whether a proxy's; neither when it does not hold."""
        chain = _verified_chain(ssl_object)
        if not chain:
            return self._known.get(fingerprint, (False, False))
        found = not self._clients.isdisjoint(chain), not self._proxies.isdisjoint(chain)
        self._known.pop(fingerprint, None)
        if len(self._known) >= _MAX_REMEMBERED:
            del self._known[next(iter(self._known))]
        self._known[fingerprint] = found
        return found

    def forget(self, fingerprint: str) -> None:
        """A certificate does not hold, whatever it was before."""
        self._known.pop(fingerprint, None)


def _verified_chain(ssl_object: Any) -> list[bytes]:
    """The certificates up to the authority, in DER; none where the session was resumed, or there is no such chain."""
    if hasattr(ssl_object, "get_verified_chain"):
        return list(ssl_object.get_verified_chain())
    # Before Python 3.13 only the object within can tell.
    chain = ssl_object._sslobj.get_verified_chain() or ()
    return [ssl.PEM_cert_to_DER_cert(each.public_bytes()) for each in chain]


def tls_peer(ssl_object: Any, authorities: Authorities | None = None) -> TlsPeer | None:
    """Read the certificate of a finished handshake, None when the client showed none.

    Without `authorities` all certificates are those of clients.
    """
    certificate = ssl_object.getpeercert(True)
    if not certificate:
        return None
    fingerprint = hashlib.sha256(certificate).hexdigest()
    is_client, is_proxy = authorities.kinds(fingerprint, ssl_object) if authorities is not None else (True, False)
    if not (is_client or is_proxy):
        # What anybody may have made is not even read.
        return TlsPeer("", fingerprint=fingerprint, is_client=False)
    subject: dict[str, list[str]] = {}
    for relative_name in ssl_object.getpeercert().get("subject", ()):
        for key, value in relative_name:
            subject.setdefault(key, []).append(value)
    return TlsPeer(
        common_name=subject.get("commonName", [""])[-1],
        organizations=tuple(subject.get("organizationName", ())),
        uid=subject.get(_UID_OID, [""])[0],
        fingerprint=fingerprint,
        is_client=is_client,
        is_proxy=is_proxy,
    )
