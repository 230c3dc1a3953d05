"""The contract of authentication: what a request shows, and who that is."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol

from watchkeeper.request.user import User


class InvalidToken(Exception):
    """A bearer token that is nobody's, or no longer; the message says why, for TokenReviews and the log."""


class TokenAuthenticator(Protocol):
    """Knows some bearer tokens."""

    def authenticate_token(self, token: str) -> User | Awaitable[User | None] | None:
        """The user, None when the token is not of this kind. Raises InvalidToken when it is and does not hold.

        The user comes without `system:authenticated`; whoever asked adds it.
        """
        ...
