"""Random programs of KV operations, run in step on several stores; whatever one answers, all must answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st

from watchkeeper.kv.errors import KVError
from watchkeeper.kv.interface import KV, Event, KeyValue, RangeResult, TxnResult, Watch
from watchkeeper.testing.kv_suite.case import PATIENCE, check_batch

KEYS = (b"/a", b"/a/", b"/a/b", b"/a/c", b"/a-b", b"/b", b"/b/\xff", b"/b0", b"\xff")
BOUNDS = (b"", b"/", b"/a", b"/a/", b"/a0", b"/b", b"/c", b"\xff", b"\0")
PREFIXES = (b"", b"/a", b"/a/", b"/b", b"\xff")

keys = st.sampled_from(KEYS)
expectations = st.sampled_from(("current", "current", "current", "zero", "stale", "future"))
revisions = st.one_of(st.just("now"), st.floats(0, 1.1))

Step = tuple[Any, ...]
steps = st.one_of(
    st.tuples(st.just("put"), keys, st.binary(max_size=8), expectations, st.booleans(), st.booleans()),
    st.tuples(st.just("put"), keys, st.binary(max_size=8), expectations, st.booleans(), st.booleans()),
    st.tuples(st.just("delete"), keys, expectations, st.booleans()),
    st.tuples(st.just("get"), keys, revisions),
    st.tuples(
        st.just("range"),
        st.sampled_from(BOUNDS),
        st.sampled_from(BOUNDS),
        st.integers(0, 4),
        revisions,
        st.sampled_from(("whole", "count", "keys", "uncounted")),
    ),
    st.tuples(st.just("compact"), st.floats(0, 1.1)),
    st.tuples(st.just("watch"), st.sampled_from(PREFIXES), revisions, st.booleans()),
    st.tuples(st.just("take"), st.integers(0, 5)),
    st.tuples(st.just("revoke"), st.integers(0, 5)),
    st.tuples(st.just("restart")),
)
programs: st.SearchStrategy[list[Step]] = st.lists(steps, min_size=5, max_size=60)


@dataclass
class Follower:
    """A watch of one store, as far as it has been read."""

    prefix: bytes
    prev_kv: bool
    watch: Watch
    reached: int


@dataclass
class Side:
    """One store and what belongs to it. Its revisions are counted from where it began."""

    name: str
    kv: KV
    restart: Callable[[KV], Awaitable[KV]] | None = None
    base: int = 0
    leases: list[int] = field(default_factory=list)
    followers: list[Follower] = field(default_factory=list)

    def plain(self, value: Any) -> Any:
        """An answer without what may differ: where revisions begin, and the ids of leases."""
        if isinstance(value, KeyValue):
            return replace(
                value,
                create_revision=value.create_revision and value.create_revision - self.base,
                mod_revision=value.mod_revision - self.base,
                lease=value.lease and self.leases.index(value.lease) + 1,
            )
        if isinstance(value, Event):
            return replace(value, kv=self.plain(value.kv), prev=self.plain(value.prev))
        if isinstance(value, RangeResult):
            return [self.plain(value.kvs), value.count, value.more, value.revision - self.base]
        if isinstance(value, list):
            return [self.plain(item) for item in value]
        if hasattr(value, "revision"):
            kv = getattr(value, "kv", None)
            return [self.plain(kv), value.revision - self.base, getattr(value, "succeeded", None)]
        return value


class Run:
    """A program being run on all sides. The first side is the oracle."""

    def __init__(self, sides: Sequence[Side]) -> None:
        self.sides = sides
        self.now = 0
        self.written: dict[bytes, list[int]] = {}
        self.compacted = 0

    async def play(self, program: Sequence[Step]) -> None:
        for side in self.sides:
            side.base = await side.kv.current_revision()
        for step in program:
            await getattr(self, step[0])(*step[1:])
        for index in range(len(self.sides[0].followers)):
            await self.take(index)

    async def agree(self, what: str, operation: Callable[[Side], Awaitable[Any]]) -> Any:
        """Run on every side; assert that all answer, or fail, alike; return the oracle's answer, None for failure."""
        answers = []
        for side in self.sides:
            try:
                answers.append(side.plain(await asyncio.wait_for(operation(side), PATIENCE)))
            except KVError as error:
                answers.append(type(error))
        for side, answer in zip(self.sides[1:], answers[1:], strict=True):
            assert answer == answers[0], f"{what}: {self.sides[0].name} says {answers[0]}, {side.name} says {answer}"
        return None if isinstance(answers[0], type) else answers[0]

    def _revision(self, wanted: str | float) -> int:
        """A share of the revisions so far, as a revision counted from the base; 0 is now, beyond 1 is the future."""
        return 0 if wanted == "now" else max(1, int(float(wanted) * (self.now + 1)))

    def _expected(self, key: bytes, expectation: str) -> int:
        written = self.written.get(key, [])
        if expectation == "zero" or (expectation == "current" and not written):
            return 0
        if expectation == "current":
            return written[-1]
        return self.now + 1 if expectation == "future" else (written[0] if written else 1)

    async def put(self, key: bytes, value: bytes, expectation: str, leased: bool, look: bool) -> None:
        expected = self._expected(key, expectation)
        if leased:
            for side in self.sides:
                side.leases.append(await side.kv.grant_lease(3600))

        def operation(side: Side) -> Awaitable[TxnResult]:
            absolute = expected and expected + side.base
            lease = side.leases[-1] if leased else 0
            return side.kv.optimistic_put(key, value, absolute, lease=lease, get_on_failure=look)

        answer = await self.agree(f"put {key!r} at {expected}", operation)
        if answer[2]:
            self.now = answer[1]
            self.written.setdefault(key, []).append(self.now)

    async def delete(self, key: bytes, expectation: str, look: bool) -> None:
        expected = self._expected(key, expectation)
        answer = await self.agree(
            f"delete {key!r} at {expected}",
            lambda side: side.kv.optimistic_delete(key, expected and expected + side.base, get_on_failure=look),
        )
        if answer[2]:
            self.now = answer[1]
            self.written[key] = []

    async def get(self, key: bytes, wanted: str | float) -> None:
        at = self._revision(wanted)
        await self.agree(f"get {key!r} at {at}", lambda side: side.kv.get(key, revision=at and at + side.base))

    async def range(self, start: bytes, end: bytes, limit: int, wanted: str | float, form: str) -> None:
        at = self._revision(wanted)

        async def operation(side: Side) -> RangeResult:
            found = await side.kv.range(
                start,
                end,
                limit=limit,
                revision=at and at + side.base,
                count_only=form == "count",
                keys_only=form == "keys",
                counted=form != "uncounted",
            )
            if form != "uncounted":
                return found
            assert found.count >= len(found.kvs)
            return replace(found, count=0)  # each may count as far as it likes

        await self.agree(f"range [{start!r}, {end!r}) limit {limit} at {at} {form}", operation)

    async def compact(self, wanted: float) -> None:
        at = self._revision(wanted)
        if at <= self.compacted or self.now == 0:
            return
        for index in range(len(self.sides[0].followers)):  # one that is behind may deliver it or say that it is gone
            await self.take(index)
        await self.agree(f"compact at {at}", lambda side: side.kv.compact(at + side.base))
        if at <= self.now:
            self.compacted = at

    async def watch(self, prefix: bytes, wanted: str | float, prev_kv: bool) -> None:
        after = self._revision(wanted)

        async def operation(side: Side) -> str:
            absolute = after + side.base if after else 0
            watch = await side.kv.watch(prefix, after_revision=absolute, prev_kv=prev_kv)
            follower = Follower(prefix, prev_kv, watch, absolute or self.now + side.base)
            if after and after < self.compacted:
                await self._rest(side, follower)
            side.followers.append(follower)
            return "watching"

        await self.agree(f"watch {prefix!r} after {after}", operation)

    async def take(self, index: int) -> None:
        """Read a watch of every side up to now."""
        if not self.sides[0].followers:
            return
        at = index % len(self.sides[0].followers)
        await self.agree(f"events of watch {at}", lambda side: self._rest(side, side.followers[at]))

    async def _rest(self, side: Side, follower: Follower) -> list[Event]:
        newest = await side.kv.current_revision()
        events: list[Event] = []
        while follower.reached < newest:
            known = follower.watch.delivered_revision_nowait()
            if known is not None and known >= newest:
                follower.reached = max(known, follower.reached)
                break
            if known is None or not events:
                await side.kv.request_progress(follower.watch)
            batch = await anext(follower.watch)
            check_batch(replace(batch, revision=max(batch.revision, follower.reached)), follower.reached)
            follower.reached = max(batch.revision, follower.reached)
            events.extend(batch.events)
        return events

    async def revoke(self, index: int) -> None:
        """Every lease has one key at most, so that all sides use as many revisions."""
        if not self.sides[0].leases:
            return
        at = index % len(self.sides[0].leases)
        await self.agree(f"revoke lease {at}", lambda side: side.kv.revoke_lease(side.leases[at]))
        self.now = await self.sides[0].kv.current_revision() - self.sides[0].base
        for key in KEYS:
            found = (await self.sides[0].kv.get(key)).kv
            if found is None:
                self.written[key] = []

    async def restart(self) -> None:
        """Where that is possible, close and open the store, and go on watching from where each watch had come to."""
        for side in self.sides:
            if side.restart is None:
                continue
            side.kv = await side.restart(side.kv)
            for follower in side.followers:
                if follower.reached - side.base < self.compacted:
                    continue
                follower.watch = await side.kv.watch(
                    follower.prefix, after_revision=follower.reached, prev_kv=follower.prev_kv
                )
        if any(side.restart for side in self.sides):
            self._drop_compacted()

    def _drop_compacted(self) -> None:
        """A watch that a restart cannot resume is dropped on every side."""
        lost = {
            at
            for side in self.sides
            if side.restart
            for at, follower in enumerate(side.followers)
            if follower.reached - side.base < self.compacted
        }
        for side in self.sides:
            side.followers = [follower for at, follower in enumerate(side.followers) if at not in lost]
