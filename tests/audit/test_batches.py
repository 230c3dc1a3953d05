"""Events that are gathered before they are written."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping

from watchkeeper.audit.batches import Batched, BatchOptions


class Kept:
    """Keeps what is written, and when it was asked to have it written."""

    blocking = strict = False

    def __init__(self) -> None:
        self.waiting: list[bytes] = []
        self.batches: list[list[bytes]] = []
        self.closed = False

    def write(self, line: bytes) -> None:
        self.waiting.append(line)

    def written(self) -> Awaitable[bool]:
        self.batches.append(self.waiting)
        self.waiting = []
        return asyncio.sleep(0, True)

    def errors(self) -> Mapping[str, int]:
        return {"log": 1}

    async def close(self) -> None:
        self.closed = True


def test_batches_are_passed_on_when_they_are_full_or_old_and_at_the_end() -> None:
    async def main() -> Kept:
        kept = Kept()
        batched = Batched(kept, BatchOptions(max_batch_size=2, max_batch_wait=0.05, throttle=False))
        batched.start()
        for line in (b"1", b"2", b"3"):
            batched.write(line)
        await asyncio.sleep(0.01)
        assert kept.batches == [[b"1", b"2"]]
        await asyncio.sleep(0.1)
        assert kept.batches == [[b"1", b"2"], [b"3"]]
        batched.write(b"4")
        await batched.close()
        return kept

    kept = asyncio.run(main())
    assert kept.batches == [[b"1", b"2"], [b"3"], [b"4"]]
    assert kept.closed


def test_what_there_is_no_room_for_is_counted() -> None:
    async def main() -> None:
        batched = Batched(Kept(), BatchOptions(buffer_size=2, throttle=False))
        for line in (b"1", b"2", b"3"):
            batched.write(line)
        assert batched.errors() == {"log": 1, "buffered": 1}

    asyncio.run(main())


def test_no_more_batches_are_passed_on_than_are_allowed() -> None:
    async def main() -> None:
        kept = Kept()
        options = BatchOptions(max_batch_size=1, max_batch_wait=0, throttle=True, qps=0.1, burst=2)
        batched = Batched(kept, options)
        batched.start()
        for line in (b"1", b"2", b"3"):
            batched.write(line)
        await asyncio.sleep(0.05)
        assert kept.batches == [[b"1"], [b"2"]]
        await batched._batches.stop()

    asyncio.run(main())
