"""The shared informer: one list and watch, kept in memory, of which many handlers are told.

It follows client-go's: what a list does not have any more is reported as DeletedFinalStateUnknown, and an object that
comes again at the version that is known already counts as a resync.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from watchkeeper.aio.backoff import Backoff
from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock, set_or_reached
from watchkeeper.client.dynamic import Event, ResourceClient
from watchkeeper.client.indexer import Indexer, IndexFunc, key_of
from watchkeeper.client.interface import DeletedFinalStateUnknown, Handler, Object
from watchkeeper.client.lister import Lister
from watchkeeper.client.source import ResourceSource
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.reflector.interface import ListerWatcher
from watchkeeper.reflector.reflector import Reflector

log = logging.getLogger(__name__)

Transform = Callable[[Object], Object]
"""Makes of an object what is kept, such as one without managedFields. May change the object it is given."""


@dataclass(eq=False, slots=True)
class Registration:
    """A handler of an informer."""

    handler: Handler
    resync_seconds: float
    next_resync: float = field(default=0.0)


class Informer:
    """One resource. Run `run()` as a task; use `indexer` and `lister` once `wait_for_sync()` has returned."""

    def __init__(
        self,
        name: str,
        source: ListerWatcher[Object, Event],
        *,
        resource: GroupResource | None = None,
        indexers: Mapping[str, IndexFunc] | None = None,
        resync_seconds: float = 0.0,
        transform: Transform | None = None,
        backoff: Backoff | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """`resync_seconds` is for handlers that do not say otherwise; 0 for none."""
        self.name = name
        self.indexer = Indexer(indexers)
        self.lister = Lister(self.indexer, resource or GroupResource("", name))
        self._resync_seconds = resync_seconds
        self._transform = transform
        self._clock = clock
        self._registrations: list[Registration] = []
        self._synced = asyncio.Event()
        self._resync_wanted = asyncio.Event()
        self.reflector: Reflector[Object, Event] = Reflector(name, source, self, backoff=backoff, clock=clock)

    @classmethod
    def of(
        cls,
        client: ResourceClient,
        *,
        label_selector: str = "",
        field_selector: str = "",
        indexers: Mapping[str, IndexFunc] | None = None,
        resync_seconds: float = 0.0,
        transform: Transform | None = None,
    ) -> Informer:
        """An informer of what a client sees, or what selectors select of it."""
        gvr = client.gvr
        return cls(
            f"{gvr.resource} informer",
            ResourceSource(client, label_selector=label_selector, field_selector=field_selector),
            resource=GroupResource(gvr.group, gvr.resource),
            indexers=indexers,
            resync_seconds=resync_seconds,
            transform=transform,
        )

    def __repr__(self) -> str:
        state = "synced" if self.has_synced else "not synced"
        return f"<Informer {self.name}: {len(self.indexer)} objects, {state}, {len(self._registrations)} handlers>"

    # -- handlers -------------------------------------------------------------------------------------------------

    def add_handler(self, handler: Handler, *, resync_seconds: float | None = None) -> Registration:
        """Tell a handler of all objects that are there, at once, and of all changes from then on."""
        seconds = self._resync_seconds if resync_seconds is None else resync_seconds
        registration = Registration(handler, seconds, self._clock.monotonic() + seconds)
        self._registrations.append(registration)
        for obj in self.indexer.list():
            self._added([registration], obj, is_in_initial_list=True)
        if seconds:
            self._resync_wanted.set()
        return registration

    def remove_handler(self, registration: Registration) -> None:
        """Tell it of nothing more. Idempotent."""
        if registration in self._registrations:
            self._registrations.remove(registration)

    # -- life -----------------------------------------------------------------------------------------------------

    @property
    def has_synced(self) -> bool:
        """Whether everything that was there at the start is there, and handlers have been told of it."""
        return self._synced.is_set()

    async def wait_for_sync(self) -> None:
        """Return once that is so."""
        await self._synced.wait()

    async def run(self) -> None:
        """Follow the resource until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.reflector.run(), name=f"{self.name}/reflector")
            tasks.create_task(self._resync(), name=f"{self.name}/resync")

    async def _resync(self) -> None:
        while True:
            self._resync_wanted.clear()
            due_at = min((r.next_resync for r in self._registrations if r.resync_seconds), default=math.inf)
            await set_or_reached(self._resync_wanted, self._clock, due_at, name=f"{self.name}/resync")
            now = self._clock.monotonic()
            due = [r for r in self._registrations if r.resync_seconds and r.next_resync <= now]
            for registration in due:
                registration.next_resync = now + registration.resync_seconds
            for obj in self.indexer.list() if due else ():
                self._updated(due, obj, obj)

    # -- reflector.Sink -------------------------------------------------------------------------------------------

    def replace(self, items: Sequence[Object], resource_version: str) -> None:
        """This is the whole state."""
        is_first = not self.has_synced
        kept: set[str] = set()
        for item in items:
            obj = self._transformed(item)
            kept.add(key_of(obj))
            self._set(obj, is_in_initial_list=is_first)
        for old in self.indexer.list():
            key = key_of(old)
            if key not in kept:
                self.indexer.remove(key)
                self._deleted(DeletedFinalStateUnknown(key, old))
        self._synced.set()

    def apply(self, changes: Sequence[Event], resource_version: str) -> None:
        """These changes came since."""
        for kind, item in changes:
            obj = self._transformed(item)
            if kind == "DELETED":
                self.indexer.remove(key_of(obj))
                self._deleted(obj)
            else:
                self._set(obj, is_in_initial_list=False)

    def interrupted(self, error: Exception) -> None:
        """What is kept goes stale until the next `replace`."""

    def _transformed(self, obj: Object) -> Object:
        return obj if self._transform is None else self._transform(obj)

    def _set(self, obj: Object, *, is_in_initial_list: bool) -> None:
        old = self.indexer.set(key_of(obj), obj)
        if old is None:
            self._added(list(self._registrations), obj, is_in_initial_list=is_in_initial_list)
            return
        same = obj["metadata"].get("resourceVersion") == old["metadata"].get("resourceVersion")
        # What has not changed is news only to those who want to hear of everything again and again.
        told = [r for r in self._registrations if r.resync_seconds] if same else list(self._registrations)
        self._updated(told, old, obj)

    def _added(self, registrations: Sequence[Registration], obj: Object, *, is_in_initial_list: bool) -> None:
        for registration in registrations:
            self._tell(registration, "on_add", lambda h: h.on_add(obj, is_in_initial_list=is_in_initial_list))

    def _updated(self, registrations: Sequence[Registration], old: Object, new: Object) -> None:
        for registration in registrations:
            self._tell(registration, "on_update", lambda h: h.on_update(old, new))

    def _deleted(self, obj: Object | DeletedFinalStateUnknown) -> None:
        for registration in list(self._registrations):
            self._tell(registration, "on_delete", lambda h: h.on_delete(obj))

    def _tell(self, registration: Registration, what: str, call: Callable[[Handler], None]) -> None:
        try:
            call(registration.handler)
        except Exception:
            log.exception("%s: %s of %r failed", self.name, what, registration.handler)
