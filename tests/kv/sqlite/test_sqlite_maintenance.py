"""What an operator can do with the file."""

import asyncio
import os
import sqlite3
from pathlib import Path

import pytest

from watchkeeper.kv.errors import Compacted, Corrupt, FutureRevision, Incompatible, InUse, Unavailable
from watchkeeper.kv.sqlite import SQLiteKV, maintenance
from watchkeeper.testing.kv_suite.case import delete, put


def make(path: Path) -> int:
    """A store with 50 keys, each written four times, one of them deleted; returns its revision."""

    async def run() -> int:
        kv = SQLiteKV.open(path, synchronous="OFF")
        revisions = [0] * 50
        for _ in range(4):
            for number in range(50):
                revisions[number] = await put(kv, b"/k%02d" % number, os.urandom(5000), revisions[number])
        await kv.grant_lease(60)
        last = await delete(kv, b"/k00", revisions[0])
        await kv.close()
        return last

    return asyncio.run(run())


def test_info_counts_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    revision = make(path)
    found = maintenance.info(path)
    assert (found.revision, found.compact_revision, found.keys, found.history_rows, found.leases) == (
        revision,
        0,
        49,
        152,
        1,
    )
    assert found.size == path.stat().st_size >= found.size_in_use > 201 * 5000
    assert found.wal_size == 0 and found.schema_version >= 1


def test_a_sound_store_has_nothing_to_complain_about(tmp_path: Path) -> None:
    make(tmp_path / "s.db")
    assert maintenance.check(tmp_path / "s.db") == []


def test_check_finds_what_sqlite_alone_would_not(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    make(path)
    connection = sqlite3.connect(path)
    connection.execute("DELETE FROM log WHERE revision = (SELECT revision FROM current WHERE key = x'2f6b3031')")
    connection.execute("UPDATE current SET version = 99 WHERE key = x'2f6b3032'")
    connection.commit()
    connection.close()
    problems = maintenance.check(path)
    assert any("newest row is missing" in problem for problem in problems)
    assert any("disagrees" in problem for problem in problems)


def test_check_finds_a_damaged_page(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    make(path)
    with path.open("r+b") as file:
        for page in range(10, 200, 7):
            file.seek(page * 4096)
            file.write(b"\xee" * 4096)
    assert maintenance.check(path) != []


@pytest.mark.parametrize("damage", ["a file cut short", "a row that is gone"])
def test_nothing_is_made_of_a_damaged_file(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "s.db"
    make(path)
    if damage == "a file cut short":
        os.truncate(path, path.stat().st_size - 1000)
    else:
        connection = sqlite3.connect(path)
        connection.execute("DELETE FROM log WHERE revision = (SELECT revision FROM current WHERE key = x'2f6b3031')")
        connection.commit()
        connection.close()
    before = path.read_bytes()
    for job in (
        lambda: maintenance.compact(path),
        lambda: maintenance.vacuum(path),
        lambda: maintenance.backup(path, tmp_path / "copy.db"),
    ):
        with pytest.raises(Corrupt, match=r"s\.db is damaged .*restore a backup"):
            job()
    assert path.read_bytes() == before
    assert not list(tmp_path.glob("copy*"))


def test_compacting_and_vacuuming_shrink_the_file_and_keep_what_is_current(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    revision = make(path)
    before = maintenance.info(path)
    assert maintenance.compact(path) == revision
    with pytest.raises(Compacted):
        maintenance.compact(path, revision)
    with pytest.raises(FutureRevision):
        maintenance.compact(path, revision + 1)
    sizes = maintenance.vacuum(path)
    after = maintenance.info(path)
    assert after.keys == before.keys == 49 and after.revision == revision
    assert after.history_rows <= 2  # the newest row stays, with what it replaced
    assert sizes[1] < sizes[0] and after.size < before.size / 2
    assert maintenance.check(path) == []

    async def read() -> int:
        kv = SQLiteKV.open(path)
        count = (await kv.range(b"/", b"0", revision=revision)).count
        await kv.close()
        return count

    assert asyncio.run(read()) == 49


def test_what_changes_the_file_needs_it_alone(tmp_path: Path) -> None:
    path = tmp_path / "s.db"

    async def run() -> None:
        kv = SQLiteKV.open(path)
        await put(kv, b"/k")
        for operation in (maintenance.compact, maintenance.vacuum):
            with pytest.raises(InUse):
                operation(path)
        assert maintenance.check(path) == []
        assert maintenance.info(path).keys == 1
        await kv.close()

    asyncio.run(run())


def test_a_backup_taken_while_serving_is_one_state_of_the_store(tmp_path: Path) -> None:
    async def run() -> None:
        kv = SQLiteKV.open(tmp_path / "s.db", synchronous="OFF")
        done = False

        async def write() -> None:
            number = 0
            while not done:
                await asyncio.gather(*(kv.optimistic_put(b"/k%06d-%d" % (number, n), b"v" * 500, 0) for n in range(8)))
                number += 1

        writer = asyncio.ensure_future(write())
        await asyncio.sleep(0.05)
        acknowledged = await kv.current_revision()
        await kv.backup(tmp_path / "copy.db")
        done = True
        await writer
        with pytest.raises(Unavailable, match="exists"):
            await kv.backup(tmp_path / "copy.db")
        await kv.close()
        copy = SQLiteKV.open(tmp_path / "copy.db")
        revision = await copy.current_revision()
        assert acknowledged <= revision
        found = (await copy.range(b"/", b"0")).kvs
        assert sorted(kv_.mod_revision for kv_ in found) == list(range(2, revision + 1))
        assert await put(copy, b"/new") == revision + 1
        await copy.close()

    asyncio.run(run())
    assert maintenance.check(tmp_path / "copy.db") == []
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    assert not list(tmp_path.glob("*partial*"))


def test_a_file_that_is_no_store_is_refused(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "other.db")
    connection.execute("CREATE TABLE t (x)")
    connection.close()
    with pytest.raises(Incompatible):
        maintenance.info(tmp_path / "other.db")
    with pytest.raises(Incompatible, match=r"other\.db: it is an SQLite database"):
        maintenance.compact(tmp_path / "other.db")
    with pytest.raises(Unavailable, match="it is a directory"):
        maintenance.info(tmp_path)
    with pytest.raises(Unavailable, match="no such file"):
        maintenance.check(tmp_path / "missing.db")
    with pytest.raises(Unavailable, match="no such file"):
        maintenance.compact(tmp_path / "missing.db")
    assert not (tmp_path / "missing.db").exists()


@pytest.mark.parametrize("name", [".", "/"])
def test_a_directory_is_told(name: str) -> None:
    for job in (maintenance.info, maintenance.check, maintenance.compact, maintenance.vacuum):
        with pytest.raises(Unavailable, match="it is a directory"):
            job(Path(name))


def change_value(path: Path, key: bytes) -> None:
    """Flip a bit of the newest value of a key, where SQLite and its indexes cannot notice."""
    connection = sqlite3.connect(path)
    [revision] = connection.execute("SELECT revision FROM current WHERE key = ?", (key,)).fetchone()
    [value] = connection.execute("SELECT value FROM log WHERE revision = ?", (revision,)).fetchone()
    changed = bytes([value[0] ^ 4]) + value[1:]
    connection.execute("UPDATE log SET value = ? WHERE revision = ?", (changed, revision))
    connection.commit()
    connection.close()


def test_check_finds_a_flipped_bit_of_a_value(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    make(path)
    change_value(path, b"/k07")
    assert maintenance.check(path) == ["the value of /k07 at revision 159 has changed"]
    with pytest.raises(Corrupt, match="the value of /k07"):
        maintenance.backup(path, tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()
    maintenance.compact(path)
    maintenance.vacuum(path)
    assert maintenance.check(path) == ["the value of /k07 at revision 159 has changed"]
    for number in range(10, 40):
        change_value(path, b"/k%02d" % number)
    found = maintenance.check(path)
    assert len(found) == 21
    assert found[-1] == "11 more values have changed"


def test_values_of_an_older_file_get_their_checksums_by_and_by(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    make(path)
    connection = sqlite3.connect(path)
    connection.execute("ALTER TABLE log DROP COLUMN checksum")
    connection.execute("PRAGMA user_version = 1")
    connection.close()
    change_value(path, b"/k07")
    assert maintenance.check(path) == []

    async def write() -> None:
        kv = SQLiteKV.open(path, synchronous="OFF")
        await put(kv, b"/new", b"1", 0)
        assert (await kv.get(b"/k08")).kv is not None
        await kv.close()

    asyncio.run(write())
    assert maintenance.info(path).schema_version == 2
    for key, found in ((b"/k09", []), (b"/new", ["the value of /new at revision 203 has changed"])):
        change_value(path, key)
        assert maintenance.check(path) == found
    change_value(path, b"/new")
    maintenance.vacuum(path)
    change_value(path, b"/k09")
    assert maintenance.check(path) == ["the value of /k09 at revision 161 has changed"]
