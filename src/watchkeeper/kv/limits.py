"""What every backend refuses, in the same way."""

from __future__ import annotations

from watchkeeper.kv.errors import ValueTooLarge

MAX_VALUE_BYTES = 1536 * 1024
"""Key and value together; etcd's default for a whole request. An etcd says itself what it takes."""

MAX_LEASE_TTL = 9_000_000_000
"""Seconds; etcd's own bound."""


def check_key(key: bytes) -> None:
    """Raise ValueError for an empty key."""
    if not key:
        raise ValueError("a key cannot be empty")


def check_put(key: bytes, value: bytes) -> None:
    """Raise ValueTooLarge for what is over the limit, ValueError for an empty key."""
    if len(key) + len(value) > MAX_VALUE_BYTES:
        raise ValueTooLarge(f"{len(key) + len(value)} bytes of key and value are over the limit of {MAX_VALUE_BYTES}")
    check_key(key)


def check_lease_ttl(ttl: int) -> None:
    """Raise ValueError unless a lease can live for `ttl` seconds."""
    if not 0 < ttl <= MAX_LEASE_TTL:
        raise ValueError(f"a lease lives between 1 and {MAX_LEASE_TTL} seconds, not {ttl}")
