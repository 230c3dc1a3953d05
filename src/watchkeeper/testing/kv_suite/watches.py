"""What a watch delivers."""

from __future__ import annotations

from watchkeeper.kv.errors import Compacted
from watchkeeper.kv.interface import KV, Event, EventType, KeyValue
from watchkeeper.testing.cases import collector
from watchkeeper.testing.kv_suite.case import delete, put, quiet, raises, summary, take, watching

CASES, case = collector()


@case
async def a_watch_from_now_on_delivers_only_later_changes(kv: KV) -> None:
    """What was there before is not news."""
    await put(kv, b"/a/old")
    async with watching(kv, b"/a/") as watch:
        revision = await put(kv, b"/a/new", b"v")
        assert summary(await take(watch, 1)) == [("put", b"/a/new", b"v", revision)]


@case
async def creation_update_and_deletion_come_as_events_in_order(kv: KV) -> None:
    """With every field of the key; a deletion has the deletion's revision and no value."""
    async with watching(kv, b"/a/") as watch:
        created = await put(kv, b"/a/k", b"one")
        updated = await put(kv, b"/a/k", b"two", created)
        deleted = await delete(kv, b"/a/k", updated)
        events = await take(watch, 3)
    assert events == [
        Event(EventType.PUT, KeyValue(b"/a/k", b"one", created, created, 1)),
        Event(EventType.PUT, KeyValue(b"/a/k", b"two", created, updated, 2)),
        Event(EventType.DELETE, KeyValue(b"/a/k", b"", 0, deleted, 0)),
    ]
    assert [event.is_create for event in events] == [True, False, False]


@case
async def previous_states_come_when_asked_for(kv: KV) -> None:
    """None for a creation, also for one after a deletion."""
    async with watching(kv, b"/a/", prev_kv=True) as watch:
        created = await put(kv, b"/a/k", b"one")
        updated = await put(kv, b"/a/k", b"two", created)
        await delete(kv, b"/a/k", updated)
        await put(kv, b"/a/k", b"three")
        events = await take(watch, 4)
    assert [event.prev for event in events] == [
        None,
        KeyValue(b"/a/k", b"one", created, created, 1),
        KeyValue(b"/a/k", b"two", created, updated, 2),
        None,
    ]


@case
async def watches_with_and_without_previous_states_do_not_disturb_each_other(kv: KV) -> None:
    """Each gets what it asked for, whichever came first."""
    created = await put(kv, b"/a/k", b"one")
    async with watching(kv, b"/a/") as plain, watching(kv, b"/a/", prev_kv=True) as full:
        updated = await put(kv, b"/a/k", b"two", created)
        async with watching(kv, b"/", after_revision=created, prev_kv=True) as late:
            await delete(kv, b"/a/k", updated)
            assert [event.prev for event in await take(plain, 2)] == [None, None]
            first = KeyValue(b"/a/k", b"one", created, created, 1)
            second = KeyValue(b"/a/k", b"two", created, updated, 2)
            assert [event.prev for event in await take(full, 2)] == [first, second]
            assert [event.prev for event in await take(late, 2)] == [first, second]


@case
async def only_keys_with_the_prefix_are_delivered(kv: KV) -> None:
    """`/a/` has nothing of `/a`, `/a-b/` or `/ab/`; nested prefixes each get their own."""
    async with (
        watching(kv, b"/a/") as outer,
        watching(kv, b"/a/b/") as inner,
        watching(kv, b"/a/b/c") as single,
        watching(kv, b"") as everything,
    ):
        keys = [b"/a", b"/a-b/x", b"/a/b/", b"/a/b/c", b"/a/b/cd", b"/a/c", b"/a0", b"/ab/x", b"z", b"\xff\xff"]
        for key in keys:
            await put(kv, key)
        seen = {
            watch: [event.kv.key for event in await take(watch, count)]
            for watch, count in ((outer, 4), (inner, 3), (single, 2), (everything, 10))
        }
    assert seen[outer] == [b"/a/b/", b"/a/b/c", b"/a/b/cd", b"/a/c"]
    assert seen[inner] == [b"/a/b/", b"/a/b/c", b"/a/b/cd"]
    assert seen[single] == [b"/a/b/c", b"/a/b/cd"]
    assert seen[everything] == keys


@case
async def a_watch_from_the_past_replays_every_change_once_and_goes_on(kv: KV) -> None:
    """In revision order, changes of other prefixes left out, old and new ones without a seam."""
    base = await kv.current_revision()
    created = await put(kv, b"/a/k", b"one")
    await put(kv, b"/b/k")
    updated = await put(kv, b"/a/k", b"two", created)
    deleted = await delete(kv, b"/a/k", updated)
    async with watching(kv, b"/a/", after_revision=base) as watch:
        again = await put(kv, b"/a/k", b"three")
        assert summary(await take(watch, 4)) == [
            ("put", b"/a/k", b"one", created),
            ("put", b"/a/k", b"two", updated),
            ("delete", b"/a/k", b"", deleted),
            ("put", b"/a/k", b"three", again),
        ]


@case
async def a_watch_from_the_past_knows_previous_states(kv: KV) -> None:
    """Even those written before its start."""
    created = await put(kv, b"/a/k", b"one")
    updated = await put(kv, b"/a/k", b"two", created)
    deleted = await delete(kv, b"/a/k", updated)
    async with watching(kv, b"/a/", after_revision=created, prev_kv=True) as watch:
        assert await take(watch, 2) == [
            Event(
                EventType.PUT,
                KeyValue(b"/a/k", b"two", created, updated, 2),
                KeyValue(b"/a/k", b"one", created, created, 1),
            ),
            Event(
                EventType.DELETE,
                KeyValue(b"/a/k", b"", 0, deleted, 0),
                KeyValue(b"/a/k", b"two", created, updated, 2),
            ),
        ]


@case
async def a_watch_after_the_current_revision_is_one_from_now_on(kv: KV) -> None:
    """It does not repeat the change that made this revision."""
    revision = await put(kv, b"/a/k", b"one")
    async with watching(kv, b"/a/", after_revision=revision) as watch:
        updated = await put(kv, b"/a/k", b"two", revision)
        assert summary(await take(watch, 1)) == [("put", b"/a/k", b"two", updated)]


@case
async def a_watch_from_the_future_is_silent_until_the_store_gets_there(kv: KV) -> None:
    """Changes up to its start are skipped."""
    base = await kv.current_revision()
    async with watching(kv, b"/a/", after_revision=base + 3) as watch:
        for number in range(5):
            await put(kv, b"/a/k%d" % number)
        assert [event.kv.mod_revision for event in await take(watch, 2)] == [base + 4, base + 5]


@case
async def a_watch_whose_start_was_compacted_raises_compacted(kv: KV) -> None:
    """At once or from the stream; the error names a readable revision if it can."""
    first = await put(kv, b"/a/k", b"one")
    second = await put(kv, b"/a/k", b"two", first)
    third = await put(kv, b"/a/k", b"three", second)
    await kv.compact(third)

    async def start_and_read() -> None:
        async with watching(kv, b"/a/", after_revision=first) as watch:
            await take(watch, 1)

    error = await raises(Compacted, start_and_read())
    assert isinstance(error, Compacted) and error.compact_revision in (0, third)


@case
async def a_watch_can_start_after_the_compacted_revision_itself(kv: KV) -> None:
    """It misses nothing, and knows the previous states."""
    first = await put(kv, b"/a/k", b"one")
    second = await put(kv, b"/a/k", b"two", first)
    third = await put(kv, b"/a/k", b"three", second)
    await kv.compact(second)
    async with watching(kv, b"/a/", after_revision=second, prev_kv=True) as watch:
        [event] = await take(watch, 1)
    assert event.kv.mod_revision == third
    assert event.prev == KeyValue(b"/a/k", b"two", first, second, 2)


@case
async def a_watch_just_before_the_compacted_revision_raises_compacted(kv: KV) -> None:
    """The change at that revision may be gone, so nobody may pretend to deliver it."""
    first = await put(kv, b"/a/k", b"one")
    second = await put(kv, b"/a/k", b"two", first)
    deleted = await delete(kv, b"/a/k", second)
    await kv.compact(deleted)

    async def start_and_read() -> None:
        async with watching(kv, b"/a/", after_revision=second) as watch:
            await put(kv, b"/a/k", b"three")
            await take(watch, 1)

    await raises(Compacted, start_and_read())


@case
async def compaction_does_not_disturb_a_watch_that_runs(kv: KV) -> None:
    """Not even one that has not yet taken what was compacted away, unless it is told so."""
    async with watching(kv, b"/a/", prev_kv=True) as watch:
        first = await put(kv, b"/a/k", b"one")
        assert summary(await take(watch, 1)) == [("put", b"/a/k", b"one", first)]
        second = await put(kv, b"/a/k", b"two", first)
        [event] = await take(watch, 1)
        await kv.compact(second)
        third = await put(kv, b"/a/k", b"three", second)
        [event] = await take(watch, 1)
        assert event.kv.mod_revision == third
        assert event.prev is not None and event.prev.value == b"two"
        await quiet(watch, kv)


@case
async def many_watches_each_get_only_their_own(kv: KV) -> None:
    """A hundred prefixes, a hundred streams."""
    watches = [await kv.watch(b"/n%02d/" % number) for number in range(100)]
    try:
        for number in range(100):
            await put(kv, b"/n%02d/k" % number)
        for number, watch in enumerate(watches):
            assert [event.kv.key for event in await take(watch, 1)] == [b"/n%02d/k" % number]
    finally:
        for watch in watches:
            await watch.close()
