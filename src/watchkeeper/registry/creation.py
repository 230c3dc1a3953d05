"""How a new object is stored."""

from __future__ import annotations

from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.registry.errors import to_api_error
from watchkeeper.registry.metadata import ensure_namespace
from watchkeeper.registry.names import generate_name
from watchkeeper.registry.rest import Complete, Context, CreateOptions, Object, Result
from watchkeeper.registry.stored_resource import StoredResource
from watchkeeper.registry.transaction import NOTHING_HELD, Transaction, is_uncertain
from watchkeeper.storage import errors as storage_errors

_GENERATE_ATTEMPTS = 8
"""Enough for a million names per prefix with one failure in a thousand (KEP-4420)."""


async def create_generated(store: StoredResource, ctx: Context, obj: Object, options: CreateOptions) -> Result:
    """Store a new object under a name made of its generateName, trying again when it is taken. Raises ApiError."""
    meta = obj["metadata"]
    base = meta["generateName"]
    for attempt in range(1, _GENERATE_ATTEMPTS + 1):
        meta["name"] = generate_name(base) if store.strategy.behavior.appends_to_generate_name else base
        try:
            return await create_named(store, ctx, _copy(obj), options)
        except ApiError as error:
            if error.reason != "AlreadyExists" or attempt == _GENERATE_ATTEMPTS:
                raise
    raise AssertionError("unreachable")


async def create_named(store: StoredResource, ctx: Context, obj: Object, options: CreateOptions) -> Result:
    """Store a new object under the name that it has. Raises ApiError."""
    held = begin_create(store, obj, dry_run=options.dry_run)
    try:
        # Admission may have moved it since the request was read.
        ensure_namespace(obj["metadata"], ctx.namespace if store.strategy.namespaced else "")
        try:
            store.strategy.before_create(ctx, obj)
        except ApiError as refusal:
            raise await completed(refusal, options.complete, obj) from None
        if held is not NOTHING_HELD:
            await held.secure()
        if options.validate is not None:
            await options.validate(obj)
        store.strategy.complete_new(obj)
        name = obj["metadata"]["name"]
        key = store.key(ctx.namespace, name)
        stored = await _store_new(store, key, name, obj, dry_run=options.dry_run)
    except BaseException as error:
        held.rollback(uncertain=is_uncertain(error))
        raise
    held.commit()
    return stored


async def completed(refusal: ApiError, complete: Complete | None, obj: Object, old: Object | None = None) -> ApiError:
    """What to refuse an object with that breaks its kind's rules."""
    return await complete(refusal, obj, old) if complete is not None and refusal.faults else refusal


def begin_create(store: StoredResource, obj: Object, *, dry_run: bool) -> Transaction:
    """Take hold of what a new object needs. Raises ApiError."""
    return store.hooks.begin_create(obj, dry_run=dry_run) if store.hooks is not None else NOTHING_HELD


async def _store_new(store: StoredResource, key: str, name: str, obj: Object, *, dry_run: bool) -> Result:
    try:
        if dry_run:
            # Nobody looks at the version that a client has sent.
            await _require_absent(store, key)
            return obj
        version = obj["metadata"].pop("resourceVersion", None) or "0"
        # A text that is no number counts as none, as it does for the reference.
        if version.isdigit() and int(version):
            raise ApiError(500, "", "resourceVersion should not be set on objects to be created")
        ttl = store.ttl(obj) if store.ttl is not None else 0
        return await store.storage.create(key, obj, ttl=ttl, settled=True)
    except storage_errors.KeyExists as error:
        raise await _already_exists(store, key, obj["metadata"]) from error
    except storage_errors.StorageError as error:
        raise to_api_error(error, store.resource, name, "create") from error


async def _require_absent(store: StoredResource, key: str) -> None:
    try:
        await store.storage.get(key)
    except storage_errors.KeyNotFound:
        return
    raise storage_errors.KeyExists("key exists", key)


async def _already_exists(store: StoredResource, key: str, meta: Object) -> ApiError:
    """The refusal of a name that is taken; with a generateName it blames the generator, whoever has chosen the name."""
    refusal = errors.generate_name_conflict if meta.get("generateName") else errors.already_exists
    error = refusal(store.resource, meta["name"])
    try:
        existing = await store.storage.get(key)
    except storage_errors.StorageError:
        return error
    if existing.data()["metadata"].get("deletionTimestamp") is not None:
        error.message = f"object is being deleted: {error.message}"
    return error


def _copy(obj: Object) -> Object:
    """Copy as deep as strategies write when they prepare a new object."""
    return {k: _copy(v) if isinstance(v, dict) else list(v) if isinstance(v, list) else v for k, v in obj.items()}
