"""What is held around a write until it is known whether the write took place."""

from __future__ import annotations

from typing import Protocol

from watchkeeper.meta.errors import ApiError
from watchkeeper.registry.rest import Object


class Transaction(Protocol):
    """What is held for a write, such as an allocated address, until it is known whether the write took place."""

    async def secure(self) -> None:
        """Hold it against other servers too; may change what the object was filled with. Raises ApiError."""
        ...

    def commit(self) -> None:
        """The write took place."""
        ...

    def rollback(self, *, uncertain: bool = False) -> None:
        """It did not: give back what was taken. `uncertain`: it is not known whether it did."""
        ...


class Hooks(Protocol):
    """What a resource does around its writes besides storing."""

    def begin_create(self, obj: Object, *, dry_run: bool) -> Transaction:
        """Before a new object is checked; may fill it in. Raises ApiError."""
        ...

    def begin_update(self, obj: Object, old: Object, *, dry_run: bool) -> Transaction:
        """Before a new state is checked; may fill it in. Raises ApiError."""
        ...

    def after_delete(self, obj: Object) -> None:
        """The object is gone."""
        ...


class _NoTransaction:
    async def secure(self) -> None:
        """Nothing was held."""

    def commit(self) -> None:
        """Nothing was held."""

    def rollback(self, *, uncertain: bool = False) -> None:
        """Nothing was held."""


NOTHING_HELD: Transaction = _NoTransaction()
"""For writes that hold nothing."""


def is_uncertain(error: BaseException) -> bool:
    """Whether a write that ended so may have taken place."""
    return not isinstance(error, Exception) or (isinstance(error, ApiError) and error.reason == "Timeout")
