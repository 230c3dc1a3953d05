"""Makes the storage of every resource: on its backend, under its prefix, encrypted if so configured, cached or not."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.kv.errors import KVError
from watchkeeper.kv.interface import KV, Status, prefix_end
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.storage.backend import BackendConfig, Opener
from watchkeeper.storage.cacher.cacher import Cacher
from watchkeeper.storage.codec import JsonCodec
from watchkeeper.storage.compactor import Compactor
from watchkeeper.storage.decoder import Decoder
from watchkeeper.storage.errors import StorageError
from watchkeeper.storage.interface import Interface
from watchkeeper.storage.kv_errors import translate
from watchkeeper.storage.leases import LeaseManager
from watchkeeper.storage.prefixes import resource_prefix
from watchkeeper.storage.store import Store
from watchkeeper.storage.value.encryption import Encryption
from watchkeeper.storage.value.interface import Transformer

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Backend:
    """An open key-value store and what belongs to it."""

    config: BackendConfig
    kv: KV
    leases: LeaseManager
    compactor: Compactor


class StorageFactory:
    """All storages of one server. Open it before use; closing it closes the storages and their stores."""

    def __init__(
        self,
        config: BackendConfig,
        opener: Opener,
        *,
        overrides: Mapping[GroupResource, tuple[str, ...]] | None = None,
        encryption: Encryption | None = None,
        uncached: Iterable[GroupResource] = (),
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """`overrides`: resources that live on other servers. `uncached`: those that are always read from the store."""
        config.check()
        self._config = config
        self._opener = opener
        self._overrides = dict(overrides or {})
        self._encryption = encryption
        self._uncached = frozenset(uncached)
        self._clock = clock
        self._backends: dict[tuple[str, ...], Backend] = {}
        self._storages: dict[GroupResource, Interface] = {}
        self._tasks = TaskOwner("storage")

    def __repr__(self) -> str:
        return f"<StorageFactory of {len(self._storages)} storages on {len(self._backends)} backends>"

    async def open(self) -> None:
        """Open all backends and begin to compact them; start encryption. Raises BackendError, KVError."""
        for servers in {self._config.servers, *self._overrides.values()}:
            config = replace(self._config, servers=servers)
            kv = await self._opener(config)
            leases = LeaseManager(
                kv, self._clock, reuse_seconds=config.lease_reuse_seconds, max_objects=config.lease_max_objects
            )
            compactor = Compactor(kv, interval=config.compaction_interval, clock=self._clock)
            self._backends[servers] = Backend(config, kv, leases, compactor)
            self._tasks.start("compactor", compactor.run())
        if self._encryption is not None:
            await self._encryption.start()

    def backend(self, resource: GroupResource) -> Backend:
        """Where a resource lives."""
        return self._backends[self._overrides.get(resource, self._config.servers)]

    def transformer(self, resource: GroupResource) -> Transformer | None:
        """How a resource is encrypted, if encryption is configured at all."""
        return self._encryption.transformer(resource) if self._encryption is not None else None

    def prefix(self, resource: GroupResource) -> str:
        """The key under which a resource lies."""
        return resource_prefix(resource.group, resource.resource, root=self._config.prefix)

    def storage(self, resource: GroupResource, codec: JsonCodec, *, index_fields: Sequence[str] = ()) -> Interface:
        """The storage of a resource, cached unless it is not to be. Made once; `drop` it to make it anew."""
        found = self._storages.get(resource)
        if found is not None:
            return found
        backend = self.backend(resource)
        store = Store(
            backend.kv,
            codec,
            self.prefix(resource),
            transformer=self.transformer(resource),
            clock=self._clock,
            leases=backend.leases,
        )
        made: Interface = store
        if resource not in self._uncached:
            made = Cacher(store, index_fields=index_fields, clock=self._clock)
        self._storages[resource] = made
        return made

    async def drop(self, resource: GroupResource) -> None:
        """Close the storage of a resource that is not served any more; what is stored stays."""
        storage = self._storages.pop(resource, None)
        if storage is not None:
            await storage.close()

    async def check_encryption(self, resource: GroupResource, codec: JsonCodec) -> None:
        """Try to read one object of a resource, so that a wrong key shows at start. Raises StorageError."""
        prefix = f"{self.prefix(resource)}/".encode()
        decoder = Decoder(codec, self.transformer(resource))
        try:
            result = await self.backend(resource).kv.range(prefix, prefix_end(prefix), limit=1)
        except KVError as e:
            raise translate(e, prefix.decode()) from e
        for kv in result.kvs:
            try:
                await decoder.read_plain(kv)
            except StorageError as e:
                raise StorageError(
                    f"{resource} cannot be read with the keys of the encryption configuration: {e}", e.key
                ) from e

    async def health(self) -> dict[str, str]:
        """What is wrong with each backend and with key management; "" for nothing."""
        checks = {self._name(backend): self._check(backend) for backend in self._backends.values()}
        results = dict(zip(checks, await asyncio.gather(*checks.values()), strict=True))
        if self._encryption is not None:
            results["kms-providers"] = self._encryption.health()
        return results

    def _name(self, backend: Backend) -> str:
        if backend.config.servers == self._config.servers:
            return "etcd"
        return f"etcd-override-{','.join(backend.config.servers)}"

    async def _check(self, backend: Backend) -> str:
        try:
            await asyncio.wait_for(backend.kv.status(), backend.config.health_timeout)
        except TimeoutError:
            return f"no answer within {backend.config.health_timeout:g} s"
        except KVError as e:
            return str(e)
        return ""

    async def monitors(self) -> dict[str, Status]:
        """What each backend that answers says of itself."""
        found = {}
        for backend in self._backends.values():
            try:
                found[self._name(backend)] = await asyncio.wait_for(backend.kv.status(), backend.config.health_timeout)
            except (TimeoutError, KVError):
                log.debug("the backend %s does not answer", self._name(backend))
        return found

    async def close(self) -> None:
        """Close storages, encryption and backends, in this order. Idempotent."""
        for storage in self._storages.values():
            await storage.close()
        self._storages.clear()
        await self._tasks.close()
        if self._encryption is not None:
            await self._encryption.close()
        for backend in self._backends.values():
            await backend.kv.close()
        self._backends.clear()
