"""How an object is changed by a function of its current state."""

from __future__ import annotations

from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.field import invalid
from watchkeeper.meta.gvk import GroupKind
from watchkeeper.registry.creation import begin_create, completed
from watchkeeper.registry.errors import OPTIMISTIC_LOCK_ERROR, to_api_error
from watchkeeper.registry.metadata import ensure_namespace, fill_system_fields, metadata_of
from watchkeeper.registry.removal import after_delete
from watchkeeper.registry.rest import Context, LiveUpdate, Object, Result, UpdatedObject, UpdateOptions
from watchkeeper.registry.stored_resource import StoredResource
from watchkeeper.registry.strategy import Strategy
from watchkeeper.registry.transaction import NOTHING_HELD, Transaction, is_uncertain
from watchkeeper.runtime.managedfields import keep_times_of_unchanged
from watchkeeper.storage import errors as storage_errors
from watchkeeper.storage import interface as storage
from watchkeeper.storage.interface import StoredObject
from watchkeeper.storage.state import check_stored
from watchkeeper.storage.versioner import parse_uint


def asked_version(meta: Object) -> int:
    """The version that a new state is based on, 0 when it does not say. Raises a 500 for what is no version."""
    try:
        return parse_uint(meta.get("resourceVersion") or "0")
    except ValueError as error:
        raise ApiError(500, "", str(error)) from None


class _Emptied(Exception):
    """An update took the last finalizer off: the object is to be removed instead of stored."""


class Update:
    """One update on its way: what it needs at each attempt and what came of the last one."""

    __slots__ = ("created", "ctx", "held", "name", "options", "removed", "store", "strategy", "updated")

    def __init__(
        self,
        store: StoredResource,
        strategy: Strategy,
        ctx: Context,
        name: str,
        updated: UpdatedObject,
        options: UpdateOptions,
    ) -> None:
        self.store = store
        self.strategy = strategy
        self.ctx = ctx
        self.name = name
        self.updated = updated
        self.options = options
        self.created = False
        self.held: Transaction = NOTHING_HELD
        self.removed: Object | None = None

    async def run(self) -> tuple[Result, bool]:
        """Carry the update out."""
        store, name = self.store, self.name
        key = store.key(self.ctx.namespace, name)
        try:
            result = await self._write(key)
        except _Emptied:
            return await self._remove_emptied(key), False
        except storage_errors.StorageError as error:
            self.held.rollback(uncertain=isinstance(error, storage_errors.StorageTimeout))
            raise to_api_error(error, store.resource, name, "update") from error
        except BaseException as error:
            self.held.rollback(uncertain=is_uncertain(error))
            raise
        self.held.commit()
        return result, self.created

    async def _write(self, key: str) -> Result:
        storage_ = self.store.storage
        allow_create = self.strategy.allow_create_on_update or self.options.force_allow_create
        preconditions = storage.Preconditions(uid=self.updated.uid) if self.updated.uid else None
        if self.options.dry_run:
            try:
                current: StoredObject | None = await storage_.get(key)
            except storage_errors.KeyNotFound:
                if not allow_create:
                    raise
                current = None
            if preconditions is not None:
                check_stored(self.store.rehearsed_key(key), current, preconditions)
            return await self.attempt(current)
        whole = self.strategy.checks_whole
        options = storage.UpdateOptions(
            ignore_not_found=allow_create,
            preconditions=preconditions,
            ttl=self.store.ttl({}) if self.store.ttl is not None else 0,
            settled=whole,
            keeps_settled=not whole,
        )
        return await storage_.guaranteed_update(key, self.attempt, options)

    async def attempt(self, current: StoredObject | None) -> Object:
        """The new state, given the current one. Raises what refuses it, CorruptObject if that is the current one."""
        try:
            return await self._attempt(current)
        except (ApiError, storage_errors.StorageError, _Emptied):
            raise
        except Exception:
            if current is not None:
                current.prove()
            raise

    async def _attempt(self, current: StoredObject | None) -> Object:
        self.held.rollback()
        self.held = NOTHING_HELD
        obj = await self.updated(current)
        if current is None:
            return await self._attempt_create(obj)
        self.created = False
        updated = self.updated if isinstance(self.updated, LiveUpdate) else None
        live = updated.live if updated is not None else None
        old = live if live is not None else current.data()
        meta = metadata_of(obj)
        self._check_version(meta, old["metadata"]["resourceVersion"])
        # A subresource keeps the spec: it holds nothing of what the resource does.
        hooks = self.store.hooks if self.strategy is self.store.strategy else self.strategy.part_hooks
        if hooks is not None:
            self.held = hooks.begin_update(obj, old, dry_run=self.options.dry_run)
        ensure_namespace(meta, self.ctx.namespace if self.store.strategy.namespaced else "")
        try:
            self.strategy.before_update(self.ctx, obj, old, settled=current.settled)
        except ApiError as refusal:
            raise await completed(refusal, self.options.complete, obj, old) from None
        if self.held is not NOTHING_HELD:
            await self.held.secure()
        outgrown = updated.outgrown if updated is not None else None
        if not (outgrown and self.strategy.counts_outgrown(obj, old, outgrown)):
            keep_times_of_unchanged(obj, old)
        if self.options.validate_update is not None:
            await self.options.validate_update(obj, old)
        if self.strategy.removed_by_update(obj, old):
            self.removed = obj
            if self.options.dry_run:
                return obj
            raise _Emptied
        return obj

    async def _attempt_create(self, obj: Object) -> Object:
        self.created = True
        meta = metadata_of(obj)
        asked_version(meta)
        fill_system_fields(meta)
        ensure_namespace(meta, self.ctx.namespace)
        if not self.options.dry_run:
            meta.pop("resourceVersion", None)
        if self.strategy is self.store.strategy:  # a status that creates takes hold of nothing
            self.held = begin_create(self.store, obj, dry_run=self.options.dry_run)
        self.strategy.before_create(self.ctx, obj)
        if self.held is not NOTHING_HELD:
            await self.held.secure()
        if self.options.validate_create is not None:
            await self.options.validate_create(obj)
        self.strategy.complete_new(obj)
        return obj

    def _check_version(self, meta: Object, current: str) -> None:
        if meta.get("resourceVersion") == current:
            return
        asked = asked_version(meta)
        if not asked:
            if self.strategy.allow_unconditional_update:
                meta["resourceVersion"] = current
                return
            kind = GroupKind(self.store.resource.group, self.store.resource.resource)
            wrong = invalid("metadata.resourceVersion", 0, "must be specified for an update")
            raise errors.invalid(kind, self.name, [wrong])
        if asked != int(current):
            raise errors.conflict(self.store.resource, self.name, OPTIMISTIC_LOCK_ERROR)

    async def _remove_emptied(self, key: str) -> Object:
        assert self.removed is not None
        store = self.store
        self.held.commit()
        preconditions = storage.Preconditions(uid=self.removed["metadata"].get("uid"))
        try:
            await store.storage.delete(key, storage.DeleteOptions(preconditions=preconditions))
        except storage_errors.KeyNotFound:
            # Another update took the last finalizer off at the same time and removed it.
            pass
        except storage_errors.StorageError as error:
            raise to_api_error(error, store.resource, self.name, "delete") from error
        after_delete(store, self.removed)
        return self.removed
