"""What a store says of itself, and how it ends."""

from __future__ import annotations

import asyncio

from watchkeeper.kv.errors import Closed
from watchkeeper.kv.interface import KV, Watch
from watchkeeper.testing.cases import collector
from watchkeeper.testing.kv_suite.case import PATIENCE, eventually, put, raises, take

CASES, case = collector()


@case
async def the_status_tells_revision_compaction_and_size(kv: KV) -> None:
    """And the name and version of what serves it."""
    before = (await kv.status()).compact_revision
    revision = await put(kv, b"/k", b"x" * 100_000)
    status = await kv.status()
    assert status.backend and status.version
    assert (status.revision, status.compact_revision) == (revision, before)

    async def sizes_are_right() -> bool:
        status = await kv.status()
        return 100_000 <= status.db_size_in_use <= status.db_size

    await eventually(sizes_are_right, "the sizes count what was written")
    await kv.compact(revision)
    assert (await kv.status()).compact_revision in (0, revision)


@case
async def the_revision_known_without_asking_is_the_current_one(kv: KV) -> None:
    """Or None, always, where other processes may write."""
    for number in range(5):
        revision = await put(kv, b"/k%d" % number)
        assert kv.current_revision_nowait() in (None, revision)


@case
async def after_closing_every_operation_raises_closed(kv: KV) -> None:
    """Closing twice is fine."""
    watch = await kv.watch(b"/")
    await kv.close()
    await kv.close()
    for operation in (
        kv.get(b"/k"),
        kv.range(b"/", b"0"),
        kv.optimistic_put(b"/k", b"v", 0),
        kv.optimistic_delete(b"/k", 1),
        kv.watch(b"/"),
        kv.request_progress(watch),
        kv.current_revision(),
        kv.grant_lease(10),
        kv.revoke_lease(1),
        kv.compact(1),
        kv.status(),
    ):
        await raises(Closed, operation)


@case
async def closing_ends_every_watch_with_closed_behind_what_it_has_not_taken(kv: KV) -> None:
    """Whoever waits is woken; nothing that was delivered is lost."""
    waiting, lagging = await kv.watch(b"/a/"), await kv.watch(b"/b/")
    reader = asyncio.ensure_future(raises(Closed, _read_on(waiting)))
    revision = await put(kv, b"/b/k")
    if kv.current_revision_nowait() is None:
        assert [event.kv.mod_revision for event in await take(lagging, 1)] == [revision]
    await kv.close()
    await asyncio.wait_for(reader, PATIENCE)
    if kv.current_revision_nowait() is not None:
        assert [event.kv.mod_revision for event in await take(lagging, 1)] == [revision]
    await raises(Closed, _read_on(lagging))
    await raises(Closed, _read_on(lagging))


async def _read_on(watch: Watch) -> None:
    """Take what is no more than progress, until the end."""
    while not (batch := await watch.__anext__()).events:
        continue
    raise AssertionError(f"unexpected: {batch.events}")
