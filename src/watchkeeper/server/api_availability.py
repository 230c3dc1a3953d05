"""Whether the servers behind APIServices can be reached, as the status of each tells: kube-aggregator's conditions."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from watchkeeper.aio.backoff import Backoff
from watchkeeper.aio.http_client import ResolveError
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.apis.apiregistration.apiservice import AVAILABLE, DEFAULT_PORT, available
from watchkeeper.endpoints.metrics import Family, Sample
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.registry.metadata import now_text
from watchkeeper.registry.store import Store
from watchkeeper.server.api_services import ApiServices, Object, is_remote
from watchkeeper.server.ownership import Ownership
from watchkeeper.server.policy_feed import PolicyFeed
from watchkeeper.server.stored_objects import OF_SERVICE, StoredObjects
from watchkeeper.storage.errors import KeyNotFound, StorageError
from watchkeeper.storage.interface import StoredObject

log = logging.getLogger(__name__)

_FOLLOWED = {
    "Service": GroupResource("", "services"),
    "EndpointSlice": GroupResource("discovery.k8s.io", "endpointslices"),
}
_AGAIN_SECONDS = 30.0
"""How often those are looked at of which nothing new is heard."""

_PASSED = ("True", "Passed", "all checks passed")


class ApiAvailability:
    """Looks at each remote APIService: when it, its Service or that one's endpoints change, and every now and then.

    A `policy_feed.Followed` of these, which are followed once there is a remote APIService.
    """

    def __init__(self, services: ApiServices, store: Store, stored: StoredObjects, ownership: Ownership) -> None:
        self._services = services
        self._store = store
        self._stored = stored
        self._ownership = ownership
        self._specs: dict[str, Object] = {}
        self._wake: dict[str, asyncio.Event] = {}
        """By name: set when one is to be looked at."""
        self._feed: PolicyFeed | None = None
        self._became_unavailable: Counter[tuple[str, str]] = Counter()
        self._tasks = TaskOwner("api-availability")

    def __repr__(self) -> str:
        return f"<ApiAvailability of {len(self._wake)}>"

    def start(self) -> None:
        """Begin to look."""
        self._services.watchers.append(self._notice)
        for service in self._services:
            self._notice(service["metadata"]["name"])

    async def close(self) -> None:
        """Look no more."""
        if self._notice in self._services.watchers:
            self._services.watchers.remove(self._notice)
        if self._feed is not None:
            await self._feed.close()
        await self._tasks.close()

    def collect(self) -> Iterator[Family]:
        """How often which of them could be reached no longer."""
        samples = [
            Sample(count, (("name", name), ("reason", reason)))
            for (name, reason), count in sorted(self._became_unavailable.items())
        ]
        about = "How often an APIService became unavailable."
        yield Family("aggregator_unavailable_apiservice_total", "counter", about, samples)

    def _notice(self, name: str) -> None:
        """One has come, changed or gone; of what is written here itself there is nothing to see."""
        service = self._services.get(name)
        if service is None or not is_remote(service):
            self._specs.pop(name, None)
            if name in self._wake:
                self._wake[name].set()
            return
        if self._specs.get(name) == service["spec"]:
            return
        self._specs[name] = service["spec"]
        if name in self._wake:
            self._wake[name].set()
            return
        self._wake[name] = asyncio.Event()
        self._tasks.start(name, self._follow(name))
        if self._feed is None:
            self._feed = PolicyFeed(self)
            for kind, resource in _FOLLOWED.items():
                store = self._stored.store(resource.group, resource.resource)
                self._feed.follow(kind, store.storage, f"{store.prefix}/")

    # -- Followed -------------------------------------------------------------------------------------------------

    def put(self, obj: Object) -> None:
        """Look at those behind a Service that it is, or whose endpoints it is."""
        metadata = obj["metadata"]
        name = metadata["name"]
        if "addressType" in obj:
            name = (metadata.get("labels") or {}).get(OF_SERVICE)
        for each, spec in self._specs.items():
            if spec["service"]["name"] == name and spec["service"]["namespace"] == metadata["namespace"]:
                self._wake[each].set()

    def remove(self, obj: Object) -> None:
        """The same."""
        self.put(obj)

    def replace(self, kind: str, objects: list[Object]) -> None:
        """Look at all."""
        for wake in self._wake.values():
            wake.set()

    # -- looking --------------------------------------------------------------------------------------------------

    async def _follow(self, name: str) -> None:
        backoff = Backoff(initial=0.01, limit=_AGAIN_SECONDS)
        wake = self._wake[name]
        while (service := self._services.get(name)) is not None and is_remote(service):
            wake.clear()
            answered = False
            try:
                answered = await self._look(service)
            except (ApiError, StorageError, ResolveError, ValueError, OSError) as error:
                log.warning("cannot tell whether %s is available: %s", name, error)
            if answered:
                backoff.reset()
            try:
                async with asyncio.timeout(_AGAIN_SECONDS if answered else backoff.next()):
                    await wake.wait()
            except TimeoutError:
                pass
        del self._wake[name]

    async def _look(self, service: Object) -> bool:
        """Write down what is new; whether there is nothing that only time can change."""
        status, reason, message = await self._judge(service["spec"]["service"])
        failed = False
        if not reason:
            problem = await self._services.discovery_problem(service["metadata"]["name"], self._tasks)
            failed = bool(problem)
            status, reason, message = ("False", "FailedDiscoveryCheck", problem) if failed else _PASSED
        current = available(service)
        found = {"type": AVAILABLE, "status": status, "reason": reason, "message": message}
        if current is not None and all(current.get(key) == value for key, value in found.items()):
            return not failed
        since = now_text()
        if current is not None and current.get("status") == status:
            since = current.get("lastTransitionTime") or since
        await self._write(service, {**found, "lastTransitionTime": since})
        if status != "True" and current is not None and current.get("status") == "True":
            self._became_unavailable[service["metadata"]["name"], reason] += 1
        return not failed

    async def _judge(self, reference: Object) -> tuple[str, str, str]:
        """The status of the condition, its reason, and its message; nothing when the server itself has to be asked."""
        namespace, name, port = reference["namespace"], reference["name"], reference.get("port") or DEFAULT_PORT
        where = f'service/{name} in "{namespace}"'
        service = await self._stored.find_service(namespace, name)
        if service is None:
            return "False", "ServiceNotFound", f"{where} is not present"
        spec = service.get("spec") or {}
        if spec.get("type") == "ClusterIP":
            ports = {each["port"]: each.get("name", "") for each in spec.get("ports") or ()}
            if port not in ports:
                return "False", "ServicePortError", f"{where} is not listening on port {port}"
            slices = await self._stored.find_slices(namespace, name)
            if not slices:
                return "False", "EndpointsNotFound", f"cannot find endpointslices for {where}"
            if not any(_has_endpoint(each, ports[port]) for each in slices):
                why = f'endpointslices for {where} have no addresses with port name "{ports[port]}"'
                return "False", "MissingEndpoints", why
        return "", "", ""

    async def _write(self, service: Object, condition: Object) -> None:
        key = self._store.key("", service["metadata"]["name"])

        def change(current: StoredObject | None) -> Object:
            if current is None:
                raise KeyNotFound("it is gone", key)
            obj = current.data()
            conditions = (obj.get("status") or {}).get("conditions") or []
            others = [each for each in conditions if each.get("type") != AVAILABLE]
            changed = {**obj, "status": {"conditions": [*others, condition]}}
            return self._ownership.changed(obj, changed, subresource="status")

        try:
            await self._store.storage.guaranteed_update(key, change)
        except KeyNotFound:
            return


def _has_endpoint(endpoints: Object, port_name: str) -> bool:
    ready: Sequence[Any] = [
        each for each in endpoints.get("endpoints") or () if (each.get("conditions") or {}).get("ready") is not False
    ]
    ports = endpoints.get("ports") or ()
    return bool(ready) and any(each.get("name") == port_name and each.get("port") for each in ports)
