"""The contract of authentication: what a request shows, and who that is."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from watchkeeper.request.user import User

Annotations = tuple[tuple[str, str], ...]
"""What the audit log is told of a token: keys and values."""


class InvalidToken(Exception):
    """A bearer token that is nobody's, or no longer; its arguments say why, for TokenReviews and the log."""

    def __init__(self, *reasons: str, annotations: Annotations = ()) -> None:
        super().__init__(*reasons)
        self.annotations = annotations


class TokenAuthenticator(Protocol):
    """Knows some bearer tokens."""

    def authenticate_token(self, token: str) -> User | Awaitable[User | None] | None:
        """The user, None when the token is not of this kind. Raises InvalidToken when it is and does not hold.

        The user comes without `system:authenticated`; whoever asked adds it.
        """
        ...


@dataclass(frozen=True, slots=True)
class Recognized:
    """Whose a token is, and for which of those that were asked about it was issued."""

    user: User
    audiences: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    """What whoever shows the token is told with each answer."""
    annotations: Annotations = ()


@runtime_checkable
class AudienceAware(Protocol):
    """A TokenAuthenticator whose tokens say whom they are meant for. All others' are meant for this server."""

    async def recognize(self, token: str, audiences: Sequence[str]) -> Recognized | None:
        """The user, None when the token is not of this kind.

        Raises InvalidToken when it is and does not hold, or is for none of the audiences.
        """
        ...


class TokenReviewer(Protocol):
    """Tells servers whose the tokens are that their clients show."""

    async def review_token(self, token: str, audiences: Sequence[str]) -> Recognized | None:
        """The user with all groups, None when the token is nobody's. Raises InvalidToken.

        `audiences`: for one of which it must be; none are this server's own.
        """
        ...
