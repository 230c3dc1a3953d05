"""What can go wrong in a key-value store. A closed tree: every backend translates its own errors into these."""

from __future__ import annotations

from typing import Self


class KVError(Exception):
    """Any failure of a key-value store.

    `said`: of a refusal that the store will repeat, its own words, fit to be told to clients; else "".
    """

    said = ""

    def saying(self, words: str) -> Self:
        """The same error, with the store's own words."""
        self.said = words
        return self


class Compacted(KVError):
    """The revision asked for has been compacted away.

    `compact_revision` is the oldest revision still readable, 0 when the backend does not say.
    """

    def __init__(self, compact_revision: int = 0) -> None:
        super().__init__(f"required revision has been compacted (oldest readable: {compact_revision or 'unknown'})")
        self.compact_revision = compact_revision


class FutureRevision(KVError):
    """The revision asked for does not exist yet."""

    def __init__(self, current_revision: int = 0) -> None:
        super().__init__(f"required revision is a future revision (current: {current_revision or 'unknown'})")
        self.current_revision = current_revision


class Unavailable(KVError):
    """The store cannot be reached or has no leader. The operation was not, or may not have been, carried out."""


class Timeout(Unavailable):
    """The deadline passed. A write may or may not have taken effect."""


class AccessDenied(Unavailable):
    """The store does not let this client in, or not do that. The message says what to correct."""


class ReadOnly(KVError):
    """The store was opened for reading only."""


class LeaseNotFound(KVError):
    """The lease named does not exist or has expired."""


class ValueTooLarge(KVError):
    """The value is over the backend's limit. Nothing was written. `said` is "" where etcd's usual words will do."""


class Corrupt(KVError):
    """What is stored cannot be read back as it was written. The message says what to do."""


class Closed(KVError):
    """The store was closed by its owner."""


class InUse(KVError):
    """Another process has the store. The message says which."""


class Incompatible(KVError):
    """What was found there is not a store, or not one that this program can use. The message says what to do."""
