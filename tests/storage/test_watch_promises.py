"""Many writers, watchers that stall, leave and resume, compactions, broken streams and stores that restart; then a
checker looks at it all.

The six promises: a watch is ordered (versions rise), unique (nothing twice), reliable (nothing left out), atomic (a
list is one state), resumable (from any version seen), bookmarkable (a bookmark covers everything up to its version).
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from watchkeeper.kv.errors import Closed, Compacted, KVError, Unavailable
from watchkeeper.kv.interface import KV, WatchBatch
from watchkeeper.kv.memory import MemoryKV
from watchkeeper.kv.sqlite import SQLiteKV
from watchkeeper.storage.cacher.cacher import Cacher
from watchkeeper.storage.errors import Expired, KeyExists, KeyNotFound, NotReady, StorageTimeout, Unreachable
from watchkeeper.storage.interface import EventType, ListOptions, Match, WatchOptions
from watchkeeper.storage.predicate import SelectionPredicate
from watchkeeper.testing.clock import FastClock
from watchkeeper.testing.storage_suite.rig import PREFIX, ROOT, Rig, by, key, thing

NAMES = [(name, namespace) for namespace in ("a", "b") for name in ("x", "y", "z", "x-y")]
SELECTORS = [
    (ROOT, by()),
    (ROOT, by("app=web")),
    (f"{ROOT}a/", by()),
    (f"{ROOT}b/", by("app in (web,db)")),
    (key("x"), by()),
    (ROOT, by("", "spec.node=n1")),
    (ROOT, by("app!=web", "spec.node!=n2")),
]

AWAY = (Unreachable, StorageTimeout)
"""What a storage says while its store restarts."""

State = dict[str, tuple[int, dict[str, str], str]]
"""By key: version, labels, node."""
Told = tuple[str, str, int]


@dataclass
class Session:
    """What one watch told: events and bookmarks in order, from behind a version."""

    prefix: str
    predicate: SelectionPredicate
    start: int
    told: list[Told] = field(default_factory=list)


@dataclass
class Record:
    """All that was observed."""

    sessions: list[Session] = field(default_factory=list)
    lists: list[tuple[str, SelectionPredicate, int, dict[str, int]]] = field(default_factory=list)
    expired: int = 0
    ended: int = 0


class Truth:
    """Every change, from a watch of the store that never stops."""

    def __init__(self) -> None:
        self.changes: list[tuple[int, str, tuple[int, dict[str, str], str] | None]] = []
        self.reached = 0

    async def follow(self, rig: Rig, after: int) -> None:
        self.reached = after
        while True:
            try:
                async for batch in await rig.kv.watch(f"{PREFIX}/".encode(), after_revision=self.reached):
                    self._take(batch, rig)
                    self.reached = batch.revision
            except (Closed, Unavailable):
                await asyncio.sleep(0.001)  # it restarts

    def _take(self, batch: WatchBatch, rig: Rig) -> None:
        for event in batch.events:
            state = None
            if event.kv.value:
                stored = rig.other.decoder.decode(event.kv)
                attributes = stored.attributes
                state = (stored.resource_version, dict(attributes.labels), attributes.fields["spec.node"])
            self.changes.append((event.kv.mod_revision, event.kv.key.decode(), state))

    def at(self, revision: int) -> State:
        state: State = {}
        for changed, name, now in self.changes:
            if changed > revision:
                break
            if now is None:
                state.pop(name, None)
            else:
                state[name] = now
        return state

    def told(self, session: Session) -> list[Told]:
        """What a watch should tell, to the end of all that happened."""
        state: State = {}
        out: list[Told] = []
        for revision, name, now in self.changes:
            before = state.get(name)
            if now is None:
                state.pop(name, None)
            else:
                state[name] = now
            if revision <= session.start or not covers(session.prefix, name):
                continue
            was, is_ = selected(session.predicate, name, before), selected(session.predicate, name, now)
            if is_:
                out.append(("MODIFIED" if was else "ADDED", name, revision))
            elif was:
                out.append(("DELETED", name, revision))
        return out


def covers(prefix: str, name: str) -> bool:
    return name.startswith(prefix) if prefix.endswith("/") else name == prefix


def selected(predicate: SelectionPredicate, name: str, state: tuple[int, dict[str, str], str] | None) -> bool:
    if state is None:
        return False
    namespace, short = name.removeprefix(ROOT).split("/")
    fields = {"metadata.name": short, "metadata.namespace": namespace, "spec.node": state[2], "spec.color": ""}
    return predicate.matches(state[1], fields)


async def write(rig: RestlessRig, rng: random.Random, count: int) -> None:
    for n in range(count):
        name, namespace = rng.choice(NAMES)
        target = rng.choice([rig.storage, rig.storage, rig.other])
        app = rng.choice(["web", "db", ""])
        obj = thing(name, namespace, labels={"app": app} if app else None, node=rng.choice(["n1", "n2", ""]), n=n)
        try:
            dice = rng.random()
            if dice < 0.3:
                await target.create(key(name, namespace), obj)
            elif dice < 0.8:
                await target.guaranteed_update(key(name, namespace), lambda stored, obj=obj: obj)  # type: ignore[misc]
            else:
                await target.delete(key(name, namespace))
        except (KeyExists, KeyNotFound):
            await rig.bump_quietly()
        except AWAY:
            await asyncio.sleep(0.001)
        if rng.random() < 0.2:
            await asyncio.sleep(rng.random() * 0.01)


async def read(rig: Rig, rng: random.Random, record: Record, done: Callable[[], bool]) -> None:
    """List, watch, stall, leave, resume, list again, until all is written."""
    prefix, predicate = rng.choice(SELECTORS)
    version = 0
    while not done():
        if not version:
            if rng.random() < 0.5:
                version = await list_once(rig, record, prefix, predicate, rng)
            else:
                version = await watch_list_once(rig, record, prefix, predicate)
            continue
        version = await watch_once(rig, rng, record, prefix, predicate, version, done)
        if rng.random() < 0.2 and record.sessions:
            # From some version of long ago, perhaps of another watch.
            version = rng.choice(record.sessions).start


async def list_once(rig: Rig, record: Record, prefix: str, predicate: SelectionPredicate, rng: random.Random) -> int:
    options: dict[str, Any] = {"predicate": predicate}
    if rng.random() < 0.5:
        options["limit"] = 2
    try:
        result = await rig.storage.get_list(prefix, ListOptions(**options))
        items = {stored.key: stored.resource_version for stored in result.items}
        while result.continue_token:
            await asyncio.sleep(0)
            more = ListOptions(continue_token=result.continue_token, **options)
            result = await rig.storage.get_list(prefix, more)
            items |= {stored.key: stored.resource_version for stored in result.items}
    except Expired:
        record.expired += 1
        return 0
    except (NotReady, *AWAY):
        await asyncio.sleep(0.01)
        return 0
    record.lists.append((prefix, predicate, result.resource_version, items))
    return result.resource_version


async def watch_list_once(rig: Rig, record: Record, prefix: str, predicate: SelectionPredicate) -> int:
    options = WatchOptions(send_initial_events=True, match=Match.NOT_OLDER_THAN, bookmarks=True, predicate=predicate)
    items: dict[str, int] = {}
    try:
        watcher = await rig.storage.watch(prefix, options)
    except (NotReady, *AWAY):
        await asyncio.sleep(0.01)
        return 0
    try:
        while batch := await asyncio.wait_for(watcher.next_batch(3), 20):
            for event in batch:
                if event.type is EventType.BOOKMARK and event.initial_events_end:
                    record.lists.append((prefix, predicate, event.resource_version, items))
                    return event.resource_version
                if event.type is not EventType.ADDED or event.object is None:
                    return 0
                items[event.object.key] = event.object.resource_version
        return 0
    finally:
        watcher.close()


async def watch_once(
    rig: Rig,
    rng: random.Random,
    record: Record,
    prefix: str,
    predicate: SelectionPredicate,
    version: int,
    done: Callable[[], bool],
) -> int:
    """One watch; returns the version to go on from, 0 to list anew."""
    session = Session(prefix, predicate, version)
    options = WatchOptions(resource_version=str(version), bookmarks=True, predicate=predicate)
    try:
        watcher = await rig.storage.watch(prefix, options)
    except (NotReady, *AWAY):
        await asyncio.sleep(0.01)
        return version
    record.sessions.append(session)
    try:
        for _ in range(rng.randint(1, 30)):
            if rng.random() < 0.1:
                await asyncio.sleep(rng.random() * 0.05)
            try:
                batch = await asyncio.wait_for(watcher.next_batch(rng.choice([1, 2, 100])), 0.05)
            except TimeoutError:
                if done():
                    return version
                continue
            if not batch:
                record.ended += 1
                return version
            for event in batch:
                if event.type is EventType.ERROR:
                    if isinstance(event.error, AWAY):
                        record.ended += 1
                        return version
                    assert isinstance(event.error, Expired), event.error
                    record.expired += 1
                    return 0
                name = event.object.key if event.object is not None else ""
                session.told.append((event.type.value, name, event.resource_version))
                version = event.resource_version
        return version
    finally:
        watcher.close()


async def disturb(rig: RestlessRig, rng: random.Random, done: Callable[[], bool]) -> None:
    """Compact now and then, break the cache's stream, and restart the store, once at least, if it can be."""
    while not done():
        await asyncio.sleep(0.02)
        if isinstance(rig.kv, RestartingKV) and not rig.kv.restarts:
            await rig.kv.restart()
        elif rng.random() < 0.3:
            await rig.compact_quietly(rng.choice([0, 5, 50]))
        elif rng.random() < 0.2 and isinstance(rig.kv, RestartingKV):
            await rig.kv.restart()
        elif rng.random() < 0.3 and isinstance(rig.storage, Cacher) and rig.storage.feed.stream is not None:
            rig.storage.feed.stream.fail(Unavailable("the connection broke"))


class RestlessRig(Rig):
    truth: Truth

    async def bump_quietly(self) -> None:
        with contextlib.suppress(KVError):
            before = (await self.kv.get(b"/elsewhere")).kv
            await self.kv.optimistic_put(b"/elsewhere", b"x", before.mod_revision if before else 0)

    async def compact_quietly(self, back: int) -> None:
        """Forget all but the last `back` revisions, and never what the truth has yet to be told."""
        with contextlib.suppress(Compacted, Closed, Unavailable):
            revision = await self.kv.current_revision()
            await self.kv.compact(max(min(revision - back, self.truth.reached), 1))


class RestartingKV:
    """A store on a file that is closed and opened again under its users, as a server far away may be restarted."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kv: KV = SQLiteKV.open(path, synchronous="OFF")
        self.restarts = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kv, name)

    async def restart(self) -> None:
        """Away for a moment; writes without an answer may have happened."""
        await self._kv.close()
        await asyncio.sleep(0.01)
        self._kv = SQLiteKV.open(self._path, synchronous="OFF")
        self.restarts += 1


BACKENDS = {
    "memory": lambda folder: MemoryKV(),
    "sqlite": lambda folder: SQLiteKV.open(folder / "store.db", synchronous="OFF"),
    "restarting": lambda folder: RestartingKV(folder / "store.db"),
}


async def play(kv: KV, *, cached: bool, seed: int, writes: int) -> tuple[Truth, Record]:
    rig = RestlessRig(kv, cached=cached, clock=FastClock(speed=20))
    truth, record = Truth(), Record()
    rig.truth = truth
    following = asyncio.create_task(truth.follow(rig, await kv.current_revision()))
    await rig.start()
    writers = [asyncio.create_task(write(rig, random.Random(seed * 100 + i), writes)) for i in range(6)]

    def done() -> bool:
        return all(writer.done() for writer in writers)

    readers = [asyncio.create_task(read(rig, random.Random(seed * 100 + 50 + i), record, done)) for i in range(20)]
    disturber = asyncio.create_task(disturb(rig, random.Random(seed), done))
    await asyncio.gather(*writers, *readers, disturber)
    last = (await rig.create("the-end")).resource_version
    async with asyncio.timeout(60):
        while truth.reached < last:
            await asyncio.sleep(0.01)
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    await rig.close()
    return truth, record


def check(truth: Truth, record: Record) -> int:
    """Returns how many observations were checked."""
    checked = 0
    for prefix, predicate, revision, items in record.lists:
        state = truth.at(revision)
        expected = {k: s[0] for k, s in state.items() if covers(prefix, k) and selected(predicate, k, s)}
        assert items == expected, f"list of {prefix} at {revision}"
        checked += 1
    for session in record.sessions:
        expected_events = truth.told(session)
        events = [told for told in session.told if told[0] != "BOOKMARK"]
        assert events == expected_events[: len(events)], f"watch of {session.prefix} from {session.start}"
        delivered = 0
        for what, _, version in session.told:
            if what == "BOOKMARK":
                covered = sum(1 for told in expected_events if told[2] <= version)
                assert delivered == covered, f"bookmark at {version} of a watch from {session.start}"
            else:
                delivered += 1
            checked += 1
    return checked


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("cached", [True, False], ids=["cacher", "store"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_the_promises_hold(
    backend: str, cached: bool, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("watchkeeper.storage.cacher.bookmarks.PERIOD_SECONDS", 1.0)

    async def run() -> None:
        kv = BACKENDS[backend](tmp_path)
        truth, record = await play(kv, cached=cached, seed=seed, writes=60)
        assert check(truth, record) > 100
        assert record.sessions
        assert record.lists
        assert not isinstance(kv, RestartingKV) or kv.restarts

    asyncio.run(run())


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("backend", BACKENDS)
def test_the_promises_hold_for_long(backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("watchkeeper.storage.cacher.bookmarks.PERIOD_SECONDS", 1.0)
    end = time.monotonic() + float(os.environ.get("SOAK_MINUTES", "10")) * 60 / 40

    async def run(seed: int) -> int:
        folder = tmp_path / str(seed)
        folder.mkdir()
        truth, record = await play(BACKENDS[backend](folder), cached=True, seed=seed, writes=300)
        return check(truth, record)

    for seed in itertools.count(100):
        checked = asyncio.run(run(seed))
        assert checked > 1_000
        if time.monotonic() > end:
            return
