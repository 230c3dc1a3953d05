"""Objects that end in steps: a DELETE marks them, what hangs on them goes, and then they go themselves."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from watchkeeper.meta import errors
from watchkeeper.registry.errors import to_api_error
from watchkeeper.registry.rest import Context, DeleteOptions, Result
from watchkeeper.registry.store import Store
from watchkeeper.storage import errors as storage_errors
from watchkeeper.storage import interface as storage
from watchkeeper.storage.interface import StoredObject

Object = dict[str, Any]


class StagedStore(Store):
    """The store of a kind whose first DELETE only marks an object, for a controller to end what belongs to it."""

    @abstractmethod
    def mark_terminating(self, obj: Object, options: DeleteOptions) -> None:
        """Make an object, in place, one that is to go."""

    def is_held(self, obj: Object) -> bool:
        """Whether a marked object has to stay as it is for now, whoever deletes it."""
        return False

    async def delete(self, ctx: Context, name: str, options: DeleteOptions) -> tuple[Result, bool]:
        """Begin to end an object; end it once nothing holds it any more."""
        if options.ignore_store_read_error:
            return await super().delete(ctx, name, options)
        current = await self.get(ctx, name, "")
        obj = current.data()
        self._check(obj, name, options)
        if obj["metadata"].get("deletionTimestamp") is None:
            return await self._terminate(name, options), False
        if self.is_held(obj):
            return current, False
        return await super().delete(ctx, name, options)

    def _check(self, obj: Object, name: str, options: DeleteOptions) -> None:
        meta = obj["metadata"]
        if options.uid is None:
            options.uid = meta.get("uid")
        elif options.uid != meta.get("uid", ""):
            why = f"Precondition failed: UID in precondition: {options.uid}, UID in object meta: {meta.get('uid', '')}"
            raise errors.conflict(self.resource, name, why)
        version = options.resource_version
        if version is not None and version != meta["resourceVersion"]:
            why = (
                f"Precondition failed: ResourceVersion in precondition: {version},"
                f" ResourceVersion in object meta: {meta['resourceVersion']}"
            )
            raise errors.conflict(self.resource, name, why)

    async def _terminate(self, name: str, options: DeleteOptions) -> Result:
        async def attempt(current: StoredObject | None) -> Object:
            assert current is not None
            obj = current.data()
            if options.validate is not None:
                await options.validate(obj)
            self.mark_terminating(obj, options)
            return obj

        key = self.key("", name)
        preconditions = storage.Preconditions(uid=options.uid, resource_version=options.resource_version)
        try:
            if options.dry_run:
                return await attempt(await self.storage.get(key))
            return await self.storage.guaranteed_update(
                key, attempt, storage.UpdateOptions(preconditions=preconditions)
            )
        except storage_errors.StorageError as error:
            raise to_api_error(error, self.resource, name, "delete") from error
