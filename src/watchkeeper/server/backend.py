"""Opens the key-value store that `--storage` names."""

from __future__ import annotations

from pathlib import Path

from watchkeeper.kv.errors import KVError
from watchkeeper.kv.interface import KV
from watchkeeper.server.errors import StartupError
from watchkeeper.server.files import make_private_dir
from watchkeeper.server.options import ServeOptions


async def open_storage(options: ServeOptions) -> KV:
    """The store, ready for use. Raises StartupError with one line that says what is wrong."""
    url = options.storage_url
    kind, found, rest = url.partition(":")
    if kind == "memory" and found:
        from watchkeeper.kv.memory import MemoryKV

        return MemoryKV()
    if kind == "sqlite" and rest:
        return await _open_sqlite(Path(rest))
    if kind in ("etcd", "etcds", "http", "https") and rest.startswith("//"):
        return await _open_etcd(kind, rest[2:], options)
    raise StartupError(f"--storage {url!r} is none of sqlite:PATH, memory:, etcd://HOST:PORT,…")


async def _open_sqlite(path: Path) -> KV:
    # Opening blocks for as long as it takes, but nothing else runs yet.
    from watchkeeper.kv.sqlite.store import SQLiteKV

    make_private_dir(path.parent)
    try:
        return SQLiteKV.open(path)
    except KVError as error:
        raise StartupError(str(error)) from error


async def _open_etcd(kind: str, hosts: str, options: ServeOptions) -> KV:
    raise StartupError("etcd storage is not available in this version; use sqlite: or memory:")
