"""Names of service accounts as users."""

from __future__ import annotations

from watchkeeper.apis.validation.names import is_dns1123_label, is_dns1123_subdomain

PREFIX = "system:serviceaccount:"
ALL_SERVICE_ACCOUNTS = "system:serviceaccounts"
NAMESPACE_GROUP_PREFIX = "system:serviceaccounts:"


def username(namespace: str, name: str) -> str:
    """The user that a service account is."""
    return f"{PREFIX}{namespace}:{name}"


def group_names(namespace: str) -> tuple[str, str]:
    """The groups that every service account of a namespace is in."""
    return ALL_SERVICE_ACCOUNTS, NAMESPACE_GROUP_PREFIX + namespace


def split_username(user: str) -> tuple[str, str] | None:
    """Namespace and name of a service account's user name, None for any other user."""
    if not user.startswith(PREFIX):
        return None
    namespace, _, name = user[len(PREFIX) :].partition(":")
    # No such names can be given, so whoever bears one is no service account.
    if is_dns1123_label(namespace) or is_dns1123_subdomain(name):
        return None
    return namespace, name
