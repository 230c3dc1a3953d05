"""Keeps policies in memory equal to what is stored: roles and bindings, and whatever else requests are judged by."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Protocol

from watchkeeper.aio.backoff import Backoff
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.authz.rbac.policy import GROUP, KINDS
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.storage.errors import CorruptObjects
from watchkeeper.storage.interface import EventType, Interface, Watcher, WatchEvent, WatchOptions
from watchkeeper.storage.interface import Match as VersionMatch

log = logging.getLogger(__name__)

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


class PolicyFeed:
    """Follows kinds, each by a watch that begins with what there is and is opened anew when it ends."""

    def __init__(self, policy: Followed) -> None:
        self._policy = policy
        self._tasks = TaskOwner("policy")
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
        """Return once all objects are known, but for kinds of which some cannot be read."""
        for tried in self._tried.values():
            await tried.wait()

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
            except Exception as error:
                log.warning("cannot follow %s: %r", kind, error)
            await asyncio.sleep(backoff.next())

    async def _take(self, kind: str, watcher: Watcher, backoff: Backoff) -> None:
        initial: list[Any] | None = []
        while batch := await watcher.next_batch():
            for event in batch:
                if event.type is EventType.ERROR:
                    raise event.error or RuntimeError("the watch failed")
                if initial is None:
                    self._apply(event)
                elif event.type is EventType.BOOKMARK:
                    if event.initial_events_end:
                        self._policy.replace(kind, initial)
                        self._synced[kind].set()
                        self._tried[kind].set()
                        initial = None
                        backoff.reset()
                elif event.object is not None:
                    initial.append(event.object.data())

    def _apply(self, event: WatchEvent) -> None:
        if event.object is None:
            return
        if event.type is EventType.DELETED:
            self._policy.remove(event.object.data())
        else:
            self._policy.put(event.object.data())
