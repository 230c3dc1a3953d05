"""What the stores and their caches hold, under kube-apiserver's names."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock
from watchkeeper.aio.together import together
from watchkeeper.endpoints.metrics import Family, Sample
from watchkeeper.kv.interface import Status
from watchkeeper.registry.store import Store
from watchkeeper.server.metrics.polled import Polled
from watchkeeper.storage.cacher.cacher import Cacher
from watchkeeper.storage.interface import Interface

COUNT_SECONDS = 60.0
"""How old the number of objects may be that has to be asked of a store (kube-apiserver's default)."""

_PATIENCE = 2.0
"""So long a store is waited for. What it does not tell is left out."""


class StorageMetrics:
    """Asks the stores that there are when it is asked, and what takes a round trip only from time to time."""

    def __init__(
        self,
        monitors: Callable[[], Awaitable[Mapping[str, Status]]],
        stores: Sequence[Store],
        *,
        poll_seconds: float = 30.0,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """`monitors`: what each backend says of itself, by name; asked every `poll_seconds` at most, never for 0."""
        self._stores = stores
        self._status = Polled(monitors, poll_seconds, clock)
        self._counts = Polled(self._count_all, COUNT_SECONDS, clock)

    async def _count_all(self) -> Mapping[str, int]:
        """Of resources that are not in memory."""
        asked = [store for store in self._stores if not _in_memory(store.storage)]
        async with asyncio.timeout(_PATIENCE):
            counts = await together(_stored(store.storage).count(f"{store.prefix}/") for store in asked)
        return {str(store.resource): count for store, count in zip(asked, counts, strict=True)}

    async def collect(self) -> Iterable[Family]:
        """Objects and bytes stored, and for each cache its version and its watchers."""
        objects, by_group, versions, watchers, terminated, checks = [], [], [], [], [], []
        counts = await self._counts.get() or {}
        for store in self._stores:
            storage, name = store.storage, str(store.resource)
            resource = (("group", store.resource.group), ("resource", store.resource.resource))
            if isinstance(storage, Cacher) and _in_memory(storage):
                versions.append(Sample(storage.feed.freshness.revision, resource))
                watchers.append(Sample(len(storage.watchers), resource))
                terminated.append(Sample(storage.watchers.terminated, resource))
                for status, count in storage.feed.check.results.items():
                    if count:
                        checks.append(Sample(count, (*resource, ("status", status))))
                count = await storage.count(f"{store.prefix}/")
            elif name in counts:
                count = counts[name]
            else:
                continue
            objects.append(Sample(count, (("resource", name),)))
            by_group.append(Sample(count, resource))
        size = [
            Sample(status.db_size, (("storage_cluster_id", status.backend if name == "etcd" else name),))
            for name, status in (await self._status.get() or {}).items()
        ]
        return (
            Family("apiserver_storage_objects", "gauge", "Objects that are stored.", objects),
            Family("apiserver_resource_objects", "gauge", "The same by group and resource.", by_group),
            Family("apiserver_storage_size_bytes", "gauge", "The size of the storage, in bytes.", size),
            Family("apiserver_watch_cache_resource_version", "gauge", "How far the watch cache has come.", versions),
            Family("apiserver_watch_cache_watchers", "gauge", "Watches that the watch cache serves.", watchers),
            Family(
                "apiserver_terminated_watchers_total",
                "counter",
                "Watches ended because their clients were too slow.",
                terminated,
            ),
            Family(
                "apiserver_storage_consistency_checks_total",
                "counter",
                "How often a watch cache was compared with the storage, and whether they were equal.",
                checks,
            ),
        )


def _stored(storage: Interface) -> Interface:
    """Below the cache, which need not be filled for the sake of a number."""
    return storage.store if isinstance(storage, Cacher) else storage


def _in_memory(storage: Interface) -> bool:
    return isinstance(storage, Cacher) and storage.feed.is_ready
