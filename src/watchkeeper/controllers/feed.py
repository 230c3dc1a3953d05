"""Follows a stored resource and tells a controller of each change, from the present state on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from watchkeeper.aio.backoff import Backoff
from watchkeeper.endpoints.scope import ServedResource
from watchkeeper.meta.errors import ApiError
from watchkeeper.reflector.interface import Batch, Expired, Page, VersionTooLarge
from watchkeeper.reflector.reflector import Reflector
from watchkeeper.registry.rest import Context
from watchkeeper.request.user import LOOPBACK
from watchkeeper.storage.errors import Expired as StorageExpired
from watchkeeper.storage.interface import (
    EventType,
    ListOptions,
    Match,
    StoredObject,
    Watcher,
    WatchEvent,
    WatchOptions,
)

_ALL = Context(user=LOOPBACK)


class StoreStream:
    """The watch of a registry store as a Reflector takes it."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher

    async def next_batch(self) -> Batch[WatchEvent] | None:
        """The next changes; None at the end. Raises Expired and what else ended the watch."""
        events = await self._watcher.next_batch()
        if not events:
            return None
        last = events[-1]
        if last.type is EventType.ERROR:
            if isinstance(last.error, StorageExpired):
                raise Expired(str(last.error))
            raise last.error or RuntimeError("the watch failed")
        changes = [e for e in events if e.type is not EventType.BOOKMARK]
        return Batch(changes, str(last.resource_version))

    def close(self) -> None:
        """Stop."""
        self._watcher.close()


class StoreSource:
    """A registry store as a Reflector lists and watches it."""

    def __init__(self, resource: ServedResource) -> None:
        self._store = resource.scope.store

    async def list(self, *, resource_version: str, limit: int, continue_token: str) -> Page[StoredObject]:
        """One page of all objects."""
        # The cache has them all in memory already: pages would only cost.
        limit = 0 if resource_version == "0" else limit
        options = ListOptions(resource_version=resource_version, limit=limit, continue_token=continue_token)
        try:
            found = await self._store.list(_ALL, options)
        except ApiError as error:
            raise _translate(error) from error
        return Page(found.items, str(found.resource_version), found.continue_token)

    async def watch(self, *, resource_version: str) -> StoreStream:
        """Follow all objects."""
        options = WatchOptions(resource_version=resource_version, match=Match.UNSET, bookmarks=True)
        try:
            return StoreStream(await self._store.watch(_ALL, options))
        except ApiError as error:
            raise _translate(error) from error


def _translate(error: ApiError) -> Exception:
    if error.code == 410:
        return Expired(error.message)
    if error.code == 504:
        return VersionTooLarge(error.message)
    return error


class FeedSink:
    """Turns lists and changes into calls: `changed(object)`, `deleted(object)`; `synced()` after each list."""

    def __init__(
        self,
        *,
        changed: Callable[[StoredObject], None],
        deleted: Callable[[StoredObject], None],
        synced: Callable[[Sequence[StoredObject]], None],
    ) -> None:
        self._changed = changed
        self._deleted = deleted
        self._synced = synced

    def replace(self, items: Sequence[StoredObject], resource_version: str) -> None:
        """The whole state."""
        for item in items:
            self._changed(item)
        self._synced(items)

    def apply(self, changes: Sequence[WatchEvent], resource_version: str) -> None:
        """Changes in order."""
        for event in changes:
            if event.object is None:
                continue
            if event.type is EventType.DELETED:
                self._deleted(event.object)
            else:
                self._changed(event.object)

    def interrupted(self, error: Exception) -> None:
        """Nothing to do: a list follows, and what vanished meanwhile is found by comparing."""


def feed(name: str, resource: ServedResource, sink: FeedSink) -> Reflector[StoredObject, WatchEvent]:
    """A Reflector that is to be run as a task."""
    return Reflector(name, StoreSource(resource), sink, backoff=Backoff(initial=0.2, limit=10.0))
