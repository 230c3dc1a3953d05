"""What every cluster begins with: the system's namespaces, and the roles and bindings that make RBAC usable."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from typing import Any

from watchkeeper.authz.bootstrap.policy import initial_policy
from watchkeeper.authz.bootstrap.words import GROUP
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.registry.rest import Context, CreateOptions
from watchkeeper.registry.store import Store
from watchkeeper.request.user import LOOPBACK
from watchkeeper.runtime.scheme import Scheme
from watchkeeper.storage.errors import CorruptObjects
from watchkeeper.storage.interface import ListOptions

log = logging.getLogger(__name__)

Object = dict[str, Any]

NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
PRIORITY_CLASSES: tuple[Object, ...] = (
    {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "system-node-critical"},
        "value": 2000001000,
        "description": "Used for system critical pods that must not be moved from their current node.",
    },
    {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "system-cluster-critical"},
        "value": 2000000000,
        "description": "Used for system critical pods that must run in the cluster, but can be moved to another node"
        " if necessary.",
    },
)
_AT_A_TIME = 32
"""Writes under way together, so that a store that groups commits can."""


class Bootstrap:
    """Creates what is missing; what is there stays as somebody may have changed it."""

    def __init__(self, scheme: Scheme, stores: Sequence[Store]) -> None:
        """`stores`: those of namespaces, priority classes and the four kinds of RBAC."""
        self._scheme = scheme
        self._stores = {(store.resource.group, store.resource.resource): store for store in stores}

    async def namespaces(self) -> None:
        """Create the system's namespaces."""
        wanted = ({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in NAMESPACES)
        await self._create_missing(self._stores["", "namespaces"], wanted)

    async def priority_classes(self) -> None:
        """Create the priority classes of a cluster's own Pods."""
        await self._create_missing(self._stores["scheduling.k8s.io", "priorityclasses"], map(dict, PRIORITY_CLASSES))

    async def policy(self) -> None:
        """Create the initial roles, then the bindings to them."""
        by_kind: dict[str, list[Object]] = {}
        for obj in initial_policy():
            by_kind.setdefault(obj["kind"], []).append(obj)
        for kind, objects in by_kind.items():
            await self._create_missing(self._stores[GROUP, f"{kind.lower()}s"], objects)

    async def _create_missing(self, store: Store, wanted: Iterable[Object]) -> None:
        there: set[str] = set()
        try:
            found = await store.storage.get_list(f"{store.prefix}/", ListOptions())
            there = {item.key for item in found.items}
        except CorruptObjects as error:
            log.error("what there is of %s is not known: %s", store.resource, error)
        missing = [obj for obj in wanted if _key(store, obj) not in there]
        for start in range(0, len(missing), _AT_A_TIME):
            await asyncio.gather(*(self._create(store, obj) for obj in missing[start : start + _AT_A_TIME]))

    async def _create(self, store: Store, obj: Object) -> None:
        group, _, version = obj["apiVersion"].rpartition("/")
        kind = self._scheme.kind(GroupVersionKind(group, version, obj["kind"]))
        decoded = kind.decode(obj, None)
        if kind.default is not None:
            kind.default(decoded)
        context = Context(user=LOOPBACK, namespace=obj["metadata"].get("namespace", ""))
        try:
            await store.create(context, decoded, CreateOptions())
        except ApiError as error:
            # A server that misses a role is of more use than none.
            if error.reason != "AlreadyExists":
                log.error("cannot create %s %s: %s", obj["kind"], obj["metadata"]["name"], error.message)


def _key(store: Store, obj: Object) -> str:
    metadata = obj["metadata"]
    return store.key(metadata.get("namespace", ""), metadata["name"])
