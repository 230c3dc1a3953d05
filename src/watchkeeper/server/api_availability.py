"""Whether the servers behind APIServices can be reached, as the status of each tells: kube-aggregator's conditions.

Whatever they say, no request is passed on to another server: clients are told that the service is unavailable.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from watchkeeper.aio.http_client import ResolveError
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.apis.apiregistration.apiservice import AVAILABLE, available
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.registry.metadata import now_text
from watchkeeper.registry.store import Store
from watchkeeper.server.api_services import ApiServices, Object
from watchkeeper.server.ownership import Ownership
from watchkeeper.server.stored_objects import StoredObjects
from watchkeeper.storage.errors import KeyNotFound, StorageError
from watchkeeper.storage.interface import StoredObject

log = logging.getLogger(__name__)

_SLICES = GroupResource("discovery.k8s.io", "endpointslices")
_OF_SERVICE = "kubernetes.io/service-name"
_ROUND_SECONDS = 5.0


class ApiAvailability:
    """Looks at each remote APIService when one changes and every few seconds, and writes down what is new."""

    def __init__(self, services: ApiServices, store: Store, stored: StoredObjects, ownership: Ownership) -> None:
        self._services = services
        self._store = store
        self._stored = stored
        self._ownership = ownership
        self._changed = asyncio.Event()
        self._tasks = TaskOwner("api-availability")

    def __repr__(self) -> str:
        return f"<ApiAvailability of {len(self._remote())}>"

    def start(self) -> None:
        """Begin to look."""
        self._services.watchers.append(self._notice)
        self._tasks.start("rounds", self._run())

    async def close(self) -> None:
        """Look no more."""
        if self._notice in self._services.watchers:
            self._services.watchers.remove(self._notice)
        await self._tasks.close()

    def _notice(self, _name: str) -> None:
        self._changed.set()

    def _remote(self) -> list[Object]:
        return [each for each in self._services if each["spec"].get("service") is not None]

    async def _run(self) -> None:
        while True:
            try:
                async with asyncio.timeout(_ROUND_SECONDS if self._remote() else None):
                    await self._changed.wait()
            except TimeoutError:
                pass
            self._changed.clear()
            for service in self._remote():
                try:
                    await self._look(service)
                except (ApiError, StorageError, ResolveError) as error:
                    log.warning("cannot tell whether %s is available: %s", service["metadata"]["name"], error)

    async def _look(self, service: Object) -> None:
        status, reason, message = await self._judge(service["spec"]["service"])
        current = available(service)
        found = {"type": AVAILABLE, "status": status, "reason": reason, "message": message}
        if current is not None and all(current.get(key) == value for key, value in found.items()):
            return
        since = now_text()
        if current is not None and current.get("status") == status:
            since = current.get("lastTransitionTime") or since
        await self._write(service, {**found, "lastTransitionTime": since})

    async def _judge(self, reference: Object) -> tuple[str, str, str]:
        """The status of the condition, its reason, and its message."""
        namespace, name, port = reference["namespace"], reference["name"], reference["port"]
        where = f'service/{name} in "{namespace}"'
        service = await self._stored.find_service(namespace, name)
        if service is None:
            return "False", "ServiceNotFound", f"{where} is not present"
        spec = service.get("spec") or {}
        if spec.get("type") == "ClusterIP":
            ports = {each["port"]: each.get("name", "") for each in spec.get("ports") or ()}
            if port not in ports:
                return "False", "ServicePortError", f"{where} is not listening on port {port}"
            slices = [each for each in await self._stored.all_of(_SLICES, namespace) if _service_of(each) == name]
            if not slices:
                return "False", "EndpointsNotFound", f"cannot find endpointslices for {where}"
            if not any(_has_endpoint(each, ports[port]) for each in slices):
                why = f'endpointslices for {where} have no addresses with port name "{ports[port]}"'
                return "False", "MissingEndpoints", why
        return "False", "FailedDiscoveryCheck", "this server passes no requests on to other API servers"

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


def _service_of(endpoints: Object) -> str | None:
    labels: dict[str, str] = endpoints["metadata"].get("labels") or {}
    return labels.get(_OF_SERVICE)


def _has_endpoint(endpoints: Object, port_name: str) -> bool:
    ready: Sequence[Any] = [
        each for each in endpoints.get("endpoints") or () if (each.get("conditions") or {}).get("ready") is not False
    ]
    ports = endpoints.get("ports") or ()
    return bool(ready) and any(each.get("name") == port_name and each.get("port") for each in ports)
