"""What every cluster begins with: the system's namespaces, classes, roles and bindings, and the server's own Service.

All is written before the server is ready, as many objects at a time as a store likes to commit together, and only what
is missing; what is there stays as somebody may have changed it, unless it asks to be kept up to date.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import partial
from typing import Any

from watchkeeper.aio.together import together
from watchkeeper.authz.bootstrap.policy import initial_policy
from watchkeeper.authz.bootstrap.reconcile import reconciled, split, split_from
from watchkeeper.controllers.cluster_role_aggregation import MANAGER as COLLECTOR
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupResource, GroupVersionKind
from watchkeeper.registry.metadata import now_text
from watchkeeper.registry.rest import Context, CreateOptions, DeleteOptions
from watchkeeper.registry.store import Store
from watchkeeper.request.user import LOOPBACK
from watchkeeper.runtime.scheme import Scheme
from watchkeeper.server import api_services, client_trust, flow_control, own_service, token_tracking
from watchkeeper.server.ownership import SERVER, Ownership
from watchkeeper.storage.errors import CorruptObjects, KeyNotFound, StorageError
from watchkeeper.storage.interface import ListOptions, StoredObject

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
_BINDINGS = GroupResource("rbac.authorization.k8s.io", "clusterrolebindings")
_AT_A_TIME = 32
"""Writes under way together, so that a store that groups commits can."""
_TRIES = 20
_PAUSE_SECONDS = 0.1
"""How often, and when, it is looked for what another server seems to be making."""


Reconcile = Callable[[Object, Object], "Object | None"]
"""(stored, expected) -> what to store instead; None when it is right as it is."""

Status = tuple[Callable[[Object], Object], str]
"""The status of a new object, and who applies it."""


class Bootstrap:
    """Creates what is missing, and puts right what asks for it."""

    def __init__(self, scheme: Scheme, find: Callable[[GroupResource], Store], ownership: Ownership) -> None:
        """`find` gives the store of a resource."""
        self._scheme = scheme
        self._find = find
        self._ownership = ownership
        self._told: set[str] = set()
        """What was logged about objects that are not put right."""

    async def namespaces(self) -> None:
        """Create the system's namespaces."""
        await self._ensure({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in NAMESPACES)

    async def priority_classes(self) -> None:
        """Create the priority classes of a cluster's own Pods."""
        await self._ensure(map(dict, PRIORITY_CLASSES))

    async def policy(self) -> None:
        """Create the initial roles, then the bindings to them."""
        objects = initial_policy()
        for is_binding in (False, True):
            wanted = [obj for obj in objects if obj["kind"].endswith("Binding") is is_binding]
            if is_binding:
                await self._ensure(await self._split(wanted))
            await self._ensure(wanted, reconcile=reconciled)

    async def _split(self, wanted: list[Object]) -> list[Object]:
        """Those of the bindings that are parts of stored ones, as these are."""
        store = self._find(_BINDINGS)
        found = []
        for obj in wanted:
            if name := split_from(obj):
                stored = (await self._there(store, [obj])).get(store.key("", name))
                if stored is not None:
                    found.append(split(obj, stored.data()))
        return found

    async def flow_control(self) -> None:
        """Create the priority levels, then the flow schemas that lead to them; remove those of older servers."""
        levels, schemas = flow_control.priority_levels(), flow_control.flow_schemas()
        manager = flow_control.PRODUCER
        await self._ensure(levels, reconcile=flow_control.revised, manager=manager)
        status = (_leads_to_its_level, flow_control.CONSUMER)
        await self._ensure(schemas, reconcile=flow_control.revised, status=status, manager=manager)
        for wanted in (schemas, levels):
            await self._remove_others(wanted)

    async def _remove_others(self, wanted: Sequence[Object]) -> None:
        """Remove the objects of a kind that the server is to keep, but does not know."""
        group = wanted[0]["apiVersion"].rpartition("/")[0]
        store = self._find(GroupResource(group, _plural(wanted[0]["kind"])))
        names = {obj["metadata"]["name"] for obj in wanted}
        for stored in (await self._there(store, list(wanted))).values():
            obj = stored.data()
            name = obj["metadata"]["name"]
            if name not in names and flow_control.is_kept(obj):
                options = DeleteOptions(uid=obj["metadata"].get("uid"), resource_version=str(stored.resource_version))
                try:
                    await store.delete(Context(user=LOOPBACK), name, options)
                except ApiError as error:
                    log.warning("cannot remove %s %s: %s", obj["kind"], name, error.message)

    async def api_services(self, services: Iterable[Object]) -> None:
        """Create the APIServices of what is built in."""
        await self._ensure(services, reconcile=api_services.reconciled)

    async def own_service(self, networks: tuple[str, ...], port: int, trusted: client_trust.Trust) -> None:
        """Create the Service of the server, which listens on `port`."""
        status = (lambda _: own_service.service_cidr_status(now_text()), own_service.CIDR_CONTROLLER)
        await self._ensure(
            [own_service.service_cidr(networks)],
            status=status,
            reconcile=own_service.widened,
            lacks_status=self._lacks_readiness,
        )
        await self._ensure([own_service.own_service(networks, port)])
        await self._ensure([token_tracking.tracking()], reconcile=token_tracking.reconciled)
        if trusted:
            await self._ensure([client_trust.trust(trusted)], reconcile=client_trust.reconciled)

    def _lacks_readiness(self, stored: Object, expected: Object) -> bool:
        if trouble := own_service.trouble(stored, expected):
            if trouble not in self._told:
                self._told.add(trouble)
                log.warning("%s", trouble)
            return False
        return own_service.is_unjudged(stored)

    async def own_endpoints(self, addresses: Sequence[str], port: int) -> None:
        """Have that Service lead to `port` of these addresses, one at least."""
        wanted = own_service.own_endpoints(addresses, port)
        await self._ensure(wanted, reconcile=_replaced("subsets", "endpoints", "ports"))

    async def _ensure(
        self,
        wanted: Iterable[Object],
        *,
        reconcile: Reconcile | None = None,
        status: Status | None = None,
        lacks_status: Callable[[Object, Object], bool] | None = None,
        manager: str = SERVER,
    ) -> None:
        """Have objects, with a status new ones and those that lack one, as is told from what is stored and expected.

        Kinds are looked up as a whole: there are few objects at first.
        """
        by_store: dict[GroupResource, list[Object]] = {}
        for obj in wanted:
            group = obj["apiVersion"].rpartition("/")[0]
            by_store.setdefault(GroupResource(group, _plural(obj["kind"])), []).append(obj)
        work: list[Callable[[], Coroutine[Any, Any, None]]] = []
        for resource, objects in by_store.items():
            try:
                store = self._find(resource)
            except KeyError:
                continue  # turned off
            there = await self._there(store, objects)
            for obj in objects:
                stored = there.get(_key(store, obj))
                if stored is None:
                    work.append(partial(self._create, store, obj, status, manager))
                elif reconcile is not None and (better := reconcile(stored.data(), obj)) is not None:
                    better = self._ownership.changed(stored.data(), better, manager)
                    work.append(partial(self._replace, store, stored, better))
                elif status is not None and lacks_status is not None and lacks_status(stored.data(), obj):
                    work.append(partial(self._apply_status, store, stored, status))
        for start in range(0, len(work), _AT_A_TIME):
            await together([job() for job in work[start : start + _AT_A_TIME]])

    @staticmethod
    async def _there(store: Store, wanted: list[Object]) -> dict[str, StoredObject]:
        prefix = store.prefix
        namespaces = {obj["metadata"].get("namespace", "") for obj in wanted}
        if len(namespaces) == 1 and "" not in namespaces:
            prefix = f"{prefix}/{namespaces.pop()}"
        try:
            found = await store.storage.get_list(f"{prefix}/", ListOptions())
        except CorruptObjects as error:
            log.error("what there is of %s is not known: %s", store.resource, error)
            return {}
        return {item.key: item for item in found.items}

    async def _create(self, store: Store, obj: Object, status: Status | None, manager: str) -> None:
        group, _, version = obj["apiVersion"].rpartition("/")
        kind = self._scheme.kind(GroupVersionKind(group, version, obj["kind"]))
        decoded = kind.decode(obj, None)
        if kind.default is not None:
            kind.default(decoded)
        context = Context(user=LOOPBACK, namespace=obj["metadata"].get("namespace", ""))
        try:
            created = await store.create(context, self._owned(decoded, manager), CreateOptions())
            if status is not None and isinstance(created, StoredObject):
                await self._apply_status(store, created, status)
        except ApiError as error:
            # A server that misses a role is of more use than none.
            if error.reason != "AlreadyExists" and not await self._is_made_elsewhere(store, obj, error):
                log.error("cannot create %s %s: %s", obj["kind"], obj["metadata"]["name"], error.message)

    async def _apply_status(self, store: Store, stored: StoredObject, status: Status) -> None:
        of, by = status
        live = stored.data()
        better = self._ownership.applied(live, {"status": of(live)}, by, subresource="status")
        await self._replace(store, stored, better)

    async def _is_made_elsewhere(self, store: Store, obj: Object, error: ApiError) -> bool:
        """Whether a server that starts at the same time makes it: what it takes first is the address of a Service."""
        if error.reason != "Invalid":
            return False
        for _ in range(_TRIES):
            if _key(store, obj) in await self._there(store, [obj]):
                return True
            await asyncio.sleep(_PAUSE_SECONDS)
        return False

    def _owned(self, obj: Object, manager: str) -> Object:
        """A new object with its record. What a role has collected belongs to who collects."""
        rules = obj.pop("rules", None) if obj.get("aggregationRule") else None
        owned = self._ownership.created(obj, manager)
        return self._ownership.applied(owned, {"rules": rules}, COLLECTOR) if rules else owned

    @staticmethod
    async def _replace(store: Store, stored: StoredObject, better: Object) -> None:
        """Store what an object should be, unless somebody has changed it meanwhile."""

        def change(current: StoredObject | None) -> Object:
            if current is None:
                raise KeyNotFound("it is gone", stored.key)
            return better if current.resource_version == stored.resource_version else current.data()

        try:
            await store.storage.guaranteed_update(stored.key, change)
        except StorageError as error:
            log.error("cannot update %s: %s", stored.key, error)


def _leads_to_its_level(schema: Object) -> Object:
    """The status of a schema whose level is there, as all are of the schemas that are made here."""
    level = schema["spec"]["priorityLevelConfiguration"]["name"]
    return {"conditions": [flow_control.dangling_condition(level, True, now_text())]}


def _replaced(*fields: str) -> Reconcile:
    """Put fields right."""

    def reconcile(stored: Object, expected: Object) -> Object | None:
        changes = {f: expected[f] for f in fields if f in expected and (stored.get(f) or None) != (expected[f] or None)}
        return {**stored, **changes} if changes else None

    return reconcile


def _plural(kind: str) -> str:
    lower = kind.lower()
    if lower.endswith("ss"):
        return f"{lower}es"
    return lower if lower.endswith("s") else f"{lower}s"


def _key(store: Store, obj: Object) -> str:
    metadata = obj["metadata"]
    return store.key(metadata.get("namespace", ""), metadata["name"])
