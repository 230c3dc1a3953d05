"""Files that change while somebody looks at them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from watchkeeper.aio.clock import SystemClock
from watchkeeper.server.file_watch import LOOK_SECONDS, Contents, FileWatch, contents_of


class Steps(SystemClock):
    """A clock on which sleep is over when a test says so."""

    def __init__(self) -> None:
        self.asleep, self.over = asyncio.Event(), asyncio.Event()
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.asleep.set()
        await self.over.wait()
        self.over.clear()

    async def next(self) -> None:
        """Return when who sleeps has woken and sleeps again."""
        await self.asleep.wait()
        self.asleep.clear()
        self.over.set()
        await self.asleep.wait()


@dataclass
class Taker:
    """Notes what it is given."""

    given: list[list[bytes]] = field(default_factory=list)
    settles: bool = True
    before: Callable[[], object] = lambda: None

    async def take(self, found: Contents) -> bool:
        self.given.append(list(found.values()))
        return self.settles

    async def begin(self) -> None:
        self.before()


Look = Callable[[], Awaitable[None]]


def watched(files: list[Path], use: Callable[[Taker, Look], Awaitable[None]]) -> list[list[bytes]]:
    """What a watch of these files hands over while a test changes them and has it look."""

    async def run() -> list[list[bytes]]:
        clock, taker = Steps(), Taker()
        watch = FileWatch("test", files, taker.take, seen=contents_of(files), before=taker.begin, clock=clock)
        watch.start()
        await use(taker, clock.next)
        await watch.close()
        assert set(clock.slept) == {LOOK_SECONDS}
        return taker.given

    return asyncio.run(run())


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    found = [tmp_path / "a", tmp_path / "b"]
    for path in found:
        path.write_bytes(path.name.encode())
    return found


def test_what_stays_is_not_handed_over(files: list[Path]) -> None:
    async def use(_: Taker, look: Look) -> None:
        await look()
        files[0].write_bytes(b"a")
        await look()

    assert watched(files, use) == []


def test_what_changes_is_handed_over_once_with_all_that_goes_with_it(files: list[Path]) -> None:
    async def use(_: Taker, look: Look) -> None:
        files[0].write_bytes(b"x")
        await look()
        await look()
        files[0].write_bytes(b"a")
        await look()

    assert watched(files, use) == [[b"x", b"b"], [b"a", b"b"]]


def test_a_file_that_is_gone_has_nothing_in_it(files: list[Path]) -> None:
    async def use(_: Taker, look: Look) -> None:
        files[1].unlink()
        await look()

    assert watched(files, use) == [[b"a", b""]]


def test_what_could_not_be_dealt_with_is_handed_over_again(files: list[Path]) -> None:
    async def use(taker: Taker, look: Look) -> None:
        taker.settles = False
        files[0].write_bytes(b"x")
        await look()
        await look()
        taker.settles = True
        await look()
        await look()

    assert watched(files, use) == [[b"x", b"b"]] * 3


def test_who_writes_the_files_does_so_between_two_looks(files: list[Path]) -> None:
    async def use(taker: Taker, look: Look) -> None:
        taker.before = lambda: [path.write_bytes(b"new") for path in files]
        await look()

    assert watched(files, use) == [[b"new", b"new"]]
