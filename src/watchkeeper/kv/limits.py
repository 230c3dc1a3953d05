"""What every backend refuses, in the same way."""

from __future__ import annotations

from watchkeeper.kv.errors import ValueTooLarge

MAX_VALUE_BYTES = 1536 * 1024
"""Key and value together; etcd's default for a whole request. An etcd says itself what it takes."""

MAX_MESSAGE_BYTES = 2 * 1024 * 1024
"""What etcd's clients do not even send, in words of their own."""

MAX_LEASE_TTL = 9_000_000_000
"""Seconds; etcd's own bound."""


def check_key(key: bytes) -> None:
    """Raise ValueError for an empty key."""
    if not key:
        raise ValueError("a key cannot be empty")


def check_put(key: bytes, value: bytes) -> None:
    """Raise ValueTooLarge for what is over the limit, ValueError for an empty key."""
    size = len(key) + len(value)
    if size > MAX_VALUE_BYTES:
        refusal = ValueTooLarge(f"{size} bytes of key and value are over the limit of {MAX_VALUE_BYTES}")
        raise refusal.saying(not_sent(size)) if size > MAX_MESSAGE_BYTES else refusal
    check_key(key)


def not_sent(size: int) -> str:
    """What etcd's clients say of a message of `size` bytes that is over their limit."""
    words = f"trying to send message larger than max ({size} vs. {MAX_MESSAGE_BYTES})"
    return f"rpc error: code = ResourceExhausted desc = {words}"


def check_lease_ttl(ttl: int) -> None:
    """Raise ValueError unless a lease can live for `ttl` seconds."""
    if not 0 < ttl <= MAX_LEASE_TTL:
        raise ValueError(f"a lease lives between 1 and {MAX_LEASE_TTL} seconds, not {ttl}")
