"""How requests for a WebSocket are answered."""

from __future__ import annotations

import base64
import binascii
import hashlib

from watchkeeper.authn.websocket_token import is_token, is_websocket, websocket_protocols
from watchkeeper.endpoints.response import Header, Response, text_response
from watchkeeper.request.request import Request

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_VERSION = "13"

__all__ = ["handshake", "is_websocket", "spoken_protocols"]


def handshake(request: Request, *, spoken: str = "") -> tuple[Header, ...] | Response:
    """The headers of the 101 that accepts a WebSocket, or the refusal.

    `spoken` is one of the subprotocols that are asked for. Without it at most one can be asked for besides the one
    with a token, and whatever it is, it is spoken.
    """
    if request.method != "GET":
        return text_response(405, "bad method\n")
    if request.header(b"sec-websocket-version") != _VERSION:
        refusal = text_response(400, "missing or bad WebSocket Version\n")
        refusal.headers = (*refusal.headers, (b"sec-websocket-version", _VERSION.encode()))
        return refusal
    key = request.header(b"sec-websocket-key")
    if not _is_key(key):
        return text_response(400, "mismatch challenge/response\n")
    protocols = [spoken] if spoken else spoken_protocols(request)
    if len(protocols) > 1:
        return text_response(400, "missing or bad WebSocket-Protocol\n")
    digest = hashlib.sha1(key.encode() + _GUID, usedforsecurity=False).digest()
    accepted: tuple[Header, ...] = (
        (b"upgrade", b"websocket"),
        (b"connection", b"Upgrade"),
        (b"sec-websocket-accept", base64.b64encode(digest)),
    )
    return (*accepted, (b"sec-websocket-protocol", protocols[0].encode())) if protocols else accepted


def _is_key(key: str) -> bool:
    try:
        return len(base64.b64decode(key, validate=True)) == 16
    except binascii.Error:
        return False


def spoken_protocols(request: Request) -> list[str]:
    """The subprotocols that are asked for, without the one that carries a token."""
    return [name for name in websocket_protocols(request) if not is_token(name)]
