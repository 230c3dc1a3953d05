"""Opens the key-value store that `--storage` names."""

from __future__ import annotations

from pathlib import Path

from watchkeeper.kv.errors import KVError
from watchkeeper.kv.interface import KV
from watchkeeper.server.errors import StartupError
from watchkeeper.server.files import make_private_dir
from watchkeeper.server.options import ServeOptions


def open_storage(options: ServeOptions) -> KV:
    """The store, ready for use. Raises StartupError with one line that says what is wrong.

    Opening blocks for as long as it takes: nothing else runs yet.
    """
    url = options.storage_url
    kind, found, rest = url.partition(":")
    if kind == "memory" and found:
        from watchkeeper.kv.memory import MemoryKV

        return MemoryKV()
    if kind == "sqlite" and rest:
        return _open_sqlite(Path(rest))
    if kind == "etcd" and rest.startswith("//"):
        raise StartupError("etcd is not supported yet as --storage; use sqlite:PATH or memory:")
    raise StartupError(f"--storage {url!r} is none of sqlite:PATH, memory:, etcd://HOST:PORT,…")


def _open_sqlite(path: Path) -> KV:
    from watchkeeper.kv.sqlite.store import SQLiteKV

    make_private_dir(path.parent)
    try:
        return SQLiteKV.open(path)
    except KVError as error:
        raise StartupError(str(error)) from error
