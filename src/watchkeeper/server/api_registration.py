"""Keeps the APIServices of custom resources: there as long as the version is served, and as the server wants them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from watchkeeper.aio.backoff import Backoff
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.endpoints.discovery import Discovery
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupVersion
from watchkeeper.registry.rest import Context, CreateOptions, DeleteOptions
from watchkeeper.registry.store import Store
from watchkeeper.request.user import LOOPBACK
from watchkeeper.server.api_services import ALWAYS, ON_START, ApiServices, Object, custom_service, managed, name_of
from watchkeeper.server.ownership import Ownership
from watchkeeper.storage.errors import KeyNotFound, StorageError
from watchkeeper.storage.interface import StoredObject

log = logging.getLogger(__name__)

_CHANGED_MEANWHILE = frozenset({"AlreadyExists", "Conflict", "NotFound"})


class ApiRegistration:
    """Compares what should be with what is, one name after the other, whenever one of both has changed."""

    def __init__(
        self,
        services: ApiServices,
        store: Store,
        discovery: Discovery,
        ownership: Ownership,
        builtin: frozenset[str],
        known: Callable[[], Awaitable[None]],
    ) -> None:
        """`services` knows those that there are; `builtin` names those of what is built in.

        `known` returns once all custom resources are known: before that nobody can tell which ones are served no more.
        """
        self._services = services
        self._store = store
        self._discovery = discovery
        self._ownership = ownership
        self._builtin = builtin
        self._known = known
        self._names: dict[str, None] = {}
        self._wake = asyncio.Event()
        self._tasks = TaskOwner("api-registration")

    def __repr__(self) -> str:
        return f"<ApiRegistration: {len(self._names)} to look at>"

    def start(self) -> None:
        """Look at all, and at each that changes from now on."""
        stale = [each["metadata"]["name"] for each in self._services if managed(each) == ON_START]
        self._tasks.start("stale", self._delete_stale([name for name in stale if name not in self._builtin]))
        self._services.watchers.append(self._add)
        self._discovery.on_change.append(self._group_changed)
        for service in self._services:
            self._add(service["metadata"]["name"])
        for group in self._discovery.groups():
            self._group_changed(group.name)
        self._tasks.start("sync", self._run())

    async def close(self) -> None:
        """Look at nothing more."""
        if self._add in self._services.watchers:
            self._services.watchers.remove(self._add)
            self._discovery.on_change.remove(self._group_changed)
        await self._tasks.close()

    def _add(self, name: str) -> None:
        self._names[name] = None
        self._wake.set()

    def _group_changed(self, group: str) -> None:
        """Look at the versions that are served, and at those of which there still is an APIService."""
        for at in self._custom_versions(group):
            self._add(name_of(at))
        for service in self._services.of_group(group):
            if managed(service) == ALWAYS:
                self._add(service["metadata"]["name"])

    def _custom_versions(self, group: str) -> list[GroupVersion]:
        return [GroupVersion(group, v.version) for v in self._discovery.served(group) if v.custom]

    async def _delete_stale(self, names: list[str]) -> None:
        """Those that an earlier start has made of what is built in no more."""
        for name in names:
            if (service := self._services.get(name)) is not None:
                await self._try(self._delete(service))

    async def _run(self) -> None:
        backoff = Backoff(initial=0.1, limit=30.0)
        await self._known()
        while True:
            await self._wake.wait()
            self._wake.clear()
            names, self._names = list(self._names), {}
            failed = [name for name in names if not await self._try(self._sync(name))]
            if failed:
                await asyncio.sleep(backoff.next())
                for name in failed:
                    self._add(name)
            else:
                backoff.reset()

    @staticmethod
    async def _try(work: Coroutine[Any, Any, None]) -> bool:
        try:
            await work
        except ApiError as error:
            if error.reason in _CHANGED_MEANWHILE:
                return True  # and told of, so that it is looked at again
            log.warning("cannot keep an APIService: %s", error.message)
            return False
        except StorageError as error:
            log.warning("cannot keep an APIService: %s", error)
            return False
        return True

    async def _sync(self, name: str) -> None:
        version, _, group = name.partition(".")
        at = GroupVersion(group, version)
        wanted = custom_service(at) if at in self._custom_versions(group) else None
        current = self._services.get(name)
        if current is None:
            if wanted is not None:
                await self._store.create(Context(user=LOOPBACK), self._ownership.created(wanted), CreateOptions())
        elif managed(current) == ALWAYS:
            if wanted is None:
                await self._delete(current)
            elif current["spec"] != wanted["spec"]:
                await self._replace_spec(name, wanted)

    async def _delete(self, current: Object) -> None:
        options = DeleteOptions(uid=current["metadata"].get("uid"))
        await self._store.delete(Context(user=LOOPBACK), current["metadata"]["name"], options)

    async def _replace_spec(self, name: str, wanted: Object) -> None:
        def change(stored: StoredObject | None) -> Object:
            if stored is None:
                raise KeyNotFound("it is gone", name)
            live = stored.data()
            return self._ownership.changed(live, {**live, "spec": wanted["spec"]})

        await self._store.storage.guaranteed_update(self._store.key("", name), change)
