"""Files that somebody may change while a server runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path

from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock
from watchkeeper.aio.tasks import TaskOwner

LOOK_SECONDS = 5.0

Contents = dict[Path, bytes]
"""What is in files; nothing in those that cannot be read."""
Take = Callable[[Contents], Awaitable[bool]]
"""Deals with contents. False asks for the same again at the next look, as they may be of use by then."""


class FileWatch:
    """Looks at files every few seconds, and hands over what is in them when that is not what it was.

    What was dealt with is not handed over again until it changes, whether it was of use or not. All that happens, one
    after the other, in one task, which `close` ends.
    """

    def __init__(
        self,
        name: str,
        files: Iterable[Path],
        take: Take,
        *,
        seen: Contents,
        before: Callable[[], Awaitable[None]] | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """`name` is that of the task; `seen` was dealt with already.

        `before` is awaited before each look: what writes the files itself does so there, that nobody sees half of it.
        """
        self._files = tuple(files)
        self._take = take
        self._seen = seen
        self._before = before
        self._clock = clock
        self._tasks = TaskOwner(name)

    def __repr__(self) -> str:
        return f"<FileWatch of {', '.join(map(str, self._files))}>"

    def start(self) -> None:
        """Begin to look."""
        self._tasks.start("files", self._run())

    async def close(self) -> None:
        """Look no more. Idempotent."""
        await self._tasks.close()

    async def _run(self) -> None:
        while True:
            await self._clock.sleep(LOOK_SECONDS)
            if self._before is not None:
                await self._before()
            found = await asyncio.to_thread(contents_of, self._files)
            if found != self._seen and await self._take(found):
                self._seen = found


def contents_of(files: Iterable[Path]) -> Contents:
    """What is in files."""
    return {path: _content(path) for path in files}


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
