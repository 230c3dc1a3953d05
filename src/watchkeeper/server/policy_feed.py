"""Keeps policies in memory equal to what is stored: roles and bindings, and whatever else requests are judged by."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Protocol

from watchkeeper.aio.backoff import Backoff
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.authz.rbac.policy import GROUP, KINDS
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.storage.errors import CorruptObjects
from watchkeeper.storage.interface import EventType, Interface, StoredObject, Watcher, WatchEvent, WatchOptions
from watchkeeper.storage.interface import Match as VersionMatch

log = logging.getLogger(__name__)

_PATIENCE = 1.0
"""Seconds that somebody waits at most until something is known."""

RESOURCES = {kind: GroupResource(GROUP, kind.lower() + "s") for kind in KINDS}
"""The kinds of RBAC, and where their objects are."""


class Followed(Protocol):
    """What is kept equal to stored objects of some kinds."""

    def put(self, obj: dict[str, Any]) -> None:
        """Take in an object, in place of the one of that kind and name."""
        ...

    def remove(self, obj: dict[str, Any]) -> None:
        """Forget an object."""
        ...

    def replace(self, kind: str, objects: list[Any]) -> None:
        """Take in all objects of a kind, forgetting those that are not there any more."""
        ...


class _NotUnderstood(Exception):
    """Objects that can be read, but are not what their kind is: some other program has stored them."""


class PolicyFeed:
    """Follows kinds, each by a watch that begins with what there is and is opened anew when it ends."""

    def __init__(self, policy: Followed) -> None:
        self._policy = policy
        self._tasks = TaskOwner("policy")
        self._revisions: dict[str, dict[str, int]] = {}
        """By kind: the revision at which each object is known, by its key."""
        self._waiting: list[asyncio.Future[None]] = []
        """Those who wait for the next batch."""
        self._synced: dict[str, asyncio.Event] = {}
        self._tried: dict[str, asyncio.Event] = {}

    def __repr__(self) -> str:
        return f"<PolicyFeed: {', '.join(self.missing()) or 'all'} {'missing' if self.missing() else 'known'}>"

    def missing(self) -> list[str]:
        """The kinds whose objects are not all known yet."""
        return [kind for kind, synced in self._synced.items() if not synced.is_set()]

    def follow(self, kind: str, storage: Interface, prefix: str) -> None:
        """Begin with a kind, whose objects lie under `prefix`."""
        self._synced[kind] = asyncio.Event()
        self._tried[kind] = asyncio.Event()
        self._tasks.start(kind, self._follow(kind, storage, prefix))

    async def wait(self) -> None:
        """Return once all objects are known, but for kinds of which some cannot be read or understood."""
        for tried in self._tried.values():
            await tried.wait()

    # -- how far it has come --------------------------------------------------------------------------------------

    def revision(self, key: str) -> int:
        """The revision at which an object is known, 0 for one that is not."""
        return max((known.get(key, 0) for known in self._revisions.values()), default=0)

    async def reached(self, key: str, revision: int) -> None:
        """Return once an object is known at a revision or a later one, or after a second."""
        await self._until(lambda: self.revision(key) >= revision)

    async def forgotten(self, key: str, revision: int) -> None:
        """Return once an object is not known any more, or known at a later revision, or after a second."""
        await self._until(lambda: not 0 < self.revision(key) <= revision)

    async def _until(self, holds: Callable[[], bool]) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + _PATIENCE
        while not holds() and (left := end - loop.time()) > 0:
            future: asyncio.Future[None] = loop.create_future()
            self._waiting.append(future)
            await asyncio.wait([future], timeout=left)

    def _moved(self) -> None:
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    async def close(self) -> None:
        """Follow no more."""
        await self._tasks.close()

    async def _follow(self, kind: str, storage: Interface, prefix: str) -> None:
        backoff = Backoff(initial=0.1, limit=10.0)
        options = WatchOptions(send_initial_events=True, bookmarks=True, match=VersionMatch.NOT_OLDER_THAN)
        while True:
            try:
                watcher = await storage.watch(prefix, options)
                try:
                    await self._take(kind, watcher, backoff)
                finally:
                    watcher.close()
            except CorruptObjects as error:
                log.error("no %s is known until all can be read: %s", kind, error)
                self._tried[kind].set()
            except _NotUnderstood as error:
                log.error("what is known of %s stays as it is until all can be understood: %s", kind, error)
                self._tried[kind].set()
            except Exception as error:
                log.warning("cannot follow %s: %r", kind, error)
            await asyncio.sleep(backoff.next())

    async def _take(self, kind: str, watcher: Watcher, backoff: Backoff) -> None:
        initial: list[StoredObject] | None = []
        while batch := await watcher.next_batch():
            for event in batch:
                if event.type is EventType.ERROR:
                    raise event.error or RuntimeError("the watch failed")
                if initial is None:
                    self._apply(kind, event)
                elif event.type is EventType.BOOKMARK:
                    if event.initial_events_end:
                        self._replace(kind, initial)
                        self._revisions[kind] = {stored.key: stored.resource_version for stored in initial}
                        self._synced[kind].set()
                        self._tried[kind].set()
                        initial = None
                        backoff.reset()
                elif event.object is not None:
                    initial.append(event.object)
            self._moved()

    def _replace(self, kind: str, items: list[StoredObject]) -> None:
        try:
            self._policy.replace(kind, [stored.proven_data() for stored in items])
        except Exception as error:
            raise _NotUnderstood(f"one of {len(items)}: {error!r}") from error

    def _apply(self, kind: str, event: WatchEvent) -> None:
        if event.object is None:
            return
        stored = event.object
        if event.type is EventType.DELETED:
            self._policy.remove(stored.data())
            self._revisions[kind].pop(stored.key, None)
        else:
            try:
                self._policy.put(stored.proven_data())
            except Exception as error:
                raise _NotUnderstood(f"{stored.key}: {error!r}") from error
            self._revisions[kind][stored.key] = stored.resource_version
