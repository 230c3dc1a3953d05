"""The filter that finds out who is asking."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol

from watchkeeper.endpoints.response import Response
from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.request.request import Request
from watchkeeper.request.user import User


class RequestAuthenticator(Protocol):
    """Reads credentials off requests (`authn.request`)."""

    def authenticate(self, request: Request) -> User | Awaitable[User | None] | None:
        """The user, None when the credentials are wrong."""
        ...


class Authentication:
    """Sets `request.user`, or refuses with 401."""

    def __init__(self, authenticator: RequestAuthenticator) -> None:
        self._authenticator = authenticator
        self.attempts = {"success": 0, "failure": 0}
        """How often it went which way, for the metrics."""

    def __call__(self, request: Request) -> Awaitable[Response | None] | None:
        """Find out who is asking. Raises a 401."""
        user = self._authenticator.authenticate(request)
        if isinstance(user, User):
            self.attempts["success"] += 1
            request.user = user
            return None
        if user is None:
            raise self._refusal()
        return self._wait(request, user)

    async def _wait(self, request: Request, pending: Awaitable[User | None]) -> Response | None:
        user = await pending
        if user is None:
            raise self._refusal()
        self.attempts["success"] += 1
        request.user = user
        return None

    def _refusal(self) -> ApiError:
        self.attempts["failure"] += 1
        return errors.unauthorized()
