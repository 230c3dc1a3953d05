"""Follows the definitions, settles their status, has them served, and ends them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from watchkeeper.aio.backoff import Backoff
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.apiextensions.definition.conditions import (
    ESTABLISHED,
    NAMES_ACCEPTED,
    TERMINATING,
    condition,
    is_false,
    is_true,
    set_condition,
)
from watchkeeper.apiextensions.definition.model import FINALIZER
from watchkeeper.apiextensions.lifecycle.decide import settled
from watchkeeper.apiextensions.lifecycle.instances import DeletionProblem, delete_instances
from watchkeeper.apiextensions.lifecycle.names import TakenNames
from watchkeeper.apiextensions.serving.defined import read_defined
from watchkeeper.apiextensions.serving.table import CustomResources
from watchkeeper.endpoints.scope import FieldManager
from watchkeeper.meta.errors import ApiError
from watchkeeper.registry.metadata import now_text
from watchkeeper.registry.rest import Context, UpdateOptions
from watchkeeper.registry.store import StatusStore, Store
from watchkeeper.request.user import LOOPBACK
from watchkeeper.storage.errors import CorruptObject, CorruptObjects
from watchkeeper.storage.interface import EventType, Match, StoredObject, Watcher, WatchEvent, WatchOptions

log = logging.getLogger(__name__)

Object = dict[str, Any]

MANAGER = "kube-apiserver"
"""Under which name status is written."""
_CONTEXT = Context(user=LOOPBACK)
_RETRY_SECONDS = 0.5


@dataclass(slots=True)
class _Known:
    """What is remembered of a definition."""

    stored: StoredObject
    uid: str
    group: str
    accepted: Object
    conflicting: bool


class DefinitionController:
    """One per server. Definitions are settled one after the other, so that names are given to one at a time."""

    def __init__(
        self,
        store: Store,
        status: StatusStore,
        resources: CustomResources,
        field_manager: FieldManager | None = None,
        *,
        read_only: bool = False,
    ) -> None:
        """`field_manager` keeps track of fields on the status subresource of definitions.

        `read_only`: definitions are served as they would be settled, and neither that is stored nor are any ended.
        """
        self._store = store
        self._status = status
        self._resources = resources
        self._field_manager = field_manager
        self._read_only = read_only
        self._tasks = TaskOwner("definitions")
        self._known: dict[str, _Known] = {}
        self._groups: dict[str, set[str]] = {}
        """Group -> names of the definitions known of it."""
        self._dirty: dict[str, None] = {}
        self._wake = asyncio.Event()
        self._synced = asyncio.Event()
        self._tried = asyncio.Event()
        """Set as well when the definitions that there are cannot all be read."""
        self._ending: set[str] = set()
        self._settling = ""
        self._seen = 0
        """The latest revision that was followed."""
        self._progress = asyncio.Event()

    def __repr__(self) -> str:
        return f"<DefinitionController: {len(self._known)} known, {len(self._dirty)} to settle>"

    def start(self) -> None:
        """Begin to follow the definitions."""
        self._tasks.start("feed", self._follow())
        self._tasks.start("settle", self._settle_all())

    async def wait(self) -> None:
        """Return once all definitions that there are are served, or cannot be because one of them cannot be read."""
        await self._tried.wait()

    async def wait_until_all_known(self) -> None:
        """Return once all definitions are known, however long some of them cannot be read."""
        await self._synced.wait()

    @property
    def is_synced(self) -> bool:
        """Whether all definitions that there were at the start are served."""
        return self._synced.is_set()

    def is_established(self, name: str) -> bool:
        """Whether what a definition defines is served."""
        found = self._resources.find(name)
        return found is not None and found.defined.established

    async def wait_for(self, name: str, resource_version: int) -> bool:
        """Return once a state of a definition, or a later one, is served and settled; False if the definition is gone.

        May wait for ever: definitions whose names are taken settle, too, but a status that cannot be written does not.
        """
        while not self._is_settled(name, resource_version):
            if name not in self._known and self.is_synced and resource_version <= self._seen:
                return False
            self._progress.clear()
            await self._progress.wait()
        return True

    def _is_settled(self, name: str, resource_version: int) -> bool:
        known = self._known.get(name)
        if known is None or known.stored.resource_version < resource_version:
            return False
        return name not in self._dirty and name != self._settling

    async def close(self) -> None:
        """Follow no more, and serve no custom resource any longer. Idempotent."""
        await self._tasks.close()
        self._resources.close()

    # -- following ------------------------------------------------------------------------------------------------

    async def _follow(self) -> None:
        backoff = Backoff(initial=0.1, limit=10.0)
        options = WatchOptions(send_initial_events=True, bookmarks=True, match=Match.NOT_OLDER_THAN)
        while True:
            try:
                watcher = await self._store.watch(_CONTEXT, options)
                try:
                    await self._take(watcher, backoff)
                finally:
                    watcher.close()
            except CorruptObjects as error:
                log.error("no definition of a custom resource is served anew until all can be read: %s", error)
                self._tried.set()
            except Exception as error:
                log.warning("cannot follow the definitions of custom resources: %r", error)
            await asyncio.sleep(backoff.next())

    async def _take(self, watcher: Watcher, backoff: Backoff) -> None:
        initial: set[str] | None = set()
        while batch := await watcher.next_batch():
            for event in batch:
                if event.type is EventType.ERROR:
                    raise event.error or RuntimeError("the watch failed")
                self._seen = event.resource_version
                if event.type is EventType.BOOKMARK:
                    if initial is not None and event.initial_events_end:
                        self._forget_all_but(initial)
                        initial = None
                        self._resources.flush()
                        self._synced.set()
                        self._tried.set()
                        backoff.reset()
                    continue
                name = self._apply(event, is_initial=initial is not None)
                if initial is not None:
                    initial.add(name)
            if initial is None:
                self._resources.flush()
            self._progress.set()

    def _forget_all_but(self, names: set[str]) -> None:
        for name in self._known.keys() - names:
            self._forget(name)

    def _apply(self, event: WatchEvent, *, is_initial: bool) -> str:
        assert event.object is not None
        name = event.object.key.rpartition("/")[2]
        if event.type is EventType.DELETED:
            known = self._known.get(name)
            if known is not None and known.stored.resource_version <= event.resource_version:
                self._forget(name)
            return name
        self._learn(event.object)
        return name

    def _forget(self, name: str) -> None:
        known = self._known.pop(name, None)
        self._dirty.pop(name, None)
        self._resources.remove(name)
        if known is not None:
            self._groups[known.group].discard(name)
            self._wake_conflicting(known.group)

    def _learn(self, stored: StoredObject) -> None:
        """Note a state of a definition, serve it, and have its status settled."""
        name = stored.key.rpartition("/")[2]
        before = self._known.get(name)
        if before is not None and before.stored.resource_version >= stored.resource_version:
            if before.stored.resource_version == stored.resource_version:
                # The same state: what the cache has need not be kept twice.
                before.stored = stored
            return
        try:
            definition = stored.proven_data()
        except CorruptObject as error:
            raise CorruptObjects([error]) from error
        accepted: Object = (definition.get("status") or {}).get("acceptedNames") or {}
        known = _Known(
            stored=stored,
            uid=definition["metadata"].get("uid") or "",
            group=(definition.get("spec") or {}).get("group") or "",
            accepted=accepted,
            conflicting=is_false(definition, NAMES_ACCEPTED),
        )
        self._known[name] = known
        self._groups.setdefault(known.group, set()).add(name)
        if before is not None and before.uid != known.uid:
            self._resources.remove(name)
        self._resources.apply(read_defined(definition))
        if before is not None and before.accepted != accepted:
            self._wake_conflicting(known.group)
        # Without names that others have, this is as settled as it can be.
        if definition["metadata"].get("deletionTimestamp") or settled(definition, TakenNames(), now_text()) is not None:
            self._mark(name)

    def _mark(self, name: str) -> None:
        self._dirty[name] = None
        self._wake.set()

    def _wake_conflicting(self, group: str) -> None:
        """Names may have become free."""
        for name in self._groups[group]:
            if self._known[name].conflicting:
                self._mark(name)

    # -- settling -------------------------------------------------------------------------------------------------

    async def _settle_all(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._dirty:
                name = next(iter(self._dirty))
                del self._dirty[name]
                self._settling = name
                try:
                    await self._settle(name)
                except ApiError as error:
                    if error.reason not in ("NotFound", "Conflict"):
                        log.warning("definition %s: %s", name, error.message)
                        self._tasks.start(f"again {name}", self._later(name))
                except Exception:
                    log.exception("definition %s cannot be settled", name)
                finally:
                    self._settling = ""
                    self._progress.set()

    async def _later(self, name: str) -> None:
        await asyncio.sleep(_RETRY_SECONDS)
        self._mark(name)

    async def _settle(self, name: str) -> None:
        known = self._known.get(name)
        if known is None:
            return
        definition = known.stored.data()
        new = settled(definition, self._taken(known.group), now_text())
        if new is not None:
            # It is served before anybody can learn that it is. Discovery tells of it when it is written: a client that
            # finds it there would be in conflict otherwise when it changes the definition.
            self._resources.apply(read_defined(new))
            if self._read_only:
                self._resources.flush()
                known.accepted = new["status"].get("acceptedNames") or {}
            else:
                await self._write(name, known.uid, lambda obj: obj.update(status=new["status"]), known.stored)
            return
        if self._read_only:
            return
        meta = definition["metadata"]
        if meta.get("deletionTimestamp") and FINALIZER in (meta.get("finalizers") or ()) and name not in self._ending:
            self._ending.add(name)
            self._tasks.start(f"end {name}", self._end(name, known.uid))

    def _taken(self, group: str) -> TakenNames:
        return TakenNames.of(self._known[name].accepted for name in self._groups[group])

    async def _write(
        self, name: str, uid: str, change: Callable[[Object], Any], based_on: StoredObject | None = None
    ) -> StoredObject | Object:
        """Change a definition through its status subresource; returns it, or what is left of it. Raises ApiError."""
        update = _StatusChange(uid, change, based_on, self._field_manager)
        result, _ = await self._status.update(_CONTEXT, name, update, UpdateOptions())
        if isinstance(result, StoredObject):
            self._learn(result)
            self._resources.flush()
        return result

    # -- ending ---------------------------------------------------------------------------------------------------

    async def _end(self, name: str, uid: str) -> None:
        """Delete all instances, then let the definition go. Tries again until that is done."""
        backoff = Backoff(initial=0.5, limit=30.0)
        try:
            while True:
                if await self._try_to_end(name, uid):
                    break
                await asyncio.sleep(backoff.next())
        except ApiError as error:
            if error.reason != "NotFound":
                log.warning("definition %s cannot be ended: %s", name, error.message)
        finally:
            self._ending.discard(name)

    async def _try_to_end(self, name: str, uid: str) -> bool:
        text = "CustomResource deletion is in progress"
        written = await self._write(name, uid, _terminating("True", "InstanceDeletionInProgress", text))
        if is_true(written.data() if isinstance(written, StoredObject) else written, ESTABLISHED):
            resource = self._resources.find(name)
            try:
                if resource is not None:
                    await delete_instances(resource)
            except DeletionProblem as problem:
                await self._write(name, uid, _terminating("True", problem.reason, str(problem)))
                return False
            done = _terminating("False", "InstanceDeletionCompleted", "removed all instances")
        else:
            done = _terminating("False", "NeverEstablished", "resource was never established")

        def release(obj: Object) -> None:
            done(obj)
            meta = obj["metadata"]
            kept = [f for f in meta.get("finalizers") or () if f != FINALIZER]
            if kept:
                meta["finalizers"] = kept
            else:
                meta.pop("finalizers", None)

        await self._write(name, uid, release)
        return True


def _terminating(status: str, reason: str, message: str) -> Callable[[Object], None]:
    def change(obj: Object) -> None:
        set_condition(obj, condition(TERMINATING, status, reason, message), now_text())

    return change


class _StatusChange:
    """A function that changes a definition, as an `UpdatedObject`."""

    def __init__(
        self,
        uid: str,
        change: Callable[[Object], Any],
        based_on: StoredObject | None,
        field_manager: FieldManager | None,
    ) -> None:
        self.uid: str | None = uid or None
        self._change = change
        self._based_on = based_on
        self._field_manager = field_manager

    async def __call__(self, current: StoredObject | None) -> Object:
        assert current is not None
        obj = current.data()
        if self._based_on is not None:
            # What was decided holds for that state only.
            obj["metadata"]["resourceVersion"] = str(self._based_on.resource_version)
        self._change(obj)
        if self._field_manager is not None:
            obj = self._field_manager.update(current.data(), obj, MANAGER)
        return obj
