"""Objects in other forms than the stored one, remembered: another version's JSON, metadata alone."""

from __future__ import annotations

from collections.abc import Hashable

MAX_BYTES = 64 << 20
"""Of what is remembered and what it was made of, together; the latter is mostly held by a cache anyway."""
_ENTRY_BYTES = 256

_Key = tuple[bytes, Hashable]


class Encodings:
    """Bounded. What was not asked for while half of the bound was filled anew is forgotten.

    An object is known by its very bytes, version and all, so nothing is ever out of date, and what a dry run has made
    is not taken for what is stored.
    """

    __slots__ = ("_old", "_recent", "_size", "max_bytes")

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self.max_bytes = max_bytes
        self._recent: dict[_Key, bytes] = {}
        self._old: dict[_Key, bytes] = {}
        self._size = 0  # of `_recent`; `_old` was as large when it was made

    def __len__(self) -> int:
        return len(self._recent) + len(self._old)

    def __repr__(self) -> str:
        return f"<Encodings of {len(self)} objects>"

    def get(self, stored: bytes, form: Hashable) -> bytes | None:
        """The form of an object that is stored as `stored`, if it is remembered."""
        key = (stored, form)
        found = self._recent.get(key)
        if found is None:
            found = self._old.pop(key, None)
            if found is not None:
                self.put(stored, form, found)
        return found

    def put(self, stored: bytes, form: Hashable, encoded: bytes) -> None:
        """Remember one."""
        size = len(stored) + len(encoded) + _ENTRY_BYTES
        if self._size + size > self.max_bytes // 2:
            self._old, self._recent, self._size = self._recent, {}, 0
            if size > self.max_bytes // 2:
                return
        self._recent[stored, form] = encoded
        self._size += size
