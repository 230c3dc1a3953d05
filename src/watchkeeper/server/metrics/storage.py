"""What the stores and their caches hold, under kube-apiserver's names."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

from watchkeeper.endpoints.metrics import Family, Sample
from watchkeeper.kv.interface import Status
from watchkeeper.registry.store import Store
from watchkeeper.storage.cacher.cacher import Cacher


class StorageMetrics:
    """Asks the stores that there are when it is asked."""

    def __init__(self, monitors: Callable[[], Awaitable[Mapping[str, Status]]], stores: Sequence[Store]) -> None:
        """`monitors`: what each backend says of itself, by name."""
        self._monitors = monitors
        self._stores = stores

    async def collect(self) -> Iterable[Family]:
        """Objects and bytes stored, and for each cache its version and its watchers. Raises StorageError."""
        objects, versions, watchers, terminated = [], [], [], []
        for store in self._stores:
            storage = store.storage
            resource = (("group", store.resource.group), ("resource", store.resource.resource))
            if isinstance(storage, Cacher):
                if storage.ready():
                    continue
                versions.append(Sample(storage.feed.freshness.revision, resource))
                watchers.append(Sample(len(storage.watchers), resource))
                terminated.append(Sample(storage.watchers.terminated, resource))
            objects.append(Sample((await storage.stats()).object_count, (("resource", str(store.resource)),)))
        size = [
            Sample(status.db_size, (("storage_cluster_id", status.backend if name == "etcd" else name),))
            for name, status in (await self._monitors()).items()
        ]
        return (
            Family("apiserver_storage_objects", "gauge", "Objects that are stored.", objects),
            Family("apiserver_storage_size_bytes", "gauge", "The size of the storage, in bytes.", size),
            Family("apiserver_watch_cache_resource_version", "gauge", "How far the watch cache has come.", versions),
            Family("apiserver_watch_cache_watchers", "gauge", "Watches that the watch cache serves.", watchers),
            Family(
                "apiserver_terminated_watchers_total",
                "counter",
                "Watches ended because their clients were too slow.",
                terminated,
            ),
        )
