"""Who sent a request: a client certificate, a bearer token, or nobody in particular."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence

from watchkeeper.authn.certificates import certificate_user
from watchkeeper.authn.configuration import Anonymous
from watchkeeper.authn.interface import Annotations, InvalidToken, Recognized
from watchkeeper.authn.union import TokenUnion
from watchkeeper.authn.websocket_token import websocket_token
from watchkeeper.request.exchange import Exchange
from watchkeeper.request.request import Request
from watchkeeper.request.user import ANONYMOUS, User

ANYBODY = Anonymous()
_MAX_CACHED_HEADERS = 1024
_EXTRA_SPACE = "the provided Authorization header contains extra space before the bearer token, and is ignored"


class RequestAuthenticator:
    """Reads credentials off requests.

    The certificate counts before the token. Answers at once for certificates, static and remembered tokens, which
    is nearly always: a header that was seen before costs one look-up.
    """

    def __init__(self, tokens: TokenUnion, *, anonymous: Anonymous = ANYBODY) -> None:
        self.tokens = tokens
        self._anonymous = anonymous
        self._by_header: dict[str, User] = {}
        """Users of static tokens by the very header that showed them; these never change."""

    def __repr__(self) -> str:
        return f"<RequestAuthenticator with {self.tokens!r}>"

    def authenticate(self, request: Request) -> User | Awaitable[User | None] | None:
        """The user, None when the credentials are wrong or missing where they are needed."""
        exchange: Exchange | None = request.scope.get("exchange")
        if exchange is not None:
            certificate = exchange.peer_certificate()
            if certificate is not None:
                user = certificate_user(certificate)
                if user is not None:
                    return user
        header = request.header(b"authorization")
        if not header:
            return self._without_header(request)
        known = self._by_header.get(header)
        if known is not None:
            return known
        token = bearer_token(header)
        if not token:
            if _has_space_for_token(header):
                request.warn(_EXTRA_SPACE)
            return self._anybody(request)
        return self._by_token(request, header, token)

    async def review_token(self, token: str, audiences: Sequence[str]) -> Recognized | None:
        """Whom a request with a token would come from: it may stand among blanks; see TokenReviewer.

        Raises InvalidToken.
        """
        shown = bearer_token(f"Bearer {token}")
        if shown:
            return await self.tokens.review_token(shown, audiences)
        return Recognized(ANONYMOUS, tuple(audiences) or self.tokens.audiences) if self._anonymous.admits("") else None

    def _without_header(self, request: Request) -> User | Awaitable[User | None] | None:
        """Whoever a WebSocket's subprotocols name, else nobody in particular."""
        if request.header(b"sec-websocket-protocol"):
            try:
                token = websocket_token(request)
            except InvalidToken:
                return None
            if token:
                return self._by_token(request, "", token)
        return self._anybody(request)

    def _anybody(self, request: Request) -> User | None:
        """Nobody in particular, where that is enough; but not who shows a certificate that nobody accepts."""
        exchange: Exchange | None = request.scope.get("exchange")
        certificate = exchange.peer_certificate() if exchange is not None else None
        if certificate is not None and not (certificate.is_client or certificate.is_proxy):
            return None
        return ANONYMOUS if self._anonymous.admits(request.path) else None

    def _by_token(self, request: Request, header: str, token: str) -> User | Awaitable[User | None] | None:
        static = self.tokens.static_user(token)
        if static is not None:
            if header and len(self._by_header) < _MAX_CACHED_HEADERS:
                self._by_header[header] = static
            return static
        try:
            found = self.tokens.recognize_token(token)
        except InvalidToken as error:
            _annotate(request, error.annotations)
            return None
        return _told(request, found) if found is None or isinstance(found, Recognized) else _settle(request, found)


async def _settle(request: Request, pending: Awaitable[Recognized | None]) -> User | None:
    try:
        return _told(request, await pending)
    except InvalidToken as error:
        _annotate(request, error.annotations)
        return None


def _told(request: Request, found: Recognized | None) -> User | None:
    """The user, after what there is to say about the token."""
    if found is None:
        return None
    for text in found.warnings:
        request.warn(text)
    _annotate(request, found.annotations)
    return found.user


def _annotate(request: Request, annotations: Annotations) -> None:
    for key, value in annotations:
        request.annotate(key, value)


def bearer_token(header: str) -> str:
    """The token of an Authorization header, "" when it is of another scheme (or of none)."""
    scheme, _, rest = header.strip().partition(" ")
    if scheme.lower() != "bearer":
        return ""
    return rest.split(" ", 1)[0]


def _has_space_for_token(header: str) -> bool:
    """Whether a bearer token stands behind one blank too many."""
    scheme, _, rest = header.strip().partition(" ")
    return scheme.lower() == "bearer" and rest.startswith(" ")
