"""From stored values to objects: decryption, decoding, and one kind of error for whatever fails on the way."""

from __future__ import annotations

from watchkeeper.kv.interface import KeyValue
from watchkeeper.storage.codec import JsonCodec
from watchkeeper.storage.errors import CorruptObject, Unreachable
from watchkeeper.storage.interface import StoredObject
from watchkeeper.storage.value.interface import (
    KeyNeeded,
    KeyUnavailable,
    Transformer,
    TransformError,
    with_keys,
)


class Decoder:
    """Reads values of one resource. Everything is synchronous; KeyNeeded says that a key has to be fetched first."""

    def __init__(self, codec: JsonCodec, transformer: Transformer | None) -> None:
        self.codec = codec
        self._transformer = transformer
        self.needs_keys = transformer is not None and transformer.needs_keys
        """Whether decoding is to be expected to raise KeyNeeded."""

    def plain(self, kv: KeyValue) -> tuple[bytes, bool]:
        """(encoded object, whether its stored form is stale). Raises CorruptObject, KeyNeeded."""
        if self._transformer is None:
            return kv.value, False
        try:
            return self._transformer.from_storage(kv.value, kv.key)
        except TransformError as e:
            raise _untransformable(kv, e) from e

    def decode(self, kv: KeyValue) -> StoredObject:
        """The object, with its attributes worked out: so it is known to be sound. Raises CorruptObject, KeyNeeded."""
        return self.wrap(kv, self.plain(kv)[0])

    def wrap(self, kv: KeyValue, value: bytes) -> StoredObject:
        """The object of a value that `plain` returned."""
        key = kv.key.decode(errors="surrogateescape")
        stored = self.codec.stored(key, value, kv.mod_revision)
        try:
            _ = stored.attributes
        except (CorruptObject, KeyNeeded):
            raise
        except Exception as e:
            cause = f"what is stored is not a sound object: {e}"
            raise CorruptObject(cause, key, revision=kv.mod_revision) from e
        return stored

    async def read(self, kv: KeyValue) -> StoredObject:
        """`decode`, with all keys that it takes. Raises CorruptObject, Unreachable."""
        return self.wrap(kv, (await self.read_plain(kv))[0])

    async def read_plain(self, kv: KeyValue) -> tuple[bytes, bool]:
        """`plain`, with all keys that it takes. Raises CorruptObject, Unreachable."""
        try:
            return self.plain(kv)
        except KeyNeeded:
            pass
        try:
            return await with_keys(lambda: self.plain(kv))
        except KeyUnavailable as e:
            raise Unreachable(str(e), kv.key.decode(errors="replace")) from e
        except TransformError as e:
            raise _untransformable(kv, e) from e


def _untransformable(kv: KeyValue, error: TransformError) -> CorruptObject:
    key = kv.key.decode(errors="replace")
    return CorruptObject(str(error), key, decrypted=False)
