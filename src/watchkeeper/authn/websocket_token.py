"""Bearer tokens of clients that cannot set headers: browsers send them as a subprotocol of a WebSocket."""

from __future__ import annotations

import base64
import binascii
import re

from watchkeeper.authn.interface import InvalidToken
from watchkeeper.request.request import Request

_UPGRADES = re.compile(r"(^|.*,\s*)upgrade($|\s*,)", re.IGNORECASE)
_PREFIX = "base64url.bearer.authorization.k8s.io."


def is_websocket(request: Request) -> bool:
    """Whether the request asks to go on as a WebSocket."""
    return request.header(b"upgrade").lower() == "websocket" and bool(_UPGRADES.match(request.header(b"connection")))


def websocket_protocols(request: Request) -> list[str]:
    """All subprotocols that are asked for, tokens among them."""
    given = request.header(b"sec-websocket-protocol")
    return [name.strip() for name in given.split(",")] if given else []


def is_token(protocol: str) -> bool:
    """Whether a subprotocol is none, but a token."""
    return protocol.startswith(_PREFIX)


def websocket_token(request: Request) -> str:
    """The token among the subprotocols of a WebSocket, "" when there is none or the request is for none.

    Raises InvalidToken for one that is malformed, for several, and for one without another subprotocol beside it,
    which is what the server says that it speaks.
    """
    if not is_websocket(request):
        return ""
    asked = websocket_protocols(request)
    tokens = [name for name in asked if is_token(name)]
    if not tokens:
        return ""
    if len(tokens) > 1:
        raise InvalidToken("multiple base64.bearer.authorization tokens specified")
    token = _decode(tokens[0].removeprefix(_PREFIX))
    if token and len(asked) == 1:
        raise InvalidToken("missing additional subprotocol")
    return token


def _decode(encoded: str) -> str:
    try:
        padded = encoded + "=" * (-len(encoded) % 4)
        if "=" in encoded or len(encoded) % 4 == 1:
            raise ValueError
        return base64.b64decode(padded, altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        raise InvalidToken("invalid base64.bearer.authorization token encoding") from None
