"""The owner of a client certificate."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

_UID_OID = "1.3.6.1.4.1.57683.2"
"""The subject attribute from which Kubernetes takes a user's uid."""


@dataclass(frozen=True, slots=True)
class TlsPeer:
    """What a verified client certificate says of its owner."""

    common_name: str
    organizations: tuple[str, ...] = ()
    uid: str = ""
    fingerprint: str = ""


def tls_peer(ssl_object: Any) -> TlsPeer | None:
    """Read the certificate of a finished handshake, None when the client showed none."""
    shown = ssl_object.getpeercert()
    if not shown:
        return None
    subject: dict[str, list[str]] = {}
    for relative_name in shown.get("subject", ()):
        for key, value in relative_name:
            subject.setdefault(key, []).append(value)
    return TlsPeer(
        common_name=subject.get("commonName", [""])[-1],
        organizations=tuple(subject.get("organizationName", ())),
        uid=subject.get(_UID_OID, [""])[0],
        fingerprint=hashlib.sha256(ssl_object.getpeercert(True)).hexdigest(),
    )
