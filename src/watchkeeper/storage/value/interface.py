"""What a value transformer is: encryption at rest, or nothing at all."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

T = TypeVar("T")


class TransformError(Exception):
    """A value cannot be brought into or out of its stored form. The message never holds the value or a key."""


class KeyUnavailable(Exception):
    """A key management service cannot be reached or refuses. The value may be sound: try again later."""


class KeyNeeded(Exception):
    """The key for this value must be fetched first: await `fetch()`, then try again; see `with_keys`."""

    def __init__(self, fetch: Callable[[], Awaitable[None]]) -> None:
        super().__init__("the key of a value has to be fetched")
        self.fetch = fetch


class Transformer(Protocol):
    """Between encoded objects and what is stored. `context` is authenticated with the value: the object's key."""

    @property
    def needs_keys(self) -> bool:
        """Whether KeyNeeded is to be expected."""
        ...

    def from_storage(self, value: bytes, context: bytes) -> tuple[bytes, bool]:
        """(encoded object, whether the value ought to be written again, as with a newer key).

        Raises TransformError, KeyNeeded.
        """
        ...

    def to_storage(self, value: bytes, context: bytes) -> bytes:
        """The stored form of an encoded object. Raises TransformError, KeyNeeded."""
        ...


async def with_keys(work: Callable[[], T]) -> T:
    """Run `work`, fetching the keys that it lacks. Raises KeyUnavailable, and what `work` raises."""
    for _ in range(_MAX_FETCHES):
        try:
            return work()
        except KeyNeeded as e:
            await e.fetch()
    raise KeyUnavailable("keys were fetched again and again, and still one was missing")


_MAX_FETCHES = 1000
"""One watch batch may need a key for each of its values."""
