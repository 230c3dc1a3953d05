"""The registry store of a custom resource."""

from __future__ import annotations

from collections.abc import Callable

from watchkeeper.apiextensions.serving.versioned import VersionedStorage
from watchkeeper.meta import errors
from watchkeeper.registry.rest import Context, CreateOptions, Object, Result, UpdatedObject, UpdateOptions
from watchkeeper.registry.store import StatusStore, Store, StoreConfig
from watchkeeper.registry.strategy import Strategy
from watchkeeper.storage.interface import StoredObject

_ENDING = "create not allowed while custom resource definition is terminating"


class CustomStore(Store):
    """As any other store, but that objects are converted, and nothing new comes into what is about to go."""

    def __init__(self, config: StoreConfig, *, is_ending: Callable[[], bool]) -> None:
        super().__init__(config)
        self._is_ending = is_ending

    def _check_ending(self, name: str) -> None:
        if self._is_ending():
            raise errors.forbidden(self.resource, name, _ENDING)

    async def create(self, ctx: Context, obj: Object, options: CreateOptions) -> Result:
        """Store a new object."""
        self._check_ending((obj.get("metadata") or {}).get("name") or "")
        created = await super().create(ctx, obj, options)
        return await self.rehearsed(created) if options.dry_run else created

    async def update(
        self, ctx: Context, name: str, updated: UpdatedObject, options: UpdateOptions
    ) -> tuple[Result, bool]:
        """Change an object."""
        if options.force_allow_create and self._is_ending():
            updated = _OnlyExisting(updated, lambda: self._check_ending(name))
        result, created = await super().update(ctx, name, updated, options)
        return (await self.rehearsed(result) if options.dry_run else result), created

    async def rehearsed(self, result: Result) -> Result:
        """What a dry run answers: the object as it would come back from storage. Raises what converting it raises."""
        if isinstance(result, StoredObject) or not isinstance(self.storage, VersionedStorage):
            return result
        return await self.storage.rehearse(result)


class CustomStatusStore(StatusStore):
    """The status of a custom resource."""

    def __init__(self, store: CustomStore, strategy: Strategy) -> None:
        super().__init__(store, strategy)
        self._custom = store

    async def update(
        self, ctx: Context, name: str, updated: UpdatedObject, options: UpdateOptions
    ) -> tuple[Result, bool]:
        """Change the status."""
        result, created = await super().update(ctx, name, updated, options)
        return (await self._custom.rehearsed(result) if options.dry_run else result), created


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
