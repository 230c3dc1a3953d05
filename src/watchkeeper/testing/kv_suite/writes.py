"""Optimistic writes."""

from __future__ import annotations

import asyncio
import contextlib

from watchkeeper.kv.errors import ValueTooLarge
from watchkeeper.kv.interface import KV, KeyValue, TxnResult
from watchkeeper.testing.cases import collector
from watchkeeper.testing.kv_suite.case import delete, put, raises

CASES, case = collector()


@case
async def every_successful_write_is_one_step_of_the_revision(kv: KV) -> None:
    """Puts and deletes alike."""
    base = await kv.current_revision()
    assert await put(kv, b"/a") == base + 1
    assert await put(kv, b"/b") == base + 2
    assert await put(kv, b"/a", b"v2", base + 1) == base + 3
    assert await delete(kv, b"/a", base + 3) == base + 4
    assert await kv.current_revision() == base + 4


@case
async def expecting_revision_zero_creates_only_what_does_not_exist(kv: KV) -> None:
    """The second creation fails and tells the current revision."""
    created = await put(kv, b"/k", b"one")
    last = await put(kv, b"/other")
    assert await kv.optimistic_put(b"/k", b"two", 0) == TxnResult(False, last)
    found = (await kv.get(b"/k")).kv
    assert found is not None and (found.value, found.mod_revision) == (b"one", created)


@case
async def a_put_needs_the_exact_revision_of_the_key(kv: KV) -> None:
    """Older and newer ones fail and change nothing, not even the store's revision."""
    created = await put(kv, b"/k", b"one")
    updated = await put(kv, b"/k", b"two", created)
    for wrong in (created, updated + 1, 0, -1):
        assert await kv.optimistic_put(b"/k", b"three", wrong) == TxnResult(False, updated), wrong
    assert (await kv.get(b"/k")).kv == KeyValue(b"/k", b"two", created, updated, 2)
    assert await kv.current_revision() == updated


@case
async def a_failed_put_brings_the_present_state_if_asked(kv: KV) -> None:
    """The key as it is, or None when it does not exist."""
    created = await put(kv, b"/k", b"one")
    present = KeyValue(b"/k", b"one", created, created, 1)
    assert await kv.optimistic_put(b"/k", b"x", 0, get_on_failure=True) == TxnResult(False, created, present)
    assert await kv.optimistic_put(b"/absent", b"x", created, get_on_failure=True) == TxnResult(False, created, None)


@case
async def a_put_that_succeeds_brings_no_state(kv: KV) -> None:
    """Whoever wrote it knows it."""
    result = await kv.optimistic_put(b"/k", b"one", 0, get_on_failure=True)
    assert result == TxnResult(True, await kv.current_revision(), None)


@case
async def putting_the_same_bytes_again_is_a_write(kv: KV) -> None:
    """A store does not judge; the revision and the version go up."""
    created = await put(kv, b"/k", b"same")
    again = await put(kv, b"/k", b"same", created)
    assert (await kv.get(b"/k")).kv == KeyValue(b"/k", b"same", created, again, 2)


@case
async def a_key_made_anew_starts_over(kv: KV) -> None:
    """Its creation revision is new and its version 1."""
    created = await put(kv, b"/k", b"one")
    updated = await put(kv, b"/k", b"two", created)
    await delete(kv, b"/k", updated)
    again = await put(kv, b"/k", b"three")
    assert (await kv.get(b"/k")).kv == KeyValue(b"/k", b"three", again, again, 1)


@case
async def a_delete_brings_what_it_deleted(kv: KV) -> None:
    """With the revisions of before; the result carries the deletion's own."""
    created = await put(kv, b"/k", b"one")
    await put(kv, b"/other")
    result = await kv.optimistic_delete(b"/k", created)
    assert result == TxnResult(True, created + 2, KeyValue(b"/k", b"one", created, created, 1))
    assert (await kv.get(b"/k")).kv is None
    assert (await kv.range(b"/k", b"/l")).count == 0


@case
async def a_delete_needs_the_exact_revision_of_the_key(kv: KV) -> None:
    """It brings the present state if asked."""
    created = await put(kv, b"/k", b"one")
    updated = await put(kv, b"/k", b"two", created)
    present = KeyValue(b"/k", b"two", created, updated, 2)
    for wrong in (created, updated + 1, 0):
        assert await kv.optimistic_delete(b"/k", wrong) == TxnResult(False, updated)
        assert await kv.optimistic_delete(b"/k", wrong, get_on_failure=True) == TxnResult(False, updated, present)
    assert (await kv.get(b"/k")).kv == present


@case
async def deleting_an_absent_key_never_succeeds(kv: KV) -> None:
    """Not even when revision zero is expected, and no revision passes."""
    base = await put(kv, b"/other")
    for expected in (0, base, base + 1):
        assert await kv.optimistic_delete(b"/k", expected) == TxnResult(False, base)
        assert await kv.optimistic_delete(b"/k", expected, get_on_failure=True) == TxnResult(False, base, None)
    assert await kv.current_revision() == base


@case
async def of_many_creations_of_one_key_exactly_one_wins(kv: KV) -> None:
    """And the key holds the winner's bytes."""
    results = await asyncio.gather(*(kv.optimistic_put(b"/k", b"%d" % number, 0) for number in range(30)))
    winners = [number for number, result in enumerate(results) if result.succeeded]
    assert len(winners) == 1
    found = (await kv.get(b"/k")).kv
    assert found is not None and found.value == b"%d" % winners[0]
    assert found.mod_revision == results[winners[0]].revision


@case
async def concurrent_writes_get_distinct_revisions_without_gaps(kv: KV) -> None:
    """As many revisions as writes."""
    base = await kv.current_revision()
    revisions = await asyncio.gather(*(put(kv, b"/k%d" % number) for number in range(100)))
    assert sorted(revisions) == list(range(base + 1, base + 101))


@case
async def optimistic_increments_lose_nothing(kv: KV) -> None:
    """Eight writers, one counter, retries from the state that the failure brought."""
    await put(kv, b"/counter", b"0")

    async def increment() -> None:
        found = (await kv.get(b"/counter")).kv
        while True:
            assert found is not None
            result = await kv.optimistic_put(
                b"/counter", b"%d" % (int(found.value) + 1), found.mod_revision, get_on_failure=True
            )
            if result.succeeded:
                return
            found = result.kv

    async def increment_often() -> None:
        for _ in range(10):
            await increment()

    await asyncio.gather(*(increment_often() for _ in range(8)))
    found = (await kv.get(b"/counter")).kv
    assert found is not None and (found.value, found.version) == (b"80", 81)


@case
async def a_value_over_the_limit_is_refused_and_nothing_is_written(kv: KV) -> None:
    """1.5 MiB with the key; the store goes on as if nothing had happened."""
    base = await kv.current_revision()
    await raises(ValueTooLarge, kv.optimistic_put(b"/k", b"x" * (1536 * 1024), 0))
    assert (await kv.get(b"/k")).kv is None
    assert await put(kv, b"/k", b"small") == base + 1


@case
async def an_empty_key_is_a_mistake_of_the_caller(kv: KV) -> None:
    """ValueError, and nothing is written."""
    await raises(ValueError, kv.optimistic_put(b"", b"x", 0))
    assert (await kv.range(b"", b"\0")).count == 0


@case
async def a_cancelled_write_leaves_the_store_sound(kv: KV) -> None:
    """Each took effect wholly or not at all, and the revision counts those that did."""
    base = await kv.current_revision()
    tasks = [asyncio.ensure_future(kv.optimistic_put(b"/k%02d" % number, b"v", 0)) for number in range(40)]
    await asyncio.sleep(0)
    for number, task in enumerate(tasks):
        if number % 2:
            task.cancel()
    for task in tasks:
        with contextlib.suppress(asyncio.CancelledError):
            assert (await task).succeeded
    last = await put(kv, b"/last")
    found = (await kv.range(b"/k", b"/l")).kvs
    assert {kv_.key for kv_ in found} >= {b"/k%02d" % number for number in range(0, 40, 2)}
    late = await kv.current_revision()
    assert late - base >= len(found) + 1 and last <= late
    revisions = [kv_.mod_revision for kv_ in (await kv.range(b"/", b"0")).kvs]
    assert len(set(revisions)) == len(revisions)
