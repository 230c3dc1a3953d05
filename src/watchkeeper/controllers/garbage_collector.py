"""The garbage collector: dependents go when all their owners are gone, in the order that the owners' deletion asks for.

It follows the rules of kube-controller-manager's collector: whether an owner exists is asked of the API at the moment
of deciding, never of the graph; a deletion carries the uid that was decided on. Owners and dependents may be objects of
other API servers. While one of these cannot be asked, nothing is decided that hangs on its answer; all else goes on.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Sequence, Set
from typing import Any

from watchkeeper.aio.backoff import Backoff
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.controllers.gc_graph import FOREGROUND, ORPHAN, Graph, Node, Owner, Work, read_owners
from watchkeeper.controllers.gc_monitor import Monitor
from watchkeeper.controllers.loopback import Loopback, Resource
from watchkeeper.controllers.remote_resources import RemoteResource
from watchkeeper.endpoints.scope import ServedResource
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupVersion
from watchkeeper.registry.rest import DeleteOptions

log = logging.getLogger(__name__)

Object = dict[str, Any]
_WORKERS, _REMOTE_WORKERS = 4, 20
_FIRST_RETRY, _LAST_RETRY = 0.1, 60.0
"""Seconds."""
_LOOK_SECONDS = 0.05
"""How long the look at what is newly served waits for more of it."""
_SLICE_SECONDS = 0.004
"""How long it takes at a time, as the workers do, and lets others have their turn."""
_PATIENCE_SECONDS = 30.0
"""How long orphans wait until it is seen what other servers have; so long does the reference at its start."""
_VERBS = ("list", "watch", "delete")
_IGNORED = frozenset({("", "events"), ("events.k8s.io", "events")})


class GarbageCollector:
    """Follows everything that is served and works off what the graph says is to be looked at."""

    def __init__(self, api: Loopback) -> None:
        self._api = api
        self._tasks = TaskOwner("garbage-collector")
        self._graph = Graph()
        self._queue: asyncio.Queue[tuple[str, Node]] = asyncio.Queue()
        self._remote_queue: asyncio.Queue[tuple[str, Node]] | None = None
        """What takes requests to other servers, whose workers may have to wait long for answers."""
        self._queued: set[tuple[str, str]] = set()
        self._attempts: dict[tuple[str, str], int] = {}
        self._monitors: dict[tuple[str, str], Monitor] = {}
        self._elsewhere: set[tuple[str, str]] = set()
        """Those of them that are of other servers."""
        self._unsynced: dict[tuple[str, str], float] = {}
        """The resources that are followed and not seen yet, each with the loop time until which orphans wait for it."""
        self._undiscovered: dict[GroupVersion, float] = {}
        """The same of versions of which nobody has told yet what they have."""
        self._changed: dict[tuple[str, str], ServedResource | None] = {}
        """Resources to look at, in this order: what is served anew, differently or no longer; None for what other
        servers serve, or may."""
        self._unseen: set[tuple[str, str]] = set()
        """Those of them whose objects may have gone without being seen: they were not there all along."""
        self._remote_groups: set[str] = set()
        """The groups with versions of other servers, to be looked at as well."""
        self._look_again: asyncio.TimerHandle | None = None
        self._looks: dict[tuple[str, str], asyncio.Task[None]] = {}
        """What finds out which objects of a resource are gone."""

    def __repr__(self) -> str:
        return f"<GarbageCollector: {self._graph!r}, {self._queue.qsize()} to look at>"

    def start(self) -> None:
        """Begin to follow and to work."""
        served = self._api.served
        served.on_change.append(self._served_changed)
        self._api.remote.on_change.append(self._discovery_changed)
        for group in served.groups():
            for version in served.versions(group):
                for resource in served.resources(group, version):
                    self._changed[group, resource.info.gvr.resource] = resource
        self._remote_groups.update(at.group for at in served.remote)
        self._follow_changed()
        self._start_workers("worker", self._queue, _WORKERS)

    def _start_workers(self, name: str, queue: asyncio.Queue[tuple[str, Node]], count: int) -> None:
        for number in range(count):
            self._tasks.start(f"{name}-{number}", self._work(queue))

    async def close(self) -> None:
        """Stop; the next one finds everything again from what is stored."""
        served, remote = self._api.served, self._api.remote
        if self._served_changed in served.on_change:
            served.on_change.remove(self._served_changed)
        if self._discovery_changed in remote.on_change:
            remote.on_change.remove(self._discovery_changed)
        if self._look_again is not None:
            self._look_again.cancel()
        await self._tasks.close()

    # -- following --------------------------------------------------------------------------------------------

    def _served_changed(self, resource: ServedResource) -> None:
        """Let go of what is served no longer, and look soon for what is new, once for several changes."""
        key = (resource.info.gvr.group, resource.info.gvr.resource)
        monitor = self._monitors.get(key)
        if monitor is not None and not isinstance(monitor.resource, RemoteResource):
            gvr = monitor.resource.info.gvr
            if self._api.served.find(gvr.group, gvr.version, gvr.resource) is not monitor.resource:
                self._unfollow(key)
        self._changed[key] = resource
        self._unseen.add(key)
        self._look_soon()

    def _discovery_changed(self, group: str) -> None:
        """Look soon for what other servers serve of a group: they may have come, gone, or told more than before."""
        groups = (*(at.group for at in self._api.served.remote), *(followed for followed, _ in self._elsewhere))
        if group in groups:
            self._remote_groups.add(group)
            self._look_soon()

    def _look_soon(self) -> None:
        if self._look_again is None:
            self._look_again = asyncio.get_running_loop().call_later(_LOOK_SECONDS, self._follow_changed)

    def _note_remote_changes(self) -> None:
        """Have all resources of the groups looked at that other servers serve in part."""
        groups, self._remote_groups = self._remote_groups, set()
        for group in groups:
            here = self._api.served
            for version in here.versions(group):
                for resource in here.resources(group, version):
                    self._changed.setdefault((group, resource.info.gvr.resource), resource)
            there = [(group, each.info.gvr.resource) for each in self._api.remote.preferred(*_VERBS, group=group)]
            followed = [key for key in self._elsewhere if key[0] == group]
            for key in (*there, *followed):
                self._changed.setdefault(key, None)

    def _follow_changed(self) -> None:
        """Follow what is new, for a while: there may be thousands of custom resources."""
        self._look_again = None
        self._note_remote_changes()
        until = time.perf_counter() + _SLICE_SECONDS
        while self._changed:
            if time.perf_counter() >= until:
                self._look_again = asyncio.get_running_loop().call_later(_SLICE_SECONDS, self._follow_changed)
                return
            key = next(iter(self._changed))
            self._follow_one(key, self._changed.pop(key))
            self._unseen.discard(key)

    def _follow_one(self, key: tuple[str, str], changed: ServedResource | None) -> None:
        wanted = self._wanted(key)
        monitor = self._monitors.get(key)
        if monitor is not None and monitor.resource != wanted:
            self._unfollow(key)
        if wanted is not None:
            if key not in self._monitors:
                self._follow(key, wanted, unseen=key in self._unseen)
        elif changed is not None and changed.info.gvr.group_version not in self._api.served.remote:
            self._look_at_absent(changed, frozenset())

    def _wanted(self, key: tuple[str, str]) -> Resource | None:
        """What is to be followed of a resource, if it can be followed at all.

        What another server serves is followed as it was as long as that one cannot be asked what it has.
        """
        if key in _IGNORED:
            return None
        here = self._api.find(*key, *_VERBS)
        if here is not None or not (self._api.served.remote or key in self._monitors):
            return here
        there = self._api.remote.preferred(*_VERBS, group=key[0])
        monitor = self._monitors.get(key)
        if monitor is not None and isinstance(monitor.resource, RemoteResource):
            followed = self._api.remote.version(monitor.resource.info.gvr.group_version)
            if followed is not None and not followed.discovered:
                return monitor.resource
        return next((each for each in there if each.info.gvr.resource == key[1]), None)

    def _follow(self, key: tuple[str, str], resource: Resource, *, unseen: bool) -> None:
        is_remote = isinstance(resource, RemoteResource)
        if is_remote:
            self._elsewhere.add(key)

        def settled(there: Set[str]) -> None:
            nonlocal unseen
            if unseen or is_remote:  # whatever interrupts a watch of another server, events may have been missed
                unseen = False
                self._look_at_absent(resource, there)
            self._unsynced.pop(key, None)

        until = asyncio.get_running_loop().time() + _PATIENCE_SECONDS if is_remote else math.inf
        self._unsynced[key] = until
        monitor = self._monitors[key] = Monitor(resource, self._graph, self._enqueue, settled)
        monitor.task = self._tasks.start(f"feed {resource.info.group_resource}", monitor.feed(self._api))

    def _unfollow(self, key: tuple[str, str]) -> None:
        self._monitors.pop(key).close()
        self._unsynced.pop(key, None)
        self._elsewhere.discard(key)
        if look := self._looks.pop(key, None):
            look.cancel()  # whoever follows it next looks anew

    def _look_at_absent(self, resource: Resource, there: Set[str]) -> None:
        """Look at the virtual nodes of a resource that are not among these uids: their end may have been missed.

        That takes the place of an earlier look, which may be at what nobody could tell since.
        """
        key = (resource.info.gvr.group, resource.info.gvr.resource)
        if before := self._looks.pop(key, None):
            before.cancel()
        known = self._graph.virtual(resource.info.gvr.group, resource.info.kind.kind)
        absent = [node for node in known if node.uid not in there and self._may_be_of(resource, node)]
        if absent:
            what = f"look at {len(absent)} of {resource.info.group_resource}"
            self._looks[key] = self._tasks.start(what, self._forget_absent(resource, absent))

    def _may_be_of(self, resource: Resource, node: Node) -> bool:
        """Whether a node is one of the server's that has the resource: nobody else can tell that it is gone."""
        is_elsewhere = any(str(at) == node.identity.api_version for at in self._api.served.remote)
        return is_elsewhere == isinstance(resource, RemoteResource)

    async def _forget_absent(self, resource: Resource, nodes: Sequence[Node]) -> None:
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

    # -- working ----------------------------------------------------------------------------------------------

    def _enqueue(self, work: Work) -> None:
        for node in work.delete:
            self._add("delete", node)
        for node in work.orphan:
            self._add("orphan", node)

    def _add(self, what: str, node: Node) -> None:
        if (what, node.uid) not in self._queued:
            self._queued.add((what, node.uid))
            queue = self._queue
            if self._api.served.remote and self._takes_requests(what, node):
                if self._remote_queue is None:
                    self._remote_queue = asyncio.Queue()
                    self._start_workers("remote-worker", self._remote_queue, _REMOTE_WORKERS)
                queue = self._remote_queue
            queue.put_nowait((what, node))

    def _takes_requests(self, what: str, node: Node) -> bool:
        """Whether other servers are asked when a node is looked at."""
        names = {node.identity.api_version, *(owner.api_version for owner in node.owners)}
        if what == "orphan":
            names.update(dependent.identity.api_version for dependent in node.dependents)
        return any(str(at) in names for at in self._api.served.remote)

    async def _work(self, queue: asyncio.Queue[tuple[str, Node]]) -> None:
        until = time.perf_counter() + _SLICE_SECONDS
        while True:
            if time.perf_counter() >= until:
                # A storage in memory answers at once, so nothing else would ever wait here.
                await asyncio.sleep(0)
                until = time.perf_counter() + _SLICE_SECONDS
            what, node = await queue.get()
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
        if resource is None and not node.virtual:
            # Its APIService is gone, of which discovery has not told yet: nobody knows what becomes of the object.
            self._enqueue(self._graph.forget(node.uid, gone=False))
            return
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

    async def _latest(self, resource: Resource | None, node: Node) -> Object | None:
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
        for dependent in blocking:
            if not dependent.deleting_dependents:
                self._add("delete", dependent)

    async def _orphan(self, node: Node) -> None:
        resource = self._api.find_kind(node.identity.api_version, node.identity.kind)
        if resource is None or not node.orphaning:
            return
        if self._changed or self._remote_groups or self._awaits_others():
            # A dependent not yet seen would keep its reference and be deleted as an orphan of nobody.
            raise ApiError(503, "", "not all resources have been seen yet")
        for dependent in list(node.dependents):
            theirs = self._api.find_kind(dependent.identity.api_version, dependent.identity.kind)
            if theirs is not None:
                await self._drop_owners(theirs, dependent, {node.uid})
        await self._remove_finalizer(resource, node, ORPHAN)

    def _awaits_others(self) -> bool:
        """Whether there is something to be seen yet. Other servers are not waited for forever."""
        now = asyncio.get_running_loop().time()
        unknown = {each.at for each in self._api.remote.versions() if not (each.discovered or each.resources)}
        self._undiscovered = {at: self._undiscovered.get(at, now + _PATIENCE_SECONDS) for at in unknown}
        return any(now < until for until in (*self._unsynced.values(), *self._undiscovered.values()))

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
            if kept:
                meta["ownerReferences"] = kept
            else:
                meta.pop("ownerReferences", None)

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
            if kept:
                meta["finalizers"] = kept
            else:
                meta.pop("finalizers", None)

        await self._change(resource, node, change)
