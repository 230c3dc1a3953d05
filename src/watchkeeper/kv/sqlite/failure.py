"""SQLite's errors in the words of `kv.errors`."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from watchkeeper.kv.errors import Corrupt, KVError, Unavailable

_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})

_REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full; free some space",
    sqlite3.SQLITE_IOERR: "reading or writing failed; see the system's log for what is wrong with the disk",
    sqlite3.SQLITE_BUSY: "another program holds a lock on it",
    sqlite3.SQLITE_LOCKED: "another program holds a lock on it",
    sqlite3.SQLITE_READONLY: "it may not be written",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; does its folder exist, and may this user write there?",
    sqlite3.SQLITE_PERM: "this user may not open it",
    sqlite3.SQLITE_NOMEM: "memory ran out",
}


def translate(error: BaseException, path: Path) -> KVError:
    """What to raise instead of `error`; a KVError stays as it is."""
    if isinstance(error, KVError):
        return error
    code = getattr(error, "sqlite_errorcode", None)
    primary = code & 0xFF if isinstance(code, int) else None
    if primary in _DAMAGED:
        return damaged(path, str(error))
    reason = _REASONS.get(primary) if primary is not None else None
    return Unavailable(f"{path}: {reason} ({error})" if reason else f"{path}: {error}")


def damaged(path: Path, detail: str) -> Corrupt:
    """The file cannot be trusted any more."""
    return Corrupt(
        f"{path} is damaged ({detail}): restore a backup, or save what is readable with `sqlite3 {path} .recover`"
    )
