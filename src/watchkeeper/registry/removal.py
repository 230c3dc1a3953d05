"""How objects are deleted: marked, removed, or removed unread. What a DELETE comes to is decided in `deletion`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.field import invalid
from watchkeeper.meta.gvk import GroupKind
from watchkeeper.registry import deletion
from watchkeeper.registry.rest import Context, DeleteOptions, Object, Result
from watchkeeper.registry.stored_resource import StoredResource
from watchkeeper.storage import errors as storage_errors
from watchkeeper.storage import interface as storage
from watchkeeper.storage.interface import ListOptions, ListResult, StoredObject

_DELETE_COLLECTION_PAGE = 10_000


class _Held(Exception):
    """An object that was to be removed at once has got a finalizer meanwhile."""


async def delete_stored(store: StoredResource, key: str, options: DeleteOptions) -> tuple[Result, bool]:
    """Mark or remove an object; say whether it is gone. Raises StorageError and ApiError.

    Decides anew whenever the object turns out to be held after all, so that no finalizer is passed over.
    """
    while True:
        try:
            return await _try_delete(store, key, options)
        except _Held:
            continue


async def _try_delete(store: StoredResource, key: str, options: DeleteOptions) -> tuple[Result, bool]:
    current = await store.storage.get(key)
    obj = current.data()
    settled = options.copy()
    decision = deletion.decide(obj, settled, store.strategy.behavior, store.kind)
    options.settled_grace = settled.grace_period_seconds
    if decision.outcome is deletion.Outcome.PENDING:
        return _deleted_answer(store, current, obj), False
    marked: StoredObject | Object | None = None
    unheld = decision.outcome is deletion.Outcome.REMOVE
    freed = False
    if not unheld or obj["metadata"].get("finalizers"):
        marked, outcome = await _mark(store, key, options)
        if outcome is deletion.Outcome.MARK:
            return marked, False
        if outcome is deletion.Outcome.PENDING:
            return _deleted_answer(store, marked, _as_dict(marked)), False
        if outcome is deletion.Outcome.MARK_AND_REMOVE and options.dry_run:
            return _deleted_answer(store, marked, _as_dict(marked)), True
        unheld = freed = outcome is deletion.Outcome.REMOVE
    if freed and options.dry_run:
        return store.blank(), True
    return await _remove(store, key, options, marked, unheld=unheld, freed=freed)


async def _mark(
    store: StoredResource, key: str, options: DeleteOptions
) -> tuple[StoredObject | Object, deletion.Outcome]:
    """Store the metadata of an object that is to go. Decides anew on each state it meets."""
    last: list[Any] = [None, None]

    async def attempt(current: StoredObject | None) -> Object:
        assert current is not None
        obj = current.data()
        if options.validate is not None:
            await options.validate(obj)
        decision = deletion.decide(obj, options.copy(), store.strategy.behavior, store.kind)
        last[0], last[1] = decision.outcome, obj
        if decision.metadata is None:
            return obj
        obj["metadata"] = decision.metadata
        return obj

    preconditions = storage.Preconditions(uid=options.uid, resource_version=options.resource_version)
    if options.dry_run:
        current = await store.storage.get(key)
        return await attempt(current), last[0]
    stored = await store.storage.guaranteed_update(key, attempt, storage.UpdateOptions(preconditions=preconditions))
    return stored, last[0]


async def _remove(
    store: StoredResource,
    key: str,
    options: DeleteOptions,
    marked: StoredObject | Object | None,
    *,
    unheld: bool,
    freed: bool,
) -> tuple[Result, bool]:
    """Take an object out. `unheld`: nothing held it, and nothing marks it, so that must still be so at the end.

    `freed`: what held it were finalizers that the options take off. The reference compares a version that such a
    deletion asks for with that of the update which it did without: with none, so that it never holds.
    """
    validate = options.validate
    checked: Object = {}

    async def check(latest: StoredObject) -> None:
        checked["obj"] = latest.data()
        if validate is not None:
            # What was marked just now is asked about again, as it is by the reference.
            await validate(checked["obj"])
        if unheld:
            decision = deletion.decide(checked["obj"], options.copy(), store.strategy.behavior, store.kind)
            if decision.outcome is not deletion.Outcome.REMOVE:
                raise _Held

    version = options.resource_version
    if freed and version is not None:
        version = ""
    elif isinstance(marked, StoredObject) and version is not None:
        version = str(marked.resource_version)
    preconditions = storage.Preconditions(uid=options.uid, resource_version=version)
    if options.dry_run:
        current = await store.storage.get(key)
        await check(current)
        return _deleted_answer(store, current, checked["obj"]), True
    try:
        removed = await store.storage.delete(key, storage.DeleteOptions(preconditions=preconditions, validate=check))
    except storage_errors.KeyNotFound:
        if not isinstance(marked, StoredObject):
            raise
        # Somebody else finished what this deletion had begun.
        removed = marked
    obj = removed.data()
    after_delete(store, obj)
    return _deleted_answer(store, removed, obj), True


def after_delete(store: StoredResource, obj: Object) -> None:
    """Tell the hooks that an object is gone."""
    if store.hooks is not None:
        store.hooks.after_delete(obj)


async def delete_unreadable(store: StoredResource, key: str, name: str, options: DeleteOptions) -> tuple[Result, bool]:
    """Remove what cannot be read, finalizers and all; whatever can be read is refused (corrupt_obj_deleter.go)."""
    try:
        await store.storage.get(key)
    except storage_errors.CorruptObject:
        await store.translated(store.storage.delete(key, storage.DeleteOptions(unsafe=True)), name, "delete")
        details = {"name": name, "kind": store.kind.kind}
        status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
        return {**status, "details": details, "code": 200}, True
    except storage_errors.StorageError:
        pass  # refused as well: it is not known to be broken
    raise errors.invalid(
        GroupKind(store.resource.group, store.resource.resource),
        name,
        [
            invalid(
                "ignoreStoreReadErrorWithClusterBreakingPotential",
                True,
                "is exclusively used to delete corrupt object(s), try again by removing this option",
            )
        ],
    )


def _deleted_answer(store: StoredResource, stored: StoredObject | Object, obj: Object) -> Result:
    """What a DELETE returns: the object, for kinds that return it, else a Status that names it."""
    if store.returns_deleted_object:
        return stored
    meta = obj["metadata"]
    details = {"name": meta.get("name", ""), "kind": store.resource.resource, "uid": meta.get("uid", "")}
    if store.resource.group:
        details["group"] = store.resource.group
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


async def delete_collection(
    store: StoredResource, ctx: Context, options: DeleteOptions, selected: ListOptions
) -> ListResult:
    """Delete each selected object. Objects that vanish meanwhile are no failure; any other failure ends it."""
    asked = selected.limit
    page = selected if asked else replace(selected, limit=_DELETE_COLLECTION_PAGE)
    items: list[StoredObject] = []
    while True:
        found = await store.list(ctx, page)
        items += found.items
        for item in found.items:
            await _delete_listed(store, ctx, item, options)
        if asked or not found.continue_token:
            break
        page = replace(page, continue_token=found.continue_token, resource_version="", match=storage.Match.UNSET)
    return ListResult(items, found.resource_version, found.continue_token if asked else "", found.remaining)


async def _delete_listed(store: StoredResource, ctx: Context, item: StoredObject, options: DeleteOptions) -> None:
    try:
        await store.translated(delete_stored(store, item.key, options.copy()), item.key.rpartition("/")[2], "delete")
    except ApiError as error:
        if error.reason != "NotFound":
            raise


def _as_dict(result: StoredObject | Object) -> Object:
    return result.data() if isinstance(result, StoredObject) else result
