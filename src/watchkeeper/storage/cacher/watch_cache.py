"""The state of one resource and its recent past, in memory: everything a list or a watch is answered from.

All methods are synchronous, so each sees, and leaves, one consistent state. What a revision changes is taken in as a
whole before anybody looks again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from watchkeeper.aio.clock import Clock
from watchkeeper.storage import continue_token
from watchkeeper.storage.cacher.events import CacheEvent
from watchkeeper.storage.cacher.history import History
from watchkeeper.storage.cacher.indexes import Indexes
from watchkeeper.storage.cacher.lister_watcher import Change
from watchkeeper.storage.cacher.past import Past
from watchkeeper.storage.cacher.snapshot import Snapshot, prefix_end
from watchkeeper.storage.errors import CorruptObject, CorruptObjects
from watchkeeper.storage.interface import ListOptions, ListResult, StoredObject
from watchkeeper.storage.lister import MAX_REPORTED
from watchkeeper.storage.predicate import SelectionPredicate

log = logging.getLogger(__name__)

_MAX_PASTS = 16
"""Past revisions that are kept ready for the next page of a list."""


class WatchCache:
    """Snapshot, history and indexes of one resource."""

    def __init__(
        self,
        root: str,
        clock: Clock,
        *,
        index_fields: Sequence[str] = (),
        history: History | None = None,
        on_event: Callable[[CacheEvent], None],
        on_corrupt: Callable[[CorruptObject], None],
    ) -> None:
        """`on_event` is called for each change, once it has been taken in; `on_corrupt` for one that cannot be read."""
        self.root = root
        self.snapshot = Snapshot()
        self.history = history if history is not None else History()
        self.indexes = Indexes(index_fields)
        self._triggers = frozenset(index_fields) - {"metadata.name"}
        """The fields that the reference has an index of, too: by names it looks for one object, or at all of them."""
        self.broken: dict[str, CorruptObject] = {}
        """Keys whose objects cannot be read: lists that include them fail and say so."""
        self._pasts: dict[int, Past] = {}
        self._clock = clock
        self._on_event = on_event
        self._on_corrupt = on_corrupt

    def __repr__(self) -> str:
        return f"<WatchCache {self.root} {self.snapshot!r} {self.history!r}>"

    # Taking in

    def replace(self, items: Sequence[Change], revision: int) -> None:
        """This is the whole state at `revision`; nothing before is known any more."""
        self.broken = {change.key: change.error for change in items if change.error is not None}
        for error in self.broken.values():
            log.error("an object cannot be read; requests for %s fail: %s", self.root, error)
        self.snapshot.replace(change.stored for change in items if change.stored is not None)
        self.indexes.reset()
        self._pasts.clear()
        self.history.reset(revision)

    def apply(self, changes: Sequence[Change], seen: int) -> None:
        """Take in changes in the order of their revisions; those up to `seen` have been taken in before."""
        now = self._clock.monotonic()
        for change in changes:
            if change.revision > seen:
                self._apply(change, now)

    def _apply(self, change: Change, now: float) -> None:
        key, current = change.key, change.stored
        previous = self.snapshot.get(key)
        if self.broken:
            self.broken.pop(key, None)
        if change.error is not None:
            self._take_corrupt(change, change.error, previous)
            return
        if current is not None:
            self.snapshot.put(current)
        elif previous is not None:
            self.snapshot.remove(key)
        else:
            return
        self.indexes.change(key, current, previous)
        event = CacheEvent(key, current, previous, change.revision, now)
        self.history.append(event)
        self._on_event(event)

    def _take_corrupt(self, change: Change, error: CorruptObject, previous: StoredObject | None) -> None:
        log.error("an object cannot be read; requests for %s fail: %s", self.root, error)
        self.broken[change.key] = error
        if previous is not None:
            self.snapshot.remove(change.key)
            self.indexes.change(change.key, None, previous)
        # What happened to the key cannot be replayed, so nobody may resume from before it.
        self._pasts.clear()
        self.history.reset(change.revision)
        self._on_corrupt(error)

    # Giving out

    def raise_if_broken(self, prefix: str) -> None:
        """Raise CorruptObjects if an object under the prefix (or at the key) cannot be read."""
        if not self.broken:
            return
        single = not prefix.endswith("/")
        found = [
            error
            for key, error in sorted(self.broken.items())
            if key == prefix or (not single and key.startswith(prefix))
        ]
        if found:
            raise CorruptObjects(found[:MAX_REPORTED], truncated=len(found) > MAX_REPORTED)

    def list_latest(self, prefix: str, start: str, options: ListOptions, revision: int) -> ListResult:
        """The present state under a prefix, from `start` on, called `revision`."""
        self.raise_if_broken(prefix)
        limit = _limit(options)
        if not prefix.endswith("/"):
            stored = self.snapshot.get(prefix)
            found = [stored] if stored is not None else []
            return ListResult(_selected(found, options.predicate), revision)
        if options.predicate.is_empty():
            end = prefix_end(prefix)
            items = self.snapshot.objects(start or prefix, end, max(limit, 0))
            if limit <= 0 or len(items) < limit:
                return ListResult(items, revision)
            total = self.snapshot.count(start or prefix, end)
            return _page(items, prefix, revision, limit, total)
        candidates, decided = self._selection(prefix, start, options.predicate)
        if decided and limit <= 0:
            return ListResult(candidates, revision)
        end = prefix_end(prefix)
        return self._filtered(
            candidates, options.predicate, prefix, revision, limit, lambda at: bool(self.snapshot.objects(at, end, 1))
        )

    def list_exact(self, prefix: str, start: str, options: ListOptions, revision: int) -> ListResult | None:
        """The state as `revision` left it, which has been reached; None when memory does not go back so far."""
        if revision < self.history.floor:
            return None
        if revision >= self.history.last_revision:
            return self.list_latest(prefix, start, options, revision)
        past = self._past(revision)
        if past is None:
            return None
        self.raise_if_broken(prefix)
        limit = _limit(options)
        if options.predicate.is_empty():
            items = past.objects(self.snapshot, prefix, start or prefix, max(limit, 0))
            if limit <= 0 or len(items) < limit:
                return ListResult(items, revision)
            total = past.count(self.snapshot, prefix, start or prefix)
            return _page(items, prefix, revision, limit, total)
        candidates = self._past_selection(past, prefix, start or prefix, options.predicate)
        return self._filtered(
            candidates,
            options.predicate,
            prefix,
            revision,
            limit,
            lambda at: bool(past.objects(self.snapshot, prefix, at, 1)),
        )

    def _past(self, revision: int) -> Past | None:
        past = self._pasts.pop(revision, None)
        if past is None:
            past = Past(revision, self.history.position_after(revision))
        if not past.catch_up(self.history):
            return None
        self._pasts[revision] = past  # the most recently used one is last
        if len(self._pasts) > _MAX_PASTS:
            del self._pasts[next(iter(self._pasts))]
        return past

    def _selection(self, prefix: str, start: str, predicate: SelectionPredicate) -> tuple[list[StoredObject], bool]:
        """Objects under a prefix, in key order, that include all that are selected; an index narrows them down.

        Whether these are exactly the selected ones is the second value.
        """
        first, end = start or prefix, prefix_end(prefix)
        snapshot = self.snapshot
        keys = self.indexes.candidates(predicate, snapshot.all())
        if keys is None:
            return snapshot.objects(first, end), False
        decided = self.indexes.decides(predicate)
        if len(keys) >= snapshot.count(first, end):
            return snapshot.objects(first, end), decided and len(keys) == len(snapshot)
        ordered = sorted(keys) if first == self.root else sorted([key for key in keys if first <= key < end])
        get = snapshot.get
        return [stored for key in ordered if (stored := get(key)) is not None], decided

    def _past_selection(self, past: Past, prefix: str, start: str, predicate: SelectionPredicate) -> list[StoredObject]:
        """As `selection`, but of a past revision: keys that have changed since are looked at one by one."""
        keys = self.indexes.candidates(predicate, self.snapshot.all())
        if keys is None:
            return past.objects(self.snapshot, prefix, start, 0)
        end = prefix_end(prefix)
        undone, get = past.undone, self.snapshot.get
        found = [get(key) for key in keys if start <= key < end and key not in undone]
        found += [stored for key, stored in undone.items() if start <= key < end]
        return sorted((stored for stored in found if stored is not None), key=lambda stored: stored.key)

    def _filtered(
        self,
        candidates: list[StoredObject],
        predicate: SelectionPredicate,
        prefix: str,
        revision: int,
        limit: int,
        has_more: Callable[[str], bool],
    ) -> ListResult:
        """What is selected of the candidates; `has_more` tells whether any object is left from a key on.

        A full page has a token as long as there is anything behind it, selected or not: the reference, which has an
        index of trigger fields alone, looks no further.
        """
        if limit <= 0:
            return ListResult(_selected(candidates, predicate), revision)
        items: list[StoredObject] = []
        for i, stored in enumerate(candidates):
            attributes = stored.attributes
            if predicate.matches(attributes.labels, attributes.fields):
                items.append(stored)
                if len(items) == limit:
                    following = stored.key + "\0"
                    more = i < len(candidates) - 1
                    if not more and self._triggers.isdisjoint(predicate.field.choices()):
                        more = has_more(following)
                    token = continue_token.encode(following, prefix, revision) if more else ""
                    return ListResult(items, revision, token)
        return ListResult(items, revision)

    def events_since(self, version: int, prefix: str) -> list[CacheEvent]:
        """The changes after a version, which must not be below the history's floor, that concern a prefix or key."""
        if version >= self.history.last_revision:
            return []
        events = self.history.since(self.history.position_after(version))
        if prefix == self.root:
            return events
        if prefix.endswith("/"):
            return [event for event in events if event.key.startswith(prefix)]
        return [event for event in events if event.key == prefix]


def _limit(options: ListOptions) -> int:
    """How long a page may be, 0 for no limit: who is content with any version gets all, as in the reference."""
    return options.limit if options.resource_version != "0" else 0


def _selected(candidates: list[StoredObject], predicate: SelectionPredicate) -> list[StoredObject]:
    if predicate.is_empty():
        return candidates
    out = []
    matches_labels, matches_fields = predicate.label.matches, predicate.field.matches
    for stored in candidates:
        attributes = stored.attributes
        if matches_labels(attributes.labels) and matches_fields(attributes.fields):
            out.append(stored)
    return out


def _page(items: list[StoredObject], prefix: str, revision: int, limit: int, total: int) -> ListResult:
    """A full page out of `total` objects without a selector."""
    if total <= limit:
        return ListResult(items, revision)
    token = continue_token.encode(items[-1].key + "\0", prefix, revision)
    return ListResult(items, revision, token, total - limit)
