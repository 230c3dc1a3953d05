"""An etcd with keys that no server of ours has written."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from watchkeeper.kv.etcd import EtcdConfig, open_etcd
from watchkeeper.kv.interface import KV
from watchkeeper.testing.etcd_shared import run, shared_cluster

T = TypeVar("T")


def on_etcd(work: Callable[[KV], Awaitable[T]]) -> T:
    """What some work on the store comes to."""

    async def with_store() -> T:
        kv = open_etcd(EtcdConfig(shared_cluster().urls))
        try:
            return await work(kv)
        finally:
            await kv.close()

    return run(with_store())


def filled(prefix: str, values: Mapping[str, bytes]) -> str:
    """The URL of an etcd that holds just these values below a prefix."""

    async def fill(kv: KV) -> None:
        left = await kv.range(f"{prefix}/".encode(), f"{prefix}0".encode(), keys_only=True)
        for found in left.kvs:
            await kv.optimistic_delete(found.key, found.mod_revision)
        for key, value in values.items():
            await kv.optimistic_put(f"{prefix}{key}".encode(), value, 0)

    on_etcd(fill)
    return ",".join(shared_cluster().urls)
