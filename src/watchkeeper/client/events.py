"""Tells users, by Events, what a controller does with an object. Nothing waits for it, and nothing fails by it."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TypeVar

from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock
from watchkeeper.aio.mailbox import Mailbox
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.aio.token_bucket import TokenBuckets
from watchkeeper.client.dynamic import MERGE_PATCH, DynamicClient
from watchkeeper.client.errors import ClientError, is_reason
from watchkeeper.client.interface import Object
from watchkeeper.client.times import plain_time
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupVersionResource

log = logging.getLogger(__name__)

EVENTS = GroupVersionResource("", "v1", "events")
NORMAL, WARNING = "Normal", "Warning"
_MAX_KNOWN = 4096
_MAX_WAITING = 1000
_CLOSE_SECONDS = 10.0
"""How long what waits at the end may take to be written."""
_BURST, _RATE = 25, 1 / 300
"""How many events about one object are written, and how many more a second."""


V = TypeVar("V")


class _Closed(Exception):
    """Ends the writer."""


@dataclass(slots=True)
class _Written:
    """An event that is there already."""

    name: str
    count: int


class EventRecorder:
    """Writes the events of one component, in the order in which they come.

    The same event again only counts up the one that is there. About one object a burst of events is written, then one
    every five minutes. Use it with `async with`, or `close` it: what waits then is still written.
    """

    def __init__(
        self, client: DynamicClient, component: str, *, instance: str = "", clock: Clock = SYSTEM_CLOCK
    ) -> None:
        """`instance`: which of several processes of the component this is."""
        self._client = client
        self._source = {"component": component, **({"host": instance} if instance else {})}
        self._clock = clock
        self._waiting: Mailbox[Object] = Mailbox(capacity=_MAX_WAITING)
        self._written: OrderedDict[Hashable, _Written] = OrderedDict()
        self._limits = TokenBuckets(_RATE, _BURST, _MAX_KNOWN, clock=clock)
        self._writer: asyncio.Task[None] | None = None
        self._tasks = TaskOwner(f"events of {component}")

    def __repr__(self) -> str:
        return f"<EventRecorder of {self._source['component']}: {len(self._waiting)} to write>"

    async def __aenter__(self) -> EventRecorder:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Take no more events; return once those that there are have been written, soon, or given up. Idempotent."""
        self._waiting.close(_Closed())
        if self._writer is not None:
            await asyncio.wait([self._writer], timeout=_CLOSE_SECONDS)
        await self._tasks.close()

    def event(self, obj: Object, kind: str, reason: str, message: str) -> None:
        """Tell of something about an object: `kind` is NORMAL or WARNING, `reason` one word in CamelCase.

        Never waits and never fails, whatever the object is; events are dropped when there are too many.
        """
        try:
            self._accept(obj, kind, reason, message)
        except Exception:
            log.exception("an event %s cannot be told", reason)

    def _accept(self, obj: Object, kind: str, reason: str, message: str) -> None:
        event = self._event(obj, kind, reason, message)
        if not self._is_allowed(event):
            log.debug("too many events about %s", event["involvedObject"])
            return
        if self._waiting.put_nowait(event) and self._writer is None:
            self._writer = self._tasks.start("writer", self._write_all())

    def _event(self, obj: Object, kind: str, reason: str, message: str) -> Object:
        meta = obj["metadata"]
        now = self._clock.time()
        namespace = meta.get("namespace") or "default"
        involved = {
            "apiVersion": obj.get("apiVersion"),
            "kind": obj.get("kind"),
            "name": meta["name"],
            "namespace": meta.get("namespace"),
            "uid": meta.get("uid"),
            "resourceVersion": meta.get("resourceVersion"),
        }
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{meta['name']}.{int(now * 1e9):x}", "namespace": namespace},
            "involvedObject": {key: value for key, value in involved.items() if value},
            "type": kind,
            "reason": reason,
            "message": message,
            "source": self._source,
            "firstTimestamp": plain_time(now),
            "lastTimestamp": plain_time(now),
            "count": 1,
        }

    def _is_allowed(self, event: Object) -> bool:
        involved = event["involvedObject"]
        key = (involved.get("uid"), involved.get("kind"), involved.get("namespace"), involved["name"])
        return self._limits.take(key)

    async def _write_all(self) -> None:
        while True:
            try:
                event = await self._waiting.take()
            except _Closed:
                return
            try:
                await self._write(event)
            except (ApiError, ClientError) as problem:
                log.warning("event %s about %s is lost: %s", event["reason"], event["involvedObject"]["name"], problem)
            except Exception:
                # One that cannot be written keeps nobody else's from being written.
                log.exception("event %s about %s is lost", event["reason"], event["involvedObject"]["name"])

    async def _write(self, event: Object) -> None:
        involved = tuple(sorted(i for i in event["involvedObject"].items() if i[0] != "resourceVersion"))
        key = (involved, event["type"], event["reason"], event["message"])
        events = self._client.resource(EVENTS, namespace=event["metadata"]["namespace"])
        known = self._written.pop(key, None)
        if known is not None:
            known.count += 1
            try:
                change = {"count": known.count, "lastTimestamp": event["lastTimestamp"]}
                await events.patch(known.name, change, content_type=MERGE_PATCH)
                _keep(self._written, key, known)
                return
            except ApiError as problem:
                if not is_reason(problem, "NotFound"):
                    raise
        await events.create(event)
        _keep(self._written, key, _Written(event["metadata"]["name"], 1))


def _keep(remembered: OrderedDict[Hashable, V], key: Hashable, value: V) -> None:
    """Remember it as the newest, and forget the oldest of too many."""
    remembered[key] = value
    if len(remembered) > _MAX_KNOWN:
        remembered.popitem(last=False)
