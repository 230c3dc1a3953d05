"""Keeps the garbage collector's graph in step with the objects of one resource, served here or by another server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence, Set
from typing import Any

from watchkeeper.controllers.feed import FeedSink, feed
from watchkeeper.controllers.gc_graph import Graph, Identity, Work
from watchkeeper.controllers.loopback import Loopback, Resource
from watchkeeper.controllers.remote_resources import RemoteResource
from watchkeeper.storage.interface import StoredObject

Object = dict[str, Any]
_OWNERS, _DELETION = b'"ownerReferences":', b'"deletionTimestamp":'


class Monitor:
    """Follows a resource. What its changes make necessary goes to `enqueue`; after each list `settled` gets the uids.

    Interruptions change nothing in the graph: what vanished meanwhile is found with the next list.
    """

    def __init__(
        self, resource: Resource, graph: Graph, enqueue: Callable[[Work], None], settled: Callable[[Set[str]], None]
    ) -> None:
        self.resource = resource
        self.task: asyncio.Task[None] | None = None
        """What runs it."""
        self._graph = graph
        self._enqueue = enqueue
        self._settled = settled
        self._known: set[str] = set()
        """The uids of the nodes that came from here, to find what vanished while nobody watched."""

    def __repr__(self) -> str:
        return f"<Monitor of {self.resource.info.group_resource}>"

    def feed(self, api: Loopback) -> Coroutine[Any, Any, None]:
        """What follows the resource until it is canceled."""
        name = f"garbage-collector {self.resource.info.group_resource}"
        if isinstance(self.resource, RemoteResource):
            from watchkeeper.controllers.remote_feed import RemoteSink, remote_feed

            remote = RemoteSink(changed=self._metadata_changed, deleted=self._forget, synced=self._listed)
            return remote_feed(name, api.elsewhere.client(self.resource), remote).run()
        sink = FeedSink(changed=self._changed, deleted=self._deleted, synced=self._synced)
        return feed(name, self.resource, sink).run()

    def close(self) -> None:
        """Follow it no more. Nobody knows what becomes of its objects: they are forgotten, but not gone."""
        if self.task is not None:
            self.task.cancel()
        for uid in self._known:
            self._enqueue(self._graph.forget(uid, gone=False))

    # -- objects as they are stored here --------------------------------------------------------------------------

    def _changed(self, stored: StoredObject) -> None:
        uid = stored.attributes.uid
        tail = stored.tail
        if not uid or (_OWNERS not in tail and _DELETION not in tail and uid not in self._graph):
            return  # without a uid it is nobody's owner, and is not deleted for one that was made anew meanwhile
        self._observe(stored.data()["metadata"])

    def _deleted(self, stored: StoredObject) -> None:
        uid = stored.attributes.uid
        self._known.discard(uid)
        if uid in self._graph:
            self._forget(stored.data()["metadata"])

    def _synced(self, items: Sequence[StoredObject]) -> None:
        self._listed({item.attributes.uid for item in items})

    # -- metadata -------------------------------------------------------------------------------------------------

    def _metadata_changed(self, meta: Object) -> None:
        uid = meta.get("uid")
        if uid and (meta.get("ownerReferences") or meta.get("deletionTimestamp") or uid in self._graph):
            self._observe(meta)

    def _observe(self, meta: Object) -> None:
        self._known.add(meta["uid"])
        self._enqueue(self._graph.observe(self._place_of(meta), meta))

    def _forget(self, meta: Object) -> None:
        uid = meta.get("uid") or ""
        self._known.discard(uid)
        if uid in self._graph:
            self._enqueue(self._graph.forget(uid, place=self._place_of(meta)))

    def _listed(self, there: Set[str]) -> None:
        for uid in self._known - there:
            self._known.discard(uid)
            self._enqueue(self._graph.forget(uid))
        self._settled(there)

    def _place_of(self, meta: Object) -> Identity:
        kind = self.resource.info.kind
        return Identity(kind.api_version, kind.kind, meta.get("namespace", ""), meta["name"])
