"""What this server wrote itself need not be decoded again when it comes back as a watch event."""

from __future__ import annotations

from watchkeeper.storage.interface import Attributes

_MAX_EXPECTED = 10_000


class OwnWrites:
    """For each key, the value last written and what was known about it at the time.

    An entry is only a hint: it counts if the event has exactly the same bytes, and its loss costs a decoding.
    """

    __slots__ = ("_expected",)

    def __init__(self) -> None:
        self._expected: dict[bytes, tuple[bytes, bytes, Attributes]] = {}

    def __len__(self) -> int:
        return len(self._expected)

    def expect(self, key: bytes, value: bytes, body: bytes, attributes: Attributes) -> None:
        """`value`, the stored form of the encoding `body` (without head), is about to be written."""
        if len(self._expected) >= _MAX_EXPECTED:
            self._expected.clear()
        self._expected[key] = (value, body, attributes)

    def take(self, key: bytes, value: bytes) -> tuple[bytes, Attributes] | None:
        """(encoding, attributes) of a value that has come back; each is handed out once."""
        found = self._expected.pop(key, None)
        return (found[1], found[2]) if found is not None and found[0] == value else None

    def forget(self, key: bytes) -> None:
        """The write did not take place."""
        self._expected.pop(key, None)

    def clear(self) -> None:
        """Nobody is going to ask for what is expected so far."""
        self._expected.clear()
