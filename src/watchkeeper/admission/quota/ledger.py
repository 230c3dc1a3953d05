"""Charges requests to quotas and writes down what is used.

Requests in one namespace that wait at the same time are charged together, so that a burst of them costs one write per
quota. Writes are optimistic; quotas that somebody else has written meanwhile are read and charged again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Any

from watchkeeper.admission.interface import Attributes
from watchkeeper.admission.quota import amounts
from watchkeeper.admission.quota.charge import charge
from watchkeeper.admission.quota.evaluator import Evaluator
from watchkeeper.admission.quota.limited import LimitedResource
from watchkeeper.admission.quota.plugin import QuotaStore
from watchkeeper.admission.quota.quota import Quota
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.meta.errors import ApiError

Object = dict[str, Any]
_RETRIES = 3


@dataclass(frozen=True, slots=True)
class _Waiter:
    attributes: Attributes
    evaluator: Evaluator
    done: asyncio.Future[None]

    def fail(self, error: Exception) -> None:
        if not self.done.done():
            self.done.set_exception(error)

    def succeed(self) -> None:
        if not self.done.done():
            self.done.set_result(None)


class QuotaLedger:
    """One task per namespace in which requests wait."""

    def __init__(self, store: QuotaStore, limited: Sequence[LimitedResource] = ()) -> None:
        self._store = store
        self._limited = tuple(limited)
        self._tasks = TaskOwner("resource-quota")
        self._waiting: dict[str, list[_Waiter]] = {}

    def __repr__(self) -> str:
        return f"<QuotaLedger: {sum(map(len, self._waiting.values()))} waiting>"

    async def close(self) -> None:
        """Charge no more; whoever waits is canceled."""
        await self._tasks.close()

    async def charge(self, attributes: Attributes, evaluator: Evaluator) -> None:
        """Charge a request. Raises a 403 when it does not fit, a 409 when quotas change too fast to be written."""
        namespace = attributes.namespace
        waiter = _Waiter(attributes, evaluator, asyncio.get_running_loop().create_future())
        waiting = self._waiting.get(namespace)
        if waiting is not None:
            waiting.append(waiter)
        else:
            self._waiting[namespace] = [waiter]
            self._tasks.start(namespace, self._work(namespace))
        await waiter.done

    async def _work(self, namespace: str) -> None:
        try:
            while batch := self._waiting[namespace]:
                self._waiting[namespace] = []
                try:
                    quotas = await self._quotas(namespace)
                    await self._settle(namespace, quotas, batch, _RETRIES)
                except Exception as error:
                    for waiter in batch:
                        waiter.fail(error)
                except asyncio.CancelledError:
                    for waiter in batch:
                        waiter.done.cancel()
                    raise
        finally:
            for waiter in self._waiting.pop(namespace):
                waiter.done.cancel()

    async def _quotas(self, namespace: str) -> list[Quota]:
        found = self._store.read(namespace)
        return [Quota.read(obj) for obj in (await found if isinstance(found, Awaitable) else found)]

    async def _settle(self, namespace: str, quotas: list[Quota], batch: Sequence[_Waiter], retries: int) -> None:
        """Charge all, then write what has changed; those that wait for a write succeed with it."""
        before = list(quotas)
        pending: list[_Waiter] = []
        for waiter in batch:
            if waiter.done.done():
                continue
            try:
                charged = charge(quotas, waiter.attributes, waiter.evaluator, self._limited)
            except ApiError as error:
                waiter.fail(error)
                continue
            if waiter.attributes.dry_run or _same(quotas, charged):
                waiter.succeed()
            else:
                pending.append(waiter)
                quotas = charged
        failed, conflict = await self._write(before, quotas)
        if conflict is None:
            for waiter in pending:
                waiter.succeed()
        elif retries <= 0:
            for waiter in pending:
                waiter.fail(conflict)
        else:
            # The others have been charged: only what could not be written is judged anew.
            again = await self._quotas(namespace)
            await self._settle(namespace, [q for q in again if q.name in failed], pending, retries - 1)

    async def _write(self, before: Sequence[Quota], after: Sequence[Quota]) -> tuple[set[str], ApiError | None]:
        """Write the quotas that have changed. Returns the names of those that could not be written, and why."""
        failed: set[str] = set()
        last: ApiError | None = None
        for old, new in zip(before, after, strict=True):
            if amounts.equal(old.used, new.used):
                continue
            try:
                await self._store.update_status(new.written())
            except ApiError as error:
                failed.add(new.name)
                last = error
        return failed, last


def _same(before: Sequence[Quota], after: Sequence[Quota]) -> bool:
    return all(amounts.equal(a.used, b.used) for a, b in zip(before, after, strict=True))
