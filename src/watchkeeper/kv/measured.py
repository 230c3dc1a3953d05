"""Counts and times what one resource asks of a key-value store.

For stores behind a network, next to whose round trips this costs nothing; those in this process are asked directly.
"""

from __future__ import annotations

from collections.abc import Awaitable
from time import perf_counter
from typing import TypeVar

from watchkeeper.aio.histogram import Histogram
from watchkeeper.kv.interface import KV, GetResult, RangeResult, Status, TxnResult, Watch

T = TypeVar("T")

_BUCKETS = (
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0,
    3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0,
)  # fmt: skip


class Requests:
    """How often something was asked, how long that took in seconds, and how often it failed."""

    __slots__ = ("errors", "latency")

    def __init__(self) -> None:
        self.latency = Histogram(_BUCKETS)
        self.errors = 0


Measurements = dict[str, Requests]
"""By kube-apiserver's name of an operation."""


class MeasuredKV:
    """Implements KV over another one. What is refused because a condition does not hold is no failure."""

    def __init__(self, kv: KV, measured: Measurements) -> None:
        """`measured` may be that of a KV before it, which then goes on."""
        self._kv = kv
        self._measured = measured

    def __repr__(self) -> str:
        return f"<MeasuredKV over {self._kv!r}>"

    async def _timed(self, operation: str, work: Awaitable[T]) -> T:
        requests = self._measured.get(operation)
        if requests is None:
            requests = self._measured[operation] = Requests()
        started = perf_counter()
        try:
            return await work
        except BaseException:
            requests.errors += 1
            raise
        finally:
            requests.latency.observe(perf_counter() - started)

    async def get(self, key: bytes, *, revision: int = 0) -> GetResult:
        """Passed on."""
        return await self._timed("get", self._kv.get(key, revision=revision))

    async def range(
        self,
        start: bytes,
        end: bytes,
        *,
        limit: int = 0,
        revision: int = 0,
        count_only: bool = False,
        keys_only: bool = False,
        counted: bool = True,
    ) -> RangeResult:
        """Passed on."""
        operation = "listWithCount" if count_only else "listOnlyKeys" if keys_only else "list"
        work = self._kv.range(
            start, end, limit=limit, revision=revision, count_only=count_only, keys_only=keys_only, counted=counted
        )
        return await self._timed(operation, work)

    async def optimistic_put(
        self,
        key: bytes,
        value: bytes,
        expected_mod_revision: int,
        *,
        lease: int = 0,
        get_on_failure: bool = False,
    ) -> TxnResult:
        """Passed on."""
        work = self._kv.optimistic_put(key, value, expected_mod_revision, lease=lease, get_on_failure=get_on_failure)
        return await self._timed("update" if expected_mod_revision or get_on_failure else "create", work)

    async def optimistic_delete(
        self, key: bytes, expected_mod_revision: int, *, get_on_failure: bool = False
    ) -> TxnResult:
        """Passed on."""
        work = self._kv.optimistic_delete(key, expected_mod_revision, get_on_failure=get_on_failure)
        return await self._timed("delete", work)

    async def watch(self, prefix: bytes, *, after_revision: int = 0, prev_kv: bool = False) -> Watch:
        """Passed on."""
        return await self._kv.watch(prefix, after_revision=after_revision, prev_kv=prev_kv)

    async def request_progress(self, watch: Watch) -> bool:
        """Passed on."""
        return await self._kv.request_progress(watch)

    async def current_revision(self) -> int:
        """Passed on: kube-apiserver lists to find out, and counts it so."""
        return await self._timed("list", self._kv.current_revision())

    def current_revision_nowait(self) -> int | None:
        """Passed on."""
        return self._kv.current_revision_nowait()

    async def grant_lease(self, ttl: int) -> int:
        """Passed on."""
        return await self._kv.grant_lease(ttl)

    async def revoke_lease(self, lease: int) -> None:
        """Passed on."""
        await self._kv.revoke_lease(lease)

    async def compact(self, revision: int) -> None:
        """Passed on."""
        await self._kv.compact(revision)

    async def status(self) -> Status:
        """Passed on."""
        return await self._kv.status()

    async def close(self) -> None:
        """Passed on."""
        await self._kv.close()
