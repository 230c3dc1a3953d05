"""The groups that authentication itself puts users into."""

from __future__ import annotations

from dataclasses import replace

from watchkeeper.request.user import ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED, User


def with_authenticated(user: User) -> User:
    """The user with `system:authenticated` as its last group; the anonymous one stays as it is."""
    if user.name == ANONYMOUS.name or AUTHENTICATED in user.groups or UNAUTHENTICATED in user.groups:
        return user
    return replace(user, groups=(*user.groups, AUTHENTICATED))
