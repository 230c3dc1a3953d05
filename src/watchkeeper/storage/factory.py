"""Makes the storage of every resource: on its backend, under its prefix, encrypted if so configured, cached or not."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.aio.together import close_all, together
from watchkeeper.kv.errors import KVError
from watchkeeper.kv.interface import KV, Status, prefix_end
from watchkeeper.kv.measured import MeasuredKV, Measurements
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.storage.backend import BackendConfig, Opener
from watchkeeper.storage.cacher.cacher import Cacher
from watchkeeper.storage.codec import JsonCodec
from watchkeeper.storage.compactor import Compactor
from watchkeeper.storage.decoder import Decoder
from watchkeeper.storage.errors import CorruptObject, StorageError, Unreachable
from watchkeeper.storage.interface import Interface, StoredObject
from watchkeeper.storage.kv_errors import translate
from watchkeeper.storage.leases import LeaseManager
from watchkeeper.storage.prefixes import custom_prefix, resource_prefix
from watchkeeper.storage.store import Store
from watchkeeper.storage.strangers import Strangers, strangers
from watchkeeper.storage.value.encryption import Encryption
from watchkeeper.storage.value.interface import Transformer

log = logging.getLogger(__name__)

_SCANNED = 500
"""The page of a scan."""

_PROBED = 20
"""So many objects of a resource are decrypted at start before it is said that the keys do not fit."""


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
        cached: bool = True,
        uncached: Iterable[GroupResource] = (),
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """`overrides`: resources that live on other servers.

        `uncached`: those that are always read from the store; all of them, unless `cached`.
        """
        config.check()
        self._config = config
        self._opener = opener
        self._overrides = dict(overrides or {})
        self._encryption = encryption
        self._cached = cached
        self._uncached = frozenset(uncached)
        self._clock = clock
        self._backends: dict[tuple[str, ...], Backend] = {}
        self._storages: dict[GroupResource, Interface] = {}
        self._tasks = TaskOwner("storage")
        self.measured: dict[GroupResource, Measurements] = {}
        """What resources that lie in an etcd have asked of it."""

    def __repr__(self) -> str:
        return f"<StorageFactory of {len(self._storages)} storages on {len(self._backends)} backends>"

    async def open(self) -> None:
        """Open all backends and begin to compact them; start encryption. Raises BackendError, KVError."""
        for servers in dict.fromkeys((self._config.servers, *self._overrides.values())):
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

    @property
    def main(self) -> Backend:
        """Where everything lives that has no place of its own."""
        return self._backends[self._config.servers]

    @property
    def root(self) -> str:
        """What all keys begin with, such as /registry."""
        return self._config.prefix

    @property
    def encryption(self) -> Encryption | None:
        """How values are encrypted, if that is configured."""
        return self._encryption

    def backend(self, resource: GroupResource) -> Backend:
        """Where a resource lives."""
        return self._backends[self._overrides.get(_stored(resource), self._config.servers)]

    def transformer(self, resource: GroupResource) -> Transformer | None:
        """How a resource is encrypted, if encryption is configured at all."""
        return self._encryption.transformer(resource) if self._encryption is not None else None

    def prefix(self, resource: GroupResource, *, custom: bool = False) -> str:
        """The key under which a resource lies; `custom` ones never lie where a built-in one does."""
        prefix_of = custom_prefix if custom else resource_prefix
        return prefix_of(resource.group, resource.resource, root=self._config.prefix)

    def storage(self, resource: GroupResource, codec: JsonCodec, *, index_fields: Sequence[str] = ()) -> Interface:
        """The storage of a resource, cached unless it is not to be. Made once; `drop` it to make it anew."""
        found = self._storages.get(resource)
        if found is not None:
            return found
        made = self._storages[resource] = self.make(resource, codec, index_fields=index_fields)
        return made

    def make(
        self,
        resource: GroupResource,
        codec: JsonCodec,
        *,
        index_fields: Sequence[str] = (),
        cached: bool = True,
        custom: bool = False,
    ) -> Interface:
        """A storage that its owner closes, such as that of a `custom` resource, whose definition may come back.

        `cached`: whether what it holds is kept in memory, unless nothing is.
        """
        backend = self.backend(resource)
        store = Store(
            self._asked(backend, resource),
            codec,
            self.prefix(resource, custom=custom),
            transformer=self.transformer(resource),
            clock=self._clock,
            leases=backend.leases,
        )
        if not cached or not self._cached or _stored(resource) in self._uncached:
            return store
        return Cacher(
            store,
            index_fields=index_fields,
            clock=self._clock,
            check_seconds=backend.config.cache_check_interval,
            compacted=lambda: backend.compactor.compact_revision,
        )

    def _asked(self, backend: Backend, resource: GroupResource) -> KV:
        """What a resource asks, measured where that is an etcd."""
        if backend.config.type not in ("", "etcd3"):
            return backend.kv
        return MeasuredKV(backend.kv, self.measured.setdefault(resource, {}))

    async def drop(self, resource: GroupResource) -> None:
        """Close the storage of a resource that is not served any more; what is stored stays."""
        storage = self._storages.pop(resource, None)
        if storage is not None:
            await storage.close()

    async def check_encryption(self, resource: GroupResource, codec: JsonCodec) -> None:
        """Try to decrypt some objects of a resource, so that a wrong key shows at start.

        Raises StorageError when none of them can be decrypted: then it is not the object that is broken. While key
        management is away nothing is known and nothing is raised.
        """
        prefix = f"{self.prefix(resource)}/".encode()
        decoder = Decoder(codec, self.transformer(resource))
        try:
            result = await self.backend(resource).kv.range(prefix, prefix_end(prefix), limit=_PROBED)
        except KVError as e:
            raise translate(e, prefix.decode()) from e
        fault: CorruptObject | None = None
        for kv in result.kvs:
            try:
                await decoder.read_plain(kv)
            except CorruptObject as e:
                fault = fault or e
            except Unreachable as e:
                log.warning("whether %s can be decrypted is not known yet: %s", resource, e)
                return
            else:
                if fault is not None:
                    log.error("some %s cannot be decrypted: %s", resource, fault)
                return
        if fault is not None:
            raise StorageError(
                f"{resource} cannot be read with the keys of the encryption configuration: {fault}", fault.key
            ) from fault

    async def scan(self, resource: GroupResource, codec: JsonCodec) -> AsyncIterator[StoredObject | CorruptObject]:
        """All objects of a resource at one revision, in key order, and in place of each broken one what is wrong.

        Raises StorageError.
        """
        decoder = Decoder(codec, self.transformer(resource))
        prefix = f"{self.prefix(resource)}/".encode()
        start, revision, more = prefix, 0, True
        while more:
            try:
                result = await self.backend(resource).kv.range(
                    start, prefix_end(prefix), limit=_SCANNED, revision=revision, counted=False
                )
            except KVError as e:
                raise translate(e, prefix.decode()) from e
            for kv in result.kvs:
                try:
                    yield await decoder.read(kv)
                except CorruptObject as e:
                    yield e
                start = kv.key + b"\0"
            revision, more = revision or result.revision, result.more

    async def strangers(self, prefixes: Iterable[str]) -> AsyncIterator[Strangers]:
        """What lies in any of the backends where no resource is, given the prefixes of all. Raises StorageError."""
        known = list(prefixes)
        for backend in self._backends.values():
            async for found in strangers(backend.kv, self.root, known):
                yield found

    async def health(self) -> dict[str, str]:
        """What is wrong with each backend and with key management; "" for nothing."""
        checks = {name: check() for name, check in self.checks().items()}
        return dict(zip(checks, await together(checks.values()), strict=True))

    def checks(self) -> dict[str, Callable[[], Coroutine[Any, Any, str]]]:
        """The health checks by name; each tells what is wrong, "" for nothing."""
        found: dict[str, Callable[[], Coroutine[Any, Any, str]]] = {
            f"etcd{suffix}": functools.partial(self._check, backend)
            for suffix, backend in self._numbered("-override").items()
        }
        if self._encryption is not None and self._encryption.may_need_plugins:
            found["kms-providers"] = self._check_plugins
        return found

    def readiness_checks(self) -> dict[str, Callable[[], Coroutine[Any, Any, str]]]:
        """By name, for each backend a read that a majority has to confirm; each tells what is wrong, "" for nothing."""
        return {
            f"etcd{suffix}": functools.partial(self._check_read, backend)
            for suffix, backend in self._numbered("-override-readiness", main="-readiness").items()
        }

    def _numbered(self, of_override: str, *, main: str = "") -> dict[str, Backend]:
        """The backends by the end of a check's name: those of overrides have numbers, the same servers one."""
        servers = {tuple(sorted(listed)): listed for listed in reversed(self._overrides.values())}
        order = dict.fromkeys(tuple(sorted(listed)) for listed in self._overrides.values())
        numbered = {f"{of_override}-{n}": self._backends[servers[key]] for n, key in enumerate(order)}
        return {main: self.main} | numbered

    async def _check_plugins(self) -> str:
        return self._encryption.health() if self._encryption is not None else ""

    def _name(self, backend: Backend) -> str:
        if backend.config.servers == self._config.servers:
            return "etcd"
        resources = (str(r) for r, servers in self._overrides.items() if servers == backend.config.servers)
        return f"etcd-override-{','.join(sorted(resources))}"

    async def _check(self, backend: Backend) -> str:
        try:
            await asyncio.wait_for(backend.kv.status(), backend.config.health_timeout)
        except TimeoutError:
            return f"no answer within {backend.config.health_timeout:g} s"
        except KVError as e:
            return str(e)
        return ""

    async def _check_read(self, backend: Backend) -> str:
        seconds = backend.config.ready_timeout
        try:
            async with asyncio.timeout(seconds):
                await backend.kv.current_revision()
        except TimeoutError:
            return f"no answer within {seconds:g} s"
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
        """Close storages, encryption and backends, in this order. Idempotent.

        All of them, whatever happens; then what went wrong is raised.
        """
        storages, self._storages = self._storages, {}
        backends, self._backends = self._backends, {}
        await close_all(
            [
                *(storage.close for storage in storages.values()),
                self._tasks.close,
                *([self._encryption.close] if self._encryption is not None else []),
                *(backend.kv.close for backend in backends.values()),
            ]
        )


def _stored(resource: GroupResource) -> GroupResource:
    """The resource under whose name objects are stored: Events are core Events, whoever serves them."""
    return GroupResource("", resource.resource) if resource.group == "events.k8s.io" else resource
