"""A key-value store that this process never writes to: for looking into what another server owns."""

from __future__ import annotations

from watchkeeper.kv.errors import ReadOnly
from watchkeeper.kv.interface import KV, GetResult, RangeResult, Status, TxnResult, Watch


class ReadOnlyKV:
    """Implements KV over another one; every write raises ReadOnly."""

    def __init__(self, kv: KV) -> None:
        self._kv = kv

    def __repr__(self) -> str:
        return f"<ReadOnlyKV over {self._kv!r}>"

    async def get(self, key: bytes, *, revision: int = 0) -> GetResult:
        """Passed on."""
        return await self._kv.get(key, revision=revision)

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
        return await self._kv.range(
            start, end, limit=limit, revision=revision, count_only=count_only, keys_only=keys_only, counted=counted
        )

    async def optimistic_put(
        self,
        key: bytes,
        value: bytes,
        expected_mod_revision: int,
        *,
        lease: int = 0,
        get_on_failure: bool = False,
    ) -> TxnResult:
        """Refused."""
        raise _refusal()

    async def optimistic_delete(
        self, key: bytes, expected_mod_revision: int, *, get_on_failure: bool = False
    ) -> TxnResult:
        """Refused."""
        raise _refusal()

    async def watch(self, prefix: bytes, *, after_revision: int = 0, prev_kv: bool = False) -> Watch:
        """Passed on."""
        return await self._kv.watch(prefix, after_revision=after_revision, prev_kv=prev_kv)

    async def request_progress(self, watch: Watch) -> bool:
        """Passed on."""
        return await self._kv.request_progress(watch)

    async def current_revision(self) -> int:
        """Passed on."""
        return await self._kv.current_revision()

    def current_revision_nowait(self) -> int | None:
        """Passed on."""
        return self._kv.current_revision_nowait()

    async def grant_lease(self, ttl: int) -> int:
        """Refused."""
        raise _refusal()

    async def revoke_lease(self, lease: int) -> None:
        """Refused."""
        raise _refusal()

    async def compact(self, revision: int) -> None:
        """Refused."""
        raise _refusal()

    async def status(self) -> Status:
        """Passed on."""
        return await self._kv.status()

    async def close(self) -> None:
        """Passed on."""
        await self._kv.close()


def _refusal() -> ReadOnly:
    return ReadOnly("the storage was opened for reading only, nothing is written to it")
