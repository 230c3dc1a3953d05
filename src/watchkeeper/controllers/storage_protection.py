"""The storage protection controllers: let go of claims, volumes and attribute classes that nothing uses any more.

Admission gives these kinds a finalizer, so that what is in use outlives its deletion; these controllers remove it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from watchkeeper.aio.backoff import Backoff
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.controllers.feed import FeedSink, feed
from watchkeeper.controllers.loopback import Loopback
from watchkeeper.endpoints.scope import ServedResource
from watchkeeper.meta.errors import ApiError
from watchkeeper.storage.interface import StoredObject

log = logging.getLogger(__name__)

Object = dict[str, Any]
Key = tuple[str, str]
"""Namespace and name."""
_GROUPS = {"volumeattributesclasses": "storage.k8s.io"}


@dataclass(frozen=True, slots=True)
class Protection:
    """What is protected, and by which objects.

    `uses` maps resources to functions that tell which protected objects one of theirs keeps.
    """

    name: str
    resource: str
    finalizer: str
    uses: Mapping[str, Callable[[Object], Iterable[Key]]]


def _claims_of_pod(pod: Object) -> Iterable[Key]:
    """The claims of a scheduled Pod: the kubelet starts no Pod whose claim is being deleted."""
    spec, metadata = pod["spec"], pod["metadata"]
    if not spec.get("nodeName"):
        return
    shut_down = metadata.get("deletionTimestamp") and metadata.get("deletionGracePeriodSeconds") == 0
    for volume in spec.get("volumes") or ():
        if claim := volume.get("persistentVolumeClaim"):
            yield metadata["namespace"], claim["claimName"]
        elif volume.get("ephemeral") and not shut_down:
            yield metadata["namespace"], f"{metadata['name']}-{volume['name']}"


def _bound_volume(volume: Object) -> Iterable[Key]:
    if (volume.get("status") or {}).get("phase") == "Bound":
        yield "", volume["metadata"]["name"]


def _classes_of_claim(claim: Object) -> Iterable[Key]:
    status = claim.get("status") or {}
    modifying = status.get("modifyVolumeStatus") or {}
    names = (
        claim["spec"].get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
        modifying.get("targetVolumeAttributesClassName"),
    )
    return [("", name) for name in names if name]


def _class_of_volume(volume: Object) -> Iterable[Key]:
    name = volume["spec"].get("volumeAttributesClassName")
    return [("", name)] if name else ()


CLAIMS = Protection(
    "pvc-protection-controller", "persistentvolumeclaims", "kubernetes.io/pvc-protection", {"pods": _claims_of_pod}
)
VOLUMES = Protection(
    "pv-protection-controller", "persistentvolumes", "kubernetes.io/pv-protection", {"persistentvolumes": _bound_volume}
)
CLASSES = Protection(
    "volumeattributesclass-protection-controller",
    "volumeattributesclasses",
    "kubernetes.io/vac-protection",
    {"persistentvolumeclaims": _classes_of_claim, "persistentvolumes": _class_of_volume},
)


class StorageProtectionController:
    """Follows one protected kind and what uses it, and looks at the ones being deleted after each change."""

    def __init__(self, api: Loopback, protection: Protection) -> None:
        self._api = api
        self._protection = protection
        self._tasks = TaskOwner(protection.name)
        self._ending: dict[Key, str] = {}
        """The uids of what is being deleted and still has the finalizer."""
        self._unprotected: dict[Key, str] = {}
        """The uids of what lacks the finalizer: it was made before admission gave it one, or somebody took it away."""
        self._used: dict[str, dict[Key, frozenset[Key]]] = {resource: {} for resource in protection.uses}
        """By resource and object, what it keeps."""
        self._changed = asyncio.Event()

    def __repr__(self) -> str:
        return f"<StorageProtectionController of {self._protection.resource}: {len(self._ending)} being deleted>"

    def start(self) -> None:
        """Begin to follow and to let go."""
        name, resource = self._protection.name, self._protection.resource
        ending = FeedSink(changed=self._put, deleted=self._forget, synced=self._synced)
        self._tasks.start(f"feed-{resource}", feed(name, self._resource(resource), ending).run())
        for user, keeps in self._protection.uses.items():
            self._tasks.start(f"uses-{user}", feed(name, self._resource(user), self._user_sink(user, keeps)).run())
        self._tasks.start("release", self._work())

    async def close(self) -> None:
        """Stop; the next one lets go of what is left."""
        await self._tasks.close()

    def _resource(self, name: str) -> ServedResource:
        found = self._api.served.find(_GROUPS.get(name, ""), "v1", name)
        if found is None:
            raise RuntimeError(f"{name} are not served")
        return found

    # -- following --------------------------------------------------------------------------------------------

    def _put(self, stored: StoredObject) -> None:
        metadata = stored.data()["metadata"]
        key = _key(metadata)
        self._drop(key)
        is_ending = bool(metadata.get("deletionTimestamp"))
        if is_ending == (self._protection.finalizer in (metadata.get("finalizers") or ())):
            (self._ending if is_ending else self._unprotected)[key] = metadata.get("uid", "")
            self._changed.set()

    def _forget(self, stored: StoredObject) -> None:
        self._drop(_key(stored.data()["metadata"]))

    def _drop(self, key: Key) -> None:
        self._ending.pop(key, None)
        self._unprotected.pop(key, None)

    def _synced(self, items: Sequence[StoredObject]) -> None:
        there = {_key(item.data()["metadata"]) for item in items}
        for key in (self._ending.keys() | self._unprotected.keys()) - there:
            self._drop(key)

    def _user_sink(self, resource: str, keeps: Callable[[Object], Iterable[Key]]) -> FeedSink:
        used = self._used[resource]

        def put(stored: StoredObject) -> None:
            obj = stored.data()
            key, kept = _key(obj["metadata"]), frozenset(keeps(obj))
            before = used.pop(key, frozenset())
            if kept:
                used[key] = kept
            if before - kept:
                self._changed.set()

        def forget(stored: StoredObject) -> None:
            if used.pop(_key(stored.data()["metadata"]), None):
                self._changed.set()

        def synced(items: Sequence[StoredObject]) -> None:
            there = {_key(item.data()["metadata"]) for item in items}
            for key in used.keys() - there:
                del used[key]
            self._changed.set()

        return FeedSink(changed=put, deleted=forget, synced=synced)

    # -- letting go -------------------------------------------------------------------------------------------

    async def _work(self) -> None:
        backoff = Backoff(initial=0.2, limit=10.0)
        while True:
            await self._changed.wait()
            self._changed.clear()
            released, protected = await self._release_all(), await self._protect_all()
            if released and protected:
                backoff = Backoff(initial=0.2, limit=10.0)
            else:
                await asyncio.sleep(backoff.next())
                self._changed.set()

    async def _release_all(self) -> bool:
        """Let go of what nothing uses; False when some could not be written."""
        kept = {key for used in self._used.values() for keys in used.values() for key in keys}
        done = True
        for (namespace, name), uid in list(self._ending.items()):
            if (namespace, name) in kept:
                continue
            try:
                # The feeds may be behind: only the storage knows that nothing uses it.
                if (namespace, name) not in await self._kept_now(namespace):
                    await self._release(namespace, name, uid)
            except ApiError as error:
                done = self._is_settled(error, "let go of", namespace, name) and done
        return done

    async def _protect_all(self) -> bool:
        """Give the finalizer to what lacks it; False when some could not be written."""
        done = True
        for (namespace, name), uid in list(self._unprotected.items()):
            try:
                await self._protect(namespace, name, uid)
            except ApiError as error:
                done = self._is_settled(error, "protect", namespace, name) and done
        return done

    def _is_settled(self, error: ApiError, action: str, namespace: str, name: str) -> bool:
        """Whether somebody else came first, of whom an event tells; any other error is logged."""
        if error.reason in ("NotFound", "Conflict"):
            return True
        log.warning("cannot %s %s %s/%s: %s", action, self._protection.resource, namespace, name, error.message)
        return False

    async def _protect(self, namespace: str, name: str, uid: str) -> None:
        def change(obj: Object) -> None:
            metadata = obj["metadata"]
            finalizers = metadata.get("finalizers") or []
            if not metadata.get("deletionTimestamp") and self._protection.finalizer not in finalizers:
                metadata["finalizers"] = [*finalizers, self._protection.finalizer]

        await self._api.change(self._resource(self._protection.resource), namespace, name, uid, change)

    async def _kept_now(self, namespace: str) -> set[Key]:
        kept: set[Key] = set()
        for resource, keeps in self._protection.uses.items():
            found = await self._api.list(self._resource(resource), namespace)
            for item in found.items:
                kept.update(keeps(item.data()))
        return kept

    async def _release(self, namespace: str, name: str, uid: str) -> None:
        def change(obj: Object) -> None:
            metadata = obj["metadata"]
            left = [each for each in metadata.get("finalizers") or () if each != self._protection.finalizer]
            metadata["finalizers"] = left

        await self._api.change(self._resource(self._protection.resource), namespace, name, uid, change)


def _key(metadata: Object) -> Key:
    return metadata.get("namespace", ""), metadata["name"]
