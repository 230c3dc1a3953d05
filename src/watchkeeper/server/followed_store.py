"""Stores of kinds that the server itself goes by: what was written is in force when the answer is given.

Requests are judged by what a `PolicyFeed` has told, which follows the stored objects at a small distance. Writers of
such objects wait until the feed has come by what they wrote, so that nobody else has to.
"""

from __future__ import annotations

from watchkeeper.registry.rest import Context, CreateOptions, DeleteOptions, Result, UpdatedObject, UpdateOptions
from watchkeeper.registry.store import Store
from watchkeeper.server.policy_feed import PolicyFeed
from watchkeeper.storage.interface import ListOptions, ListResult, StoredObject

Object = dict[str, object]


class FollowedStore(Store):
    """Waits after writes, once there is a feed."""

    feed: PolicyFeed | None = None

    async def create(self, ctx: Context, obj: Object, options: CreateOptions) -> Result:
        """Store a new object."""
        result = await super().create(ctx, obj, options)
        await self._settle(result)
        return result

    async def update(
        self, ctx: Context, name: str, updated: UpdatedObject, options: UpdateOptions
    ) -> tuple[Result, bool]:
        """Change an object."""
        result, created = await super().update(ctx, name, updated, options)
        await self._settle(result)
        return result, created

    async def delete(self, ctx: Context, name: str, options: DeleteOptions) -> tuple[Result, bool]:
        """Delete an object, or begin to."""
        key, feed = self.key(ctx.namespace, name), self.feed
        before = feed.revision(key) if feed is not None else 0
        result, gone = await super().delete(ctx, name, options)
        if feed is not None and gone and not options.dry_run:
            await feed.forgotten(key, before)
        else:
            await self._settle(result)
        return result, gone

    async def delete_collection(self, ctx: Context, options: DeleteOptions, selected: ListOptions) -> ListResult:
        """Delete each selected object."""
        result = await super().delete_collection(ctx, options, selected)
        if self.feed is not None and not options.dry_run:
            for item in result.items:
                await self.feed.forgotten(item.key, item.resource_version)
        return result

    async def _settle(self, result: Result) -> None:
        if self.feed is not None and isinstance(result, StoredObject):
            await self.feed.reached(result.key, result.resource_version)
