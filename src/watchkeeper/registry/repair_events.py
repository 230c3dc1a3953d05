"""Events that tell what was found wrong with addresses and node ports."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any

from watchkeeper.aio.clock import Clock
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.client.times import micro_time
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.registry.rest import Context, CreateOptions
from watchkeeper.registry.store import Store
from watchkeeper.request.user import LOOPBACK

log = logging.getLogger(__name__)

Object = dict[str, Any]

EVENTS = GroupResource("", "events")
ADDRESS_CONTROLLER = "ipallocator-repair-controller"
PORT_CONTROLLER = "portallocator-repair-controller"
SERIES_SECONDS = 360.0
"""So long the same Event is not made again."""
_MAX_REMEMBERED = 1024
_MAX_WAITING = 1000
"""What comes on top is not told: an etcd may be full of Services that nobody has looked after."""


class RepairEvents:
    """Makes Events as the repair loops of kube-apiserver do, but one only of those that are alike for a while.

    Nothing waits for that.
    """

    def __init__(
        self,
        controller: str,
        find: Callable[[GroupResource], Store],
        owned: Callable[[Object], Object],
        to_hub: Callable[[Object], Object],
        clock: Clock,
    ) -> None:
        """`controller`: who tells. `owned` says in a new object whose it is.

        `to_hub` brings an Event to the version that is stored.
        """
        self._find = find
        self._owned = owned
        self._to_hub = to_hub
        self._clock = clock
        self._controller = controller
        self._instance = f"{controller}-{socket.gethostname()}"
        self._tasks = TaskOwner(controller)
        self._waiting: deque[Object] = deque()
        self._writer: asyncio.Task[None] | None = None
        self._told: OrderedDict[tuple[str, ...], float] = OrderedDict()

    def __repr__(self) -> str:
        return f"<RepairEvents of {self._controller}: {len(self._waiting)} waiting>"

    def tell(self, regarding: Object, reason: str, action: str, note: str) -> None:
        """Make an Event about a stored Service or IPAddress, soon. What cannot be told is logged."""
        metadata = regarding["metadata"]
        now = self._clock.time()
        if len(self._waiting) >= _MAX_WAITING or not self._is_new((reason, action, metadata.get("uid", ""), note), now):
            return
        fields = {
            "kind": regarding.get("kind"),
            "namespace": metadata.get("namespace"),
            "name": metadata["name"],
            "uid": metadata.get("uid"),
            "apiVersion": regarding.get("apiVersion"),
            "resourceVersion": metadata.get("resourceVersion"),
        }
        namespace = metadata.get("namespace") or "default"
        event: Object = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": f"{metadata['name']}.{int(now * 1e9):x}", "namespace": namespace},
            "eventTime": micro_time(now),
            "reportingController": self._controller,
            "reportingInstance": self._instance,
            "action": action,
            "reason": reason,
            "regarding": {name: value for name, value in fields.items() if value},
            "note": note,
            "type": "Warning",
            "deprecatedSource": {},
        }
        self._waiting.append(event)
        if self._writer is None or self._writer.done():
            self._writer = self._tasks.start("writer", self._write_all())

    async def settle(self) -> None:
        """Return when all that was told so far is written, or could not be."""
        if self._writer is not None:
            await asyncio.wait([self._writer])

    async def close(self) -> None:
        """Tell nothing more."""
        await self._tasks.close()

    async def _write_all(self) -> None:
        while self._waiting:
            await self._write(self._waiting.popleft())

    async def _write(self, event: Object) -> None:
        namespace = event["metadata"]["namespace"]
        made = self._to_hub(self._owned(event))
        try:
            await self._find(EVENTS).create(Context(user=LOOPBACK, namespace=namespace), made, CreateOptions())
        except ApiError as error:
            log.warning("the Event %s cannot be made: %s", event["metadata"]["name"], error.message)

    def _is_new(self, key: tuple[str, ...], now: float) -> bool:
        told = self._told.pop(key, None)
        self._told[key] = now
        if len(self._told) > _MAX_REMEMBERED:
            self._told.popitem(last=False)
        return told is None or now - told > SERIES_SECONDS
