"""Services answer when what they were allocated is written down, too."""

from __future__ import annotations

from watchkeeper.registry.allocators import ServiceAllocator
from watchkeeper.registry.rest import (
    Context,
    CreateOptions,
    DeleteOptions,
    Object,
    Result,
    UpdatedObject,
    UpdateOptions,
)
from watchkeeper.registry.store import Store
from watchkeeper.storage.interface import ListOptions, ListResult


class ServiceStore(Store):
    """The store of Services. Its hooks are a ServiceAllocator or none."""

    async def create(self, ctx: Context, obj: Object, options: CreateOptions) -> Result:
        """Store a new Service."""
        result = await super().create(ctx, obj, options)
        await self.settle()
        return result

    async def update(
        self, ctx: Context, name: str, updated: UpdatedObject, options: UpdateOptions
    ) -> tuple[Result, bool]:
        """Change a Service."""
        result = await super().update(ctx, name, updated, options)
        await self.settle()
        return result

    async def delete(self, ctx: Context, name: str, options: DeleteOptions) -> tuple[Result, bool]:
        """Delete a Service, and its Endpoints."""
        result = await super().delete(ctx, name, options)
        await self.settle()
        return result

    async def delete_collection(self, ctx: Context, options: DeleteOptions, selected: ListOptions) -> ListResult:
        """Delete Services, and their Endpoints."""
        result = await super().delete_collection(ctx, options, selected)
        await self.settle()
        return result

    async def settle(self) -> None:
        """Return when what Services took or gave back is known in the store."""
        if isinstance(self.hooks, ServiceAllocator):
            await self.hooks.settle()
