"""Lists read from the key-value store."""

from __future__ import annotations

import asyncio

from watchkeeper.kv import errors as kv_errors
from watchkeeper.kv.interface import KV, RangeResult, prefix_end
from watchkeeper.storage import continue_token
from watchkeeper.storage.decoder import Decoder
from watchkeeper.storage.errors import CorruptObject, CorruptObjects, Expired, TooLargeResourceVersion
from watchkeeper.storage.interface import ListOptions, ListResult, StoredObject
from watchkeeper.storage.kv_errors import CONTINUE_EXPIRED, translate
from watchkeeper.storage.list_rules import ListPlan, plan_list
from watchkeeper.storage.predicate import SelectionPredicate

MAX_PAGE = 10_000
"""To this a page grows while few of the objects read are selected."""

STRETCH = 200
"""Objects decoded without letting others run; some milliseconds."""

MAX_REPORTED = 100
"""So many broken objects are named in one error."""


class Lister:
    """Lists of one resource."""

    def __init__(self, kv: KV, decoder: Decoder) -> None:
        self._kv = kv
        self._decoder = decoder

    async def get_list(self, prefix: str, options: ListOptions) -> ListResult:
        """One page, or everything. Reads on while a page is not full, in pages that double."""
        plan = plan_list(prefix, options)
        collected = _Collected(self._decoder, options.predicate, options.limit)
        revision, start, page = plan.exact, plan.start or prefix, options.limit
        while True:
            result = await self._read(prefix, start, page, revision, plan, options)
            if plan.minimum > result.revision:
                raise TooLargeResourceVersion(plan.minimum, result.revision, 0)
            revision = revision or result.revision
            more = await collected.take(result)
            if not more or options.limit <= 0 or collected.full:
                break
            start = collected.last_key + "\0"
            page = min(page * 2, MAX_PAGE) if page < MAX_PAGE else page
        collected.raise_errors()
        token, remaining = "", None
        if more:
            token = continue_token.encode(collected.last_key + "\0", prefix, revision)
            if options.predicate.is_empty():
                remaining = result.count - options.limit
        return ListResult(collected.items, revision, token, remaining)

    async def _read(
        self, prefix: str, start: str, limit: int, revision: int, plan: ListPlan, options: ListOptions
    ) -> RangeResult:
        first = start.encode()
        try:
            if not prefix.endswith("/"):
                got = await self._kv.get(first, revision=revision)
                found = [got.kv] if got.kv is not None else []
                return RangeResult(found, len(found), False, got.revision)
            return await self._kv.range(
                first,
                prefix_end(prefix.encode()),
                limit=max(limit, 0),
                revision=revision,
                counted=options.predicate.is_empty(),  # who selects is not told how many remain
            )
        except kv_errors.FutureRevision as e:
            # etcd does not say how far it is when it refuses a revision.
            current = e.current_revision or await self._current_revision()
            raise TooLargeResourceVersion(revision, current, 0) from e
        except kv_errors.Compacted as e:
            if options.continue_token:
                token = continue_token.encode(start, prefix, continue_token.LATEST)
                raise Expired(CONTINUE_EXPIRED, token) from e
            raise translate(e, prefix) from e
        except kv_errors.KVError as e:
            raise translate(e, prefix) from e

    async def _current_revision(self) -> int:
        try:
            return await self._kv.current_revision()
        except kv_errors.KVError as error:
            raise translate(error) from error


class _Collected:
    """The objects selected so far, and where reading has got to."""

    def __init__(self, decoder: Decoder, predicate: SelectionPredicate, limit: int) -> None:
        self._decoder = decoder
        self._predicate = None if predicate.is_empty() else predicate
        self._limit = limit
        self.items: list[StoredObject] = []
        self.last_key = ""
        self._errors: list[CorruptObject] = []

    @property
    def full(self) -> bool:
        return 0 < self._limit <= len(self.items)

    async def take(self, result: RangeResult) -> bool:
        """Decode and select. Returns whether there is more behind the last key looked at."""
        for i, kv in enumerate(result.kvs):
            if self.full:
                return True
            if i % STRETCH == STRETCH - 1:
                await asyncio.sleep(0)
            self.last_key = kv.key.decode(errors="surrogateescape")
            try:
                stored = await self._decoder.read(kv)
            except CorruptObject as e:
                self._errors.append(e)
                if len(self._errors) > MAX_REPORTED:
                    self.raise_errors()
                continue
            if self._predicate is not None:
                attributes = stored.attributes
                if not self._predicate.matches(attributes.labels, attributes.fields):
                    continue
            self.items.append(stored)
        return result.more

    def raise_errors(self) -> None:
        if self._errors:
            raise CorruptObjects(self._errors[:MAX_REPORTED], truncated=len(self._errors) > MAX_REPORTED)
