"""A custom resource at one of its versions, over the storage of all of them.

`VersionedStorage` is a `storage.Interface`: what is read is converted to its version, what is written is converted to
the storage version. Watchers share converted events.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

import orjson

from watchkeeper.apiextensions.conversion.interface import Converter
from watchkeeper.apiextensions.schema.embedded import CoercionError
from watchkeeper.apiextensions.serving.codec import GoNumbersCodec
from watchkeeper.apiextensions.serving.version import CompiledVersion
from watchkeeper.meta.errors import ApiError, too_many_requests
from watchkeeper.storage.codec import SelectableFields
from watchkeeper.storage.interface import (
    DeleteOptions,
    EventType,
    Interface,
    ListOptions,
    ListResult,
    Match,
    Stats,
    StoredObject,
    UpdateFunc,
    UpdateOptions,
    Watcher,
    WatchEvent,
    WatchOptions,
)
from watchkeeper.storage.predicate import SELECT_ALL, SelectionPredicate

Object = dict[str, Any]

_AT_ONCE = 8
"""How many objects of a list or watch are out for conversion at a time."""
KEPT_BYTES = 32 << 20
"""How much of what webhooks made is kept for each version."""
_AROUND = 900
"""Bytes that keeping an object takes besides its text: keys, attributes and what holds them together."""
_RETRY_SECONDS = 1
_ALWAYS_KNOWN = frozenset({"metadata.name", "metadata.namespace"})


def _without_version(obj: Object) -> Object:
    """An object as it is stored: it is not in there at which version of the storage that is."""
    metadata = obj.get("metadata")
    if isinstance(metadata, dict) and "resourceVersion" in metadata:
        kept = {name: value for name, value in metadata.items() if name != "resourceVersion"}
        return {**obj, "metadata": kept}
    return obj


def _asks_cache(options: ListOptions) -> bool:
    """Whether the reference answers a list from a cache only, however long that takes to be there."""
    if not options.resource_version or options.match is Match.EXACT:
        return False
    return not options.limit or not options.predicate.is_empty()


class KeptObjects:
    """What a webhook made of objects, by key, at the version that they are stored at. The oldest go first."""

    def __init__(self, limit: int = KEPT_BYTES) -> None:
        self._limit = limit
        self._size = 0
        self._objects: dict[str, StoredObject] = {}

    def get(self, stored: StoredObject) -> StoredObject | None:
        """What was made of a stored object, if it is known."""
        found = self._objects.get(stored.key)
        return found if found is not None and found.resource_version == stored.resource_version else None

    def put(self, shown: StoredObject) -> None:
        """Keep a converted object in place of what was made of an earlier state."""
        old = self._objects.pop(shown.key, None)
        if old is not None:
            self._size -= _size_of(old)
        self._objects[shown.key] = shown
        self._size += _size_of(shown)
        while self._size > self._limit:
            self._size -= _size_of(self._objects.pop(next(iter(self._objects))))


def _prune(version: CompiledVersion, obj: Object) -> None:
    """Drop from a converted object what a version does not know, in place. Raises ApiError."""
    try:
        version.prune(obj)
    except CoercionError as error:
        raise ApiError(500, "", str(error)) from None


def _size_of(shown: StoredObject) -> int:
    return len(shown.tail) + _AROUND


class VersionedStorage:
    """One version. Closing it leaves the storage beneath open."""

    def __init__(
        self,
        base: Interface,
        *,
        stored: CompiledVersion,
        shown: CompiledVersion,
        converter: Converter,
        selectable_fields: SelectableFields | None,
        same_fields: bool,
    ) -> None:
        """`same_fields`: field selectors of this version can be answered by what `base` knows of stored objects."""
        self.base = base
        self.codec = GoNumbersCodec(shown.gvk, selectable_fields)
        self._stored = stored
        self._shown = shown
        self._converter = converter
        self._same_fields = same_fields
        self._kept = KeptObjects()
        self._asked: dict[tuple[str, int], asyncio.Future[StoredObject]] = {}
        """By key and version, what a webhook is being asked for lists and watches."""
        self.key = ("converted", shown.gvk)

    def __repr__(self) -> str:
        return f"<VersionedStorage {self._shown.gvk.api_version} over {self._stored.gvk.api_version}>"

    # -- there and back -------------------------------------------------------------------------------------------

    def is_shown(self, stored: StoredObject) -> bool:
        """Whether an object is at this version already."""
        return stored.head == self.codec.head

    def wrap(self, stored: StoredObject, obj: Object) -> StoredObject:
        """The object that a conversion has made of a stored one."""
        _prune(self._shown, obj)
        found = self.codec.wrap(stored.key, self.codec.read_body(obj), stored.resource_version)
        found.set_attributes(self.codec.attributes(obj))
        return found

    def show_nowait(self, stored: StoredObject) -> StoredObject:
        """The object at this version; only when the conversion is local."""
        if self.is_shown(stored):
            return stored
        return self.wrap(stored, self._converter.convert_nowait(stored.data(), self._shown.gvk.group_version))

    async def show(self, items: Sequence[StoredObject]) -> list[StoredObject]:
        """Objects at this version. What a webhook made of one before is good enough: lists and watches use this."""
        if self._converter.is_local:
            return [self.show_nowait(item) for item in items]
        shown = list(items)
        missing: list[int] = []
        for i, item in enumerate(items):
            if self.is_shown(item):
                continue
            kept = self._kept.get(item)
            if kept is None:
                missing.append(i)
            else:
                shown[i] = kept
        for start in range(0, len(missing), _AT_ONCE):
            some = missing[start : start + _AT_ONCE]
            answers = await asyncio.gather(*(self._ask_once(items[i]) for i in some), return_exceptions=True)
            for i, answer in zip(some, answers, strict=True):
                if isinstance(answer, BaseException):
                    raise answer
                shown[i] = answer
        return shown

    async def _show_one(self, stored: StoredObject) -> StoredObject:
        """An object at this version, converted anew: what is read by name or changed."""
        if self._converter.is_local or self.is_shown(stored):
            return self.show_nowait(stored)
        return await self._ask(stored)

    async def _ask_once(self, stored: StoredObject) -> StoredObject:
        """What a webhook makes of an object; it is asked once, however many lists and watches want that at a time."""
        place = stored.key, stored.resource_version
        while (asked := self._asked.get(place)) is not None:
            await asyncio.wait([asked])
            if not asked.cancelled():
                return asked.result()
        if (kept := self._kept.get(stored)) is not None:
            return kept
        asking = self._asked[place] = asyncio.get_running_loop().create_future()
        try:
            shown = await self._ask(stored)
        except ApiError as error:
            asking.set_exception(error)
            asking.exception()  # perhaps nobody waits for it
            raise
        else:
            asking.set_result(shown)
            return shown
        finally:
            del self._asked[place]
            asking.cancel()  # unless it is done: somebody who waits asks next

    async def _ask(self, stored: StoredObject) -> StoredObject:
        converted = await self._converter.convert(_without_version(stored.data()), self._shown.gvk.group_version)
        shown = self.wrap(stored, converted)
        self._kept.put(shown)
        return shown

    async def _to_storage(self, obj: Object) -> Object:
        if self._shown is self._stored:
            return obj
        converted = await self._converter.convert(_without_version(obj), self._stored.gvk.group_version)
        _prune(self._stored, converted)
        return converted

    async def rehearse(self, obj: Object) -> Object:
        """An object of this version as it would be after it had been stored. Raises ApiError."""
        if self._shown is self._stored:
            return obj
        stored = await self._to_storage(orjson.loads(orjson.dumps(obj)))
        self._stored.default(stored)
        shown = await self._converter.convert(stored, self._shown.gvk.group_version)
        _prune(self._shown, shown)
        if version := obj["metadata"].get("resourceVersion"):
            shown["metadata"]["resourceVersion"] = version
        return shown

    # -- storage.Interface ----------------------------------------------------------------------------------------

    async def create(self, key: str, obj: Object, *, ttl: int = 0, settled: bool = False) -> StoredObject:
        """Store a new object of this version."""
        return await self._show_one(await self.base.create(key, await self._to_storage(obj), ttl=ttl))

    async def get(self, key: str, *, resource_version: str = "") -> StoredObject:
        """Read one object."""
        return await self._show_one(await self.base.get(key, resource_version=resource_version))

    def get_nowait(self, key: str, *, resource_version: str = "") -> StoredObject | None:
        """The same when it can be answered at once."""
        found = self.base.get_nowait(key, resource_version=resource_version)
        if found is None or self.is_shown(found):
            return found
        return self.show_nowait(found) if self._converter.is_local else None

    def is_absent_nowait(self, key: str) -> bool:
        """The same at each version."""
        return self.base.is_absent_nowait(key)

    def list_nowait(self, prefix: str) -> list[StoredObject] | None:
        """Never known at once: objects may have to be converted."""
        return None

    async def get_list(self, prefix: str, options: ListOptions) -> ListResult:
        """List what is under `prefix`."""
        base_predicate, after = self._split(options.predicate)
        asked = options
        if base_predicate is not options.predicate:
            # What is filtered after conversion cannot be paged before it.
            asked = ListOptions(
                resource_version=options.resource_version, match=options.match, predicate=base_predicate
            )
        found = await self.base.get_list(prefix, asked)
        try:
            items = await self.show(found.items)
        except ApiError as error:
            if _asks_cache(options):
                raise self._not_ready(error) from error
            raise
        if after is not None:
            items = [item for item in items if after(item)]
        return ListResult(items, found.resource_version, found.continue_token, found.remaining)

    def _not_ready(self, error: ApiError) -> ApiError:
        """What who can do with an earlier state is told: the reference fills a cache for each version with all objects.

        As long as one of them cannot be converted, that is not there.
        """
        why = f"failed to list {self._shown.gvk}: {error.message}"
        return too_many_requests(f"storage is (re)initializing: {why}", _RETRY_SECONDS)

    async def _check_convertible(self, prefix: str) -> None:
        """Tell who wants to watch to come back if not even the first object can be converted. Raises ApiError."""
        found = await self.base.get_list(prefix, ListOptions(resource_version="0", limit=1))
        try:
            await self.show(found.items[:1])
        except ApiError as error:
            raise self._not_ready(error) from error

    def _split(self, predicate: SelectionPredicate) -> tuple[SelectionPredicate, Callable[[StoredObject], bool] | None]:
        """What the storage beneath can select by, and what is left to be asked of converted objects."""
        if predicate.field.is_empty() or self._same_fields or set(predicate.field.choices()) <= _ALWAYS_KNOWN:
            return predicate, None
        field = predicate.field
        return SelectionPredicate(predicate.label, SELECT_ALL), lambda item: field.matches(item.attributes.fields)

    async def guaranteed_update(
        self, key: str, update: UpdateFunc, options: UpdateOptions = UpdateOptions()
    ) -> StoredObject:
        """Change an object by a function of its state at this version."""

        async def attempt(current: StoredObject | None) -> Object:
            shown = await self._show_one(current) if current is not None else None
            new = update(shown)
            obj = await new if isinstance(new, Awaitable) else new
            return await self._to_storage(obj)

        if self._stored.fills_in:
            # This version may not know what reading has filled in: without it, nothing need have changed.
            options = replace(options, exact=True)
        return await self._show_one(await self.base.guaranteed_update(key, attempt, options))

    async def delete(self, key: str, options: DeleteOptions = DeleteOptions()) -> StoredObject:
        """Delete an object; returns its last state."""
        if options.unsafe:
            return await self.base.delete(key, options)  # there is nothing to convert
        validate = options.validate
        if validate is not None:
            check = validate

            async def validate_shown(current: StoredObject) -> None:
                outcome = check(await self._show_one(current))
                if outcome is not None:
                    await outcome

            options = DeleteOptions(preconditions=options.preconditions, validate=validate_shown, unsafe=options.unsafe)
        return await self._show_one(await self.base.delete(key, options))

    async def watch(self, prefix: str, options: WatchOptions) -> Watcher:
        """Follow what is under `prefix`."""
        if not self._converter.is_local:
            await self._check_convertible(prefix)
        predicate, after = self._split(options.predicate)
        if after is not None:
            options = WatchOptions(
                resource_version=options.resource_version,
                match=options.match,
                send_initial_events=options.send_initial_events,
                bookmarks=options.bookmarks,
                predicate=predicate,
                deadline=options.deadline,
            )
        return VersionedWatcher(self, await self.base.watch(prefix, options), after)

    async def count(self, prefix: str) -> int:
        """How many objects are under `prefix`."""
        return await self.base.count(prefix)

    async def stats(self) -> Stats:
        """How much is stored."""
        return await self.base.stats()

    async def current_resource_version(self) -> int:
        """The storage's latest version."""
        return await self.base.current_resource_version()

    def ready(self) -> str:
        """As the storage beneath."""
        return self.base.ready()

    async def close(self) -> None:
        """Nothing of its own to close."""


class VersionedWatcher:
    """Events of a watcher beneath, at one version."""

    def __init__(
        self, storage: VersionedStorage, source: Watcher, selects: Callable[[StoredObject], bool] | None
    ) -> None:
        self._storage = storage
        self._source = source
        self._selects = selects
        self._selected: set[str] = set()
        self._closed = False

    async def next_batch(self, max_events: int = 1000) -> list[WatchEvent]:
        """The next events; [] when it has ended."""
        while batch := await self._source.next_batch(max_events):
            try:
                events = await self._converted(batch)
            except ApiError as error:
                self.close()
                return [WatchEvent(EventType.ERROR, error=error)]
            events = [e for event in events if (e := self._selection(event)) is not None]
            if self._closed:
                break
            if events:
                return events
        return []

    def finish(self) -> None:
        """End once the client has taken what is there."""
        self._source.finish()

    def close(self) -> None:
        """Stop."""
        self._closed = True
        self._source.close()

    async def _converted(self, batch: list[WatchEvent]) -> list[WatchEvent]:
        """Each event at this version: converted once, whoever watches."""
        storage = self._storage
        found: list[WatchEvent] = []
        missing: list[int] = []
        for i, event in enumerate(batch):
            stored = event.object
            if stored is None or storage.is_shown(stored):
                found.append(event)
                continue
            kept: Any = event.encodings.get(storage.key)
            found.append(event if kept is None else kept)
            if kept is None:
                missing.append(i)
        if not missing:
            return found
        objects = [batch[i].object for i in missing]
        shown = await storage.show([obj for obj in objects if obj is not None])
        for i, obj in zip(missing, shown, strict=True):
            event = batch[i]
            new = WatchEvent(event.type, obj)
            event.encodings[storage.key] = new  # type: ignore[assignment]
            found[i] = new
        return found

    def _selection(self, event: WatchEvent) -> WatchEvent | None:
        """The event as a watcher with a selector on converted fields sees it."""
        if self._selects is None or event.object is None:
            return event
        key, selected = event.object.key, self._selects(event.object)
        known = key in self._selected
        if event.type is EventType.DELETED:
            self._selected.discard(key)
            return event if known or selected else None
        if selected:
            self._selected.add(key)
            if event.type is EventType.MODIFIED and not known:
                return WatchEvent(EventType.ADDED, event.object)
            return event
        self._selected.discard(key)
        return WatchEvent(EventType.DELETED, event.object) if known else None
