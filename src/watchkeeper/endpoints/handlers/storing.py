"""Storing new states of objects: what is too large with the record of field owners is stored without it."""

from __future__ import annotations

from typing import Any

from watchkeeper.endpoints.scope import Scope
from watchkeeper.meta.errors import ObjectTooLarge
from watchkeeper.registry.rest import Context, Result, UpdatedObject, UpdateOptions
from watchkeeper.storage.interface import StoredObject

Object = dict[str, Any]


class _WithoutRecord:
    """An update whose outcome has no record of field owners."""

    def __init__(self, updated: UpdatedObject) -> None:
        self._updated = updated
        self.uid = updated.uid

    async def __call__(self, current: StoredObject | None) -> Object:
        """The new state."""
        obj = await self._updated(current)
        obj["metadata"].pop("managedFields", None)
        return obj


async def store_update(
    scope: Scope, ctx: Context, name: str, updated: UpdatedObject, options: UpdateOptions
) -> tuple[Result, bool]:
    """Update an object, without the record of field owners if only that makes it too large. Raises ApiError."""
    try:
        stored: tuple[Result, bool] = await scope.store.update(ctx, name, updated, options)
    except ObjectTooLarge:
        stored = await scope.store.update(ctx, name, _WithoutRecord(updated), options)
    return stored
