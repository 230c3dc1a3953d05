"""A revisioned key-value store in one SQLite file.

    optimistic_put ─▶ index (decide) ─▶ committer (group) ─▶ writer thread: one transaction ─▶ hub: publish ─▶ watches
                                                                                                └─▶ the put returns
    range, get ────▶ reader threads ─▶ held until what they saw is published ─▶ the read returns
    get ───────────▶ index (which revision?) ─▶ values that were used lately ─▶ the read returns, no thread involved
                                              └▶ else read from the file: here while all of it is in the system's
                                                 memory, in a thread otherwise

The revision that is published is all that anybody outside the writer thread can know of.
"""

from watchkeeper.kv.sqlite.store import SQLiteKV

__all__ = ["SQLiteKV"]
