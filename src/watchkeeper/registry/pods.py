"""What a POST on a Pod does: binding it to a node, evicting it."""

from __future__ import annotations

from collections.abc import Callable

from watchkeeper.apis.core import pod_eviction as eviction_rules
from watchkeeper.apis.core.pod_binding import BindingError, bind, validate_binding
from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.field import aggregate
from watchkeeper.meta.gvk import GroupKind, GroupResource
from watchkeeper.registry.delete_options import read_delete_options
from watchkeeper.registry.errors import to_api_error
from watchkeeper.registry.metadata import now_text
from watchkeeper.registry.rest import Context, CreateOptions, Object, Result
from watchkeeper.registry.store import Store
from watchkeeper.storage import interface as storage
from watchkeeper.storage.errors import StorageError
from watchkeeper.storage.interface import ListOptions, StoredObject
from watchkeeper.storage.state import check_stored

Record = Callable[[Object, Object], Object]
"""(live, new) -> new, in whose record of owners it is noted who has changed what."""

_BINDING = GroupResource("", "pods/binding")
_ATTEMPTS = 20
"""How often an eviction begins anew because the Pod changed in its midst."""


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
    record: Record | None = None,
) -> str:
    """Change an object in place by a function, without its strategy. Returns its resourceVersion.

    What is given as `uid` and `resource_version` must be the object's; `record` notes who has changed what. Raises
    ApiError.
    """
    key = store.key(ctx.namespace, name)

    async def attempt(current: StoredObject | None) -> Object:
        assert current is not None
        obj = current.data()
        change(obj)
        return obj if record is None else record(current.data(), obj)

    preconditions = storage.Preconditions(uid=uid, resource_version=resource_version)
    try:
        if dry_run:
            stored = await store.storage.get(key)
            check_stored(store.rehearsed_key(key), stored, preconditions)
            await attempt(stored)
            return str(stored.resource_version)
        options = storage.UpdateOptions(preconditions=preconditions)
        return str((await store.storage.guaranteed_update(key, attempt, options)).resource_version)
    except StorageError as error:
        raise to_api_error(error, store.resource, name, "update") from error


class BindingStore:
    """Puts Pods on nodes: `pods/NAME/binding`, and the older `bindings`."""

    def __init__(self, pods: Store) -> None:
        self._pods = pods

    async def create(self, ctx: Context, obj: Object, options: CreateOptions) -> Result:
        """Bind the Pod that the Binding names."""
        return await self.create_named(ctx, obj.get("metadata", {}).get("name") or "", obj, options)

    async def create_named(self, ctx: Context, name: str, obj: Object, options: CreateOptions) -> Result:
        """Bind a Pod. Raises a 409 when it has a node."""
        meta = obj.get("metadata") or {}
        if (meta.get("name") or "") != name:
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

    def __init__(self, pods: Store, budgets: Store, record: Record) -> None:
        """`record` notes what the server changes in the status of a budget."""
        self._pods = pods
        self._budgets = budgets
        self._record = record

    async def create_named(self, ctx: Context, name: str, obj: Object, options: CreateOptions) -> Result:
        """Evict a Pod. Raises a 429 when a budget forbids it now."""
        if (obj.get("metadata") or {}).get("name") != name:
            raise errors.bad_request(eviction_rules.NAME_MISMATCH)
        if wrong := eviction_rules.check_options(obj):
            raise errors.invalid(GroupKind("policy", "Eviction"), name, wrong)
        try:
            chosen = eviction_rules.delete_options(obj, ["All"] if options.dry_run else [])
        except ValueError as error:
            raise ApiError(500, "", str(error)) from error
        if obj.get("deleteOptions") is not None:
            obj["deleteOptions"] = chosen
        if options.validate is not None:
            await options.validate(obj)
        dry_run = bool(chosen.get("dryRun"))
        for attempt in range(_ATTEMPTS):
            pod = (await self._pods.get(ctx, name, "")).data()
            if not eviction_rules.ignores_budgets(pod):
                break
            try:
                await self._delete(ctx, pod, chosen, dry_run=dry_run, exact=not eviction_rules.has_ended(pod))
            except ApiError as error:
                if error.reason != "Conflict" or _wanted_version(chosen) or attempt == _ATTEMPTS - 1:
                    raise
            else:
                return success()
        covering = eviction_rules.budgets_of(pod, await self._all_budgets(ctx))
        if len(covering) > 1:
            raise ApiError(500, "", eviction_rules.SEVERAL_BUDGETS)
        await self._delete_covered(ctx, pod, next(iter(covering), None), chosen, dry_run=dry_run)
        return success()

    async def _delete_covered(
        self, ctx: Context, pod: Object, budget: Object | None, chosen: Object, *, dry_run: bool
    ) -> None:
        exact = budget is not None and eviction_rules.is_not_counted(pod, budget)
        if budget is not None and not exact:
            await self._take(ctx, budget["metadata"]["name"], pod["metadata"]["name"], dry_run=dry_run)
        try:
            await self._delete(ctx, pod, chosen, dry_run=dry_run, exact=exact)
        except ApiError as error:
            if error.reason == "Conflict" and exact and budget is not None and _wanted_version(chosen) is None:
                raise eviction_rules.still_processed(budget["metadata"]["name"]) from error
            raise

    async def _all_budgets(self, ctx: Context) -> list[Object]:
        found = await self._budgets.list(ctx, ListOptions())
        return [item.data() for item in found.items]

    async def _take(self, ctx: Context, budget: str, pod: str, *, dry_run: bool) -> None:
        def change(obj: Object) -> None:
            eviction_rules.take_disruption(obj, pod, now_text())

        await change_stored(self._budgets, ctx, budget, change, dry_run=dry_run, record=self._record)

    async def _delete(self, ctx: Context, pod: Object, chosen: Object, *, dry_run: bool, exact: bool) -> None:
        name = pod["metadata"]["name"]
        uid = (chosen.get("preconditions") or {}).get("uid")
        version = _wanted_version(chosen)
        if version is None and exact:
            version = pod["metadata"]["resourceVersion"]
        if not dry_run:
            marked = await self._mark(ctx, name, uid, version)
            version = marked if version is not None else None
        options = read_delete_options(chosen)
        options.resource_version, options.ignore_store_read_error = version, False
        await self._pods.delete(ctx, name, options)

    async def _mark(self, ctx: Context, name: str, uid: str | None, version: str | None) -> str:
        """Say in the Pod that it is evicted, if it is the one meant. Returns its new resourceVersion."""

        def change(pod: Object) -> None:
            meta = pod["metadata"]
            if uid and uid != meta.get("uid", ""):
                why = f"the UID in the precondition ({uid}) does not match the UID in record ({meta.get('uid', '')})"
                text = f"{why}. The object might have been deleted and then recreated"
                raise errors.conflict(GroupResource("", "Pod"), name, text)
            found = meta.get("resourceVersion")
            if version and version != found:
                why = f"the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in"
                text = f"{why} record ({found}). The object might have been modified"
                raise errors.conflict(GroupResource("", "Pod"), name, text)
            eviction_rules.mark_evicted(pod, now_text())

        return await change_stored(self._pods, ctx, name, change)


def _wanted_version(chosen: Object) -> str | None:
    version: str | None = (chosen.get("preconditions") or {}).get("resourceVersion")
    return version
