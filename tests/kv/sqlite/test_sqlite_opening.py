"""What is found in the file decides whether the store opens, and what it says otherwise."""

import asyncio
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from watchkeeper.kv.errors import Corrupt, Incompatible, InUse, KVError, Unavailable
from watchkeeper.kv.sqlite import SQLiteKV
from watchkeeper.kv.sqlite.schema import MIGRATIONS, connect, migrate


def opened(path: Path) -> None:
    """Open the store and close it again."""

    async def run() -> None:
        await SQLiteKV.open(path).close()

    asyncio.run(run())


def filled(path: Path, count: int = 100) -> None:
    """Make a store with `count` keys."""

    async def run() -> None:
        kv = SQLiteKV.open(path, synchronous="OFF")
        await asyncio.gather(*(kv.optimistic_put(b"/k%04d" % n, os.urandom(3000), 0) for n in range(count)))
        await kv.close()

    asyncio.run(run())


def test_a_new_store_is_one_file_that_only_its_owner_reads(tmp_path: Path) -> None:
    filled(tmp_path / "store.db", 3)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["store.db", "store.db-lock"]
    for path in tmp_path.iterdir():
        assert path.stat().st_mode & 0o777 == 0o600


def test_a_new_store_opens_fast(tmp_path: Path) -> None:
    opened(tmp_path / "warm-up.db")

    async def run() -> float:
        start = time.perf_counter()
        kv = SQLiteKV.open(tmp_path / "store.db")
        took = time.perf_counter() - start
        await kv.close()
        return took

    assert asyncio.run(run()) < 0.2  # 12 ms on a quiet machine


def test_the_folder_must_exist(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"missing/store\.db.*No such file"):
        SQLiteKV.open(tmp_path / "missing" / "store.db")


def test_a_second_store_on_the_file_is_refused_naming_the_owner(tmp_path: Path) -> None:
    async def run() -> None:
        kv = SQLiteKV.open(tmp_path / "store.db")
        with pytest.raises(InUse, match=f"in use by process {os.getpid()}"):
            SQLiteKV.open(tmp_path / "store.db")
        await kv.optimistic_put(b"/k", b"v", 0)
        await kv.close()

    asyncio.run(run())
    opened(tmp_path / "store.db")


def test_another_process_is_refused_in_one_line_and_may_have_it_later(tmp_path: Path) -> None:
    code = (
        "import sys; from watchkeeper.kv.sqlite import SQLiteKV; from watchkeeper.kv.errors import KVError\n"
        "try: SQLiteKV.open(sys.argv[1])\n"
        "except KVError as error: sys.exit(f'{type(error).__name__}: {error}')"
    )

    def other() -> str:
        arguments = [sys.executable, "-c", code, str(tmp_path / "store.db")]
        return subprocess.run(arguments, capture_output=True, text=True, check=False).stderr

    async def run() -> None:
        kv = SQLiteKV.open(tmp_path / "store.db")
        refused = await asyncio.to_thread(other)
        assert refused.startswith("InUse: ") and f"process {os.getpid()}" in refused and refused.count("\n") == 1
        await kv.close()

    asyncio.run(run())
    assert other() == ""


def test_a_file_of_another_kind_is_refused_and_left_alone(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_bytes(b"not a database at all\n" * 500)
    with pytest.raises(Corrupt, match=r"notes\.txt is damaged"):
        SQLiteKV.open(text)
    assert text.read_bytes() == b"not a database at all\n" * 500
    other = tmp_path / "other.db"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE bookmarks (url TEXT)")
    connection.commit()
    connection.close()
    with pytest.raises(Incompatible, match="not a watchkeeper store"):
        SQLiteKV.open(other)
    connection = sqlite3.connect(other)
    assert connection.execute("SELECT name FROM sqlite_schema").fetchall() == [("bookmarks",)]


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    filled(path, 1)
    connection = connect(path)
    connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    connection.close()
    with pytest.raises(Incompatible, match=f"schema version {len(MIGRATIONS) + 1}"):
        SQLiteKV.open(path)


def test_an_older_schema_is_migrated_in_one_transaction(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    filled(path, 5)

    def add_column(connection: sqlite3.Connection) -> None:
        connection.execute("ALTER TABLE lease ADD COLUMN note TEXT")

    def fail(connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM log")
        raise RuntimeError("half-way")

    connection = connect(path)
    with pytest.raises(RuntimeError, match="half-way"):
        migrate(connection, (*MIGRATIONS, add_column, fail))
    assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
    assert connection.execute("SELECT count(*) FROM log").fetchone() == (5,)
    migrate(connection, (*MIGRATIONS, add_column))
    assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS) + 1,)
    assert "note" in [row[1] for row in connection.execute("PRAGMA table_info(lease)")]
    connection.close()


def test_damage_is_found_when_opening_after_an_unclean_stop(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    code = (
        "import asyncio, os, sys; from watchkeeper.kv.sqlite import SQLiteKV\n"
        "async def main():\n"
        "    kv = SQLiteKV.open(sys.argv[1])\n"
        "    await kv.optimistic_put(b'/more', b'v', 0)\n"
        "    os.kill(os.getpid(), 9)\n"
        "asyncio.run(main())"
    )
    filled(path)
    subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert path.with_name("store.db-wal").stat().st_size > 0
    with path.open("r+b") as file:
        for page in range(8, 60, 5):
            file.seek(page * 4096)
            file.write(b"\xff" * 512)
    with pytest.raises(Corrupt, match=r"store\.db is damaged .*restore a backup"):
        SQLiteKV.open(path)


def test_damage_found_while_serving_is_told_and_not_read_around(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    filled(path, 300)
    with path.open("r+b") as file:
        for page in range(6, 250, 3):
            file.seek(page * 4096)
            file.write(b"\xff" * 4096)

    async def run() -> None:
        try:
            kv = SQLiteKV.open(path)
        except Corrupt:
            return
        with pytest.raises(Corrupt, match="is damaged"):
            await kv.range(b"/", b"0")
        await kv.close()

    asyncio.run(run())


def test_a_truncated_file_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    filled(path)
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)

    async def run() -> None:
        kv = SQLiteKV.open(path)
        try:
            await kv.range(b"/", b"0")
        finally:
            await kv.close()

    with pytest.raises(Corrupt):
        asyncio.run(run())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_one_may_not_write_is_told(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    filled(path, 1)
    path.chmod(0o400)
    with pytest.raises(KVError):
        SQLiteKV.open(path)
