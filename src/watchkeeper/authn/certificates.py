"""Users by client certificate: the common name is the user, the organizations are the groups."""

from __future__ import annotations

from functools import lru_cache

from watchkeeper.authn.groups import with_authenticated
from watchkeeper.request.exchange import PeerCertificate
from watchkeeper.request.user import User

CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"
"""Which credential was shown, among a user's extra values."""


@lru_cache(maxsize=1024)
def certificate_user(certificate: PeerCertificate) -> User | None:
    """The user of a client's certificate with all groups, None when it names nobody (no common name)."""
    if not certificate.common_name or not certificate.is_client:
        return None
    user = User(
        certificate.common_name,
        uid=certificate.uid,
        groups=certificate.organizations,
        extra={CREDENTIAL_ID: (f"X509SHA256={certificate.fingerprint}",)},
    )
    return with_authenticated(user)
