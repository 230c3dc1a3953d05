"""Events that tell what was found wrong with addresses."""

from __future__ import annotations

import logging
import socket
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from watchkeeper.aio.clock import Clock
from watchkeeper.client.times import micro_time
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.registry.rest import Context, CreateOptions
from watchkeeper.registry.store import Store
from watchkeeper.request.user import LOOPBACK

log = logging.getLogger(__name__)

Object = dict[str, Any]

EVENTS = GroupResource("", "events")
CONTROLLER = "ipallocator-repair-controller"
SERIES_SECONDS = 360.0
"""So long the same Event is not made again."""
_MAX_REMEMBERED = 1024


class RepairEvents:
    """Makes Events as the repair loop of kube-apiserver does, but one only of those that are alike for a while."""

    def __init__(
        self,
        find: Callable[[GroupResource], Store],
        owned: Callable[[Object], Object],
        to_hub: Callable[[Object], Object],
        clock: Clock,
    ) -> None:
        """`owned` says in a new object whose it is; `to_hub` brings an Event to the version that is stored."""
        self._find = find
        self._owned = owned
        self._to_hub = to_hub
        self._clock = clock
        self._instance = f"{CONTROLLER}-{socket.gethostname()}"
        self._told: OrderedDict[tuple[str, ...], float] = OrderedDict()

    def __repr__(self) -> str:
        return f"<RepairEvents: {len(self._told)} told of>"

    async def tell(self, regarding: Object, reason: str, action: str, note: str) -> None:
        """Make an Event about a stored Service or IPAddress. What cannot be told is logged."""
        metadata = regarding["metadata"]
        now = self._clock.time()
        if not self._is_new((reason, action, metadata.get("uid", ""), note), now):
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
            "reportingController": CONTROLLER,
            "reportingInstance": self._instance,
            "action": action,
            "reason": reason,
            "regarding": {name: value for name, value in fields.items() if value},
            "note": note,
            "type": "Warning",
            "deprecatedSource": {},
        }
        made = self._to_hub(self._owned(event))
        try:
            await self._find(EVENTS).create(Context(user=LOOPBACK, namespace=namespace), made, CreateOptions())
        except ApiError as error:
            log.warning("an Event about %s cannot be made: %s", metadata["name"], error.message)

    def _is_new(self, key: tuple[str, ...], now: float) -> bool:
        told = self._told.pop(key, None)
        self._told[key] = now
        if len(self._told) > _MAX_REMEMBERED:
            self._told.popitem(last=False)
        return told is None or now - told > SERIES_SECONDS
