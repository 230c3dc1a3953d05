"""NaCl's secretbox: XSalsa20 and Poly1305."""

from __future__ import annotations

import os

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.poly1305 import Poly1305

from watchkeeper.storage.value.interface import TransformError
from watchkeeper.storage.value.xsalsa20 import key_stream

_NONCE = 24
_TAG = 16
_MAC_KEY = 32


class Secretbox:
    """A random nonce of 24 bytes, the tag, the ciphertext. Authenticates the value, not the key of the object."""

    needs_keys = False

    def __init__(self, key: bytes) -> None:
        """`key` has 32 bytes."""
        self._key = key

    def __repr__(self) -> str:
        return "<Secretbox>"

    def from_storage(self, value: bytes, context: bytes) -> tuple[bytes, bool]:
        """Authenticate and decrypt."""
        if len(value) < _NONCE + _TAG:
            raise TransformError("the stored data was shorter than the required size")
        nonce, tag, sealed = value[:_NONCE], value[_NONCE : _NONCE + _TAG], value[_NONCE + _TAG :]
        stream = key_stream(self._key, nonce, _MAC_KEY + len(sealed))
        try:
            Poly1305.verify_tag(stream[:_MAC_KEY], sealed, tag)
        except InvalidSignature:
            raise TransformError("the key is wrong, or the value was changed") from None
        return _xor(sealed, stream[_MAC_KEY:]), False

    def to_storage(self, value: bytes, context: bytes) -> bytes:
        """Encrypt."""
        nonce = os.urandom(_NONCE)
        stream = key_stream(self._key, nonce, _MAC_KEY + len(value))
        sealed = _xor(value, stream[_MAC_KEY:])
        return nonce + Poly1305.generate_tag(stream[:_MAC_KEY], sealed) + sealed


def _xor(one: bytes, other: bytes) -> bytes:
    return (int.from_bytes(one, "little") ^ int.from_bytes(other, "little")).to_bytes(len(one), "little")
