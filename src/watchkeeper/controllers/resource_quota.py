"""The resource quota controller: counts what the objects of a namespace use and tells it in the status of its quotas.

Admission charges what is created; this controller fills in what a new quota begins with, takes off what is deleted or
has ended, and sets right what was charged for objects that were never stored.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Sequence
from typing import Any

from watchkeeper.admission.quota import amounts
from watchkeeper.admission.quota.amounts import Amounts
from watchkeeper.admission.quota.evaluator import Evaluator
from watchkeeper.admission.quota.evaluators import EvaluatorTable
from watchkeeper.admission.quota.quota import scopes_of
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.controllers.feed import FeedSink, feed
from watchkeeper.controllers.loopback import Loopback
from watchkeeper.endpoints.scope import ServedResource
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.meta.labels import SelectorError
from watchkeeper.storage.interface import StoredObject

log = logging.getLogger(__name__)

Object = dict[str, Any]
_Key = tuple[str, str]
"""(namespace, name) of a quota."""
_SETTLE_SECONDS = 0.05
"""How long a quota waits for more changes before it is counted."""
_RESYNC_SECONDS = 300.0
_RETRY_SECONDS = 1.0
_VERBS = ("list", "watch")
_COUNTED_ON_CHANGE = frozenset({GroupResource("", "services"), GroupResource("", "persistentvolumeclaims")})
_ENDED = (b'"phase":"Failed"', b'"phase":"Succeeded"', b'"deletionTimestamp":')
_PODS = GroupResource("", "pods")
_CHANGED = re.compile(rb'"generation":(?!1[,}])')
"""In a Pod whose spec is not what it was created with: it may have been resized, or have got a deadline."""


class ResourceQuotaController:
    """Follows quotas, and of other resources those that some quota limits."""

    def __init__(self, api: Loopback) -> None:
        self._api = api
        self._tasks = TaskOwner("resource-quota-controller")
        self._evaluators = EvaluatorTable()
        self._quotas: dict[_Key, frozenset[GroupResource]] = {}
        """Every quota, and the resources that count for it."""
        self._feeds: dict[GroupResource, tuple[asyncio.Task[None], ServedResource]] = {}
        """What is followed, as it was served when that began."""
        self._due: set[_Key] = set()
        self._woken = asyncio.Event()

    def __repr__(self) -> str:
        return f"<ResourceQuotaController: {len(self._quotas)} quotas, {len(self._due)} to be counted>"

    def start(self) -> None:
        """Begin to follow and to count."""
        self._api.served.on_change.append(self._served_changed)
        sink = FeedSink(changed=self._quota_changed, deleted=self._quota_deleted, synced=self._quotas_synced)
        quotas = feed("resource-quota-controller quotas", self._resource(), sink)
        self._tasks.start("feed resourcequotas", quotas.run())
        self._tasks.start("count", self._work())
        self._tasks.start("resync", self._resync())

    async def close(self) -> None:
        """Stop; the next one counts everything anew."""
        if self._served_changed in self._api.served.on_change:
            self._api.served.on_change.remove(self._served_changed)
        await self._tasks.close()

    def _resource(self) -> ServedResource:
        found = self._api.served.find("", "v1", "resourcequotas")
        if found is None:
            raise RuntimeError("resourcequotas are not served")
        return found

    # -- following --------------------------------------------------------------------------------------------

    def _quota_changed(self, stored: StoredObject) -> None:
        quota = stored.data()
        key = _key(quota)
        hard = (quota.get("spec") or {}).get("hard") or {}
        self._quotas[key] = frozenset(e.resource for e in self._evaluators.concerned(hard))
        for resource in self._quotas[key]:
            self._follow(resource)
        status = quota.get("status") or {}
        if (status.get("hard") or {}) != hard or set(status.get("used") or ()) != set(hard):
            self._count(key)

    def _quota_deleted(self, stored: StoredObject) -> None:
        self._quotas.pop(_key(stored.data()), None)

    def _quotas_synced(self, items: Sequence[StoredObject]) -> None:
        there = {_key(item.data()) for item in items}
        for key in [key for key in self._quotas if key not in there]:
            del self._quotas[key]
        self._count(*self._quotas)

    def _served_changed(self, resource: ServedResource) -> None:
        counted = resource.info.group_resource
        if counted in self._feeds and self._feeds[counted][1] is not self._served(counted):
            task, _ = self._feeds.pop(counted)
            task.cancel()
        concerned = [key for key, resources in self._quotas.items() if counted in resources]
        if concerned:
            self._follow(counted)
            self._count(*concerned)

    def _follow(self, resource: GroupResource) -> None:
        """Follow what quotas count, as far as it is served. A quota has to be counted anew when something is gone."""
        served = self._served(resource)
        if served is None or resource in self._feeds:
            return

        def changed(stored: StoredObject) -> None:
            tail = stored.tail
            if (
                resource in _COUNTED_ON_CHANGE
                or any(mark in tail for mark in _ENDED)
                or (resource == _PODS and _CHANGED.search(tail))
            ):
                self._count_namespace(_namespace_of(stored), resource)

        def deleted(stored: StoredObject) -> None:
            self._count_namespace(_namespace_of(stored), resource)

        sink = FeedSink(changed=changed, deleted=deleted, synced=lambda _items: None)
        reflector = feed(f"resource-quota-controller {resource}", served, sink)
        self._feeds[resource] = (self._tasks.start(f"feed {resource}", reflector.run()), served)

    def _served(self, resource: GroupResource) -> ServedResource | None:
        return self._api.find(resource.group, resource.resource, *_VERBS)

    # -- counting ---------------------------------------------------------------------------------------------

    def _count(self, *keys: _Key) -> None:
        self._due.update(keys)
        if self._due:
            self._woken.set()

    def _count_namespace(self, namespace: str, resource: GroupResource) -> None:
        self._count(*(key for key, resources in self._quotas.items() if key[0] == namespace and resource in resources))

    async def _resync(self) -> None:
        while True:
            await asyncio.sleep(_RESYNC_SECONDS)
            self._count(*self._quotas)

    async def _work(self) -> None:
        while True:
            await self._woken.wait()
            await asyncio.sleep(_SETTLE_SECONDS)
            self._woken.clear()
            due, self._due = self._due, set()
            for key in due:
                try:
                    await self._settle(*key)
                except ApiError as error:
                    if error.reason != "NotFound":
                        self._again(key)
                except Exception:
                    log.exception("quota %s/%s cannot be counted", *key)
                    self._again(key)

    def _again(self, key: _Key) -> None:
        asyncio.get_running_loop().call_later(_RETRY_SECONDS, self._count, key)

    async def _settle(self, namespace: str, name: str) -> None:
        """Bring a quota's status up to date. Raises ApiError."""
        quota = await self._api.get(self._resource(), namespace, name)
        hard: dict[str, str] = (quota.get("spec") or {}).get("hard") or {}
        known = quota.get("status") or {}
        used = amounts.masked({**amounts.read(known.get("used")), **await self._usage(quota, hard)}, hard)
        if (known.get("hard") or {}) == hard and amounts.equal(used, amounts.read(known.get("used"))):
            return
        version = quota["metadata"]["resourceVersion"]

        def change(obj: Object) -> None:
            if obj["metadata"]["resourceVersion"] != version:
                self._count((namespace, name))  # somebody was charged meanwhile
            else:
                obj["status"] = {"hard": dict(hard), "used": amounts.write(used)}

        uid = quota["metadata"].get("uid", "")
        await self._api.change(self._resource(), namespace, name, uid, change, subresource="status")

    async def _usage(self, quota: Object, hard: dict[str, str]) -> Amounts:
        """What is used of all that the quota limits and that can be counted."""
        found: Amounts = {}
        for evaluator in self._evaluators.concerned(hard):
            served = self._served(evaluator.resource)
            if served is None:
                continue
            names = evaluator.matching(hard)
            found = amounts.add(found, dict.fromkeys(names, amounts.ZERO))
            listed = await self._api.list(served, quota["metadata"]["namespace"])
            used = _sum(evaluator, quota, [item.data() for item in listed.items])
            found = amounts.add(found, amounts.masked(used, names))
        return found


def _sum(evaluator: Evaluator, quota: Object, objects: Sequence[Object]) -> Amounts:
    """What objects in all scopes use; as in the reference, none count from one on whose scope cannot be told."""
    total: Amounts = {}
    selectors = scopes_of(quota)
    for obj in objects:
        try:
            inside = [evaluator.in_scope(selector, obj) for selector in selectors]
        except SelectorError:
            break
        if all(inside):
            total = amounts.add(total, evaluator.usage(obj))
    return total


def _key(quota: Object) -> _Key:
    return quota["metadata"]["namespace"], quota["metadata"]["name"]


def _namespace_of(stored: StoredObject) -> str:
    return stored.key.rsplit("/", 2)[1]
