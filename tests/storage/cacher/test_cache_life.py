"""The Cacher as a whole, where its timing or its insides matter; on a clock of the test's."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from cache_objects import CODEC, ROOT, by

from watchkeeper.kv.errors import Unavailable
from watchkeeper.kv.interface import RangeResult, Watch
from watchkeeper.kv.memory import MemoryKV
from watchkeeper.storage.cacher.cacher import Cacher
from watchkeeper.storage.cacher.history import History
from watchkeeper.storage.errors import Expired, NotReady, TooLargeResourceVersion, Unreachable
from watchkeeper.storage.interface import EventType, ListOptions, Match, Object, StoredObject, WatchEvent, WatchOptions
from watchkeeper.storage.store import Store
from watchkeeper.storage.watcher import StoreWatcher
from watchkeeper.testing.clock import ManualClock


class WatchedKV(MemoryKV):
    """Counts calls, and fails or hides things when told to."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[str, int]] = []
        self.away = False
        self.remote = False
        self.progress_requests = 0
        self.opened: list[Watch] = []

    def _check(self) -> None:
        if self.away:
            raise Unavailable("no answer")

    async def get(self, key: bytes, *, revision: int = 0):  # type: ignore[no-untyped-def]
        self._check()
        self.calls.append(("get", 0))
        return await super().get(key, revision=revision)

    async def range(self, start: bytes, end: bytes, **options: Any) -> RangeResult:
        self._check()
        self.calls.append(("range", options.get("limit", 0)))
        return await super().range(start, end, **options)

    async def watch(self, prefix: bytes, **options: Any) -> Watch:
        self._check()
        watch = await super().watch(prefix, **options)
        self.opened.append(watch)
        return watch

    async def current_revision(self) -> int:
        self._check()
        return await super().current_revision()

    def current_revision_nowait(self) -> int | None:
        return None if self.remote else super().current_revision_nowait()

    async def request_progress(self, watch: Watch) -> bool:
        self.progress_requests += 1
        return await super().request_progress(watch)


class Stage:
    def __init__(self, *, remote: bool = False, history: History | None = None) -> None:
        self.clock, self.kv = ManualClock(), WatchedKV()
        self.kv.remote = remote
        self.cacher = Cacher(
            Store(self.kv, CODEC, ROOT),
            index_fields=("spec.node",),
            clock=self.clock,
            history=history,
            ready_seconds=0.2,
            compacted=lambda: self.compacted,
        )
        self.compacted = 0

    async def create(self, name: str, **spec: object) -> StoredObject:
        return await self.cacher.create(ROOT + name, thing(name, **spec))

    async def watch(self, **options: Any):  # type: ignore[no-untyped-def]
        return await self.cacher.watch(ROOT, WatchOptions(**options))

    def break_watch(self) -> None:
        self.kv.opened[-1].end(Unavailable("the stream broke"))  # type: ignore[attr-defined]


def thing(name: str, **spec: object) -> Object:
    return {"kind": "Thing", "apiVersion": "v1", "metadata": {"name": name}, "spec": spec}


def touch(n: int) -> Callable[[StoredObject | None], Object]:
    return lambda stored: thing(stored.key.rpartition("/")[2], n=n)  # type: ignore[union-attr]


def on_stage(test: Callable[[Stage], Awaitable[None]], *, start: bool = True, **options: Any) -> None:
    async def run() -> None:
        stage = Stage(**options)
        if start:
            await stage.cacher.wait_until_ready()
            stage.kv.calls.clear()
        try:
            await asyncio.wait_for(test(stage), 20)
        finally:
            await stage.cacher.close()
            await stage.kv.close()
        assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []

    asyncio.run(run())


async def take(watcher, count: int) -> list[str]:  # type: ignore[no-untyped-def]
    events: list[Any] = []
    while len(events) < count:
        batch = await asyncio.wait_for(watcher.next_batch(), 5)
        assert batch
        events += batch
    return [f"{e.type.value} {e.object.key.removeprefix(ROOT) if e.object else ''}".strip() for e in events]


def test_nothing_is_read_before_somebody_asks() -> None:
    async def test(stage: Stage) -> None:
        await stage.clock.advance(10)
        assert stage.kv.calls == []
        assert stage.cacher.ready() == ""
        assert repr(stage.cacher).startswith("<Cacher /registry/things/ <Feed idle at 0>")

    on_stage(test, start=False)


def test_reads_and_lists_do_not_ask_the_store() -> None:
    async def test(stage: Stage) -> None:
        await stage.create("x")
        stage.kv.calls.clear()
        for version in ("", "0"):
            assert stage.cacher.get_nowait(ROOT + "x", resource_version=version) is not None
            await stage.cacher.get(ROOT + "x", resource_version=version)
            page = await stage.cacher.get_list(ROOT, ListOptions(resource_version=version, limit=1))
            assert len(page.items) == 1
        await stage.cacher.get_list(ROOT, ListOptions(resource_version=str(page.resource_version), match=Match.EXACT))
        await stage.cacher.count(ROOT)
        assert stage.kv.calls == []

    on_stage(test)


def test_a_write_uses_what_is_cached_and_reads_nothing() -> None:
    async def test(stage: Stage) -> None:
        await stage.create("x")
        await stage.cacher.store.guaranteed_update(ROOT + "x", touch(1))  # as another server would
        stage.kv.calls.clear()
        await stage.cacher.guaranteed_update(ROOT + "x", touch(2))
        await stage.cacher.delete(ROOT + "x")
        assert stage.kv.calls == []

    on_stage(test)


def test_own_writes_are_recognized_when_they_come_back() -> None:
    async def test(stage: Stage) -> None:
        parsed = []
        parse = CODEC.parse
        CODEC.parse = lambda stored: parsed.append(stored) or parse(stored)  # type: ignore[method-assign,func-returns-value]
        try:
            await stage.create("x", node="n1")
            found = stage.cacher.get_nowait(ROOT + "x")
            assert found is not None
            assert found.attributes.fields["spec.node"] == "n1"
            assert parsed == []
        finally:
            del CODEC.parse  # type: ignore[method-assign]
        assert len(stage.cacher.feed._own_writes) == 0

    on_stage(test)


def test_a_write_is_told_to_watchers_before_its_writer_knows() -> None:
    async def test(stage: Stage) -> None:
        watcher = await stage.watch()
        told: list[int] = []

        def push(batch: list[WatchEvent]) -> bool:
            told.extend(event.resource_version for event in batch)
            return True

        watcher.push_to(push)
        reader = asyncio.create_task(watcher.next_batch())
        await asyncio.sleep(0)
        for write in (
            stage.create("x"),
            stage.cacher.guaranteed_update(ROOT + "x", touch(1)),
            stage.cacher.delete(ROOT + "x"),
        ):
            version = (await write).resource_version
            assert told[-1] >= version
        assert len(told) == 3
        watcher.close()
        await reader

    on_stage(test)


def test_the_first_write_can_be_watched_from() -> None:
    async def test(stage: Stage) -> None:
        created = await stage.create("x")
        await stage.create("y")
        watcher = await stage.watch(resource_version=str(created.resource_version - 1))
        assert await take(watcher, 2) == ["ADDED x", "ADDED y"]

    on_stage(test, start=False)


def test_a_broken_watch_goes_on_where_it_stopped_and_watchers_do_not_notice() -> None:
    async def test(stage: Stage) -> None:
        watcher = await stage.watch()
        await stage.create("x")
        assert await take(watcher, 1) == ["ADDED x"]
        stage.break_watch()
        await stage.create("y")
        assert (await stage.cacher.get_list(ROOT, ListOptions(resource_version="0"))).items
        await stage.clock.advance(1)
        await stage.create("z")
        assert await take(watcher, 2) == ["ADDED y", "ADDED z"]
        assert len(stage.kv.opened) == 2
        assert ("range", 10_000) not in stage.kv.calls

    on_stage(test)


def test_a_compacted_watch_is_followed_by_a_list_and_watchers_are_ended() -> None:
    async def test(stage: Stage) -> None:
        watcher = await stage.watch()
        created = await stage.create("x")
        assert await take(watcher, 1) == ["ADDED x"]
        stage.break_watch()
        await stage.cacher.store.create(ROOT + "y", thing("y"))
        await stage.kv.compact(await stage.kv.current_revision())
        await stage.clock.advance(1)
        assert await watcher.next_batch() == []
        assert len((await stage.cacher.get_list(ROOT, ListOptions())).items) == 2
        late = await stage.watch(resource_version=str(created.resource_version))
        event = (await late.next_batch())[0]
        assert isinstance(event.error, Expired)
        assert str(event.error).startswith(f"too old resource version: {created.resource_version} (")

    on_stage(test)


def test_what_the_store_has_compacted_is_not_read_from_memory() -> None:
    async def test(stage: Stage) -> None:
        first = (await stage.create("x")).resource_version
        second = (await stage.create("y")).resource_version
        for revision, there in ((first, 1), (second, 2)):
            exact = ListOptions(resource_version=str(revision), match=Match.EXACT)
            assert len((await stage.cacher.get_list(ROOT, exact)).items) == there
        await stage.kv.compact(second)
        stage.compacted = second
        assert len((await stage.cacher.get_list(ROOT, exact)).items) == 2
        with pytest.raises(Expired):
            await stage.cacher.get_list(ROOT, ListOptions(resource_version=str(first), match=Match.EXACT))

    on_stage(test)


def test_while_the_store_is_away_cached_reads_of_any_version_go_on() -> None:
    async def test(stage: Stage) -> None:
        created = await stage.create("x")
        await stage.cacher.get(ROOT + "x")
        stage.kv.away = True
        stage.kv.remote = True
        stage.cacher.feed._in_process = False
        stage.break_watch()
        await stage.clock.advance(1)
        assert (await stage.cacher.get(ROOT + "x", resource_version="0")).key == ROOT + "x"
        assert len((await stage.cacher.get_list(ROOT, ListOptions(resource_version="0"))).items) == 1
        version = str(created.resource_version)
        assert len((await stage.cacher.get_list(ROOT, ListOptions(resource_version=version))).items) == 1
        with pytest.raises(Unreachable):
            await stage.cacher.get(ROOT + "x")
        with pytest.raises(Unreachable):
            await stage.cacher.get_list(ROOT, ListOptions())
        stage.kv.away = False
        await stage.clock.advance(10)
        assert (await stage.cacher.get(ROOT + "x")).key == ROOT + "x"
        watcher = await stage.watch(resource_version=version)
        await stage.create("y")
        assert await take(watcher, 1) == ["ADDED y"]

    on_stage(test)


def test_a_cache_that_cannot_start_sends_the_cheap_to_the_store_and_the_others_away() -> None:
    async def test(stage: Stage) -> None:
        await stage.cacher.store.create(ROOT + "x", thing("x"))
        stage.kv.away = True
        for options in (ListOptions(), ListOptions(limit=5, predicate=by("app=a"))):
            with pytest.raises(NotReady) as e:
                await stage.cacher.get_list(ROOT, options)
            assert e.value.retry_after >= 1
            assert str(e.value).startswith("storage is (re)initializing: ")
        with pytest.raises(NotReady):
            await stage.watch()
        assert stage.cacher.ready().startswith("storage is (re)initializing")
        stage.kv.away = False
        assert len((await stage.cacher.get_list(ROOT, ListOptions(limit=5))).items) == 1
        assert (await stage.cacher.get(ROOT + "x", resource_version="0")).key == ROOT + "x"
        await stage.clock.advance(10)
        assert stage.cacher.ready() == ""
        assert len((await stage.cacher.get_list(ROOT, ListOptions())).items) == 1

    on_stage(test, start=False)


def test_an_unready_cache_says_to_come_back_later_the_longer_it_takes() -> None:
    async def test(stage: Stage) -> None:
        stage.kv.away = True
        stage.cacher.start()
        await stage.clock.advance(20)
        with pytest.raises(NotReady) as e:
            await stage.watch()
        assert e.value.retry_after == 20
        await stage.clock.advance(600)
        with pytest.raises(NotReady) as e:
            await stage.watch()
        assert e.value.retry_after == 60

    on_stage(test, start=False)


def test_a_version_that_does_not_come_is_waited_for_three_seconds() -> None:
    async def test(stage: Stage) -> None:
        task = asyncio.create_task(stage.cacher.get_list(ROOT, ListOptions(resource_version="1000")))
        await stage.clock.advance(2.9)
        assert not task.done()
        await stage.clock.advance(0.2)
        with pytest.raises(TooLargeResourceVersion, match="Too large resource version: 1000, current: 1"):
            await task

    on_stage(test)


def test_who_waited_in_vain_leaves_nothing_behind() -> None:
    async def test(stage: Stage) -> None:
        waiting = [
            asyncio.create_task(stage.cacher.get_list(ROOT, ListOptions(resource_version=str(10**9 + n))))
            for n in range(20)
        ]
        await stage.clock.advance(1)
        waiting[0].cancel()
        await stage.clock.advance(3)
        results = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(result) for result in results[1:]] == [TooLargeResourceVersion] * 19
        assert repr(stage.cacher.feed.freshness) == "<Freshness 1, 0 waiting>"

    on_stage(test)


def test_a_version_that_comes_is_waited_for() -> None:
    async def test(stage: Stage) -> None:
        task = asyncio.create_task(stage.cacher.get_list(ROOT, ListOptions(resource_version="3")))
        await stage.clock.advance(1)
        await stage.create("x")
        await stage.create("y")
        await stage.clock.advance(0)
        assert len((await task).items) == 2

    on_stage(test)


def test_a_store_in_another_process_is_asked_for_progress_until_a_read_is_fresh() -> None:
    async def test(stage: Stage) -> None:
        await stage.create("x")
        await stage.kv.optimistic_put(b"/elsewhere", b"x", 0)
        revision = await stage.kv.current_revision()
        assert stage.cacher.get_nowait(ROOT + "x") is None
        task = asyncio.create_task(stage.cacher.get_list(ROOT, ListOptions()))
        await stage.clock.advance(0.5)
        result = await task
        assert len(result.items) == 1
        assert result.resource_version >= revision
        assert stage.kv.progress_requests >= 1
        before = stage.kv.progress_requests
        await stage.clock.advance(10)
        assert stage.kv.progress_requests == before

    on_stage(test, remote=True)


def test_a_consistent_read_of_a_store_elsewhere_asks_it_but_decodes_nothing_that_is_known() -> None:
    async def test(stage: Stage) -> None:
        await stage.create("x")
        await stage.clock.advance(0)
        cached = await stage.cacher.get(ROOT + "x", resource_version="0")
        stage.kv.calls.clear()
        assert await stage.cacher.get(ROOT + "x") is cached
        assert stage.kv.calls == [("get", 0)]
        changed = await stage.cacher.store.guaranteed_update(ROOT + "x", touch(1))
        assert (await stage.cacher.get(ROOT + "x")).encoded == changed.encoded

    on_stage(test, remote=True)


def test_a_cache_that_cannot_catch_up_leaves_consistent_lists_to_the_store() -> None:
    async def test(stage: Stage) -> None:
        await stage.create("x")

        async def no_progress(watch: Watch) -> bool:
            raise Unavailable("not now")

        stage.kv.request_progress = no_progress  # type: ignore[method-assign]
        await stage.kv.optimistic_put(b"/elsewhere", b"x", 0)
        task = asyncio.create_task(stage.cacher.get_list(ROOT, ListOptions()))
        await stage.clock.advance(3.1)
        assert len((await task).items) == 1
        assert ("range", 0) in stage.kv.calls

    on_stage(test, remote=True)


def test_a_store_that_cannot_be_asked_for_progress_is_read_itself_and_nobody_waits_for_long() -> None:
    async def test(stage: Stage) -> None:
        await stage.create("x")
        await stage.clock.advance(0)

        async def cannot(watch: Watch) -> bool:
            return False

        stage.kv.request_progress = cannot  # type: ignore[method-assign]
        revision = (await stage.kv.optimistic_put(b"/elsewhere", b"x", 0)).revision
        before = stage.clock.monotonic()
        listed = await stage.cacher.get_list(ROOT, ListOptions())
        assert listed.resource_version == revision
        assert ("range", 0) in stage.kv.calls
        assert stage.clock.monotonic() == before  # at once
        minimum = str(revision)
        for work in (
            stage.cacher.get(ROOT + "x", resource_version=minimum),
            stage.cacher.get_list(ROOT, ListOptions(resource_version=minimum)),
            stage.cacher.get_list(ROOT, ListOptions(resource_version=minimum, match=Match.EXACT)),
            stage.cacher.watch(ROOT, WatchOptions(send_initial_events=True, bookmarks=True)),
        ):
            stage.kv.calls.clear()
            task = asyncio.ensure_future(work)
            await stage.clock.advance(0.3)
            found = await task
            assert stage.kv.calls or isinstance(found, StoreWatcher)
        assert isinstance(found, StoreWatcher)
        events = await found.next_batch()
        events += await found.next_batch()
        assert [event.type for event in events] == [EventType.ADDED, EventType.BOOKMARK]
        found.close()
        for match in Match:
            for work in (
                stage.cacher.get(ROOT + "x", resource_version="1000"),
                stage.cacher.get_list(ROOT, ListOptions(resource_version="1000", match=match)),
            ):
                task = asyncio.ensure_future(work)
                await stage.clock.advance(0.3)
                with pytest.raises(TooLargeResourceVersion) as caught:
                    await task
                assert caught.value.retry_after == 1, "as from a cache that knows how far it is"

    on_stage(test, remote=True)


def test_a_large_resource_is_listed_in_pages_of_ten_thousand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("watchkeeper.storage.cacher.feed.LIST_PAGE", 10)

    async def test(stage: Stage) -> None:
        for n in range(25):
            await stage.cacher.store.create(f"{ROOT}x{n:02}", thing(f"x{n:02}"))
        stage.kv.calls.clear()
        assert len((await stage.cacher.get_list(ROOT, ListOptions())).items) == 25
        assert stage.kv.calls == [("range", 10)] * 3

    on_stage(test, start=False, remote=True)


def test_a_cache_knows_what_came_before_somebody_asked_for_it() -> None:
    async def test(stage: Stage) -> None:
        before = await stage.kv.current_revision()
        first = await stage.cacher.store.create(ROOT + "a", thing("a"))
        await stage.cacher.store.create(ROOT + "b", thing("b"))
        watcher = await stage.watch(resource_version=str(before))
        told = await watcher.next_batch()
        assert [event.resource_version - first.resource_version for event in told] == [0, 1]

    on_stage(test, start=False)


def test_a_cache_begins_with_the_latest_where_the_store_has_forgotten_what_came_before() -> None:
    async def test(stage: Stage) -> None:
        await stage.cacher.store.create(ROOT + "a", thing("a"))
        last = await stage.cacher.store.create(ROOT + "b", thing("b"))
        await stage.kv.compact(last.resource_version)
        found = await stage.cacher.get_list(ROOT, ListOptions())
        assert [item.key for item in found.items] == [ROOT + "a", ROOT + "b"]
        assert stage.cacher.cache.history.floor == last.resource_version

    on_stage(test, start=False)


def test_an_old_revision_is_left_to_the_store() -> None:
    async def test(stage: Stage) -> None:
        await stage.create("x", n=0)
        versions = [(await stage.cacher.guaranteed_update(ROOT + "x", touch(n))).resource_version for n in range(1, 30)]
        stage.kv.calls.clear()
        recent = ListOptions(resource_version=str(versions[-3]), match=Match.EXACT)
        assert (await stage.cacher.get_list(ROOT, recent)).items[0].data()["spec"] == {"n": 27}
        assert stage.kv.calls == []
        old = ListOptions(resource_version=str(versions[0]), match=Match.EXACT)
        assert (await stage.cacher.get_list(ROOT, old)).items[0].data()["spec"] == {"n": 1}
        assert stage.kv.calls == [("range", 0)]

    on_stage(test, history=History(lower=10, upper=10))


def test_a_difference_from_the_store_is_found_and_repaired(caplog: pytest.LogCaptureFixture) -> None:
    async def test(stage: Stage) -> None:
        await stage.create("x")
        await stage.create("y")
        await stage.cacher.get_list(ROOT, ListOptions())
        watcher = await stage.watch(resource_version="0")
        await stage.clock.advance(1000)
        assert len(stage.kv.opened) == 1
        assert stage.cacher.feed.check.results["success"] >= 2
        stage.cacher.cache.snapshot.remove(ROOT + "y")  # as no code does
        await stage.clock.advance(1000)
        assert len(stage.kv.opened) == 2
        assert len((await stage.cacher.get_list(ROOT, ListOptions(resource_version="0"))).items) == 2
        assert await watcher.next_batch() == []
        assert stage.cacher.feed.check.results["failure"] == 1
        assert [r.levelname for r in caplog.records if "not what the store is" in r.message] == ["ERROR"]

    on_stage(test)


@pytest.mark.parametrize("remote", [False, True], ids=["in-process", "elsewhere"])
def test_bookmarks_keep_the_watchers_of_a_quiet_resource_fresh(remote: bool) -> None:
    async def test(stage: Stage) -> None:
        await stage.create("x")
        watcher = await stage.watch(resource_version="2", bookmarks=True)
        silent = await stage.watch(resource_version="2")
        for _ in range(50):
            current = (await stage.kv.get(b"/elsewhere")).kv
            await stage.kv.optimistic_put(b"/elsewhere", b"x", current.mod_revision if current else 0)
            await stage.clock.advance(1.5)
        event = (await watcher.next_batch())[0]
        assert event.type is EventType.BOOKMARK
        assert event.resource_version > 30
        assert not event.initial_events_end
        assert silent.queue == []

    on_stage(test, remote=remote)


def test_what_a_watcher_held_is_freed_when_it_is_closed() -> None:
    async def test(stage: Stage) -> None:
        for _ in range(50):
            (await stage.watch(bookmarks=True)).close()
            (await stage.watch(bookmarks=True, predicate=by("app=a"))).close()
        assert len(stage.cacher.watchers) == 0
        assert len(stage.cacher.watchers.bookmarks) == 0

    on_stage(test)


def test_closing_ends_everything_and_can_be_done_twice() -> None:
    async def test(stage: Stage) -> None:
        watcher = await stage.watch()
        waiting = asyncio.create_task(watcher.next_batch())
        await asyncio.sleep(0)
        await stage.cacher.close()
        await stage.cacher.close()
        assert await waiting == []
        with pytest.raises(NotReady, match="apiserver cacher is stopped"):
            await stage.watch()

    on_stage(test)


def test_a_slow_reader_of_a_burst_is_served_in_full_or_ended_never_cut_short() -> None:
    async def test(stage: Stage) -> None:
        slow, fast = await stage.watch(resource_version="1"), await stage.watch(resource_version="1")
        seen: list[str] = []
        for n in range(20_000):
            await stage.create(f"x{n:05}")
            if n % 500 == 499:
                seen += await take(fast, 500)
        assert seen == [f"ADDED x{n:05}" for n in range(20_000)]
        taken: list[str] = []
        while batch := await slow.next_batch():
            taken += [f"{e.type.value} {e.object.key.removeprefix(ROOT)}" for e in batch]
            if len(taken) == 20_000:
                break
        assert taken == seen[: len(taken)]
        assert len(taken) == 20_000 or slow.closed

    on_stage(test)


def test_a_list_that_goes_on_at_any_version_holds_all_the_rest_whatever_its_limit() -> None:
    async def test(stage: Stage) -> None:
        for name in "abcd":
            await stage.create(name)
        first = await stage.cacher.get_list(ROOT, ListOptions(limit=1))
        options = ListOptions(limit=2, resource_version="0", continue_token=first.continue_token)
        page = await stage.cacher.get_list(ROOT, options)
        assert [item.key for item in page.items] == [ROOT + "b", ROOT + "c", ROOT + "d"]
        assert page.remaining is None
        assert len((await stage.cacher.get_list(ROOT, ListOptions(limit=2, resource_version="0"))).items) == 4

    on_stage(test)


@pytest.mark.parametrize(("limit", "more"), [(1, True), (2, True), (3, False)])
def test_a_full_page_goes_on_as_long_as_there_is_anything_behind_it(limit: int, more: bool) -> None:
    async def test(stage: Stage) -> None:
        for name, app in (("a", "x"), ("b", "x"), ("c", "y")):
            obj = thing(name)
            obj["metadata"]["labels"] = {"app": app}
            await stage.cacher.create(ROOT + name, obj)
        page = await stage.cacher.get_list(ROOT, ListOptions(limit=limit, predicate=by("app=x")))
        assert len(page.items) == min(limit, 2)
        assert bool(page.continue_token) is more

    on_stage(test)


def test_a_full_page_of_objects_of_one_name_goes_on_as_long_as_there_is_anything_behind_it() -> None:
    async def test(stage: Stage) -> None:
        for name in "abc":
            await stage.create(name)
        options = ListOptions(limit=1, predicate=by(field="metadata.name=a"))
        assert (await stage.cacher.get_list(ROOT, options)).continue_token
        options = ListOptions(limit=1, predicate=by(field="metadata.name=c"))
        assert not (await stage.cacher.get_list(ROOT, options)).continue_token

    on_stage(test)
