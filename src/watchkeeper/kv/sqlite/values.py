"""The values that were written or read last, in memory, so that reading them needs no thread."""

from __future__ import annotations

from collections import OrderedDict

LIMIT_BYTES = 8 * 1024 * 1024
"""What is kept at most: keys, values, and what Python needs for each."""

LONGEST_VALUE = LIMIT_BYTES // 8
"""A longer value is not kept: it would push out too many others."""

_OVERHEAD = 256


class RecentValues:
    """A bounded map from keys to a value and the revision that wrote it. Whoever asks knows which revision is current.

    So nothing that is kept here can be wrong, only forgotten.
    """

    __slots__ = ("_limit", "_size", "_values")

    def __init__(self, limit: int = LIMIT_BYTES) -> None:
        self._limit = limit
        self._size = 0
        self._values: OrderedDict[bytes, tuple[int, bytes]] = OrderedDict()

    def __repr__(self) -> str:
        return f"<RecentValues: {len(self._values)} keys, {self._size} of {self._limit} bytes>"

    def find(self, key: bytes, revision: int) -> bytes | None:
        """What `revision` wrote to `key`, if that is kept."""
        found = self._values.get(key)
        if found is None or found[0] != revision:
            return None
        self._values.move_to_end(key)
        return found[1]

    def keep(self, key: bytes, revision: int, value: bytes) -> None:
        """Keep what `revision` wrote, in place of anything older; forget what was used longest ago."""
        values = self._values
        old = values.get(key)
        if old is not None:
            if old[0] > revision:
                return
            self.forget(key)
        if len(value) > LONGEST_VALUE:
            return
        values[key] = (revision, value)
        self._size += _cost(key, value)
        while self._size > self._limit:
            gone, (_, its_value) = values.popitem(last=False)
            self._size -= _cost(gone, its_value)

    def forget(self, key: bytes) -> None:
        """Keep nothing of `key`."""
        found = self._values.pop(key, None)
        if found is not None:
            self._size -= _cost(key, found[1])


def _cost(key: bytes, value: bytes) -> int:
    return len(key) + len(value) + _OVERHEAD
