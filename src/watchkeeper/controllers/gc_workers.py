"""The workers of the garbage collector: each node that is to be looked at, once, and again until that has worked."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.controllers.gc_attempts import Attempts
from watchkeeper.controllers.gc_graph import Graph, Node, Work
from watchkeeper.controllers.loopback import Loopback
from watchkeeper.meta.errors import ApiError

log = logging.getLogger(__name__)

FIRST_RETRY, LAST_RETRY = 0.1, 60.0
SLICE_SECONDS = 0.004
"""How long something may take at a time, before others have their turn."""
_WORKERS, _REMOTE_WORKERS = 4, 20


class Workers:
    """Works off what is put here. They are tasks of whoever owns `tasks`, and end with these."""

    def __init__(self, api: Loopback, graph: Graph, tasks: TaskOwner, all_seen: Callable[[], bool]) -> None:
        """`all_seen` tells whether the graph has all dependents that there are."""
        self._api = api
        self._graph = graph
        self._tasks = tasks
        self._attempts = Attempts(api, graph, self.put, all_seen)
        self._queue: asyncio.Queue[tuple[str, Node]] = asyncio.Queue()
        self._remote_queue: asyncio.Queue[tuple[str, Node]] | None = None
        """What takes requests to other servers, whose workers may have to wait long for answers."""
        self._queued: set[tuple[str, str]] = set()
        self._failures: dict[tuple[str, str], int] = {}

    def __repr__(self) -> str:
        return f"<Workers: {len(self)} to look at>"

    def __len__(self) -> int:
        return self._queue.qsize()

    def start(self) -> None:
        """Begin to work."""
        self._start("worker", self._queue, _WORKERS)

    def _start(self, name: str, queue: asyncio.Queue[tuple[str, Node]], count: int) -> None:
        for number in range(count):
            self._tasks.start(f"{name}-{number}", self._work(queue))

    def put(self, work: Work) -> None:
        """Have nodes looked at soon, those once that are waiting for that already."""
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
                    self._start("remote-worker", self._remote_queue, _REMOTE_WORKERS)
                queue = self._remote_queue
            queue.put_nowait((what, node))

    def _takes_requests(self, what: str, node: Node) -> bool:
        """Whether other servers are asked when a node is looked at."""
        names = {node.identity.api_version, *(owner.api_version for owner in node.owners)}
        if what == "orphan":
            names.update(dependent.identity.api_version for dependent in node.dependents)
        return any(str(at) in names for at in self._api.served.remote)

    async def _work(self, queue: asyncio.Queue[tuple[str, Node]]) -> None:
        until = time.perf_counter() + SLICE_SECONDS
        while True:
            if time.perf_counter() >= until:
                # A storage in memory answers at once, so nothing else would ever wait here.
                await asyncio.sleep(0)
                until = time.perf_counter() + SLICE_SECONDS
            what, node = await queue.get()
            self._queued.discard((what, node.uid))
            node = self._graph.get(node.uid) or node
            try:
                if what == "delete":
                    await self._attempts.delete(node)
                else:
                    await self._attempts.orphan(node)
            except Exception as error:
                self._again(what, node, error)
            else:
                self._failures.pop((what, node.uid), None)

    def _again(self, what: str, node: Node, error: Exception) -> None:
        """Try again later, each time after twice as long."""
        failures = self._failures.get((what, node.uid), 0)
        self._failures[what, node.uid] = failures + 1
        if not isinstance(error, ApiError):
            log.error("garbage collection of %r failed and is tried again", node, exc_info=error)
        elif failures == 0:
            log.info("garbage collection of %r is tried again: %s", node, error.message)
        delay = min(FIRST_RETRY * 2**failures, LAST_RETRY)
        asyncio.get_running_loop().call_later(delay, self._retry, what, node)

    def _retry(self, what: str, node: Node) -> None:
        if node.uid in self._graph:
            self._add(what, node)
        else:
            self._failures.pop((what, node.uid), None)
