"""The generic registry store: every verb, once, for every resource.

It stands on `storage.Interface` and is told by a Strategy what the resource does otherwise. It follows apiserver's
`registry/generic/registry.Store` in the order of what it checks and does.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from watchkeeper.apis.validation.names import is_path_segment_name
from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.field import invalid
from watchkeeper.meta.gvk import GroupKind, GroupResource
from watchkeeper.registry import deletion
from watchkeeper.registry.errors import OPTIMISTIC_LOCK_ERROR, to_api_error
from watchkeeper.registry.metadata import ensure_namespace, fill_system_fields, metadata_of
from watchkeeper.registry.names import generate_name
from watchkeeper.registry.rest import (
    Context,
    CreateOptions,
    DeleteOptions,
    LiveUpdate,
    Object,
    Result,
    UpdatedObject,
    UpdateOptions,
)
from watchkeeper.registry.strategy import Strategy
from watchkeeper.runtime.managedfields import keep_times_of_unchanged
from watchkeeper.storage import errors as storage_errors
from watchkeeper.storage import interface as storage
from watchkeeper.storage.interface import Interface, ListOptions, ListResult, StoredObject, Watcher, WatchOptions
from watchkeeper.storage.predicate import EVERYTHING, SelectionPredicate
from watchkeeper.storage.state import check_stored

_GENERATE_ATTEMPTS = 8
"""Enough for a million names per prefix with one failure in a thousand (KEP-4420)."""
_DELETE_COLLECTION_PAGE = 10_000


T = TypeVar("T")


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


class _Emptied(Exception):
    """An update took the last finalizer off: the object is to be removed instead of stored."""


class _Held(Exception):
    """An object that was to be removed at once has got a finalizer meanwhile."""


_NOTHING_HELD = _NoTransaction()


@dataclass(slots=True, kw_only=True)
class StoreConfig:
    """What makes a Store: names, where objects are kept, and what is particular about them."""

    resource: GroupResource
    storage: Interface
    strategy: Strategy
    prefix: str
    """The key under which all objects are, without a trailing slash."""
    ttl: Callable[[Object], int] | None = None
    """Seconds until a stored object vanishes, 0 for never."""
    returns_deleted_object: bool = False
    hooks: Hooks | None = None


class Store:
    """One resource at its hub version. Implements all roles of `registry.rest` that concern whole objects."""

    def __init__(self, config: StoreConfig) -> None:
        self.resource = config.resource
        self.storage = config.storage
        self.strategy = config.strategy
        self.kind = config.strategy.kind
        self.namespaced = config.strategy.namespaced
        self.prefix = config.prefix
        self.returns_deleted_object = config.returns_deleted_object
        self.hooks = config.hooks
        self._ttl = config.ttl

    def __repr__(self) -> str:
        return f"<Store {self.resource}>"

    # -- keys -------------------------------------------------------------------------------------------------

    def key(self, namespace: str, name: str) -> str:
        """The storage key of an object. Raises a 400 for names that cannot be a path segment."""
        if self.namespaced:
            if not namespace:
                raise errors.bad_request("Namespace parameter required.")
            return f"{self.prefix}/{namespace}/{_segment(name)}"
        return f"{self.prefix}/{_segment(name)}"

    def collection(self, namespace: str, predicate: SelectionPredicate = EVERYTHING) -> str:
        """The key of a collection, or of the one object that the selector names."""
        name = predicate.field.exact("metadata.name") if not predicate.field.is_empty() else None
        root = f"{self.prefix}/"
        if self.namespaced:
            namespace = namespace or self._selected_namespace(predicate)
            if namespace:
                root = f"{self.prefix}/{namespace}/"
            else:
                return root
        if name and not is_path_segment_name(name):
            return root + name
        return root

    def _selected_namespace(self, predicate: SelectionPredicate) -> str:
        if predicate.field.is_empty():
            return ""
        found = predicate.field.exact("metadata.namespace")
        return found if found and not is_path_segment_name(found) else ""

    # -- reading ----------------------------------------------------------------------------------------------

    def get_nowait(self, ctx: Context, name: str, resource_version: str) -> StoredObject | None:
        """The object when memory can tell at once, else None."""
        return self.storage.get_nowait(self.key(ctx.namespace, name), resource_version=resource_version)

    async def get(self, ctx: Context, name: str, resource_version: str) -> StoredObject:
        """The object. Raises NotFound and what storage raises, as ApiErrors."""
        key = self.key(ctx.namespace, name)
        try:
            return await self.storage.get(key, resource_version=resource_version)
        except storage_errors.StorageError as error:
            raise to_api_error(error, self.resource, name, "get") from error

    async def list(self, ctx: Context, options: ListOptions) -> ListResult:
        """What the options select, in key order."""
        try:
            return await self.storage.get_list(self.collection(ctx.namespace, options.predicate), options)
        except storage_errors.StorageError as error:
            raise to_api_error(error, self.resource, "", "list") from error

    async def watch(self, ctx: Context, options: WatchOptions) -> Watcher:
        """Events on what the options select."""
        try:
            return await self.storage.watch(self.collection(ctx.namespace, options.predicate), options)
        except storage_errors.StorageError as error:
            raise to_api_error(error, self.resource, "", "watch") from error

    # -- creating ---------------------------------------------------------------------------------------------

    async def create(self, ctx: Context, obj: Object, options: CreateOptions) -> Result:
        """Store a new object. Generates its name if only generateName is given, trying again when it is taken."""
        meta = metadata_of(obj)
        if not meta.get("uid"):
            fill_system_fields(meta)
        base = meta.get("generateName")
        if not base or meta.get("name"):
            return await self._create(ctx, obj, options)
        for attempt in range(1, _GENERATE_ATTEMPTS + 1):
            meta["name"] = generate_name(base)
            try:
                return await self._create(ctx, _copy(obj), options)
            except ApiError as error:
                if error.reason != "AlreadyExists":
                    raise
                if attempt == _GENERATE_ATTEMPTS:
                    raise errors.generate_name_conflict(self.resource, meta["name"]) from error
        raise AssertionError("unreachable")

    async def _create(self, ctx: Context, obj: Object, options: CreateOptions) -> Result:
        held = self._begin_create(obj, dry_run=options.dry_run)
        try:
            self.strategy.before_create(ctx, obj)
            if held is not _NOTHING_HELD:
                await held.secure()
            if options.validate is not None:
                await options.validate(obj)
            name = obj["metadata"]["name"]
            key = self.key(ctx.namespace, name)
            stored = await self._store_new(key, name, obj, dry_run=options.dry_run)
        except BaseException as error:
            held.rollback(uncertain=_is_uncertain(error))
            raise
        held.commit()
        return stored

    def _begin_create(self, obj: Object, *, dry_run: bool) -> Transaction:
        return self.hooks.begin_create(obj, dry_run=dry_run) if self.hooks is not None else _NOTHING_HELD

    async def _store_new(self, key: str, name: str, obj: Object, *, dry_run: bool) -> Result:
        version = obj["metadata"].pop("resourceVersion", None) or "0"
        # A text that is no number counts as none, as it does for the reference.
        if version.isdigit() and int(version):
            raise ApiError(500, "", "resourceVersion should not be set on objects to be created")
        try:
            if dry_run:
                await self._require_absent(key)
                return obj
            ttl = self._ttl(obj) if self._ttl is not None else 0
            return await self.storage.create(key, obj, ttl=ttl, settled=True)
        except storage_errors.KeyExists as error:
            raise await self._already_exists(key, name) from error
        except storage_errors.StorageError as error:
            raise to_api_error(error, self.resource, name, "create") from error

    async def _require_absent(self, key: str) -> None:
        try:
            await self.storage.get(key)
        except storage_errors.KeyNotFound:
            return
        raise storage_errors.KeyExists("key exists", key)

    async def _already_exists(self, key: str, name: str) -> ApiError:
        error = errors.already_exists(self.resource, name)
        try:
            existing = await self.storage.get(key)
        except storage_errors.StorageError:
            return error
        if existing.data()["metadata"].get("deletionTimestamp") is not None:
            error.message = f"object is being deleted: {error.message}"
        return error

    # -- updating ---------------------------------------------------------------------------------------------

    async def update(
        self, ctx: Context, name: str, updated: UpdatedObject, options: UpdateOptions
    ) -> tuple[Result, bool]:
        """Change an object by a function of its current state; create it where that is allowed."""
        return await _Update(self, self.strategy, ctx, name, updated, options).run()

    # -- deleting ---------------------------------------------------------------------------------------------

    async def delete(self, ctx: Context, name: str, options: DeleteOptions) -> tuple[Result, bool]:
        """Delete an object, or mark it when its finalizers or a grace period hold it."""
        key = self.key(ctx.namespace, name)
        warning = self.strategy.behavior.extra.get("delete_warning")
        if warning and options.propagation_policy is None and options.orphan_dependents is None:
            ctx.warn(warning)
        if options.ignore_store_read_error:
            return await self._delete_unreadable(key, name, options)
        return await self._translated(self._delete(key, options), name, "delete")

    async def _translated(self, work: Awaitable[T], name: str, verb: str) -> T:
        try:
            return await work
        except storage_errors.StorageError as error:
            raise to_api_error(error, self.resource, name, verb) from error

    async def _delete(self, key: str, options: DeleteOptions) -> tuple[Result, bool]:
        """Decide anew whenever the object turns out to be held after all, so that no finalizer is passed over."""
        while True:
            try:
                return await self._try_delete(key, options)
            except _Held:
                continue

    async def _try_delete(self, key: str, options: DeleteOptions) -> tuple[Result, bool]:
        current = await self.storage.get(key)
        obj = current.data()
        settled = options.copy()
        decision = deletion.decide(obj, settled, self.strategy.behavior, self.kind)
        options.settled_grace = settled.grace_period_seconds
        if decision.outcome is deletion.Outcome.PENDING:
            return self._deleted_answer(current, obj), False
        marked: StoredObject | Object | None = None
        unheld = decision.outcome is deletion.Outcome.REMOVE
        if not unheld:
            marked, outcome = await self._mark(key, options)
            if outcome is deletion.Outcome.MARK:
                return marked, False
            if outcome is deletion.Outcome.PENDING:
                return self._deleted_answer(marked, _as_dict(marked)), False
            if outcome is deletion.Outcome.MARK_AND_REMOVE and options.dry_run:
                return self._deleted_answer(marked, _as_dict(marked)), True
            unheld = outcome is deletion.Outcome.REMOVE
        return await self._remove(key, options, marked, unheld=unheld)

    async def _mark(self, key: str, options: DeleteOptions) -> tuple[StoredObject | Object, deletion.Outcome]:
        """Store the metadata of an object that is to go. Decides anew on each state it meets."""
        last: list[Any] = [None, None, None]

        async def attempt(current: StoredObject | None) -> Object:
            assert current is not None
            obj = current.data()
            last[2] = current
            if options.validate is not None:
                await options.validate(obj)
            decision = deletion.decide(obj, options.copy(), self.strategy.behavior, self.kind)
            last[0], last[1] = decision.outcome, obj
            if decision.metadata is None:
                return obj
            obj["metadata"] = decision.metadata
            return obj

        preconditions = storage.Preconditions(uid=options.uid, resource_version=options.resource_version)
        if options.dry_run:
            current = await self.storage.get(key)
            return await attempt(current), last[0]
        stored = await self.storage.guaranteed_update(key, attempt, storage.UpdateOptions(preconditions=preconditions))
        return stored, last[0]

    async def _remove(
        self, key: str, options: DeleteOptions, marked: StoredObject | Object | None, *, unheld: bool
    ) -> tuple[Result, bool]:
        """Take an object out. `unheld`: nothing held it, and nothing marks it, so that must still be so at the end."""
        validate = options.validate
        checked: Object = {}

        async def check(latest: StoredObject) -> None:
            checked["obj"] = latest.data()
            if validate is not None:
                # What was marked just now is asked about again, as it is by the reference.
                await validate(checked["obj"])
            if unheld:
                decision = deletion.decide(checked["obj"], options.copy(), self.strategy.behavior, self.kind)
                if decision.outcome is not deletion.Outcome.REMOVE:
                    raise _Held

        version = options.resource_version
        if isinstance(marked, StoredObject) and version is not None:
            version = str(marked.resource_version)
        preconditions = storage.Preconditions(uid=options.uid, resource_version=version)
        if options.dry_run:
            current = await self.storage.get(key)
            await check(current)
            return self._deleted_answer(current, checked["obj"]), True
        try:
            removed = await self.storage.delete(key, storage.DeleteOptions(preconditions=preconditions, validate=check))
        except storage_errors.KeyNotFound:
            if not isinstance(marked, StoredObject):
                raise
            # Somebody else finished what this deletion had begun.
            removed = marked
        obj = removed.data()
        self._after_delete(obj)
        return self._deleted_answer(removed, obj, before=marked), True

    def _after_delete(self, obj: Object) -> None:
        if self.hooks is not None:
            self.hooks.after_delete(obj)

    async def _delete_unreadable(self, key: str, name: str, options: DeleteOptions) -> tuple[Result, bool]:
        """Remove what cannot be read, finalizers and all; whatever can be read is refused (corrupt_obj_deleter.go)."""
        try:
            await self.storage.get(key)
        except storage_errors.CorruptObject:
            await self._translated(self.storage.delete(key, storage.DeleteOptions(unsafe=True)), name, "delete")
            details = {"name": name, "kind": self.kind.kind}
            status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
            return {**status, "details": details, "code": 200}, True
        except storage_errors.StorageError:
            pass  # refused as well: it is not known to be broken
        raise errors.invalid(
            GroupKind(self.resource.group, self.resource.resource),
            name,
            [
                invalid(
                    "ignoreStoreReadErrorWithClusterBreakingPotential",
                    True,
                    "is exclusively used to delete corrupt object(s), try again by removing this option",
                )
            ],
        )

    def _deleted_answer(
        self, stored: StoredObject | Object, obj: Object, before: StoredObject | Object | None = None
    ) -> Result:
        """What a DELETE returns: the object, for kinds that return it, else a Status that names it."""
        if self.returns_deleted_object:
            return before if before is not None else stored
        meta = obj["metadata"]
        details = {"name": meta["name"], "kind": self.resource.resource, "uid": meta.get("uid", "")}
        if self.resource.group:
            details["group"] = self.resource.group
        return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}

    async def delete_collection(self, ctx: Context, options: DeleteOptions, selected: ListOptions) -> ListResult:
        """Delete each selected object. Objects that vanish meanwhile are no failure; any other failure ends it."""
        asked = selected.limit
        page = selected if asked else _with_page(selected, _DELETE_COLLECTION_PAGE, "")
        items: list[StoredObject] = []
        while True:
            found = await self.list(ctx, page)
            items += found.items
            for item in found.items:
                await self._delete_listed(ctx, item, options)
            if asked or not found.continue_token:
                break
            page = _with_page(selected, _DELETE_COLLECTION_PAGE, found.continue_token)
        return ListResult(items, found.resource_version, found.continue_token if asked else "", found.remaining)

    async def _delete_listed(self, ctx: Context, item: StoredObject, options: DeleteOptions) -> None:
        try:
            await self._translated(self._delete(item.key, options.copy()), item.key.rpartition("/")[2], "delete")
        except ApiError as error:
            if error.reason != "NotFound":
                raise


class _Update:
    """One update on its way: what it needs at each attempt and what came of the last one."""

    __slots__ = ("created", "ctx", "held", "name", "options", "removed", "store", "strategy", "updated")

    def __init__(
        self,
        store: Store,
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
        self.held: Transaction = _NOTHING_HELD
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
            self.held.rollback(uncertain=_is_uncertain(error))
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
                check_stored(current, preconditions)
            return await self.attempt(current)
        whole = self.strategy.checks_whole
        options = storage.UpdateOptions(
            ignore_not_found=allow_create,
            preconditions=preconditions,
            ttl=self.store._ttl({}) if self.store._ttl is not None else 0,
            settled=whole,
            keeps_settled=not whole,
        )
        return await storage_.guaranteed_update(key, self.attempt, options)

    async def attempt(self, current: StoredObject | None) -> Object:
        """The new state, given the current one. Raises what refuses it."""
        self.held.rollback()
        self.held = _NOTHING_HELD
        obj = await self.updated(current)
        if current is None:
            return await self._attempt_create(obj)
        self.created = False
        live = self.updated.live if isinstance(self.updated, LiveUpdate) else None
        old = live if live is not None else current.data()
        meta = metadata_of(obj)
        self._check_version(meta, old["metadata"]["resourceVersion"])
        if self.store.hooks is not None and self.strategy is self.store.strategy:
            # A subresource keeps the spec: it holds nothing.
            self.held = self.store.hooks.begin_update(obj, old, dry_run=self.options.dry_run)
        self.strategy.before_update(self.ctx, obj, old, settled=current.settled)
        if self.held is not _NOTHING_HELD:
            await self.held.secure()
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
        fill_system_fields(meta)
        ensure_namespace(meta, self.ctx.namespace)
        meta.pop("resourceVersion", None)
        self.held = self.store._begin_create(obj, dry_run=self.options.dry_run)
        self.strategy.before_create(self.ctx, obj)
        if self.held is not _NOTHING_HELD:
            await self.held.secure()
        if self.options.validate_create is not None:
            await self.options.validate_create(obj)
        return obj

    def _check_version(self, meta: Object, current: str) -> None:
        asked = meta.get("resourceVersion") or ""
        if asked in ("", "0"):
            if self.strategy.allow_unconditional_update:
                meta["resourceVersion"] = current
                return
            kind = GroupKind(self.store.resource.group, self.store.resource.resource)
            wrong = invalid("metadata.resourceVersion", 0, "must be specified for an update")
            raise errors.invalid(kind, self.name, [wrong])
        if asked != current:
            if not asked.isdigit():
                raise ApiError(500, "", f'strconv.ParseUint: parsing "{asked}": invalid syntax')
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
        store._after_delete(self.removed)
        return self.removed


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
        """Change the part that this subresource stands for. Never creates."""
        own = UpdateOptions(dry_run=options.dry_run, validate_update=options.validate_update)
        return await _Update(self.store, self.strategy, ctx, name, updated, own).run()


def _is_uncertain(error: BaseException) -> bool:
    """Whether a write that ended so may have taken place."""
    return not isinstance(error, Exception) or (isinstance(error, ApiError) and error.reason == "Timeout")


def _segment(name: str) -> str:
    """The name, if it can be a path segment; else a 400."""
    if not name:
        raise errors.bad_request("Name parameter required.")
    wrong = is_path_segment_name(name)
    if wrong:
        raise errors.bad_request(f'Name parameter invalid: "{name}": {";".join(wrong)}')
    return name


def _copy(obj: Object) -> Object:
    """Copy as deep as strategies write when they prepare a new object."""
    return {k: _copy(v) if isinstance(v, dict) else list(v) if isinstance(v, list) else v for k, v in obj.items()}


def _as_dict(result: StoredObject | Object) -> Object:
    return result.data() if isinstance(result, StoredObject) else result


def _with_page(options: ListOptions, limit: int, token: str) -> ListOptions:
    return ListOptions(
        resource_version="" if token else options.resource_version,
        match=storage.Match.UNSET if token else options.match,
        limit=limit,
        continue_token=token,
        predicate=options.predicate,
    )
