"""The Reflector against a scripted source."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from watchkeeper.aio.backoff import Backoff
from watchkeeper.aio.mailbox import Mailbox
from watchkeeper.reflector.interface import Batch, Expired, Page, VersionTooLarge
from watchkeeper.reflector.reflector import Reflector, State
from watchkeeper.testing.clock import ManualClock


class FakeStream:
    def __init__(self) -> None:
        self.mailbox: Mailbox[Any] = Mailbox()
        self.closed = False

    async def next_batch(self) -> Batch[str] | None:
        item = await self.mailbox.take()
        if isinstance(item, Exception):
            raise item
        return item  # type: ignore[no-any-return]

    def close(self) -> None:
        self.closed = True


class Source:
    """Answers lists from a script and hands every watch out to the test."""

    def __init__(self, *answers: Page[str] | Exception) -> None:
        self.answers = list(answers)
        self.lists: list[tuple[str, int, str]] = []
        self.watches: list[tuple[str, FakeStream]] = []
        self.refuse: list[Exception] = []

    async def list(self, *, resource_version: str, limit: int, continue_token: str) -> Page[str]:
        self.lists.append((resource_version, limit, continue_token))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def watch(self, *, resource_version: str) -> FakeStream:
        if self.refuse:
            raise self.refuse.pop(0)
        stream = FakeStream()
        self.watches.append((resource_version, stream))
        return stream


class Record:
    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def replace(self, items: Sequence[str], resource_version: str) -> None:
        self.calls.append(("replace", list(items), resource_version))

    def apply(self, changes: Sequence[str], resource_version: str) -> None:
        self.calls.append(("apply", list(changes), resource_version))

    def interrupted(self, error: Exception) -> None:
        self.calls.append(("interrupted", type(error).__name__))


Test = Callable[[Reflector[str, str], Source, Record, ManualClock], Awaitable[None]]


def reflect(test: Test, *answers: Page[str] | Exception, may_rewind: bool = False) -> None:
    async def run() -> None:
        clock, source, sink = ManualClock(), Source(*answers), Record()
        backoff = Backoff(initial=1.0, limit=8.0, jitter=0.0)
        reflector = Reflector("test", source, sink, page_size=2, backoff=backoff, clock=clock, may_rewind=may_rewind)
        task = asyncio.create_task(reflector.run())
        await clock.advance(0)
        try:
            await test(reflector, source, sink, clock)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    asyncio.run(run())


def test_it_lists_in_pages_and_then_watches_from_the_version_of_the_list() -> None:
    async def test(reflector: Reflector[str, str], source: Source, sink: Record, clock: ManualClock) -> None:
        assert source.lists == [("0", 2, ""), ("", 2, "more")]
        assert sink.calls == [("replace", ["a", "b", "c"], "7")]
        version, stream = source.watches[0]
        assert version == "7"
        stream.mailbox.put_nowait(Batch(["d"], "8"))
        stream.mailbox.put_nowait(Batch([], "9"))
        await clock.advance(0)
        assert sink.calls[1:] == [("apply", ["d"], "8"), ("apply", [], "9")]
        assert reflector.resource_version == "9"
        assert reflector.state is State.WATCHING

    reflect(test, Page(["a", "b"], "7", "more"), Page(["c"], "7"))


def test_a_watch_that_ends_is_resumed_where_it_stopped_without_a_list() -> None:
    async def test(reflector: Reflector[str, str], source: Source, sink: Record, clock: ManualClock) -> None:
        source.watches[0][1].mailbox.put_nowait(Batch(["b"], "8"))
        source.watches[0][1].mailbox.put_nowait(None)
        await clock.advance(0)
        assert [version for version, _ in source.watches] == ["7", "8"]
        assert source.watches[0][1].closed
        assert len(source.lists) == 1

    reflect(test, Page(["a"], "7"))


def test_a_watch_that_breaks_is_resumed_after_a_pause_that_grows_and_is_reset_by_an_event() -> None:
    async def test(reflector: Reflector[str, str], source: Source, sink: Record, clock: ManualClock) -> None:
        source.refuse = [ConnectionError(), ConnectionError()]
        source.watches[0][1].mailbox.put_nowait(ConnectionError())
        await clock.advance(0.9)
        assert len(source.watches) == 1
        await clock.advance(1 + 2 + 4)
        assert [version for version, _ in source.watches] == ["7", "7"]
        source.watches[1][1].mailbox.put_nowait(Batch(["b"], "8"))
        source.watches[1][1].mailbox.put_nowait(ConnectionError())
        await clock.advance(1.1)
        assert source.watches[2][0] == "8"
        assert len(source.lists) == 1

    reflect(test, Page(["a"], "7"))


def test_an_expired_version_is_followed_by_a_list_of_the_latest_state() -> None:
    async def test(reflector: Reflector[str, str], source: Source, sink: Record, clock: ManualClock) -> None:
        source.watches[0][1].mailbox.put_nowait(Expired())
        await clock.advance(0)
        assert source.lists == [("0", 2, ""), ("", 2, "")]
        assert sink.calls == [("replace", ["a"], "7"), ("interrupted", "Expired"), ("replace", ["b"], "9")]
        assert source.watches[1][0] == "9"

    reflect(test, Page(["a"], "7"), Page(["b"], "9"))


def test_a_list_older_than_what_was_seen_is_not_used() -> None:
    async def test(reflector: Reflector[str, str], source: Source, sink: Record, clock: ManualClock) -> None:
        source.watches[0][1].mailbox.put_nowait(Expired())
        await clock.advance(0)
        assert reflector.resource_version == "7"
        assert ("replace", ["old"], "5") not in sink.calls
        await clock.advance(1)
        assert sink.calls[-1] == ("replace", ["new"], "9")

    reflect(test, Page(["a"], "7"), Page(["old"], "5"), Page(["new"], "9"))


def test_a_list_of_another_source_that_took_the_place_of_the_first_is_used() -> None:
    async def test(reflector: Reflector[str, str], source: Source, sink: Record, clock: ManualClock) -> None:
        source.watches[0][1].mailbox.put_nowait(ConnectionError())
        await clock.advance(0)
        assert sink.calls[-1] == ("interrupted", "ConnectionError")
        await clock.advance(1)
        assert source.lists[1:] == [("", 2, "")]
        assert sink.calls[-1] == ("replace", ["other"], "5")
        assert source.watches[1][0] == "5"

    reflect(test, Page(["a"], "7"), Page(["other"], "5"), may_rewind=True)


def test_a_list_whose_token_expires_on_the_way_is_made_again_in_one_piece() -> None:
    async def test(reflector: Reflector[str, str], source: Source, sink: Record, clock: ManualClock) -> None:
        assert source.lists == [("0", 2, ""), ("", 2, "more"), ("0", 0, "")]
        assert sink.calls == [("replace", ["a", "b", "c"], "9")]

    reflect(test, Page(["a", "b"], "7", "more"), Expired(), Page(["a", "b", "c"], "9"))


def test_a_failing_list_is_tried_again_and_the_sink_is_told() -> None:
    async def test(reflector: Reflector[str, str], source: Source, sink: Record, clock: ManualClock) -> None:
        assert sink.calls == [("interrupted", "ConnectionError")]
        await clock.advance(1)
        assert sink.calls[-1] == ("replace", ["a"], "7")

    reflect(test, ConnectionError(), Page(["a"], "7"))


def test_a_version_the_source_has_not_reached_is_not_asked_for_twice() -> None:
    async def test(reflector: Reflector[str, str], source: Source, sink: Record, clock: ManualClock) -> None:
        await clock.advance(1)
        assert source.lists == [("0", 2, ""), ("", 2, "")]

    reflect(test, VersionTooLarge(), Page(["a"], "7"))


def test_a_watch_that_ends_at_once_is_not_tried_again_in_a_hurry() -> None:
    async def test(reflector: Reflector[str, str], source: Source, sink: Record, clock: ManualClock) -> None:
        source.watches[0][1].mailbox.put_nowait(None)
        await clock.advance(0)
        assert len(source.watches) == 1
        await clock.advance(1)
        assert len(source.watches) == 2

    reflect(test, Page(["a"], "7"))
