"""All ways in which this server recognizes bearer tokens, asked in turn, with a memory of the answers."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import replace

from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock
from watchkeeper.authn.groups import with_authenticated
from watchkeeper.authn.interface import Annotations, AudienceAware, InvalidToken, Recognized, TokenAuthenticator
from watchkeeper.authn.static_tokens import StaticTokens, token_digest
from watchkeeper.request.user import User

REMEMBER_SECONDS = 10.0
"""How long a token that had to be verified is taken for granted (kube-apiserver's cache of successes)."""
MAX_REMEMBERED = 4096
_Key = tuple[bytes, tuple[str, ...]]
"""The digest of a token, and for whom it was asked to be."""


class TokenUnion:
    """Static tokens first, then each further authenticator.

    What a static token or a remembered one stands for is told at once; others may take a moment.
    """

    def __init__(
        self,
        static: StaticTokens,
        others: Sequence[TokenAuthenticator] = (),
        *,
        audiences: Sequence[str] = (),
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """`audiences` are the names of this server, for whom tokens are meant that do not say it; none: for all."""
        self._static = static
        self.audiences = tuple(audiences)
        self._others = tuple(others)
        self._clock = clock
        self._remembered: dict[_Key, tuple[float, Recognized]] = {}

    def __repr__(self) -> str:
        return f"<TokenUnion of {self._static!r} and {len(self._others)} more>"

    def static_user(self, token: str) -> User | None:
        """The user of a token that holds as long as the server runs, None when it is not such a token."""
        user = self._static.authenticate_token(token)
        return None if user is None else with_authenticated(user)

    def recognize_token(self, token: str) -> Recognized | Awaitable[Recognized | None] | None:
        """The user with all groups, None when the token is nobody's; see TokenAuthenticator. Raises InvalidToken.

        For tokens that do not hold as long as the server runs; see static_user.
        """
        if not self._others:
            return None
        key = token_digest(token), self.audiences
        return self._recall(key) or self._ask(token, self._others, key)

    async def review_token(self, token: str, audiences: Sequence[str]) -> Recognized | None:
        """The user and what the token is for; see TokenReviewer. Raises InvalidToken."""
        key = token_digest(token), tuple(audiences) or self.audiences
        return self._recall(key) or await self._ask(token, (self._static, *self._others), key)

    async def _ask(self, token: str, authenticators: Sequence[TokenAuthenticator], key: _Key) -> Recognized | None:
        """Ask one after another until somebody knows the token. Raises InvalidToken with all that was told instead."""
        wanted = key[1]
        own = tuple(audience for audience in wanted if audience in self.audiences)
        refusals: list[str] = []
        annotations: Annotations = ()
        for authenticator in authenticators:
            try:
                found = await _recognized(authenticator, token, wanted, own)
            except InvalidToken as error:
                refusals += error.args
                annotations += error.annotations
                continue
            if found is not None:
                found = replace(found, user=with_authenticated(found.user))
                self._remember(key, found)
                return found
        if refusals:
            raise InvalidToken(*refusals, annotations=annotations)
        return None

    def _recall(self, key: _Key) -> Recognized | None:
        remembered = self._remembered.get(key)
        if remembered is None:
            return None
        if remembered[0] > self._clock.monotonic():
            return remembered[1]
        del self._remembered[key]
        return None

    def _remember(self, key: _Key, found: Recognized) -> None:
        now = self._clock.monotonic()
        if len(self._remembered) >= MAX_REMEMBERED:
            self._remembered = {k: entry for k, entry in self._remembered.items() if entry[0] > now}
            if len(self._remembered) >= MAX_REMEMBERED:
                self._remembered.clear()
        self._remembered[key] = (now + REMEMBER_SECONDS, found)


async def _recognized(
    authenticator: TokenAuthenticator, token: str, wanted: tuple[str, ...], own: tuple[str, ...]
) -> Recognized | None:
    """Whose a token is that is for one of the wanted audiences; `own` of them are this server's."""
    if wanted and isinstance(authenticator, AudienceAware):
        return await authenticator.recognize(token, wanted)
    if wanted and not own:
        return None
    user = authenticator.authenticate_token(token)
    if isinstance(user, Awaitable):
        user = await user
    return None if user is None else Recognized(user, own)
