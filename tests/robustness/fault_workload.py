"""Writers, readers and watchers that keep a server busy and record what they see."""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections.abc import Callable, Sequence
from typing import Any

from fault_client import Client, NoAnswer, NotSent, Refused
from fault_history import History, Outcome, Read, Session, State, Write

NAMESPACES = ("load-a", "load-b")
COLORS = ("red", "green", "blue")
LAST_COLOR = "last"
"""Of the final change; every watcher selects it."""
ROOT = "/api/v1/configmaps"
_NAMES = tuple(f"k-{n}" for n in range(8))
_AWAY_SECONDS = 0.05

Clients = Callable[[], Client]


def path_of(key: str) -> str:
    namespace, name = key.split("/")
    return f"/api/v1/namespaces/{namespace}/configmaps/{name}"


def state_of(obj: dict[str, Any]) -> State:
    meta = obj["metadata"]
    return State(obj["data"]["op"], int(meta["resourceVersion"]), meta["labels"]["color"])


def key_of(obj: dict[str, Any]) -> str:
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"


class Workload:
    """All clients of one run. `clients` makes a client of one of the servers."""

    def __init__(self, clients: Clients, *, seed: int, writers: int = 5, readers: int = 2, watchers: int = 6) -> None:
        self.history = History()
        self.failures: list[str] = []
        """Answers that no fault explains."""
        self._clients = clients
        self._rng = random.Random(seed)
        self._counts = (writers, readers, watchers)
        self._tokens = itertools.count()
        self._known: dict[str, int] = {}
        self._writing = True
        self._tasks: list[asyncio.Task[None]] = []
        self._watching: list[asyncio.Task[None]] = []
        self._following: dict[str, Client] = {}
        self._last = 0
        """The revision of the final change."""
        self._last_known = asyncio.Event()
        """It has been acknowledged. An attempt before it may have been carried out, too."""

    async def begin(self) -> None:
        """Make the namespaces and start everybody."""
        for namespace in NAMESPACES:
            await until_done(self._clients(), "POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
        writers, readers, watchers = self._counts
        for n in range(writers):
            self._tasks.append(self._start(f"writer-{n}", self._write))
        for n in range(readers):
            self._tasks.append(self._start(f"reader-{n}", self._read))
        for n in range(watchers):
            self._watching.append(self._start(f"watcher-{n}", self._watch))

    def _start(self, name: str, work: Callable[[str, random.Random], Any]) -> asyncio.Task[None]:
        return asyncio.create_task(work(name, random.Random(self._rng.random())), name=name)

    async def finish(self, seconds: float = 120.0) -> int:
        """Stop, write a final change, wait until all watchers have seen it; returns its revision.

        Watchers that never see it are left to the checker.
        """
        self._writing = False
        await asyncio.gather(*self._tasks)
        last = self._last = await self._write_last()
        self._last_known.set()
        _, waiting = await asyncio.wait(self._watching, timeout=seconds)
        for task in waiting:
            print(f"{task.get_name()} still waits: {self._following[task.get_name()]!r}")
            task.cancel()
        for result in await asyncio.gather(*self._watching, return_exceptions=True):
            if isinstance(result, Exception):
                raise result
        return last

    async def _write_last(self) -> int:
        for attempt in range(200):
            key = f"{NAMESPACES[0]}/last-{attempt}"
            body = self._object(key, f"op-{next(self._tokens)}", LAST_COLOR)
            write = await self._put(self._clients(), "POST", key, body)
            if write is not None and write.outcome is Outcome.DONE:
                return write.revision
            await asyncio.sleep(0.1)
        raise AssertionError("the server does not come back")

    # Writers

    async def _write(self, name: str, rng: random.Random) -> None:
        client = self._clients()
        while self._writing:
            await asyncio.sleep(rng.random() * 0.02)
            key = f"{rng.choice(NAMESPACES)}/{rng.choice(_NAMES)}"
            known = self._known.get(key, 0)
            dice = rng.random()
            if known and dice < 0.2:
                write = await self._delete(client, key, known)
            else:
                write = await self._change(client, key, known, dice, rng.choice(COLORS))
            if write is None:
                client.close()
                await asyncio.sleep(_AWAY_SECONDS)
                client = self._clients()

    async def _change(self, client: Client, key: str, known: int, dice: float, color: str) -> Write | None:
        body = self._object(key, f"op-{next(self._tokens)}", color)
        if not known or dice < 0.35:
            return await self._put(client, "POST", key, body)
        if dice < 0.7:
            patch = {"metadata": {"labels": {"color": color}}, "data": body["data"]}
            return await self._put(client, "PATCH", key, patch, "application/merge-patch+json")
        if dice < 0.85:
            body["metadata"]["resourceVersion"] = str(known)
        return await self._put(client, "PUT", key, body)

    @staticmethod
    def _object(key: str, token: str, color: str) -> dict[str, Any]:
        namespace, name = key.split("/")
        return {
            "metadata": {"name": name, "namespace": namespace, "labels": {"color": color}},
            "data": {"op": token, "padding": "x" * 300},
        }

    async def _put(
        self, client: Client, method: str, key: str, body: dict[str, Any], kind: str = "application/json"
    ) -> Write | None:
        path = path_of(key) if method != "POST" else path_of(key).rpartition("/")[0]
        begun = time.monotonic()
        outcome, revision = Outcome.UNKNOWN, 0
        try:
            status, found = await client.call(method, path, body, kind)
            outcome = self._outcome(status, found, (404, 409))
            if outcome is Outcome.DONE:
                revision = int(found["metadata"]["resourceVersion"])
                self._known[key] = revision
        except NotSent:
            return None
        except NoAnswer:
            pass
        write = Write(key, begun, time.monotonic(), outcome, body["data"]["op"], revision=revision)
        self.history.writes.append(write)
        return write

    async def _delete(self, client: Client, key: str, revision: int) -> Write | None:
        begun, outcome = time.monotonic(), Outcome.UNKNOWN
        body = {"preconditions": {"resourceVersion": str(revision)}}
        try:
            status, found = await client.call("DELETE", path_of(key), body)
            outcome = self._outcome(status, found, (404, 409))
        except NotSent:
            return None
        except NoAnswer:
            pass
        self._known.pop(key, None)
        write = Write(key, begun, time.monotonic(), outcome, deletes=revision)
        self.history.writes.append(write)
        return write

    def _outcome(self, status: int, found: Any, refusals: Sequence[int]) -> Outcome:
        if status < 300:
            return Outcome.DONE
        if status == 429 or status in refusals:
            return Outcome.REFUSED
        if status < 500:
            self.failures.append(f"{status}: {found}")
        elif "panic" in str(found):
            self.failures.append(str(found))
        return Outcome.UNKNOWN

    # Readers

    async def _read(self, name: str, rng: random.Random) -> None:
        client = self._clients()
        newest = 0
        while self._writing:
            await asyncio.sleep(rng.random() * 0.05)
            dice = rng.random()
            try:
                if dice < 0.4:
                    newest = max(newest, await self._list(client, "", 0))
                elif dice < 0.55:
                    await self._list(client, "0", 0)
                elif dice < 0.7:
                    await self._list(client, str(newest), newest)
                elif dice < 0.8:
                    await self._list(client, "", 0, limit=5)
                else:
                    await self._get(client, f"{rng.choice(NAMESPACES)}/{rng.choice(_NAMES)}", dice < 0.9)
            except (NotSent, NoAnswer):
                client.close()
                await asyncio.sleep(_AWAY_SECONDS)
                client = self._clients()

    async def _list(self, client: Client, version: str, minimum: int, *, limit: int = 0, watcher: str = "") -> int:
        begun = time.monotonic()
        query = f"?resourceVersion={version}&limit={limit}"
        found: dict[str, State] = {}
        token, revision = "", 0
        while True:
            status, page = await client.call("GET", f"{ROOT}{query}{token}")
            if status != 200:
                self._outcome(status, page, (410,))
                return 0
            found |= {key_of(item): state_of(item) for item in page["items"] if is_ours(item)}
            revision = int(page["metadata"]["resourceVersion"])
            if not page["metadata"].get("continue"):
                break
            token = f"&continue={page['metadata']['continue']}"
        ended = time.monotonic()
        self.history.reads.append(Read(begun, ended, found, "", revision, not version, minimum, watcher))
        if not version:
            # Writers learn of what was written without an answer, so that their next writes can succeed.
            self._known = {key: state.revision for key, state in found.items()}
        return revision

    async def _get(self, client: Client, key: str, consistent: bool) -> None:
        begun = time.monotonic()
        status, obj = await client.call("GET", path_of(key) + ("" if consistent else "?resourceVersion=0"))
        if status not in (200, 404):
            self._outcome(status, obj, ())
            return
        found = {key: state_of(obj)} if status == 200 else {}
        self.history.reads.append(Read(begun, time.monotonic(), found, key, consistent=consistent))

    # Watchers

    async def _watch(self, name: str, rng: random.Random) -> None:
        """List, then watch, and watch on from what was told last, until the final change has been told, or listed."""
        colors = frozenset(rng.sample(COLORS, 2)) | {LAST_COLOR} if rng.random() < 0.5 else frozenset[str]()
        version = listed = 0
        while not self._is_last(listed):
            client = self._following[name] = self._clients()
            try:
                if not version:
                    version = listed = await self._list(client, "", 0, watcher=name)
                if version and not self._is_last(listed):
                    session = Session(name, version, colors)
                    self.history.sessions.append(session)
                    version, done = await self._follow(client, session, rng)
                    if done:
                        return
            except (NotSent, NoAnswer):
                pass
            finally:
                client.close()
            await asyncio.sleep(_AWAY_SECONDS * rng.random())

    def _is_last(self, version: int) -> bool:
        return 0 < self._last <= version

    async def _follow(self, client: Client, session: Session, rng: random.Random) -> tuple[int, bool]:
        """One watch; returns the version to go on from (0: list anew), and whether the final change was told."""
        query = f"?watch=1&resourceVersion={session.start}&allowWatchBookmarks=true&timeoutSeconds={rng.randint(3, 9)}"
        if session.colors:
            query += f"&labelSelector=color+in+({','.join(sorted(session.colors))})"
        version = session.start
        leaves_after = rng.choice([5, 50, 100_000])
        events = client.stream(ROOT + query)
        try:
            async for event in events:
                if event["type"] == "ERROR":
                    return (0 if event["object"]["code"] == 410 else version), False
                obj = event["object"]
                version = int(obj["metadata"]["resourceVersion"])
                if event["type"] == "BOOKMARK":
                    session.told.append(("BOOKMARK", "", version))
                    continue
                if not is_ours(obj):
                    continue
                session.told.append((event["type"], key_of(obj), version))
                if obj["metadata"]["labels"]["color"] == LAST_COLOR:
                    await self._last_known.wait()
                    if self._is_last(version):
                        return version, True
                if len(session.told) > leaves_after:
                    return version, False
                if rng.random() < 0.01:
                    await asyncio.sleep(rng.random())
        except Refused as refused:
            return (0 if refused.status == 410 else version), False
        except NoAnswer:
            return version, False
        finally:
            await events.aclose()
        return version, False


def is_ours(obj: dict[str, Any]) -> bool:
    """Not what every namespace begins with."""
    return "op" in (obj.get("data") or {})


async def until_done(client: Client, method: str, path: str, body: Any) -> None:
    """Send until it has been done, by this or by an earlier attempt."""
    for _ in range(200):
        try:
            status, _ = await client.call(method, path, body)
            if status < 300 or status == 409:
                return
        except (NotSent, NoAnswer):
            pass
        await asyncio.sleep(0.1)
    raise AssertionError(f"{method} {path} is never done")
