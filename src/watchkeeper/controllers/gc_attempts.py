"""What the garbage collector does with one node: whether its object is to go, and which requests that takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from watchkeeper.controllers.gc_graph import FOREGROUND, ORPHAN, Graph, Node, Owner, Work, read_owners
from watchkeeper.controllers.loopback import Loopback, Resource
from watchkeeper.controllers.remote_resources import RemoteResource
from watchkeeper.meta.errors import ApiError
from watchkeeper.registry.rest import DeleteOptions

Object = dict[str, Any]


class Attempts:
    """Deletes objects and frees dependents of their owners, as far as that is right by what the API says now.

    All methods raise ApiError where it does not say, and change nothing then that would be wrong to do twice. What else
    is to be looked at goes to `enqueue`.
    """

    def __init__(
        self, api: Loopback, graph: Graph, enqueue: Callable[[Work], None], all_seen: Callable[[], bool]
    ) -> None:
        """`all_seen` tells whether the graph has all dependents that there are."""
        self._api = api
        self._graph = graph
        self._enqueue = enqueue
        self._all_seen = all_seen

    def __repr__(self) -> str:
        return f"<Attempts on {self._graph!r}>"

    async def delete(self, node: Node) -> None:
        """Delete its object if none of its owners is there any more, or do what is to be done before."""
        if node.being_deleted and not node.deleting_dependents:
            return
        resource = self._api.find_kind(node.identity.api_version, node.identity.kind)
        if resource is None and not node.virtual:
            # Its APIService is gone, of which discovery has not told yet: nobody knows what becomes of the object.
            self._enqueue(self._graph.forget(node.uid, gone=False))
            return
        latest = None if resource is None else await latest_of(self._api, resource, node)
        if resource is None or latest is None:
            self._absent(node)
            return
        if node.virtual:
            # It exists, but nobody saw it in a list or watch: it has neither owners nor a deletion under way.
            return
        if node.deleting_dependents:
            await self._delete_dependents_first(resource, node)
            return
        owners = read_owners(latest["metadata"])
        if owners:
            await self._judge(resource, node, latest, owners)

    def _absent(self, node: Node) -> None:
        """Nothing is there: what depends on it is to be looked at."""
        if node.virtual:
            self._enqueue(Work(delete=list(node.dependents)))
        else:
            self._enqueue(self._graph.forget(node.uid))

    async def _judge(self, resource: Resource, node: Node, latest: Object, owners: Sequence[Owner]) -> None:
        """Sort the owners: those that hold it, those that are gone, those that wait for their dependents to go."""
        solid: list[Owner] = []
        gone: list[Owner] = []
        waiting: list[Owner] = []
        for owner in owners:
            seen_to_go = self._graph.is_gone(owner, node.identity.namespace)
            state = "gone" if seen_to_go else await self._owner_state(owner, node.identity.namespace)
            if state == "nowhere":
                # No later look will tell more of this owner, so nothing is decided until the references change.
                return
            {"solid": solid, "gone": gone, "waiting": waiting}[state].append(owner)
        if solid:
            if gone or waiting:
                await self._drop_owners(resource, node, {o.uid for o in (*gone, *waiting)})
            return
        foreground = bool(waiting) and bool(node.dependents)
        if foreground and any(d.deleting_dependents for d in node.dependents):
            # A circle of foreground deletions: somebody has to stop waiting.
            await self._unblock(resource, node)
        await self._delete(resource, node, latest, foreground=foreground)

    async def _owner_state(self, owner: Owner, namespace: str) -> str:
        resource = self._api.find_kind(owner.api_version, owner.kind)
        if resource is None:
            # Its kind may be served later; what cannot be asked for is not held against a dependent.
            raise ApiError(500, "", f"no resource is served for {owner.api_version} {owner.kind}")
        place = namespace if resource.info.namespaced else ""
        if resource.info.namespaced and not place:
            return "nowhere"
        found = await _found(self._api, resource, place, owner.name, owner.uid)
        if found is None:
            return "gone"
        meta = found["metadata"]
        due = meta.get("deletionTimestamp") is not None and FOREGROUND in (meta.get("finalizers") or ())
        return "waiting" if due else "solid"

    async def _delete(self, resource: Resource, node: Node, latest: Object, *, foreground: bool) -> None:
        finalizers = latest["metadata"].get("finalizers") or ()
        if foreground:
            policy = "Foreground"
        elif ORPHAN in finalizers:
            policy = "Orphan"
        elif FOREGROUND in finalizers:
            policy = "Foreground"
        else:
            policy = "Background"
        options = DeleteOptions(
            propagation_policy=policy, uid=node.uid, resource_version=latest["metadata"]["resourceVersion"]
        )
        try:
            await self._api.delete(resource, node.identity.namespace, node.identity.name, options)
        except ApiError as error:
            if error.reason != "NotFound":
                raise

    async def _delete_dependents_first(self, resource: Resource, node: Node) -> None:
        blocking = node.blocking_dependents()
        if not blocking:
            await self._remove_finalizer(resource, node, FOREGROUND)
            return
        self._enqueue(Work(delete=[each for each in blocking if not each.deleting_dependents]))

    async def orphan(self, node: Node) -> None:
        """Free its dependents of it, and have it go."""
        resource = self._api.find_kind(node.identity.api_version, node.identity.kind)
        if resource is None or not node.orphaning:
            return
        if not self._all_seen():
            # A dependent not yet seen would keep its reference and be deleted as an orphan of nobody.
            raise ApiError(503, "", "not all resources have been seen yet")
        for dependent in list(node.dependents):
            theirs = self._api.find_kind(dependent.identity.api_version, dependent.identity.kind)
            if theirs is not None:
                await self._drop_owners(theirs, dependent, {node.uid})
        await self._remove_finalizer(resource, node, ORPHAN)

    async def _change(self, resource: Resource, node: Node, change: Any) -> None:
        place = node.identity
        try:
            await self._api.change(resource, place.namespace, place.name, node.uid, change)
        except ApiError as error:
            if error.reason != "NotFound":
                raise

    async def _drop_owners(self, resource: Resource, node: Node, uids: set[str]) -> None:
        def change(obj: Object) -> None:
            meta = obj["metadata"]
            kept = [o for o in meta.get("ownerReferences") or () if o.get("uid") not in uids]
            _keep(meta, "ownerReferences", kept)

        await self._change(resource, node, change)

    async def _unblock(self, resource: Resource, node: Node) -> None:
        """Have no owner wait. The reference's patch of custom objects tells so of every owner, and so does the one of
        other servers' objects here."""
        is_custom = isinstance(resource, RemoteResource) or not resource.scope.kind.builtin

        def change(obj: Object) -> None:
            for owner in obj["metadata"].get("ownerReferences") or ():
                if is_custom or owner.get("blockOwnerDeletion"):
                    owner["blockOwnerDeletion"] = False

        await self._change(resource, node, change)

    async def _remove_finalizer(self, resource: Resource, node: Node, finalizer: str) -> None:
        def change(obj: Object) -> None:
            meta = obj["metadata"]
            kept = [f for f in meta.get("finalizers") or () if f != finalizer]
            _keep(meta, "finalizers", kept)

        await self._change(resource, node, change)


async def latest_of(api: Loopback, resource: Resource, node: Node) -> Object | None:
    """The object of a node now, None when it is gone or another one has its name. Raises ApiError."""
    place = node.identity
    if resource.info.namespaced and not place.namespace:
        # A cluster-scoped dependent names a namespaced owner: it can never be found.
        return None
    return await _found(api, resource, place.namespace, place.name, node.uid)


async def _found(api: Loopback, resource: Resource, namespace: str, name: str, uid: str) -> Object | None:
    try:
        found = await api.get(resource, namespace, name)
    except ApiError as error:
        if error.reason == "NotFound":
            return None
        raise
    return found if found["metadata"].get("uid") == uid else None


def _keep(meta: Object, name: str, kept: Sequence[Any]) -> None:
    if kept:
        meta[name] = kept
    else:
        meta.pop(name, None)
