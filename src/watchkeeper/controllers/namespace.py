"""The namespace controller: deletes what is in a namespace that is to go, tells how far it is, and lets it go."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from watchkeeper.aio.backoff import Backoff
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.controllers.feed import FeedSink, feed
from watchkeeper.controllers.loopback import Loopback
from watchkeeper.endpoints.scope import ServedResource
from watchkeeper.meta.errors import ApiError
from watchkeeper.registry.metadata import now_text
from watchkeeper.storage.interface import StoredObject

log = logging.getLogger(__name__)

Object = dict[str, Any]
FINALIZER = "kubernetes"
_FIRST_RETRY = 0.2
_LAST_RETRY = 10.0


@dataclass(slots=True)
class Remaining:
    """What is still in a namespace, and what went wrong."""

    resources: Counter[str] = field(default_factory=Counter)
    finalizers: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left and nothing failed."""
        return not self.resources and not self.failures


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
            if FINALIZER not in (namespace.get("spec") or {}).get("finalizers", ()):
                return True
            remaining = await self._delete_content(name)
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

    async def _delete_content(self, name: str) -> Remaining:
        """Pods first, as others may be needed to end them well; then everything else."""
        resources = [r for r in self._api.resources("list", "delete", "deletecollection") if r.info.namespaced]
        pods = [r for r in resources if r.info.gvr.resource == "pods" and not r.info.gvr.group]
        remaining = Remaining()
        await self._delete_resources(pods, name, remaining)
        if not remaining.is_empty:
            return remaining
        await self._delete_resources([r for r in resources if r not in pods], name, remaining)
        return remaining

    async def _delete_resources(self, resources: Sequence[ServedResource], name: str, remaining: Remaining) -> None:
        for resource in resources:
            try:
                if (await self._api.list(resource, name)).items:
                    await self._api.delete_collection(resource, name)
                    self._count(resource, (await self._api.list(resource, name)).items, remaining)
            except ApiError as error:
                remaining.failures.append(error.message)

    @staticmethod
    def _count(resource: ServedResource, items: Sequence[StoredObject], remaining: Remaining) -> None:
        if not items:
            return
        gvr = resource.info.gvr
        key = f"{gvr.resource}.{gvr.group}"
        remaining.resources[key] += len(items)
        for item in items:
            for finalizer in item.data()["metadata"].get("finalizers") or ():
                remaining.finalizers[finalizer] += 1

    async def _report(self, namespace: Object, remaining: Remaining) -> None:
        known = {c["type"]: c for c in (namespace.get("status") or {}).get("conditions") or ()}
        wanted = conditions(remaining, known)
        if remaining.is_empty and not known:
            # It goes at once: nobody would ever read this.
            return
        if orjson.dumps(wanted) == orjson.dumps(list(known.values())):
            return

        def change(obj: Object) -> None:
            obj.setdefault("status", {})["conditions"] = wanted

        meta = namespace["metadata"]
        await self._api.change(self._namespaces(), "", meta["name"], meta["uid"], change, subresource="status")

    async def _finalize(self, namespace: Object) -> None:
        def change(obj: Object) -> None:
            spec = obj.setdefault("spec", {})
            spec["finalizers"] = [f for f in spec.get("finalizers") or () if f != FINALIZER]

        meta = namespace["metadata"]
        await self._api.change(self._namespaces(), "", meta["name"], meta["uid"], change, subresource="finalize")


def conditions(remaining: Remaining, known: dict[str, Object]) -> list[Object]:
    """The conditions of a terminating namespace; one that says the same as before keeps its time."""
    failed = bool(remaining.failures)
    left = ", ".join(f"{r} has {n} resource instances" for r, n in sorted(remaining.resources.items()))
    held = ", ".join(f"{f} in {n} resource instances" for f, n in sorted(remaining.finalizers.items()))
    wanted = [
        ("NamespaceDeletionDiscoveryFailure", False, "ResourcesDiscovered", "All resources successfully discovered"),
        (
            "NamespaceDeletionGroupVersionParsingFailure",
            False,
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        (
            "NamespaceDeletionContentFailure",
            failed,
            "ContentDeletionFailed" if failed else "ContentDeleted",
            f"Failed to delete all resource types, {len(remaining.failures)} remaining: {', '.join(remaining.failures)}"
            if failed
            else "All content successfully deleted, may be waiting on finalization",
        ),
        (
            "NamespaceContentRemaining",
            bool(left),
            "SomeResourcesRemain" if left else "ContentRemoved",
            f"Some resources are remaining: {left}" if left else "All content successfully removed",
        ),
        (
            "NamespaceFinalizersRemaining",
            bool(held),
            "SomeFinalizersRemain" if held else "ContentHasNoFinalizers",
            f"Some content in the namespace has finalizers remaining: {held}"
            if held
            else "All content-preserving finalizers finished",
        ),
    ]
    return [_condition(kind, status, reason, message, known.get(kind)) for kind, status, reason, message in wanted]


def _condition(kind: str, status: bool, reason: str, message: str, known: Object | None) -> Object:
    text = "True" if status else "False"
    same = known is not None and known.get("status") == text
    return {
        "lastTransitionTime": known["lastTransitionTime"] if same and known else now_text(),
        "message": message,
        "reason": reason,
        "status": text,
        "type": kind,
    }


def _ignore(_items: Sequence[StoredObject]) -> None:
    return None
