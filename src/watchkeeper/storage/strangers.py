"""Which keys belong to no resource: what older releases, or custom resources without a definition, have left."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass

from watchkeeper.kv.errors import KVError
from watchkeeper.kv.interface import KV, prefix_end
from watchkeeper.storage.kv_errors import translate

_BOOKKEEPING = ("ranges", "masterleases", "peerserverleases")
"""What servers keep for themselves."""


@dataclass(frozen=True, slots=True)
class Strangers:
    """Keys that lie together: their number, and what they all begin with, or the only one."""

    place: str
    count: int


async def strangers(kv: KV, root: str, resources: Iterable[str]) -> AsyncIterator[Strangers]:
    """What lies below `root`, and below none of the prefixes of `resources`, in key order.

    Values are never read, and of each place one key is. Raises StorageError.
    """
    known = sorted([*(f"{prefix}/" for prefix in resources), *(f"{root}/{name}/" for name in _BOOKKEEPING)])
    position, end = f"{root}/".encode(), prefix_end(f"{root}/".encode())
    try:
        while found := (await kv.range(position, end, limit=1, keys_only=True, counted=False)).kvs:
            key = found[0].key.decode(errors="surrogateescape")
            before = bisect_right(known, key)
            if before and key.startswith(known[before - 1]):
                position = prefix_end(known[before - 1].encode())
                continue
            place = _place(key, root, known)
            start = place.encode(errors="surrogateescape")
            position = prefix_end(start) if place.endswith("/") else start + b"\0"
            yield Strangers(place, (await kv.range(start, position, count_only=True)).count)
    except KVError as e:
        raise translate(e, root) from e


def _place(key: str, root: str, known: list[str]) -> str:
    """As much of a key as names a resource: `/registry/podsecuritypolicy/`, `/registry/shop.example.com/carts/`."""
    parts = key.removeprefix(f"{root}/").split("/")
    first = f"{root}/{parts[0]}/"
    depth = 2 if "." in parts[0] or any(prefix.startswith(first) for prefix in known) else 1
    if len(parts) <= depth:
        return key
    return "/".join([root, *parts[:depth]]) + "/"
