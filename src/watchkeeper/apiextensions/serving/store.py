"""The registry store of a custom resource."""

from __future__ import annotations

from collections.abc import Callable

from watchkeeper.meta import errors
from watchkeeper.registry.rest import Context, CreateOptions, Object, Result, UpdatedObject, UpdateOptions
from watchkeeper.registry.store import Store, StoreConfig
from watchkeeper.storage.interface import StoredObject

_ENDING = "create not allowed while custom resource definition is terminating"


class CustomStore(Store):
    """As any other store, but that nothing new comes into a resource whose definition is about to go."""

    def __init__(self, config: StoreConfig, *, is_ending: Callable[[], bool]) -> None:
        super().__init__(config)
        self._is_ending = is_ending

    def _check_ending(self, name: str) -> None:
        if self._is_ending():
            raise errors.forbidden(self.resource, name, _ENDING)

    async def create(self, ctx: Context, obj: Object, options: CreateOptions) -> Result:
        """Store a new object."""
        self._check_ending((obj.get("metadata") or {}).get("name") or "")
        return await super().create(ctx, obj, options)

    async def update(
        self, ctx: Context, name: str, updated: UpdatedObject, options: UpdateOptions
    ) -> tuple[Result, bool]:
        """Change an object."""
        if options.force_allow_create and self._is_ending():
            updated = _OnlyExisting(updated, lambda: self._check_ending(name))
        return await super().update(ctx, name, updated, options)


class _OnlyExisting:
    """An update that may not create."""

    def __init__(self, updated: UpdatedObject, refuse: Callable[[], None]) -> None:
        self.uid = updated.uid
        self._updated = updated
        self._refuse = refuse

    async def __call__(self, current: StoredObject | None) -> Object:
        if current is None:
            self._refuse()
        return await self._updated(current)
