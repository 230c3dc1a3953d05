"""The seams of a Reflector: what it lists and watches, and what it keeps up to date.

`T` is an item of a list, `C` a change as the watch tells it; the Reflector looks into neither. Resource versions are
texts; two of them are compared only if both are decimal numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from watchkeeper.values import value

T = TypeVar("T")
C = TypeVar("C")
Tntra = TypeVar("Tntra", contravariant=True)
Cntra = TypeVar("Cntra", contravariant=True)


class Expired(Exception):
    """The resource version (or continue token) asked for is no longer there: list anew."""


class VersionTooLarge(Exception):
    """The source has not seen the resource version yet. Ask again, or for another one."""


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Part of a list. All pages of one list carry the same version; the last one has no continue token."""

    items: Sequence[T]
    resource_version: str
    continue_token: str = ""


@value()
class Batch(Generic[C]):
    """Changes in order; none at all is a bookmark. `resource_version` is where a watch goes on behind them."""

    changes: Sequence[C]
    resource_version: str


class Stream(Protocol[C]):
    """An open watch."""

    async def next_batch(self) -> Batch[C] | None:
        """Wait for what comes next; None when the source ended the watch in good order. Raises any error."""
        ...

    def close(self) -> None:
        """Stop and free everything. Synchronous and idempotent."""
        ...


class ListerWatcher(Protocol[T, C]):
    """A collection that can be listed and watched. May raise any exception: it is logged, and tried again later."""

    async def list(self, *, resource_version: str, limit: int, continue_token: str) -> Page[T]:
        """One page. `resource_version` "" asks for the latest state, "0" for any, else for one not older than that.

        Raises Expired, VersionTooLarge. With a continue token the version is "".
        """
        ...

    async def watch(self, *, resource_version: str) -> Stream[C]:
        """Follow the collection from behind a version. Raises Expired, at once or from the stream."""
        ...


class Sink(Protocol[Tntra, Cntra]):
    """Where the state goes. All methods are synchronous and called from one task."""

    def replace(self, items: Sequence[Tntra], resource_version: str) -> None:
        """This is the whole state, as of that version."""
        ...

    def apply(self, changes: Sequence[Cntra], resource_version: str) -> None:
        """These changes came since, up to and including that version. None at all: nothing has changed up to it."""
        ...

    def interrupted(self, error: Exception) -> None:
        """The state cannot be followed any more; a `replace` is going to come as soon as one can be had."""
        ...
