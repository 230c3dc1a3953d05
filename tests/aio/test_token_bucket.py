"""So many a second, after a burst."""

from __future__ import annotations

import asyncio

from watchkeeper.aio.token_bucket import TokenBucket, TokenBuckets
from watchkeeper.testing.clock import ManualClock


def test_what_is_taken_in_advance_is_waited_for() -> None:
    async def run() -> None:
        clock = ManualClock()
        bucket = TokenBucket(2.0, 1, clock=clock)
        assert [bucket.reserve() for _ in range(3)] == [0.0, 0.5, 1.0]
        await clock.advance(1)
        assert not bucket.take()
        await clock.advance(0.5)
        assert bucket.take()

    asyncio.run(run())


def test_each_key_has_its_own_and_the_longest_unused_is_forgotten() -> None:
    async def run() -> None:
        buckets = TokenBuckets(1.0, 1, 2, clock=ManualClock())
        assert [buckets.take(key) for key in "aab"] == [True, False, True]
        assert not buckets.take("a")
        assert buckets.take("c")
        assert [buckets.take("a"), buckets.take("b")] == [False, True]

    asyncio.run(run())
