"""Forgetting history."""

from __future__ import annotations

import asyncio
import random

from watchkeeper.kv.errors import Compacted, FutureRevision
from watchkeeper.kv.interface import KV
from watchkeeper.testing.cases import collector
from watchkeeper.testing.kv_suite.case import Model, delete, put, raises

CASES, case = collector()


@case
async def reads_below_the_compacted_revision_raise_compacted(kv: KV) -> None:
    """Reads at it and after it go on."""
    first = await put(kv, b"/k", b"one")
    second = await put(kv, b"/k", b"two", first)
    third = await put(kv, b"/k", b"three", second)
    await kv.compact(second)
    for operation in (kv.get(b"/k", revision=first), kv.range(b"/", b"0", revision=first)):
        error = await raises(Compacted, operation)
        assert isinstance(error, Compacted) and error.compact_revision in (0, second)
    for revision, value in ((second, b"two"), (third, b"three"), (0, b"three")):
        found = (await kv.get(b"/k", revision=revision)).kv
        assert found is not None and found.value == value


@case
async def compaction_keeps_everything_that_still_exists(kv: KV) -> None:
    """Also keys last written long before."""
    old = await put(kv, b"/old", b"v")
    for number in range(10):
        revision = await put(kv, b"/k%d" % number)
    await kv.compact(revision)
    found = await kv.range(b"/", b"0")
    assert found.count == 11
    assert found.kvs[-1].key == b"/old" and found.kvs[-1].mod_revision == old
    assert (await kv.range(b"/", b"0", revision=revision)).count == 11


@case
async def compaction_at_a_deletion_leaves_nothing_of_the_key(kv: KV) -> None:
    """And the key can be made anew."""
    created = await put(kv, b"/k")
    deleted = await delete(kv, b"/k", created)
    await kv.compact(deleted)
    assert (await kv.get(b"/k", revision=deleted)).kv is None
    again = await put(kv, b"/k")
    assert (await kv.get(b"/k", revision=deleted)).kv is None
    found = (await kv.get(b"/k", revision=again)).kv
    assert found is not None and found.create_revision == again


@case
async def compacting_what_was_compacted_raises_compacted(kv: KV) -> None:
    """The same revision again, or an older one."""
    revision = await put(kv, b"/k")
    await put(kv, b"/l")
    await kv.compact(revision)
    await raises(Compacted, kv.compact(revision))
    await raises(Compacted, kv.compact(revision - 1))
    await kv.compact(revision + 1)


@case
async def compacting_the_future_raises_future_revision(kv: KV) -> None:
    """The current revision is the last that can be compacted at."""
    revision = await put(kv, b"/k")
    await raises(FutureRevision, kv.compact(revision + 1))
    await kv.compact(revision)
    assert (await kv.get(b"/k")).kv is not None


@case
async def history_after_compaction_reads_exactly_as_before(kv: KV) -> None:
    """Random writes, two compactions, every readable revision compared."""
    chance = random.Random(11)
    model = Model(await kv.current_revision())
    for number in range(200):
        key = b"/k%d" % chance.randrange(9)
        if key in model.states[model.now] and chance.random() < 0.35:
            await model.delete(kv, key)
        else:
            await model.put(kv, key, b"%d" % number)
    for compacted in (model.start + 60, model.start + 130):
        await kv.compact(compacted)
        for revision in (compacted, compacted + 1, *range(compacted + 7, model.now, 9), model.now):
            await model.check(kv, revision, b"/k", b"/l")
        await raises(Compacted, kv.range(b"/k", b"/l", revision=compacted - 1))


@case
async def compaction_and_writes_go_on_together(kv: KV) -> None:
    """Nothing written meanwhile is lost, and every answer is exact or says that it is compacted."""
    model = Model(await kv.current_revision())

    async def write() -> None:
        for number in range(300):
            await model.put(kv, b"/k%d" % (number % 10), b"%d" % number)

    async def compact() -> None:
        while not writer.done():
            await asyncio.sleep(0.002)
            try:
                await kv.compact(await kv.current_revision())
            except Compacted:
                continue

    async def read() -> None:
        while not writer.done():
            await asyncio.sleep(0.001)
            revision = model.now - 1
            if revision <= model.start:
                continue
            try:
                await model.check(kv, revision, b"/k", b"/l")
            except Compacted:
                continue

    writer = asyncio.ensure_future(write())
    await asyncio.gather(writer, compact(), read())
    await model.check(kv, model.now, b"/k", b"/l")
