"""The namespace controller: deletes what is in a namespace that is to go, tells how far it is, and lets it go.

That is what this server has, and then what other servers have in the namespace: all that discovery tells of. A
version whose server cannot be asked what it has may have something, so the namespace stays as long as that is so.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from watchkeeper.aio.backoff import Backoff
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.controllers.feed import FeedSink, feed
from watchkeeper.controllers.loopback import Loopback, Resource
from watchkeeper.controllers.remote_resources import RemoteResource
from watchkeeper.endpoints.scope import ServedResource
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupVersion
from watchkeeper.registry.metadata import now_text
from watchkeeper.storage.interface import StoredObject

log = logging.getLogger(__name__)

Object = dict[str, Any]
FINALIZER = "kubernetes"
_FIRST_RETRY = 0.2
_LAST_RETRY = 10.0
_INCOMPLETE = "unable to retrieve the complete list of server APIs"


@dataclass(slots=True)
class Remaining:
    """What is still in a namespace, and what went wrong."""

    resources: Counter[str] = field(default_factory=Counter)
    finalizers: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    undiscovered: list[GroupVersion] = field(default_factory=list)
    """The versions of which nobody can tell what they have."""
    pods_first: bool = False
    """Whether Pods are left and nothing else was looked at. The conditions do not count what is left then."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left, nothing failed, and all is known."""
        return not self.resources and not self.failures and not self.undiscovered


class NamespaceController:
    """Follows namespaces; each one that terminates is worked on by a task of its own until it is gone."""

    def __init__(self, api: Loopback) -> None:
        self._api = api
        self._tasks = TaskOwner("namespace-controller")
        self._working: dict[str, asyncio.Event] = {}
        """Name -> set when something about the namespace changed and waiting longer makes no sense."""

    def __repr__(self) -> str:
        return f"<NamespaceController: {len(self._working)} terminating>"

    def start(self) -> None:
        """Begin to follow namespaces."""
        sink = FeedSink(changed=self._changed, deleted=self._deleted, synced=_ignore)
        self._tasks.start("feed", feed("namespace-controller", self._namespaces(), sink).run())

    async def close(self) -> None:
        """Stop; what was not finished is taken up again by the next one."""
        await self._tasks.close()

    def _namespaces(self) -> ServedResource:
        found = self._api.served.find("", "v1", "namespaces")
        if found is None:
            raise RuntimeError("namespaces are not served")
        return found

    def _changed(self, stored: StoredObject) -> None:
        if b'"deletionTimestamp":' not in stored.tail:
            return
        name = stored.key.rpartition("/")[2]
        waiting = self._working.get(name)
        if waiting is not None:
            waiting.set()
            return
        self._working[name] = asyncio.Event()
        self._tasks.start(name, self._terminate(name))

    def _deleted(self, stored: StoredObject) -> None:
        waiting = self._working.get(stored.key.rpartition("/")[2])
        if waiting is not None:
            waiting.set()

    async def _terminate(self, name: str) -> None:
        backoff = Backoff(initial=_FIRST_RETRY, limit=_LAST_RETRY)
        try:
            while not await self._step(name):
                changed = self._working[name]
                changed.clear()
                try:
                    async with asyncio.timeout(backoff.next()):
                        await changed.wait()
                except TimeoutError:
                    pass
        finally:
            del self._working[name]

    async def _step(self, name: str) -> bool:
        """Do what can be done; True when there is nothing more to do."""
        try:
            namespace = await self._api.get(self._namespaces(), "", name)
            if namespace["metadata"].get("deletionTimestamp") is None:
                return True
            if not (namespace.get("spec") or {}).get("finalizers"):
                return True
            remaining = await self._delete_content(name, namespace["metadata"]["deletionTimestamp"])
            await self._report(namespace, remaining)
            if not remaining.is_empty:
                return False
            await self._finalize(namespace)
        except ApiError as error:
            if error.reason == "NotFound":
                return True
            log.warning("namespace %s: %s", name, error.message)
            return False
        return True

    async def _delete_content(self, name: str, deleted_at: str) -> Remaining:
        """Pods first, as others may be needed to end them well; then everything else."""
        resources = [r for r in self._api.resources("list", "delete", "deletecollection") if r.info.namespaced]
        pods = [r for r in resources if r.info.gvr.resource == "pods" and not r.info.gvr.group]
        remaining = Remaining(undiscovered=self._api.remote.undiscovered())
        await self._delete_resources(pods, name, deleted_at, remaining)
        if remaining.resources:
            remaining.pods_first = True
            return remaining
        await self._delete_resources([r for r in resources if r not in pods], name, deleted_at, remaining)
        for resource in list(self._api.remote.preferred("delete")):
            if resource.info.namespaced:
                await self._delete_elsewhere(resource, name, remaining)
        return remaining

    async def _delete_elsewhere(self, resource: RemoteResource, name: str, remaining: Remaining) -> None:
        # Loaded only where there are other servers.
        from watchkeeper.controllers.remote_content import delete_all

        try:
            left = await delete_all(self._api.elsewhere, resource, name)
        except ApiError as error:
            remaining.failures.append(error.message)
            return
        finalizers = [finalizer for item in left for finalizer in item["metadata"].get("finalizers") or ()]
        if left:
            remaining.resources[_key(resource)] += len(left)
            remaining.finalizers.update(finalizers)
        if left and not finalizers:
            remaining.failures.append(_unexpected(resource, name))

    async def _delete_resources(
        self, resources: Sequence[ServedResource], name: str, deleted_at: str, remaining: Remaining
    ) -> None:
        for resource in resources:
            try:
                before = (await self._api.list(resource, name)).items
                if before:
                    await self._api.delete_collection(resource, name)
                    left = (await self._api.list(resource, name)).items
                    self._count(resource, left, remaining)
                    if left and not _may_still_go(before, left, deleted_at):
                        remaining.failures.append(_unexpected(resource, name))
            except ApiError as error:
                remaining.failures.append(error.message)

    @staticmethod
    def _count(resource: ServedResource, items: Sequence[StoredObject], remaining: Remaining) -> None:
        if not items:
            return
        remaining.resources[_key(resource)] += len(items)
        for item in items:
            for finalizer in item.data()["metadata"].get("finalizers") or ():
                remaining.finalizers[finalizer] += 1

    async def _report(self, namespace: Object, remaining: Remaining) -> None:
        known = (namespace.get("status") or {}).get("conditions") or []
        if orjson.dumps(with_conditions(known, remaining)) == orjson.dumps(known):
            return

        def change(obj: Object) -> None:
            status = obj.setdefault("status", {})
            status["conditions"] = with_conditions(status.get("conditions") or [], remaining)

        meta = namespace["metadata"]
        await self._api.change(self._namespaces(), "", meta["name"], meta.get("uid", ""), change, subresource="status")

    async def _finalize(self, namespace: Object) -> None:
        def change(obj: Object) -> None:
            spec = obj.setdefault("spec", {})
            kept = sorted({f for f in spec.pop("finalizers", None) or () if f != FINALIZER})
            if kept:
                spec["finalizers"] = kept

        meta = namespace["metadata"]
        await self._api.change(
            self._namespaces(), "", meta["name"], meta.get("uid", ""), change, subresource="finalize"
        )


def with_conditions(known: Sequence[Object], remaining: Remaining) -> list[Object]:
    """The conditions of a terminating namespace: those there are, changed in their places, and those that are new.

    One that keeps its status keeps its time; conditions of others stay as they are.
    """
    wanted = {kind: (status, reason, message) for kind, status, reason, message in _wanted(remaining)}
    merged = []
    for condition in known:
        new = wanted.pop(condition["type"], None)
        merged.append(condition if new is None else _condition(condition["type"], *new, condition))
    return merged + [_condition(kind, *new, None) for kind, new in wanted.items()]


def _wanted(remaining: Remaining) -> Iterable[tuple[str, bool, str, str]]:
    failures = sorted(remaining.failures)
    left = "" if remaining.pods_first else _counted(remaining.resources, "has")
    held = "" if remaining.pods_first else _counted(remaining.finalizers, "in")
    unknown = sorted(f"{at}: stale GroupVersion discovery: {at}" for at in remaining.undiscovered)
    yield (
        "NamespaceDeletionDiscoveryFailure",
        bool(unknown),
        "DiscoveryFailed" if unknown else "ResourcesDiscovered",
        f"Discovery failed for some groups, {len(unknown)} failing: {_INCOMPLETE}: {', '.join(unknown)}"
        if unknown
        else "All resources successfully discovered",
    )
    yield (
        "NamespaceDeletionGroupVersionParsingFailure",
        False,
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    )
    yield (
        "NamespaceDeletionContentFailure",
        bool(failures),
        "ContentDeletionFailed" if failures else "ContentDeleted",
        f"Failed to delete all resource types, {len(failures)} remaining: {', '.join(failures)}"
        if failures
        else "All content successfully deleted, may be waiting on finalization",
    )
    yield (
        "NamespaceContentRemaining",
        bool(left),
        "SomeResourcesRemain" if left else "ContentRemoved",
        f"Some resources are remaining: {left}" if left else "All content successfully removed",
    )
    yield (
        "NamespaceFinalizersRemaining",
        bool(held),
        "SomeFinalizersRemain" if held else "ContentHasNoFinalizers",
        f"Some content in the namespace has finalizers remaining: {held}"
        if held
        else "All content-preserving finalizers finished",
    )


def _counted(counts: Counter[str], verb: str) -> str:
    return ", ".join(f"{what} {verb} {n} resource instances" for what, n in sorted(counts.items()))


def _condition(kind: str, status: bool, reason: str, message: str, known: Object | None) -> Object:
    text = "True" if status else "False"
    if known is not None and known.get("status") == text:
        return {**known, "message": message, "reason": reason}
    return {"lastTransitionTime": now_text(), "message": message, "reason": reason, "status": text, "type": kind}


def _may_still_go(before: Iterable[StoredObject], left: Iterable[StoredObject], deleted_at: str) -> bool:
    """Whether what is left is no surprise: somebody's finalizers hold it, or Pods have time to end left."""
    if any(item.data()["metadata"].get("finalizers") for item in left):
        return True
    grace = max((_grace_seconds(item.data()) for item in before), default=0)
    return datetime.now(UTC) - datetime.fromisoformat(deleted_at) < timedelta(seconds=grace)


def _grace_seconds(obj: Object) -> int:
    """The seconds that an object may take to end: none but running Pods do."""
    if obj["kind"] != "Pod" or (obj.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return 0
    return (obj.get("spec") or {}).get("terminationGracePeriodSeconds") or 0


def _unexpected(resource: Resource, namespace: str) -> str:
    gvr = resource.info.gvr
    what = f"{gvr.group}/{gvr.version}, Resource={gvr.resource}"
    return f"unexpected items still remain in namespace: {namespace} for gvr: {what}"


def _key(resource: Resource) -> str:
    return f"{resource.info.gvr.resource}.{resource.info.gvr.group}"


def _ignore(_items: Sequence[StoredObject]) -> None:
    return None
