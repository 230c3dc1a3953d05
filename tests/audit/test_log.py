"""The file of the audit log."""

from __future__ import annotations

import asyncio
import gzip
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from watchkeeper.audit import log as audit_log
from watchkeeper.audit import sinks
from watchkeeper.audit.log import AuditLog, LogOptions


def run(options: LogOptions, *batches: list[bytes]) -> AuditLog:
    async def main() -> AuditLog:
        written = AuditLog(options)
        await written.start()
        for batch in batches:
            for line in batch:
                written.write(line)
            await asyncio.sleep(0.01)
        await written.close()
        return written

    return asyncio.run(main())


def test_lines_stay_in_order_and_nothing_is_left_behind_at_the_end(tmp_path: Path) -> None:
    file = tmp_path / "logs" / "audit.log"
    lines = [b"%d\n" % n for n in range(1000)]
    written = run(LogOptions(path=str(file)), lines[:500], lines[500:])
    assert file.read_bytes() == b"".join(lines)
    assert file.stat().st_mode & 0o777 == 0o600
    assert (written.events, written.dropped) == (1000, 0)


def test_a_full_file_moves_aside_and_the_oldest_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_log, "_MEGABYTE", 100)
    file = tmp_path / "audit.log"
    other = tmp_path / "audit-notes.log"
    other.write_text("not ours")
    lines = [b"%039d\n" % n for n in range(10)]
    run(LogOptions(path=str(file), max_size=1, max_backups=2), *([line] for line in lines))
    backups = sorted(p for p in tmp_path.iterdir() if p not in (file, other))
    assert file.read_bytes() == b"".join(lines[8:])
    assert [p.read_bytes() for p in backups] == [b"".join(lines[4:6]), b"".join(lines[6:8])]
    assert other.exists()


def test_an_existing_file_is_continued(tmp_path: Path) -> None:
    file = tmp_path / "audit.log"
    run(LogOptions(path=str(file)), [b"one\n"])
    run(LogOptions(path=str(file)), [b"two\n"])
    assert file.read_bytes() == b"one\ntwo\n"


def test_what_waits_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sinks, "MAX_WAITING", 10)
    file = tmp_path / "audit.log"
    written = run(LogOptions(path=str(file)), [b"12345\n", b"12345\n", b"123\n"])
    assert file.read_bytes() == b"12345\n123\n"
    assert (written.events, written.dropped) == (2, 1)


def test_a_disk_that_fails_is_counted_and_used_again_when_it_is_back(tmp_path: Path) -> None:
    async def main() -> AuditLog:
        written = AuditLog(LogOptions(path=str(file)))
        await written.start()
        written._file.close()
        file.unlink()
        file.mkdir()
        written.write(b"lost\n")
        while not written.dropped:
            await asyncio.sleep(0.005)
        file.rmdir()
        written.write(b"kept\n")
        await written.close()
        return written

    file = tmp_path / "audit.log"
    assert asyncio.run(main()).dropped == 1
    assert file.read_bytes() == b"kept\n"


@pytest.mark.parametrize("works", [True, False])
def test_who_waits_learns_whether_what_was_told_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, works: bool
) -> None:
    file = tmp_path / "audit.log"

    async def main() -> None:
        written = AuditLog(LogOptions(path=str(file)))
        await written.start()
        if not works:
            monkeypatch.setattr(audit_log._RotatedFile, "append", full)
        written.write(b"one\n")
        first = written.written()
        written.write(b"two\n")
        second = written.written()
        assert [await first, await second] == [works, works]
        assert file.read_bytes() == (b"one\ntwo\n" if works else b"")
        await written.close()
        assert not await written.written()

    def full(_file: object, _lines: list[bytes]) -> None:
        raise OSError("no space left on device")

    asyncio.run(main())


@pytest.mark.parametrize(
    ("mode", "blocking", "strict"),
    [("batch", False, False), ("blocking", True, False), ("blocking-strict", True, True)],
)
def test_modes(tmp_path: Path, mode: str, blocking: bool, strict: bool) -> None:
    written = run(LogOptions(path=str(tmp_path / "audit.log"), mode=mode))
    assert (written.blocking, written.strict) == (blocking, strict)


def test_events_do_not_wait_for_threads_that_others_keep_busy(tmp_path: Path) -> None:
    async def main() -> bool:
        free = threading.Event()
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        written = AuditLog(LogOptions(path=str(tmp_path / "audit.log")))
        await written.start()
        busy = asyncio.get_running_loop().run_in_executor(None, free.wait)  # a name server that is silent
        written.write(b"one\n")
        try:
            return await asyncio.wait_for(written.written(), 5)
        finally:
            free.set()
            await busy
            await written.close()

    assert asyncio.run(main())


def test_nobody_waits_forever_whatever_goes_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_file: object, _lines: list[bytes]) -> None:
        raise ValueError("I/O operation on closed file")

    async def main() -> tuple[list[bool], int]:
        written = AuditLog(LogOptions(path=str(tmp_path / "audit.log")))
        await written.start()
        outcomes = []
        for append in (broken, audit_log._RotatedFile.append):
            monkeypatch.setattr(audit_log._RotatedFile, "append", append)
            written.write(b"one\n")
            outcomes.append(await asyncio.wait_for(written.written(), 5))
        await written.close()
        return outcomes, written.dropped

    assert asyncio.run(main()) == ([False, True], 1)


def test_a_dropped_line_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sinks, "MAX_WAITING", 10)

    async def main() -> list[bool]:
        written = AuditLog(LogOptions(path=str(tmp_path / "audit.log")))
        await written.start()
        outcomes = []
        for lines in ([b"12345\n", b"12345\n"], [b"123\n"]):
            for line in lines:
                written.write(line)
            outcomes.append(await written.written())
        await written.close()
        return outcomes

    assert asyncio.run(main()) == [False, True]


def test_older_files_are_compressed_and_counted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_log, "_MEGABYTE", 100)
    file = tmp_path / "audit.log"
    left = tmp_path / "audit-2020-01-01T00-00-00.000.log"
    left.write_bytes(b"left by an earlier server\n")
    lines = [b"%039d\n" % n for n in range(6)]
    run(LogOptions(path=str(file), max_size=1, compress=True), *([line] for line in lines))
    backups = sorted(p for p in tmp_path.iterdir() if p != file)
    assert [gzip.decompress(p.read_bytes()) for p in backups] == [
        b"left by an earlier server\n",
        b"".join(lines[:2]),
        b"".join(lines[2:4]),
    ]
    assert [p.name.endswith(".log.gz") for p in backups] == [True] * 3
    assert {p.stat().st_mode & 0o777 for p in backups[1:]} == {0o600}
    assert file.read_bytes() == b"".join(lines[4:])
    more = [b"%039d\n" % n for n in range(6, 10)]
    run(LogOptions(path=str(file), max_size=1, max_backups=2, compress=True), *([line] for line in more))
    backups = sorted(p for p in tmp_path.iterdir() if p != file)
    assert [gzip.decompress(p.read_bytes()) for p in backups] == [b"".join(lines[4:]), b"".join(more[:2])]


def test_lines_of_text_are_written_in_place_of_json(tmp_path: Path) -> None:
    file = tmp_path / "audit.log"
    event = b'{"auditID":"i","requestReceivedTimestamp":"2026-01-31T09:30:00.000000Z"}\n'
    run(LogOptions(path=str(file), format="legacy"), [event])
    assert file.read_bytes().startswith(b'2026-01-31T09:30:00Z AUDIT: id="i" stage=""')
