"""What exists now, in memory: enough to decide every optimistic write without asking the database."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from typing import NamedTuple


class Entry(NamedTuple):
    """A key that exists: everything of its KeyValue but key and value."""

    mod_revision: int
    create_revision: int
    version: int
    lease: int


@dataclass(slots=True)
class Lease:
    """A lease, when it ends on the store's monotonic clock, and the keys that go with it."""

    id: int
    ttl: int
    deadline: float
    keys: set[bytes] = field(default_factory=set)
    ending: bool = False


class CurrentIndex:
    """Keys and leases as the last accepted write leaves them, which may be ahead of what is committed.

    Costs about 300 bytes for each key. Whoever takes a write back must restore the entry that `replace` returned.
    """

    __slots__ = ("entries", "leases")

    def __init__(self) -> None:
        self.entries: dict[bytes, Entry] = {}
        self.leases: dict[int, Lease] = {}

    def load(self, connection: sqlite3.Connection, *, monotonic: float, now: float) -> None:
        """Read everything from the database. `monotonic` and `now` are the present on both clocks, in seconds.

        A lease lives for what was left of it, but never longer than its ttl even if the wall clock was set back.
        """
        for lease, ttl, expires in connection.execute("SELECT id, ttl, expires FROM lease"):
            self.leases[lease] = Lease(lease, ttl, monotonic + min(max(expires - now, 0.0), ttl))
        rows = connection.execute("SELECT key, revision, create_revision, version, lease FROM current").fetchall()
        self.entries = {key: Entry(*rest) for key, *rest in rows}
        for key, entry in self.entries.items():
            if entry.lease in self.leases:
                self.leases[entry.lease].keys.add(key)

    def replace(self, key: bytes, entry: Entry | None) -> Entry | None:
        """Make `entry` what `key` is now (None: nothing); return what it was."""
        entries = self.entries
        old = entries.get(key)
        if entry is None:
            entries.pop(key, None)
        else:
            entries[key] = entry
            if entry.lease and entry.lease in self.leases:
                self.leases[entry.lease].keys.add(key)
        if old is not None and old.lease and (entry is None or entry.lease != old.lease) and old.lease in self.leases:
            self.leases[old.lease].keys.discard(key)
        return old
