"""Ranges, read in pages that all show one revision."""

from __future__ import annotations

from typing import Any

from aetcd.rpc import rpc_pb2

from watchkeeper.kv.errors import Compacted
from watchkeeper.kv.etcd.cluster import Cluster
from watchkeeper.kv.etcd.messages import key_value
from watchkeeper.kv.interface import KeyValue, RangeResult

FIRST_PAGE = 500
PAGE_BYTES = 4 * 1024 * 1024
SMALLEST_PAGE = 20
LARGEST_PAGE = 10_000
"""Keys in a page: at first, and the bounds within which it is adapted so that a page is about PAGE_BYTES."""

RESTARTS = 3
"""How often a range from now begins anew because compaction overtook it."""


async def read_range(
    cluster: Cluster, start: bytes, end: bytes, *, limit: int, revision: int, count_only: bool, keys_only: bool
) -> RangeResult:
    """Read [start, end) at a revision, 0 for now. Raises Compacted, FutureRevision, Unavailable."""
    restarts = 0
    while True:
        try:
            return await _read(cluster, start, end, limit, revision, count_only, keys_only)
        except Compacted:
            restarts += 1
            if revision > 0 or restarts > RESTARTS:
                raise


async def _read(
    cluster: Cluster, start: bytes, end: bytes, limit: int, revision: int, count_only: bool, keys_only: bool
) -> RangeResult:
    page = LARGEST_PAGE if keys_only else FIRST_PAGE
    kvs: list[KeyValue] = []
    first: Any = None
    while True:
        wanted = min(limit - len(kvs), page) if limit > 0 else page
        request = rpc_pb2.RangeRequest(
            key=(kvs[-1].key + b"\0") if kvs else (start or b"\0"),
            range_end=end,
            limit=wanted,
            revision=revision,
            count_only=count_only,
            keys_only=keys_only,
        )
        answer = await cluster.call(_range, request, harmless=True)
        if first is None:
            first = answer
            revision = revision or answer.header.revision
        found = answer.kvs
        kvs += [key_value(message) for message in found]
        if count_only or not answer.more or (limit > 0 and len(kvs) >= limit):
            return RangeResult(kvs, first.count, not count_only and len(kvs) < first.count, first.header.revision)
        if not keys_only:
            average = answer.ByteSize() // len(found) + 1
            page = max(SMALLEST_PAGE, min(LARGEST_PAGE, PAGE_BYTES // average))


def _range(member: Any) -> Any:
    return member.range
