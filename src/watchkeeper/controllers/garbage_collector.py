"""The garbage collector: dependents go when all their owners are gone, in the order that the owners' deletion asks for.

It follows the rules of kube-controller-manager's collector: whether an owner exists is asked of the API at the moment
of deciding, never of the graph; a deletion carries the uid that was decided on.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence, Set
from typing import Any

from watchkeeper.aio.backoff import Backoff
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.controllers.feed import FeedSink, feed
from watchkeeper.controllers.gc_graph import FOREGROUND, ORPHAN, Graph, Identity, Node, Owner, Work, read_owners
from watchkeeper.controllers.loopback import Loopback
from watchkeeper.endpoints.scope import ServedResource
from watchkeeper.meta.errors import ApiError
from watchkeeper.registry.rest import DeleteOptions
from watchkeeper.storage.interface import StoredObject

log = logging.getLogger(__name__)

Object = dict[str, Any]
_WORKERS = 4
_FIRST_RETRY, _LAST_RETRY = 0.1, 60.0
"""Seconds."""
_LOOK_SECONDS = 0.05
"""How long the look at what is newly served waits for more of it."""
_SLICE_SECONDS = 0.004
"""How long it takes at a time, as the workers do, and lets others have their turn."""
_OWNERS, _DELETION = b'"ownerReferences":', b'"deletionTimestamp":'
_VERBS = ("list", "watch", "delete")
_IGNORED = frozenset({("", "events"), ("events.k8s.io", "events")})


class GarbageCollector:
    """Follows everything that is served and works off what the graph says is to be looked at."""

    def __init__(self, api: Loopback) -> None:
        self._api = api
        self._tasks = TaskOwner("garbage-collector")
        self._graph = Graph()
        self._queue: asyncio.Queue[tuple[str, Node]] = asyncio.Queue()
        self._queued: set[tuple[str, str]] = set()
        self._attempts: dict[tuple[str, str], int] = {}
        self._feeds: dict[tuple[str, str], tuple[asyncio.Task[None], ServedResource, dict[str, str]]] = {}
        self._unsynced: set[tuple[str, str]] = set()
        self._changed: dict[tuple[str, str], ServedResource] = {}
        """Resources to look at, in this order: what is served anew, differently or no longer."""
        self._unseen: set[tuple[str, str]] = set()
        """Those of them whose objects may have gone without being seen: they were not there all along."""
        self._look_again: asyncio.TimerHandle | None = None
        self._looks: dict[tuple[str, str], asyncio.Task[None]] = {}
        """What finds out which objects of a resource are gone."""

    def __repr__(self) -> str:
        return f"<GarbageCollector: {self._graph!r}, {self._queue.qsize()} to look at>"

    def start(self) -> None:
        """Begin to follow and to work."""
        served = self._api.served
        served.on_change.append(self._served_changed)
        for group in served.groups():
            for version in served.versions(group):
                for resource in served.resources(group, version):
                    self._changed[group, resource.info.gvr.resource] = resource
        self._follow_changed()
        for number in range(_WORKERS):
            self._tasks.start(f"worker-{number}", self._work())

    async def close(self) -> None:
        """Stop; the next one finds everything again from what is stored."""
        if self._served_changed in self._api.served.on_change:
            self._api.served.on_change.remove(self._served_changed)
        if self._look_again is not None:
            self._look_again.cancel()
        await self._tasks.close()

    # -- following --------------------------------------------------------------------------------------------

    def _served_changed(self, resource: ServedResource) -> None:
        """Let go of what is served no longer, and look soon for what is new, once for several changes."""
        key = (resource.info.gvr.group, resource.info.gvr.resource)
        followed = self._feeds[key][1] if key in self._feeds else None
        if followed is not None:
            gvr = followed.info.gvr
            if self._api.served.find(gvr.group, gvr.version, gvr.resource) is not followed:
                self._unfollow(key)
        self._changed[key] = resource
        self._unseen.add(key)
        if self._look_again is None:
            self._look_again = asyncio.get_running_loop().call_later(_LOOK_SECONDS, self._follow_changed)

    def _follow_changed(self) -> None:
        """Follow what is new, for a while: there may be thousands of custom resources."""
        self._look_again = None
        until = time.perf_counter() + _SLICE_SECONDS
        while self._changed:
            if time.perf_counter() >= until:
                self._look_again = asyncio.get_running_loop().call_later(_SLICE_SECONDS, self._follow_changed)
                return
            key = next(iter(self._changed))
            changed = self._changed.pop(key)
            wanted = self._wanted(key)
            if key in self._feeds and self._feeds[key][1] is not wanted:
                self._unfollow(key)
            if wanted is None:
                self._look_at_absent(changed, frozenset())
            elif key not in self._feeds:
                self._feeds[key] = self._follow(key, wanted, unseen=key in self._unseen)
            self._unseen.discard(key)

    def _wanted(self, key: tuple[str, str]) -> ServedResource | None:
        """What is to be followed of a resource, if it can be followed at all."""
        return None if key in _IGNORED else self._api.find(*key, *_VERBS)

    def _unfollow(self, key: tuple[str, str]) -> None:
        task, _, known = self._feeds.pop(key)
        task.cancel()
        self._unsynced.discard(key)
        for uid in known:
            self._enqueue(self._graph.forget(uid, gone=False))

    def _look_at_absent(self, resource: ServedResource, there: Set[str]) -> None:
        """Look at the virtual nodes of a resource that are not among these uids: their end may have been missed.

        That takes the place of an earlier look, which may be at what nobody could tell since.
        """
        key = (resource.info.gvr.group, resource.info.gvr.resource)
        if before := self._looks.pop(key, None):
            before.cancel()
        known = self._graph.virtual(resource.info.gvr.group, resource.info.kind.kind)
        absent = [node for node in known if node.uid not in there]
        if absent:
            what = f"look at {len(absent)} of {resource.info.group_resource}"
            self._looks[key] = self._tasks.start(what, self._forget_absent(resource, absent))

    async def _forget_absent(self, resource: ServedResource, nodes: Sequence[Node]) -> None:
        backoff = Backoff(initial=_FIRST_RETRY, limit=_LAST_RETRY)
        until = time.perf_counter() + _SLICE_SECONDS
        while nodes:
            unknown: list[Node] = []
            for node in nodes:
                if time.perf_counter() >= until:
                    await asyncio.sleep(0)
                    until = time.perf_counter() + _SLICE_SECONDS
                if self._graph.get(node.uid) is not node or (resource.info.namespaced and not node.identity.namespace):
                    continue
                try:
                    is_gone = await self._latest(resource, node) is None
                except ApiError as error:
                    log.info("whether %r is gone is not known: %s", node, error.message)
                    unknown.append(node)
                    continue
                if is_gone and self._graph.get(node.uid) is node:
                    self._enqueue(self._graph.forget(node.uid))
            nodes = unknown
            if nodes:
                await asyncio.sleep(backoff.next())

    def _follow(
        self, key: tuple[str, str], resource: ServedResource, *, unseen: bool
    ) -> tuple[asyncio.Task[None], ServedResource, dict[str, str]]:
        kind = resource.info.kind
        known: dict[str, str] = {}
        """uid -> key of the nodes that came from here, to find what vanished while nobody watched."""

        def place_of(meta: Object) -> Identity:
            return Identity(kind.api_version, kind.kind, meta.get("namespace", ""), meta["name"])

        def changed(stored: StoredObject) -> None:
            uid = stored.attributes.uid
            tail = stored.tail
            if not uid or (_OWNERS not in tail and _DELETION not in tail and uid not in self._graph):
                return  # without a uid it is nobody's owner, and is not deleted for one that was made anew meanwhile
            meta = stored.data()["metadata"]
            known[uid] = stored.key
            self._enqueue(self._graph.observe(place_of(meta), meta))

        def deleted(stored: StoredObject) -> None:
            uid = stored.attributes.uid
            known.pop(uid, None)
            if uid in self._graph:
                self._enqueue(self._graph.forget(uid, place=place_of(stored.data()["metadata"])))

        def synced(items: Sequence[StoredObject]) -> None:
            nonlocal unseen
            there = {item.attributes.uid for item in items}
            for uid in [u for u in known if u not in there]:
                del known[uid]
                self._enqueue(self._graph.forget(uid))
            if unseen:
                unseen = False
                self._look_at_absent(resource, there)
            self._unsynced.discard(key)

        self._unsynced.add(key)
        sink = FeedSink(changed=changed, deleted=deleted, synced=synced)
        reflector = feed(f"garbage-collector {resource.info.group_resource}", resource, sink)
        return self._tasks.start(f"feed {resource.info.group_resource}", reflector.run()), resource, known

    # -- working ----------------------------------------------------------------------------------------------

    def _enqueue(self, work: Work) -> None:
        for node in work.delete:
            self._add("delete", node)
        for node in work.orphan:
            self._add("orphan", node)

    def _add(self, what: str, node: Node) -> None:
        if (what, node.uid) not in self._queued:
            self._queued.add((what, node.uid))
            self._queue.put_nowait((what, node))

    async def _work(self) -> None:
        until = time.perf_counter() + _SLICE_SECONDS
        while True:
            if time.perf_counter() >= until:
                # A storage in memory answers at once, so nothing else would ever wait here.
                await asyncio.sleep(0)
                until = time.perf_counter() + _SLICE_SECONDS
            what, node = await self._queue.get()
            self._queued.discard((what, node.uid))
            node = self._graph.get(node.uid) or node
            try:
                if what == "delete":
                    await self._attempt_delete(node)
                else:
                    await self._orphan(node)
            except Exception as error:
                self._again(what, node, error)
            else:
                self._attempts.pop((what, node.uid), None)

    def _again(self, what: str, node: Node, error: Exception) -> None:
        """Try again later, each time after twice as long."""
        attempts = self._attempts.get((what, node.uid), 0)
        self._attempts[what, node.uid] = attempts + 1
        if not isinstance(error, ApiError):
            log.error("garbage collection of %r failed and is tried again", node, exc_info=error)
        elif attempts == 0:
            log.info("garbage collection of %r is tried again: %s", node, error.message)
        delay = min(_FIRST_RETRY * 2**attempts, _LAST_RETRY)
        asyncio.get_running_loop().call_later(delay, self._retry, what, node)

    def _retry(self, what: str, node: Node) -> None:
        if node.uid in self._graph:
            self._add(what, node)
        else:
            self._attempts.pop((what, node.uid), None)

    async def _attempt_delete(self, node: Node) -> None:
        if node.being_deleted and not node.deleting_dependents:
            return
        resource = self._api.find_kind(node.identity.api_version, node.identity.kind)
        latest = await self._latest(resource, node)
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

    async def _latest(self, resource: ServedResource | None, node: Node) -> Object | None:
        """The object now, None when it is gone or another one has its name."""
        if resource is None:
            return None
        if resource.info.namespaced and not node.identity.namespace:
            # A cluster-scoped dependent names a namespaced owner: it can never be found.
            return None
        try:
            found = await self._api.get(resource, node.identity.namespace, node.identity.name)
        except ApiError as error:
            if error.reason == "NotFound":
                return None
            raise
        return found if found["metadata"].get("uid") == node.uid else None

    def _absent(self, node: Node) -> None:
        """Nothing is there: what depends on it is to be looked at."""
        if node.virtual:
            for dependent in node.dependents:
                self._add("delete", dependent)
        else:
            self._enqueue(self._graph.forget(node.uid))

    async def _judge(self, resource: ServedResource, node: Node, latest: Object, owners: Sequence[Owner]) -> None:
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
        try:
            found = await self._api.get(resource, place, owner.name)
        except ApiError as error:
            if error.reason == "NotFound":
                return "gone"
            raise
        meta = found["metadata"]
        if meta.get("uid") != owner.uid:
            return "gone"
        due = meta.get("deletionTimestamp") is not None and FOREGROUND in (meta.get("finalizers") or ())
        return "waiting" if due else "solid"

    async def _delete(self, resource: ServedResource, node: Node, latest: Object, *, foreground: bool) -> None:
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

    async def _delete_dependents_first(self, resource: ServedResource, node: Node) -> None:
        blocking = node.blocking_dependents()
        if not blocking:
            await self._remove_finalizer(resource, node, FOREGROUND)
            return
        for dependent in blocking:
            if not dependent.deleting_dependents:
                self._add("delete", dependent)

    async def _orphan(self, node: Node) -> None:
        resource = self._api.find_kind(node.identity.api_version, node.identity.kind)
        if resource is None or not node.orphaning:
            return
        if self._unsynced or self._changed:
            # A dependent not yet seen would keep its reference and be deleted as an orphan of nobody.
            raise ApiError(503, "", "not all resources have been seen yet")
        for dependent in list(node.dependents):
            theirs = self._api.find_kind(dependent.identity.api_version, dependent.identity.kind)
            if theirs is not None:
                await self._drop_owners(theirs, dependent, {node.uid})
        await self._remove_finalizer(resource, node, ORPHAN)

    async def _change(self, resource: ServedResource, node: Node, change: Any) -> None:
        place = node.identity
        try:
            await self._api.change(resource, place.namespace, place.name, node.uid, change)
        except ApiError as error:
            if error.reason != "NotFound":
                raise

    async def _drop_owners(self, resource: ServedResource, node: Node, uids: set[str]) -> None:
        def change(obj: Object) -> None:
            meta = obj["metadata"]
            kept = [o for o in meta.get("ownerReferences") or () if o.get("uid") not in uids]
            if kept:
                meta["ownerReferences"] = kept
            else:
                meta.pop("ownerReferences", None)

        await self._change(resource, node, change)

    async def _unblock(self, resource: ServedResource, node: Node) -> None:
        """Have no owner wait. The reference's patch of custom objects tells so of every owner."""
        is_custom = not resource.scope.kind.builtin

        def change(obj: Object) -> None:
            for owner in obj["metadata"].get("ownerReferences") or ():
                if is_custom or owner.get("blockOwnerDeletion"):
                    owner["blockOwnerDeletion"] = False

        await self._change(resource, node, change)

    async def _remove_finalizer(self, resource: ServedResource, node: Node, finalizer: str) -> None:
        def change(obj: Object) -> None:
            meta = obj["metadata"]
            kept = [f for f in meta.get("finalizers") or () if f != finalizer]
            if kept:
                meta["finalizers"] = kept
            else:
                meta.pop("finalizers", None)

        await self._change(resource, node, change)
