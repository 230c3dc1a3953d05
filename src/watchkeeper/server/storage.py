"""The storage factory of a server: what its options say about backends, overrides and encryption."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from watchkeeper.kv.errors import KVError
from watchkeeper.kv.interface import KV
from watchkeeper.kv.read_only import ReadOnlyKV
from watchkeeper.registry.store import Store
from watchkeeper.server.backend import open_storage
from watchkeeper.server.errors import StartupError
from watchkeeper.server.options import ServeOptions
from watchkeeper.storage.backend import BackendConfig, BackendError, parse_cache_sizes, parse_overrides
from watchkeeper.storage.codec import JsonCodec
from watchkeeper.storage.errors import StorageError
from watchkeeper.storage.factory import StorageFactory
from watchkeeper.storage.value.config import ConfigError
from watchkeeper.storage.value.encryption import Encryption

_TYPES = {"memory": "memory", "sqlite": "sqlite"}


def storage_factory(options: ServeOptions) -> StorageFactory:
    """The factory, yet to be opened. Raises StartupError for senseless options."""
    scheme, _, rest = options.storage_url.partition(":")
    config = BackendConfig(
        type=_backend_type(options),
        path=Path(rest) if scheme == "sqlite" and rest else None,
        servers=(options.storage_url,),
        prefix="/" + options.etcd_prefix.strip("/"),
        compaction_interval=0.0 if options.read_only else options.compaction_interval,
        health_timeout=options.etcd_healthcheck_timeout,
        ready_timeout=options.etcd_readycheck_timeout,
        cache_check_interval=options.watch_cache_check_interval,
        lease_reuse_seconds=options.lease_reuse_duration_seconds,
    )
    try:
        overrides = parse_overrides(options.etcd_servers_overrides)
        sizes = parse_cache_sizes(options.watch_cache_sizes)
        return StorageFactory(
            config,
            lambda wanted: _open(options, wanted),
            overrides=overrides,
            encryption=_encryption(options),
            cached=options.watch_cache,
            uncached=(resource for resource, size in sizes.items() if not size),
        )
    except BackendError as error:
        raise StartupError(str(error)) from error


def _backend_type(options: ServeOptions) -> str:
    scheme = options.storage_url.partition(":")[0]
    found = _TYPES.get(scheme, "etcd3")
    asked = options.storage_backend
    if asked in ("sqlite", "memory", "etcd3") and asked != found:
        raise StartupError(f"--storage-backend {asked} does not go with --storage {options.storage_url}")
    return asked or found


def _encryption(options: ServeOptions) -> Encryption | None:
    if options.encryption_provider_config is None:
        return None
    try:
        return Encryption(
            options.encryption_provider_config, reload=options.encryption_provider_config_automatic_reload
        )
    except ConfigError as error:
        raise StartupError(f"--encryption-provider-config: {error}") from error


async def open_factory(factory: StorageFactory) -> None:
    """Open it. Raises StartupError with one line that says what is wrong."""
    try:
        await factory.open()
    except (BackendError, KVError) as error:
        raise StartupError(str(error)) from error


async def check_encryption(factory: StorageFactory, stores: Iterable[Store]) -> None:
    """Try the keys on what is stored. Raises StartupError when they do not fit a resource."""
    if factory.encryption is None:
        return
    for store in stores:
        codec = store.storage.codec
        if isinstance(codec, JsonCodec):
            try:
                await factory.check_encryption(store.resource, codec)
            except StorageError as error:
                raise StartupError(str(error)) from error


async def _open(options: ServeOptions, config: BackendConfig) -> KV:
    """Open what a list of servers names, with the same credentials wherever it is."""
    kv = await open_storage(replace(options, storage=_storage_url(config.servers)))
    return ReadOnlyKV(kv) if options.read_only else kv


def _storage_url(servers: tuple[str, ...]) -> str:
    """A list of servers as `--storage` would name them."""
    if len(servers) == 1 and not servers[0].startswith(("http:", "https:")):
        return servers[0]
    return ",".join(servers)
