"""When the disk fails: clear errors, nothing acknowledged that is not there, nothing there that is not shown, and after
it a store that goes on."""

import asyncio
import contextlib
import os
import resource
import shutil
import sqlite3
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from watchkeeper.kv.errors import Compacted, LeaseNotFound, Unavailable
from watchkeeper.kv.sqlite import SQLiteKV, committer
from watchkeeper.kv.sqlite.maintenance import check
from watchkeeper.testing.kv_suite.case import delete, eventually, put, summary, take


def with_store(tmp_path: Path, scenario: Callable[[SQLiteKV], Awaitable[None]]) -> None:
    """Run a scenario, then check the file."""

    async def run() -> None:
        kv = SQLiteKV.open(tmp_path / "s.db")
        try:
            await scenario(kv)
        finally:
            await kv.close()

    asyncio.run(run())
    assert check(tmp_path / "s.db") == []


async def pragma(kv: SQLiteKV, text: str) -> None:
    await kv._writer.run(lambda connection: connection.execute(f"PRAGMA {text}").fetchall())


@contextlib.contextmanager
def no_file_grows_beyond(size: int) -> Iterator[None]:
    """The kernel refuses writes beyond `size` bytes of any file, as it does when a disk fails."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def ready(kv: SQLiteKV) -> None:
    async def is_ready() -> bool:
        return kv._committer.state is committer.CommitterState.READY

    await eventually(is_ready, "the store recovers")


def test_a_full_disk_is_told_and_the_store_goes_on_when_there_is_room(tmp_path: Path) -> None:
    async def scenario(kv: SQLiteKV) -> None:
        created = await put(kv, b"/k", b"one")
        watch = await kv.watch(b"/")
        await pragma(kv, "max_page_count = 1")
        with pytest.raises(Unavailable, match="disk is full; free some space"):
            await kv.optimistic_put(b"/big", b"x" * 1_000_000, 0)
        await ready(kv)
        assert await kv.current_revision() == created
        assert (await kv.get(b"/big")).kv is None
        assert (await kv.get(b"/k")).kv is not None
        await pragma(kv, "max_page_count = 1000000")
        assert await put(kv, b"/big", b"x" * 1_000_000) == created + 1
        assert await put(kv, b"/k", b"two", created) == created + 2
        assert [entry[1] for entry in summary(await take(watch, 2))] == [b"/big", b"/k"]

    with_store(tmp_path, scenario)


def test_a_full_disk_is_told_to_the_log_once_not_for_every_write(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(kv: SQLiteKV) -> None:
        await pragma(kv, "max_page_count = 1")
        for _ in range(20):
            with pytest.raises(Unavailable):
                await kv.optimistic_put(b"/big", b"x" * 1_000_000, 0)
            await ready(kv)

    with_store(tmp_path, scenario)
    [record] = [record for record in caplog.records if "writes have failed" in record.getMessage()]
    assert record.levelname == "ERROR"
    assert "the disk is full; free some space" in record.getMessage()


def test_an_io_error_fails_what_waits_behind_it_too(tmp_path: Path) -> None:
    async def scenario(kv: SQLiteKV) -> None:
        created = await put(kv, b"/k", b"one")
        watch = await kv.watch(b"/", prev_kv=True)
        with no_file_grows_beyond(1_000_000):
            results = await asyncio.gather(
                kv.optimistic_put(b"/big", b"x" * 1_500_000, 0),
                kv.optimistic_put(b"/k", b"two", created),
                kv.optimistic_put(b"/k", b"three", created + 2),
                kv.optimistic_delete(b"/k", created + 3),
                kv.optimistic_put(b"/k", b"lost the race", 0),
                return_exceptions=True,
            )
        assert [type(result) for result in results] == [Unavailable] * 5, results
        assert "reading or writing failed" in str(results[0])
        await ready(kv)
        assert await kv.current_revision() == created
        found = (await kv.get(b"/k")).kv
        assert found is not None and found.value == b"one"
        assert await put(kv, b"/k", b"four", created) == created + 1
        [event] = await take(watch, 1)
        assert event.prev is not None and event.prev.value == b"one"

    with_store(tmp_path, scenario)


def test_a_commit_that_reports_failure_but_happened_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = committer.commit

    def commit(connection: sqlite3.Connection, group: list[committer.Operation]) -> None:
        real(connection, group)
        raise sqlite3.OperationalError("disk I/O error")

    async def scenario(kv: SQLiteKV) -> None:
        first = await put(kv, b"/a", b"one")
        second = await put(kv, b"/b", b"one")
        watch = await kv.watch(b"/", prev_kv=True)
        monkeypatch.setattr(committer, "commit", commit)
        results = await asyncio.gather(
            kv.optimistic_put(b"/a", b"two", first), kv.optimistic_delete(b"/b", second), return_exceptions=True
        )
        assert [type(result) for result in results] == [Unavailable, Unavailable]
        monkeypatch.undo()
        await ready(kv)
        assert await kv.current_revision() == second + 2
        assert await put(kv, b"/a", b"three", second + 1) == second + 3
        assert await put(kv, b"/b", b"new") == second + 4
        events = await take(watch, 4)
        assert summary(events) == [
            ("put", b"/a", b"two", second + 1),
            ("delete", b"/b", b"", second + 2),
            ("put", b"/a", b"three", second + 3),
            ("put", b"/b", b"new", second + 4),
        ]
        assert [event.prev and event.prev.value for event in events] == [b"one", b"one", b"two", None]

    with_store(tmp_path, scenario)


def test_leases_and_compaction_that_fail_can_be_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def commit(connection: sqlite3.Connection, group: list[committer.Operation]) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    async def scenario(kv: SQLiteKV) -> None:
        lease = await kv.grant_lease(100)
        await put(kv, b"/a", lease=lease)
        last = await put(kv, b"/b", lease=lease)
        for operation in (lambda: kv.revoke_lease(lease), lambda: kv.grant_lease(5), lambda: kv.compact(last)):
            monkeypatch.setattr(committer, "commit", commit)
            with pytest.raises(Unavailable):
                await operation()
            monkeypatch.undo()
            await ready(kv)
        updated = await put(kv, b"/a", b"v2", last - 1, lease=lease)
        await kv.compact(updated)
        with pytest.raises(Compacted):
            await kv.compact(last)
        await kv.revoke_lease(lease)
        assert (await kv.range(b"/", b"0")).count == 0
        with pytest.raises(LeaseNotFound):
            await kv.revoke_lease(lease)

    with_store(tmp_path, scenario)


def test_a_conflict_with_a_write_that_then_fails_is_not_answered_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def commit(connection: sqlite3.Connection, group: list[committer.Operation]) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    async def scenario(kv: SQLiteKV) -> None:
        monkeypatch.setattr(committer, "commit", commit)
        first, second = await asyncio.gather(
            kv.optimistic_put(b"/a", b"one", 0),
            kv.optimistic_put(b"/a", b"two", 0, get_on_failure=True),
            return_exceptions=True,
        )
        assert isinstance(first, Unavailable) and isinstance(second, Unavailable)
        monkeypatch.undo()
        await ready(kv)
        revision = await put(kv, b"/a", b"three")
        await delete(kv, b"/a", revision)

    with_store(tmp_path, scenario)


def test_a_lock_of_another_program_is_waited_for_and_then_told(tmp_path: Path) -> None:
    async def scenario(kv: SQLiteKV) -> None:
        await pragma(kv, "busy_timeout = 50")
        other = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unavailable, match="another program holds a lock"):
            await kv.optimistic_put(b"/k", b"v", 0)
        other.execute("ROLLBACK")
        await ready(kv)
        await pragma(kv, "busy_timeout = 5000")
        other.execute("BEGIN IMMEDIATE")
        waiting = asyncio.ensure_future(put(kv, b"/k"))
        await asyncio.sleep(0.05)
        other.execute("ROLLBACK")
        other.close()
        assert await waiting == 2

    with_store(tmp_path, scenario)


def test_a_store_that_was_killed_on_a_full_disk_is_opened_without_a_write(tmp_path: Path) -> None:
    async def fill() -> None:
        kv = SQLiteKV.open(tmp_path / "s.db")
        await put(kv, b"/k", os.urandom(100_000))
        for name in ("s.db", "s.db-wal"):
            shutil.copy(tmp_path / name, tmp_path / f"killed-{name}")
        await kv.close()

    async def read() -> None:
        kv = SQLiteKV.open(tmp_path / "killed-s.db")
        try:
            assert len((await kv.get(b"/k")).kv.value) == 100_000
            with pytest.raises(Unavailable, match="disk"):
                await put(kv, b"/more")
        finally:
            await kv.close()

    asyncio.run(fill())
    assert (tmp_path / "killed-s.db-wal").stat().st_size > 100_000
    with no_file_grows_beyond(65_536):
        asyncio.run(read())
    assert check(tmp_path / "killed-s.db") == []


def test_a_disk_that_really_is_full(tmp_path: Path) -> None:
    mount = tmp_path / "small"
    mount.mkdir()
    if os.geteuid() != 0 or not shutil.which("mount"):
        pytest.skip("only root can mount a small disk")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(mount)], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip(f"a small disk cannot be mounted here: {mounted.stderr.decode().strip()}")

    async def scenario(kv: SQLiteKV) -> None:
        acknowledged = {}
        for number in range(100):
            try:
                acknowledged[b"/k%02d" % number] = await put(kv, b"/k%02d" % number, os.urandom(100_000))
            except Unavailable as error:
                assert "disk is full" in str(error)
                break
        else:
            raise AssertionError("ten megabytes on a disk of three")
        await ready(kv)
        found = (await kv.range(b"/k", b"/l")).kvs
        assert {kv_.key: kv_.mod_revision for kv_ in found} == acknowledged
        subprocess.run(["mount", "-o", "remount,size=20m", str(mount)], check=True)
        assert await put(kv, b"/after") == max(acknowledged.values()) + 1

    try:
        with_store(mount, scenario)
    finally:
        subprocess.run(["umount", str(mount)], check=True)
