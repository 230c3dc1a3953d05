"""AES: GCM, which also authenticates the key of the object; CBC, which authenticates nothing; GCM with derived keys."""

from __future__ import annotations

import hmac
import os
from collections import OrderedDict

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from watchkeeper.storage.value.interface import TransformError

_NONCE = 12
_TAG = 16
_BLOCK = 16
_TOO_SHORT = "the stored data was shorter than the required size"

INFO_SIZE = 32
"""Random bytes from which a value's own key is derived."""

_MAX_DERIVED = 10_000


class GCM:
    """AES-GCM: a random nonce of 12 bytes, then ciphertext and tag."""

    needs_keys = False

    def __init__(self, key: bytes) -> None:
        """`key` has 16, 24 or 32 bytes."""
        self._gcm = AESGCM(key)

    def __repr__(self) -> str:
        return "<GCM>"

    def from_storage(self, value: bytes, context: bytes) -> tuple[bytes, bool]:
        """Decrypt and authenticate."""
        if len(value) < _NONCE + _TAG:
            raise TransformError(_TOO_SHORT)
        try:
            return self._gcm.decrypt(value[:_NONCE], value[_NONCE:], context), False
        except InvalidTag:
            raise TransformError("message authentication failed: the key is wrong, or the value was changed") from None

    def to_storage(self, value: bytes, context: bytes) -> bytes:
        """Encrypt."""
        nonce = os.urandom(_NONCE)
        return nonce + self._gcm.encrypt(nonce, value, context)


class CBC:
    """AES-CBC with PKCS#7 padding: an initialization vector of 16 bytes, then ciphertext. Authenticates nothing."""

    needs_keys = False

    def __init__(self, key: bytes) -> None:
        """`key` has 16, 24 or 32 bytes."""
        self._algorithm = algorithms.AES(key)

    def __repr__(self) -> str:
        return "<CBC>"

    def from_storage(self, value: bytes, context: bytes) -> tuple[bytes, bool]:
        """Decrypt."""
        if len(value) < _BLOCK:
            raise TransformError(_TOO_SHORT)
        if len(value) % _BLOCK:
            raise TransformError("the stored data is not a multiple of the block size")
        decryptor = Cipher(self._algorithm, modes.CBC(value[:_BLOCK])).decryptor()
        padded = decryptor.update(value[_BLOCK:]) + decryptor.finalize()
        if not padded:
            raise TransformError("invalid PKCS7 data (empty or not padded)")
        count = padded[-1]
        if not 0 < count <= _BLOCK or padded[-count:] != bytes([count]) * count:
            raise TransformError("invalid padding on input")
        return padded[:-count], False

    def to_storage(self, value: bytes, context: bytes) -> bytes:
        """Encrypt."""
        vector = os.urandom(_BLOCK)
        count = _BLOCK - len(value) % _BLOCK
        encryptor = Cipher(self._algorithm, modes.CBC(vector)).encryptor()
        return vector + encryptor.update(value + bytes([count]) * count) + encryptor.finalize()


class DerivedKeyGCM:
    """AES-GCM with a key of its own for each value, derived from a seed and 32 random bytes that precede the value.

    So a seed can be used without end, where a GCM key wears out after some billions of random nonces. The derivation
    is HKDF-Expand with SHA-256, of one block.
    """

    needs_keys = False

    def __init__(self, seed: bytes) -> None:
        """`seed` has at least 32 bytes."""
        if len(seed) < INFO_SIZE:
            raise TransformError(f"invalid seed length {len(seed)} used for key generation")
        self._seed = seed
        self._derived: OrderedDict[bytes, GCM] = OrderedDict()

    def __repr__(self) -> str:
        return "<DerivedKeyGCM>"

    def from_storage(self, value: bytes, context: bytes) -> tuple[bytes, bool]:
        """Decrypt and authenticate."""
        if len(value) < INFO_SIZE:
            raise TransformError(_TOO_SHORT)
        return self._gcm(value[:INFO_SIZE]).from_storage(value[INFO_SIZE:], context)

    def to_storage(self, value: bytes, context: bytes) -> bytes:
        """Encrypt with a new key."""
        info = os.urandom(INFO_SIZE)
        return info + self._gcm(info).to_storage(value, context)

    def _gcm(self, info: bytes) -> GCM:
        found = self._derived.get(info)
        if found is None:
            found = self._derived[info] = GCM(hmac.digest(self._seed, info + b"\x01", "sha256"))
            if len(self._derived) > _MAX_DERIVED:
                self._derived.popitem(last=False)
        return found
