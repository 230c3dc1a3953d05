"""What lies in the SQLite file of a server: put there, or looked at, past the server."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Mapping
from pathlib import Path

from watchkeeper.kv.sqlite.store import SQLiteKV


def put(path: Path, values: Mapping[str, bytes]) -> None:
    """Put values into the file of a server that does not run."""

    async def run() -> None:
        kv = SQLiteKV.open(path)
        for key, value in values.items():
            found = (await kv.get(key.encode())).kv
            await kv.optimistic_put(key.encode(), value, found.mod_revision if found is not None else 0)
        await kv.close()

    asyncio.run(run())


def value(path: Path, key: str) -> bytes:
    """What is stored under a key."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        [(found,)] = database.execute(
            "SELECT log.value FROM log JOIN current USING (revision) WHERE current.key = ?", (key.encode(),)
        ).fetchall()
    return bytes(found)
