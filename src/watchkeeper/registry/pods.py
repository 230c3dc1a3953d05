"""What a POST on a Pod does: binding it to a node, evicting it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from watchkeeper.apis.core import pod_eviction as eviction_rules
from watchkeeper.apis.core.pod_binding import BindingError, bind, validate_binding
from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.field import aggregate
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.registry.errors import to_api_error
from watchkeeper.registry.metadata import now_text
from watchkeeper.registry.rest import Context, CreateOptions, DeleteOptions, Object, Result
from watchkeeper.registry.store import Store
from watchkeeper.storage import interface as storage
from watchkeeper.storage.errors import StorageError
from watchkeeper.storage.interface import ListOptions, StoredObject
from watchkeeper.storage.state import check_stored

_BINDING = GroupResource("", "pods/binding")


def success(code: int = 201) -> Object:
    """The Status of something done."""
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": code}


async def change_stored(
    store: Store,
    ctx: Context,
    name: str,
    change: Callable[[Object], None],
    *,
    uid: str | None = None,
    resource_version: str | None = None,
    dry_run: bool = False,
) -> None:
    """Change an object in place by a function, without its strategy.

    What is given as `uid` and `resource_version` must be the object's. Raises ApiError.
    """
    key = store.key(ctx.namespace, name)

    async def attempt(current: StoredObject | None) -> Object:
        assert current is not None
        obj = current.data()
        change(obj)
        return obj

    preconditions = storage.Preconditions(uid=uid, resource_version=resource_version)
    try:
        if dry_run:
            stored = await store.storage.get(key)
            check_stored(stored.key, stored, preconditions)
            await attempt(stored)
            return
        await store.storage.guaranteed_update(key, attempt, storage.UpdateOptions(preconditions=preconditions))
    except StorageError as error:
        raise to_api_error(error, store.resource, name, "update") from error


class BindingStore:
    """Puts Pods on nodes: `pods/NAME/binding`, and the older `bindings`."""

    def __init__(self, pods: Store) -> None:
        self._pods = pods

    async def create(self, ctx: Context, obj: Object, options: CreateOptions) -> Result:
        """Bind the Pod that the Binding names."""
        return await self.create_named(ctx, obj.get("metadata", {}).get("name", ""), obj, options)

    async def create_named(self, ctx: Context, name: str, obj: Object, options: CreateOptions) -> Result:
        """Bind a Pod. Raises a 409 when it has a node."""
        meta = obj.get("metadata") or {}
        if meta.get("name") != name:
            raise errors.bad_request("name in URL does not match name in Binding object")
        wrong = validate_binding(obj)
        if wrong:
            raise ApiError(500, "", aggregate(wrong))
        if options.validate is not None:
            await options.validate(obj)

        def change(pod: Object) -> None:
            try:
                bind(pod, obj, now_text())
            except BindingError as error:
                raise errors.conflict(_BINDING, name, str(error)) from error

        expected = {"uid": meta.get("uid") or None, "resource_version": meta.get("resourceVersion") or None}
        await change_stored(self._pods, ctx, name, change, **expected, dry_run=options.dry_run)
        return success()


class EvictionStore:
    """Deletes Pods as far as disruption budgets allow."""

    def __init__(self, pods: Store, budgets: Store) -> None:
        self._pods = pods
        self._budgets = budgets

    async def create_named(self, ctx: Context, name: str, obj: Object, options: CreateOptions) -> Result:
        """Evict a Pod. Raises a 429 when a budget forbids it now."""
        if (obj.get("metadata") or {}).get("name") != name:
            raise errors.bad_request(eviction_rules.NAME_MISMATCH)
        try:
            chosen = eviction_rules.delete_options(obj, ["All"] if options.dry_run else [])
        except ValueError as error:
            raise errors.bad_request(str(error)) from error
        if options.validate is not None:
            await options.validate(obj)
        dry_run = bool(chosen.get("dryRun"))
        pod = (await self._pods.get(ctx, name, "")).data()
        exact = not eviction_rules.has_ended(pod)
        if not eviction_rules.ignores_budgets(pod):
            covering = eviction_rules.budgets_of(pod, await self._all_budgets(ctx))
            if len(covering) > 1:
                return dict(eviction_rules.SEVERAL_BUDGETS)
            if covering:
                exact = eviction_rules.is_not_counted(pod, covering[0])
                if not exact:
                    await self._take(ctx, covering[0]["metadata"]["name"], name, dry_run=dry_run)
            else:
                exact = False
        await self._delete(ctx, pod, chosen, dry_run=dry_run, exact=exact)
        return success()

    async def _all_budgets(self, ctx: Context) -> list[Object]:
        found = await self._budgets.list(ctx, ListOptions())
        return [item.data() for item in found.items]

    async def _take(self, ctx: Context, budget: str, pod: str, *, dry_run: bool) -> None:
        def change(obj: Object) -> None:
            eviction_rules.take_disruption(obj, pod, now_text())

        await change_stored(self._budgets, ctx, budget, change, dry_run=dry_run)

    async def _delete(self, ctx: Context, pod: Object, chosen: Object, *, dry_run: bool, exact: bool) -> None:
        meta: dict[str, Any] = pod["metadata"]
        version = meta["resourceVersion"] if exact else None
        if not exact:
            await change_stored(
                self._pods,
                ctx,
                meta["name"],
                lambda obj: eviction_rules.mark_evicted(obj, now_text()),
                uid=meta["uid"],
                dry_run=dry_run,
            )
        preconditions = chosen.get("preconditions") or {}
        options = DeleteOptions(
            grace_period_seconds=chosen.get("gracePeriodSeconds"),
            uid=preconditions.get("uid"),
            resource_version=preconditions.get("resourceVersion") or version,
            propagation_policy=chosen.get("propagationPolicy"),
            orphan_dependents=chosen.get("orphanDependents"),
            dry_run=dry_run,
        )
        await self._pods.delete(ctx, meta["name"], options)
