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

from watchkeeper.aio.backoff import Backoff
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.controllers.gc_attempts import latest_of
from watchkeeper.controllers.gc_graph import Graph, Node
from watchkeeper.controllers.gc_monitor import Monitor
from watchkeeper.controllers.gc_workers import FIRST_RETRY, LAST_RETRY, SLICE_SECONDS, Workers
from watchkeeper.controllers.loopback import Loopback, Resource
from watchkeeper.controllers.remote_resources import RemoteResource
from watchkeeper.endpoints.scope import ServedResource
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupVersion

log = logging.getLogger(__name__)

_LOOK_SECONDS = 0.05
"""How long the look at what is newly served waits for more of it."""
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
        self._workers = Workers(api, self._graph, self._tasks, self._all_seen)
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
        return f"<GarbageCollector: {self._graph!r}, {len(self._workers)} to look at>"

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
        self._workers.start()

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
        until = time.perf_counter() + SLICE_SECONDS
        while self._changed:
            if time.perf_counter() >= until:
                self._look_again = asyncio.get_running_loop().call_later(SLICE_SECONDS, self._follow_changed)
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
        monitor = self._monitors[key] = Monitor(resource, self._graph, self._workers.put, settled)
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
        backoff = Backoff(initial=FIRST_RETRY, limit=LAST_RETRY)
        until = time.perf_counter() + SLICE_SECONDS
        while nodes:
            unknown: list[Node] = []
            for node in nodes:
                if time.perf_counter() >= until:
                    await asyncio.sleep(0)
                    until = time.perf_counter() + SLICE_SECONDS
                if self._graph.get(node.uid) is not node or (resource.info.namespaced and not node.identity.namespace):
                    continue
                try:
                    is_gone = await latest_of(self._api, resource, node) is None
                except ApiError as error:
                    log.info("whether %r is gone is not known: %s", node, error.message)
                    unknown.append(node)
                    continue
                if is_gone and self._graph.get(node.uid) is node:
                    self._workers.put(self._graph.forget(node.uid))
            nodes = unknown
            if nodes:
                await asyncio.sleep(backoff.next())

    def _all_seen(self) -> bool:
        """Whether there is nothing to be seen yet. Other servers are not waited for forever."""
        if self._changed or self._remote_groups:
            return False
        now = asyncio.get_running_loop().time()
        unknown = {each.at for each in self._api.remote.versions() if not (each.discovered or each.resources)}
        self._undiscovered = {at: self._undiscovered.get(at, now + _PATIENCE_SECONDS) for at in unknown}
        return all(now >= until for until in (*self._unsynced.values(), *self._undiscovered.values()))
