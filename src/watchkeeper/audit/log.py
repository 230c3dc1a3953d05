"""The file that audit events are written to, and how it is kept from growing forever."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import logging
import os
import re
import shutil
import sys
import time
from collections.abc import Awaitable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.aio.workers import Workers
from watchkeeper.audit import sinks
from watchkeeper.audit.legacy import legacy_line

log = logging.getLogger(__name__)

_MEGABYTE = 1 << 20
_DAY = 86400.0
_GZ = ".gz"
_CHUNK = 1 << 20
_STAMP = "%Y-%m-%dT%H-%M-%S"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOptions:
    """Where events go; `-` is standard output, which is not rotated."""

    path: str
    max_size: int = 100
    """Megabytes (2^20) after which a new file is begun, 0 for never."""
    max_backups: int = 0
    """So many older files are kept, 0 for all."""
    max_age: int = 0
    """Days that older files are kept, 0 for ever."""
    mode: str = "blocking"
    """One of `sinks.MODES`."""
    format: str = "json"
    """One of `legacy.FORMATS`."""
    compress: bool = False
    """Whether older files are compressed."""


class AuditLog:
    """Takes lines and writes them in order, in a thread of its own.

    Whoever has to know that a line is written waits for `written`. In mode `batch` nobody does: `kill -9` may lose the
    last ones, an orderly end loses none.
    """

    def __init__(self, options: LogOptions) -> None:
        self._file = _RotatedFile(options)
        self._thread: Workers[_RotatedFile] | None = None
        self._lines: list[bytes] = []
        self._waiting = 0
        self._dropped_now = False
        """Whether a line was dropped since the last were taken."""
        self._batch: asyncio.Future[bool] | None = None
        """Done when the lines are written that wait now, with whether they are."""
        self._wanted = asyncio.Event()
        self._closed = False
        self.blocking = options.mode != "batch"
        """Whether answers wait for their events."""
        self._legacy = options.format == "legacy"
        self.strict = options.mode == "blocking-strict"
        """Whether requests are refused that cannot be told of."""
        self._tasks = TaskOwner("audit-log")
        self.events = 0
        """Lines taken."""
        self.dropped = 0
        """Lines that could not be written: the disk failed, or was too slow for too long."""

    async def start(self) -> None:
        """Open the file. Raises OSError when it cannot be written."""
        thread = Workers("audit-log", [self._file], _RotatedFile.close)
        try:
            await thread.run(_RotatedFile.open)
        except OSError:
            await thread.close()
            raise
        self._thread = thread
        self._tasks.start("writer", self._run())

    def write(self, line: bytes) -> None:
        """Take an event, a line of JSON with its newline."""
        if self._legacy:
            line = legacy_line(line)
        if self._waiting + len(line) > sinks.MAX_WAITING:
            self.dropped += 1
            self._dropped_now = True
            return
        self.events += 1
        self._lines.append(line)
        self._waiting += len(line)
        self._wanted.set()

    def written(self) -> Awaitable[bool]:
        """Wait until the lines taken so far are written; whether those could be that wait now."""
        if self._batch is None:
            self._batch = asyncio.get_running_loop().create_future()
            if self._closed:
                self._batch.set_result(False)
            self._wanted.set()
        return asyncio.shield(self._batch)

    def errors(self) -> Mapping[str, int]:
        """How many events could not be written."""
        return {"log": self.dropped}

    async def close(self) -> None:
        """Write what is left and close the file."""
        await self._tasks.close()
        self._closed = True
        if self._thread is not None:
            await self._write_waiting(self._thread)
            await self._thread.close()

    async def _run(self) -> None:
        assert self._thread is not None
        while True:
            await self._wanted.wait()
            await self._write_waiting(self._thread)

    async def _write_waiting(self, thread: Workers[_RotatedFile]) -> None:
        """Return when the lines that wait now are written; they will be even if nobody waits for that any more."""
        lines, self._lines, self._waiting = self._lines, [], 0
        lost, self._dropped_now = self._dropped_now, False
        batch, self._batch = self._batch, None
        self._wanted.clear()
        finished = asyncio.get_running_loop().create_future()

        def done(_: None, error: BaseException | None) -> None:
            if error is not None:
                self.dropped += len(lines)
                log.error("%d audit events are lost: %s", len(lines), error)
            if batch is not None:
                batch.set_result(error is None and not lost)
            if not finished.done():
                finished.set_result(None)

        thread.submit(lambda file: file.append(lines), done)
        await finished


class _RotatedFile:
    """A file that moves aside when it is full: `audit.log` becomes `audit-2026-01-31T09-30-00.000.log`."""

    def __init__(self, options: LogOptions) -> None:
        self._options = options
        self._path = Path(options.path)
        self._limit = options.max_size * _MEGABYTE
        self._out: BinaryIO | None = None
        self._size = 0
        self._compressing: ThreadPoolExecutor | None = None

    def open(self) -> None:
        if self._options.path == "-":
            self._out = sys.stdout.buffer
            return
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Requests may hold secrets, and so may what is told of them.
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._out = os.fdopen(descriptor, "ab", buffering=0)
        self._size = os.fstat(descriptor).st_size
        if self._options.compress and self._compressing is None:
            # Whoever waits for an event does not wait for this.
            self._compressing = ThreadPoolExecutor(1, "audit-compression")
            self._compressing.submit(self._compress_backups)

    def append(self, lines: list[bytes]) -> None:
        start = 0
        size = self._size
        for i, line in enumerate(lines):
            if self._limit and size + len(line) > self._limit and size:
                self._write(lines[start:i])
                self._rotate()
                start, size = i, 0
            size += len(line)
        self._write(lines[start:])

    def _write(self, lines: list[bytes]) -> None:
        if not lines:
            return
        if self._out is None:
            self.open()
        assert self._out is not None
        data = memoryview(b"".join(lines))
        while data:
            written = self._out.write(data)
            data = data[written:]
            self._size += written
        self._out.flush()

    def _rotate(self) -> None:
        if self._options.path == "-":
            return
        self._close_file()
        now = time.time()
        stamp = f"{datetime.fromtimestamp(now, UTC).strftime(_STAMP)}.{int(now % 1 * 1000):03d}"
        self._path.replace(self._path.with_name(f"{self._path.stem}-{stamp}{self._path.suffix}"))
        self.open()
        if self._compressing is None:
            self._forget(now)
        else:
            self._compressing.submit(self._compress_backups)

    def _backups(self) -> list[Path]:
        """The older files, those that are compressed and others, the latest first."""
        stem, suffix = re.escape(self._path.stem), re.escape(self._path.suffix)
        name = re.compile(stem + r"-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}" + suffix + rf"(?:{re.escape(_GZ)})?")
        return sorted((p for p in self._path.parent.iterdir() if name.fullmatch(p.name)), reverse=True)

    def _forget(self, now: float) -> None:
        """Remove the files that are too many or too old."""
        seen: set[str] = set()
        for backup in self._backups():
            seen.add(backup.name.removesuffix(_GZ))
            with contextlib.suppress(OSError):
                too_many = self._options.max_backups and len(seen) > self._options.max_backups
                too_old = self._options.max_age and now - backup.stat().st_mtime > self._options.max_age * _DAY
                if too_many or too_old:
                    backup.unlink()

    def _compress_backups(self) -> None:
        """Compress the older files that are not, among them those that an earlier server left."""
        self._forget(time.time())
        for backup in self._backups():
            if not backup.name.endswith(_GZ):
                try:
                    _compress(backup)
                except OSError as error:
                    log.error("%s is not compressed: %s", backup, error)

    def close(self) -> None:
        self._close_file()
        if self._compressing is not None:
            self._compressing.shutdown()

    def _close_file(self) -> None:
        if self._out is not None and self._out is not sys.stdout.buffer:
            self._out.close()
        self._out = None


def _compress(file: Path) -> None:
    """Put a file into one that is compressed. Raises OSError, and leaves none that is cut off then."""
    compressed = file.with_name(file.name + _GZ)
    descriptor = os.open(compressed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        with (
            os.fdopen(descriptor, "wb") as out,
            gzip.GzipFile("", "wb", fileobj=out) as packed,
            file.open("rb") as source,
        ):
            shutil.copyfileobj(source, packed, _CHUNK)
        shutil.copystat(file, compressed)
    except OSError:
        compressed.unlink(missing_ok=True)
        raise
    file.unlink()
