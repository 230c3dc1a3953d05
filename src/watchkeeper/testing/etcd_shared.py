"""One event loop and one etcd for all tests of a process that speak to etcd: gRPC does not like many loops in one."""

from __future__ import annotations

import asyncio
import atexit
import tempfile
from collections.abc import Coroutine
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from watchkeeper.kv.etcd import EtcdConfig, open_etcd
from watchkeeper.kv.interface import KV
from watchkeeper.testing.etcd import EtcdCluster

T = TypeVar("T")


@cache
def _runner() -> asyncio.Runner:
    return asyncio.Runner()


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run on the loop that all share."""
    return _runner().run(work)


@cache
def shared_cluster() -> EtcdCluster:
    """A single member that lives until the process ends. Whoever uses it empties it first. Raises FileNotFoundError."""
    folder = tempfile.TemporaryDirectory(prefix="watchkeeper-etcd-")
    cluster = EtcdCluster(Path(folder.name))
    atexit.register(folder.cleanup)
    atexit.register(cluster.stop)
    cluster.start()
    return cluster


async def emptied(kv: KV) -> KV:
    """The same store, without keys; its revisions go on."""
    found = (await kv.range(b"", b"\0", keys_only=True)).kvs
    await asyncio.gather(*(kv.optimistic_delete(each.key, each.mod_revision) for each in found))
    return kv


async def empty_store(**settings: Any) -> KV:
    """A store on the shared cluster, without keys. `settings` are those of `EtcdConfig`."""
    return await emptied(open_etcd(EtcdConfig(shared_cluster().urls, **settings)))
