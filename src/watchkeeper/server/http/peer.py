"""The owner of a client certificate."""

from __future__ import annotations

import _ssl
import hashlib
import math
import ssl
import time
from dataclasses import dataclass, field, replace
from typing import Any

_UID_OID = "1.3.6.1.4.1.57683.2"
"""The subject attribute from which Kubernetes takes a user's uid."""
_MAX_REMEMBERED = 16384


@dataclass(frozen=True, slots=True)
class Holding:
    """Why a certificate holds, and how long."""

    signers: frozenset[bytes]
    """The authorities in its chain, in DER."""
    until: float
    """When the first certificate of the chain ends, in seconds since the epoch."""


_NOTHING = Holding(frozenset(), math.inf)


@dataclass(frozen=True, slots=True)
class TlsPeer:
    """What a client's certificate says of its owner; nothing when nobody has signed it who is accepted."""

    common_name: str
    organizations: tuple[str, ...] = ()
    uid: str = ""
    fingerprint: str = ""
    is_client: bool = True
    is_proxy: bool = False
    holding: Holding = field(default=_NOTHING, compare=False)

    @property
    def has_ended(self) -> bool:
        """Whether it does not hold any more."""
        return time.time() > self.holding.until

    def refused(self) -> TlsPeer:
        """The same, accepted by nobody."""
        return TlsPeer("", fingerprint=self.fingerprint, is_client=False)


class Authorities:
    """Tells the certificates of clients from those of front proxies, by the authorities of either in DER."""

    def __init__(self, clients: frozenset[bytes], proxies: frozenset[bytes]) -> None:
        self._clients = clients
        self._proxies = proxies
        self._known: dict[str, Holding] = {}
        """By fingerprint: a resumed session does not say who has signed the certificate."""

    def holding(self, fingerprint: str, ssl_object: Any) -> Holding:
        """What a certificate holds by; without signers when it does not."""
        chain = ssl_object._sslobj.get_verified_chain()  # what is around it tells less, and in Python 3.13 only
        known = self._known.pop(fingerprint, _NOTHING)
        found = self._holding(chain) if chain else known
        if not found.signers:
            return found
        if len(self._known) >= _MAX_REMEMBERED:
            del self._known[next(iter(self._known))]
        self._known[fingerprint] = found
        return found

    def _holding(self, chain: list[_ssl.Certificate]) -> Holding:
        signers = (self._clients | self._proxies).intersection(each.public_bytes(_ssl.ENCODING_DER) for each in chain)
        return Holding(signers, min(ssl.cert_time_to_seconds(each.get_info()["notAfter"]) for each in chain))

    def forget(self, fingerprint: str) -> None:
        """A certificate does not hold, whatever it was before."""
        self._known.pop(fingerprint, None)

    def judged(self, peer: TlsPeer) -> TlsPeer:
        """What a certificate is worth here that was accepted by these authorities or by others before."""
        signers = peer.holding.signers
        is_client, is_proxy = not self._clients.isdisjoint(signers), not self._proxies.isdisjoint(signers)
        if not (is_client or is_proxy):
            return peer.refused()
        return replace(peer, is_client=is_client, is_proxy=is_proxy)


def tls_peer(ssl_object: Any, authorities: Authorities) -> TlsPeer | None:
    """Read the certificate of a finished handshake, None when the client showed none."""
    certificate = ssl_object.getpeercert(True)
    if not certificate:
        return None
    fingerprint = hashlib.sha256(certificate).hexdigest()
    holding = authorities.holding(fingerprint, ssl_object)
    if not holding.signers:
        # What anybody may have made is not even read.
        return TlsPeer("", fingerprint=fingerprint, is_client=False)
    subject: dict[str, list[str]] = {}
    for relative_name in ssl_object.getpeercert().get("subject", ()):
        for key, value in relative_name:
            subject.setdefault(key, []).append(value)
    return authorities.judged(
        TlsPeer(
            common_name=subject.get("commonName", [""])[-1],
            organizations=tuple(subject.get("organizationName", ())),
            uid=subject.get(_UID_OID, [""])[0],
            fingerprint=fingerprint,
            holding=holding,
        )
    )
