"""The generic registry store: every verb, once, for every resource.

It stands on `storage.Interface` and is told by a Strategy what the resource does otherwise. It follows apiserver's
`registry/generic/registry.Store` in the order of what it checks and does. Reading is in `stored_resource`, the writes
are in `creation`, `update` and `removal`.
"""

from __future__ import annotations

from watchkeeper.meta import errors
from watchkeeper.registry.creation import create_generated, create_named
from watchkeeper.registry.metadata import fill_system_fields, metadata_of
from watchkeeper.registry.removal import delete_collection, delete_stored, delete_unreadable
from watchkeeper.registry.rest import (
    Context,
    CreateOptions,
    DeleteOptions,
    Object,
    Result,
    UpdatedObject,
    UpdateOptions,
)
from watchkeeper.registry.stored_resource import StoreConfig, StoredResource
from watchkeeper.registry.strategy import Strategy
from watchkeeper.registry.transaction import Hooks, Transaction
from watchkeeper.registry.update import Update
from watchkeeper.storage import errors as storage_errors
from watchkeeper.storage.interface import ListOptions, ListResult, StoredObject


class Store(StoredResource):
    """One resource at its hub version. Implements all roles of `registry.rest` that concern whole objects."""

    async def create(self, ctx: Context, obj: Object, options: CreateOptions) -> Result:
        """Store a new object. Generates its name if only generateName is given, trying again when it is taken."""
        meta = metadata_of(obj)
        fill_system_fields(meta)
        if not meta.get("generateName") or meta.get("name"):
            return await create_named(self, ctx, obj, options)
        return await create_generated(self, ctx, obj, options)

    async def update(
        self, ctx: Context, name: str, updated: UpdatedObject, options: UpdateOptions
    ) -> tuple[Result, bool]:
        """Change an object by a function of its current state; create it where that is allowed."""
        return await Update(self, self.strategy, ctx, name, updated, options).run()

    async def is_unreadable(self, ctx: Context, name: str) -> bool:
        """Whether there is an object that cannot be decrypted or decoded."""
        try:
            await self.storage.get(self.key(ctx.namespace, name))
        except storage_errors.StorageError as problem:
            return isinstance(problem, storage_errors.CorruptObject)
        return False

    async def delete(self, ctx: Context, name: str, options: DeleteOptions) -> tuple[Result, bool]:
        """Delete an object, or mark it when its finalizers or a grace period hold it."""
        key = self.key(ctx.namespace, name)
        refusal = self.strategy.behavior.extra.get("delete_refusal")
        if refusal and (why := refusal(name)):
            raise errors.forbidden(self.resource, name, why)
        self._warn_of_deletion(ctx, options)
        if options.ignore_store_read_error:
            return await delete_unreadable(self, key, name, options)
        return await self.translated(delete_stored(self, key, options), name, "delete")

    async def delete_collection(self, ctx: Context, options: DeleteOptions, selected: ListOptions) -> ListResult:
        """Delete each selected object. Objects that vanish meanwhile are no failure; any other failure ends it."""
        self._warn_of_deletion(ctx, options)
        return await delete_collection(self, ctx, options, selected)

    async def settle(self) -> None:
        """Return when what follows from the writes so far has been dealt with: a last finalizer may have gone."""

    def _warn_of_deletion(self, ctx: Context, options: DeleteOptions) -> None:
        """Tell what becomes of dependents where that may surprise and nobody has said what should."""
        warning = self.strategy.behavior.extra.get("delete_warning")
        if warning and options.propagation_policy is None and options.orphan_dependents is None:
            ctx.warn(warning)


class StatusStore:
    """A subresource that updates part of the object, such as status, through a strategy of its own."""

    def __init__(self, store: Store, strategy: Strategy) -> None:
        self.store = store
        self.strategy = strategy

    def get_nowait(self, ctx: Context, name: str, resource_version: str) -> StoredObject | None:
        """The whole object when memory can tell at once, else None."""
        return self.store.get_nowait(ctx, name, resource_version)

    async def get(self, ctx: Context, name: str, resource_version: str) -> StoredObject:
        """The whole object."""
        return await self.store.get(ctx, name, resource_version)

    async def update(
        self, ctx: Context, name: str, updated: UpdatedObject, options: UpdateOptions
    ) -> tuple[Result, bool]:
        """Change the part that this subresource stands for; of kinds that a PUT creates, it creates the object."""
        result = await Update(self.store, self.strategy, ctx, name, updated, options).run()
        await self.store.settle()
        return result


__all__ = ["Hooks", "StatusStore", "Store", "StoreConfig", "Transaction"]
