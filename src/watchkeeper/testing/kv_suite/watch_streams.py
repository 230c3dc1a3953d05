"""How a watch behaves as a stream: order, progress, slowness, end."""

from __future__ import annotations

import asyncio
import random

from watchkeeper.kv.errors import Compacted
from watchkeeper.kv.interface import KV, Watch
from watchkeeper.testing.cases import collector
from watchkeeper.testing.kv_suite.case import (
    PATIENCE,
    Model,
    assert_nothing_waits,
    check_batch,
    next_batch,
    put,
    quiet,
    summary,
    take,
    watching,
)

CASES, case = collector()


@case
async def a_watch_that_reads_nothing_holds_up_nobody_and_misses_nothing(kv: KV) -> None:
    """Two thousand changes later it gets them all, in order."""
    base = await kv.current_revision()
    async with watching(kv, b"/a/") as slow:
        for part in range(20):
            await asyncio.gather(*(put(kv, b"/a/%02d-%02d" % (part, number)) for number in range(100)))
        assert await kv.current_revision() == base + 2000
        events = await take(slow, 2000)
        assert [event.kv.mod_revision for event in events] == list(range(base + 1, base + 2001))
        await quiet(slow, kv)


@case
async def taking_without_waiting_gives_none_when_there_is_nothing(kv: KV) -> None:
    """And the next batch when there is one."""
    async with watching(kv, b"/a/") as watch:
        assert_nothing_waits(watch)
        revision = await put(kv, b"/a/k")
        deadline = asyncio.get_running_loop().time() + PATIENCE
        while (batch := watch.take_nowait()) is None or not batch.events:
            assert asyncio.get_running_loop().time() < deadline
            await asyncio.sleep(0.001)
        assert [event.kv.mod_revision for event in batch.events] == [revision]
        assert_nothing_waits(watch)


@case
async def a_writer_that_shares_the_process_finds_its_write_delivered(kv: KV) -> None:
    """Where revisions are known without asking: the event waits in the watch when the put returns."""
    async with watching(kv, b"/a/") as watch, watching(kv, b"/b/") as other:
        for number in range(20):
            revision = await put(kv, b"/a/k%d" % number)
            if (known := kv.current_revision_nowait()) is None:
                continue
            assert known == revision
            assert watch.delivered_revision_nowait() == revision - 1
            batch = watch.take_nowait()
            assert batch is not None and [event.kv.mod_revision for event in batch.events] == [revision]
            assert watch.delivered_revision_nowait() == revision
            assert other.delivered_revision_nowait() == revision


@case
async def the_delivered_revision_never_runs_ahead_of_what_was_taken(kv: KV) -> None:
    """As long as an event waits, everything up to it counts as not delivered."""
    async with watching(kv, b"/a/") as watch:
        first = await put(kv, b"/a/one")
        await put(kv, b"/b/other")
        last = await put(kv, b"/a/two")
        taken = 0
        while taken < 2:
            known = watch.delivered_revision_nowait()
            assert known is None or known < (first, last)[taken]
            taken += len((await next_batch(watch)).events)


@case
async def asked_for_progress_a_quiet_watch_tells_how_far_it_has_come(kv: KV) -> None:
    """Although nothing happened under its prefix."""
    async with watching(kv, b"/a/") as watch:
        for number in range(3):
            revision = await put(kv, b"/b/%d" % number)
        await kv.request_progress(watch)
        batch = await next_batch(watch)
        while batch.revision < revision:
            await kv.request_progress(watch)
            batch = await next_batch(watch)
        assert batch.events == ()
        await quiet(watch, kv)


@case
async def progress_never_overtakes_an_event(kv: KV) -> None:
    """Whatever a batch says it covers has come before or with it."""
    async with watching(kv, b"/a/") as watch:
        base = await kv.current_revision()

        async def write() -> None:
            for number in range(200):
                await put(kv, b"/a/k%d" % number)
                if number % 10 == 0:
                    await kv.request_progress(watch)

        writer = asyncio.ensure_future(write())
        seen: list[int] = []
        reached = base
        while len(seen) < 200:
            batch = await next_batch(watch)
            check_batch(batch, reached)
            reached = batch.revision
            seen.extend(event.kv.mod_revision for event in batch.events)
            assert seen == list(range(base + 1, reached + 1)), "a revision was claimed but not delivered"
        await writer


@case
async def watches_that_start_anywhere_amid_writes_see_the_exact_rest(kv: KV) -> None:
    """From random revisions, past and future, while the writer runs."""
    chance = random.Random(7)
    model = Model(await kv.current_revision())

    async def write() -> None:
        for number in range(300):
            key = b"/a/k%d" % chance.randrange(8)
            if key in model.states[model.now] and chance.random() < 0.3:
                await model.delete(kv, key)
            else:
                await model.put(kv, key, b"%d" % number)

    async def follow(after: int) -> None:
        async with watching(kv, b"/a/", after_revision=after) as watch:
            events = await take(watch, model.start + 300 - after)
        await asyncio.wait([writer])  # an event may come before its put returns
        assert summary(events) == model.events[after - model.start :]

    writer = asyncio.ensure_future(write())
    followers = []
    for _ in range(25):
        await asyncio.sleep(0.002)
        at = max(model.start, model.now + chance.randrange(-20, 20))
        followers.append(asyncio.ensure_future(follow(min(at, model.start + 299) or 1)))
    await writer
    await asyncio.gather(*followers)


@case
async def a_lagging_watch_gets_everything_or_is_told_that_it_is_compacted(kv: KV) -> None:
    """Never a gap."""
    base = await kv.current_revision()
    async with watching(kv, b"/a/") as watch:
        revisions = [await put(kv, b"/a/%d" % number) for number in range(500)]
        await kv.compact(revisions[-2])
        seen: list[int] = []
        try:
            while len(seen) < 500:
                seen.extend(event.kv.mod_revision for event in (await next_batch(watch)).events)
        except Compacted:
            pass
    assert seen == list(range(base + 1, base + 1 + len(seen)))


@case
async def a_cancelled_wait_loses_nothing(kv: KV) -> None:
    """Waiting with a time limit, again and again, is safe."""
    async with watching(kv, b"/a/") as watch:
        base = await kv.current_revision()
        seen: list[int] = []

        async def write() -> None:
            for number in range(20):
                await put(kv, b"/a/%d" % number)
                await asyncio.sleep(0.002)

        writer = asyncio.ensure_future(write())
        deadline = asyncio.get_running_loop().time() + PATIENCE
        while len(seen) < 20 and asyncio.get_running_loop().time() < deadline:
            try:
                batch = await asyncio.wait_for(watch.__anext__(), 0.001)
            except TimeoutError:
                continue
            seen.extend(event.kv.mod_revision for event in batch.events)
        await writer
    assert seen == list(range(base + 1, base + 21))


@case
async def closing_a_watch_ends_its_iteration_and_no_other(kv: KV) -> None:
    """Closing twice is fine."""
    first = await kv.watch(b"/a/")
    async with watching(kv, b"/a/") as second:
        await put(kv, b"/a/k")
        await first.close()
        await first.close()
        assert [batch async for batch in first] == []
        assert first.take_nowait() is None
        revision = await put(kv, b"/a/l")
        assert [event.kv.mod_revision for event in await take(second, 2)] == [revision - 1, revision]


@case
async def closing_a_watch_ends_whoever_waits_for_it(kv: KV) -> None:
    """The iteration stops as if it had come to its end."""
    watch = await kv.watch(b"/a/")

    async def read(watch: Watch) -> int:
        return len([batch async for batch in watch if batch.events])

    reader = asyncio.ensure_future(read(watch))
    await asyncio.sleep(0.01)
    await watch.close()
    assert await asyncio.wait_for(reader, PATIENCE) == 0
