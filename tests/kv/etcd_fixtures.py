"""One event loop and one cluster for all tests that need etcd: gRPC does not like many loops in a process."""

import asyncio
import atexit
import tempfile
from collections.abc import Coroutine
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest

from watchkeeper.kv.etcd import EtcdConfig, open_etcd
from watchkeeper.kv.interface import KV
from watchkeeper.testing.etcd import EtcdCluster, find_etcd

T = TypeVar("T")

needs_etcd = [
    pytest.mark.etcd,
    pytest.mark.skipif(find_etcd() is None, reason="there is no etcd here"),
]


@cache
def _runner() -> asyncio.Runner:
    return asyncio.Runner()


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run on the loop that all share."""
    return _runner().run(work)


@cache
def shared_cluster() -> EtcdCluster:
    """A single member that lives until the process ends. Whoever uses it empties it first."""
    folder = tempfile.TemporaryDirectory(prefix="watchkeeper-etcd-")
    cluster = EtcdCluster(Path(folder.name))
    atexit.register(folder.cleanup)
    atexit.register(cluster.stop)
    cluster.start()
    return cluster


async def empty_store(**settings: Any) -> KV:
    """A store on the shared cluster, without keys."""
    kv = open_etcd(EtcdConfig(shared_cluster().urls, **settings))
    for found in (await kv.range(b"", b"\0", keys_only=True)).kvs:
        await kv.optimistic_delete(found.key, found.mod_revision)
    return kv
