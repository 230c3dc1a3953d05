"""What this server wrote itself need not be decoded again when it comes back as a watch event."""

from __future__ import annotations

from watchkeeper.kv.interface import KeyValue
from watchkeeper.storage.codec import JsonCodec
from watchkeeper.storage.interface import Attributes, StoredObject

_MAX_EXPECTED = 10_000


class OwnWrite:
    """A value on its way, and what is known about it."""

    __slots__ = ("attributes", "body", "settled", "stored", "value")

    def __init__(self, value: bytes, body: bytes, attributes: Attributes, settled: bool) -> None:
        self.value = value
        self.body = body
        self.attributes = attributes
        self.settled = settled
        self.stored: StoredObject | None = None
        """The object that it has become, once the writer or the watch has heard of it."""


class OwnWrites:
    """For each key, the value last written and what was known about it at the time.

    An entry is only a hint: it counts if the event has exactly the same bytes, and its loss costs a decoding. The event
    may come before or after the writer learns that the write succeeded.
    """

    __slots__ = ("_codec", "_expected")

    def __init__(self, codec: JsonCodec) -> None:
        self._codec = codec
        self._expected: dict[bytes, OwnWrite] = {}

    def __len__(self) -> int:
        return len(self._expected)

    def __repr__(self) -> str:
        return f"<OwnWrites expecting {len(self._expected)}>"

    def expect(
        self, key: bytes, value: bytes, body: bytes, attributes: Attributes, *, settled: bool = False
    ) -> OwnWrite:
        """A `value` is about to be written that is read as the encoding `body` (without head)."""
        if len(self._expected) >= _MAX_EXPECTED:
            self._expected.clear()
        write = self._expected[key] = OwnWrite(value, body, attributes, settled)
        return write

    def succeeded(self, key: str, write: OwnWrite, revision: int) -> StoredObject:
        """The write took place at a revision; returns what it has become."""
        stored = write.stored
        if stored is None or stored.resource_version != revision:
            stored = self._become(key, write, revision)
        return stored

    def failed(self, key: bytes) -> None:
        """The write did not take place."""
        self._expected.pop(key, None)

    def take(self, kv: KeyValue) -> StoredObject | None:
        """The object of a value that has come back; each is handed out once."""
        write = self._expected.pop(kv.key, None)
        if write is None or write.value != kv.value:
            return None
        stored = write.stored
        if stored is None or stored.resource_version != kv.mod_revision:
            stored = self._become(kv.key.decode(), write, kv.mod_revision)
        return stored

    def _become(self, key: str, write: OwnWrite, revision: int) -> StoredObject:
        stored = write.stored = self._codec.wrap(key, write.body, revision)
        stored.set_attributes(write.attributes)
        stored.settled = write.settled
        return stored

    def clear(self) -> None:
        """Nobody is going to ask for what is expected so far."""
        self._expected.clear()
