"""Counts issued certificates whose requesters asked for a duration, and those that last about so long."""

from __future__ import annotations

import base64
from collections import Counter
from typing import Any

from watchkeeper.registry.transaction import NOTHING_HELD, Transaction

Object = dict[str, Any]

_BACKDATED_SECONDS = 300.0
_TOLERANCE = 20
"""What part of the duration may be missing or too much."""
_OWN = "kubernetes.io/"


class IssuedCertificates:
    """Implements Hooks for the status of CertificateSigningRequests."""

    def __init__(self) -> None:
        self.requested: Counter[str] = Counter()
        self.honored: Counter[str] = Counter()
        """How often, by signer; those that are not Kubernetes' own are `other`."""

    def begin_create(self, obj: Object, *, dry_run: bool) -> Transaction:
        """A status is never created."""
        return NOTHING_HELD

    def begin_update(self, obj: Object, old: Object, *, dry_run: bool) -> Transaction:
        """A signer may be about to put the certificate there."""
        wanted = (old.get("spec") or {}).get("expirationSeconds")
        if dry_run or wanted is None or (old.get("status") or {}).get("certificate"):
            return NOTHING_HELD
        return _Issuance(self, obj, old["spec"].get("signerName") or "", float(wanted))

    def after_delete(self, obj: Object) -> None:
        """Nothing was held."""


class _Issuance:
    def __init__(self, counts: IssuedCertificates, request: Object, signer: str, wanted: float) -> None:
        self._counts = counts
        self._request = request
        self._signer = signer if signer.startswith(_OWN) else "other"
        self._wanted = wanted

    async def secure(self) -> None:
        """Nothing is held."""

    def commit(self) -> None:
        """Count the certificate, if there is one now."""
        issued = (self._request.get("status") or {}).get("certificate")
        if not issued:
            return
        from cryptography import x509

        self._counts.requested[self._signer] += 1
        try:
            first = x509.load_pem_x509_certificates(base64.b64decode(issued))[0]
        except ValueError:
            return
        lasts = (first.not_valid_after_utc - first.not_valid_before_utc).total_seconds()
        if abs(self._wanted - lasts) < _BACKDATED_SECONDS + self._wanted / _TOLERANCE:
            self._counts.honored[self._signer] += 1

    def rollback(self, *, uncertain: bool = False) -> None:
        """Nothing was issued."""
