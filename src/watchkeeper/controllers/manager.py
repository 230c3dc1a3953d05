"""Starts the controllers that a server was told to run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from watchkeeper.aio.together import close_all
from watchkeeper.controllers.garbage_collector import GarbageCollector
from watchkeeper.controllers.loopback import Loopback, controller_user
from watchkeeper.controllers.namespace import NamespaceController
from watchkeeper.endpoints.discovery import Discovery
from watchkeeper.endpoints.scope import ServedTable, Services


class Controller(Protocol):
    """Something that follows the API and acts on it."""

    def start(self) -> None:
        """Begin."""
        ...

    async def close(self) -> None:
        """Stop. Idempotent."""
        ...


def _resource_quota_controller(api: Loopback) -> Controller:
    # Loaded only where it is asked for.
    from watchkeeper.controllers.resource_quota import ResourceQuotaController

    return ResourceQuotaController(api)


def _aggregation_controller(api: Loopback) -> Controller:
    from watchkeeper.controllers.cluster_role_aggregation import ClusterRoleAggregationController

    return ClusterRoleAggregationController(api)


def _protection_controller(name: str) -> Callable[[Loopback], Controller]:
    def make(api: Loopback) -> Controller:
        from watchkeeper.controllers import storage_protection

        return storage_protection.StorageProtectionController(api, getattr(storage_protection, name))

    return make


def _service_cidr_controller(api: Loopback) -> Controller:
    from watchkeeper.controllers.service_cidrs import ServiceCIDRController

    return ServiceCIDRController(api)


_MAKE: dict[str, tuple[str, Callable[[Loopback], Controller]]] = {
    "namespace": ("namespace-controller", NamespaceController),
    "garbage-collector": ("generic-garbage-collector", GarbageCollector),
    "resourcequota": ("resourcequota-controller", _resource_quota_controller),
    "clusterrole-aggregation": ("clusterrole-aggregation-controller", _aggregation_controller),
    "pvc-protection": ("pvc-protection-controller", _protection_controller("CLAIMS")),
    "pv-protection": ("pv-protection-controller", _protection_controller("VOLUMES")),
    "vac-protection": ("volumeattributesclass-protection-controller", _protection_controller("CLASSES")),
    "service-cidr": ("service-cidrs-controller", _service_cidr_controller),
}
NAMES = tuple(_MAKE)
"""All controllers there are."""


class ControllerManager:
    """The controllers of one server."""

    def __init__(self, services: Services, served: ServedTable, discovery: Discovery, names: Iterable[str]) -> None:
        """`discovery` tells of what other servers serve. Raises ValueError for a name that is none of NAMES."""
        self._controllers: list[Controller] = []
        self._apis: list[Loopback] = []
        for name in names:
            if name not in _MAKE:
                raise ValueError(f"no controller is called {name!r}; there are: {', '.join(NAMES)}")
            user, make = _MAKE[name]
            api = Loopback(services, served, discovery, controller_user(user))
            self._apis.append(api)
            self._controllers.append(make(api))

    def start(self) -> None:
        """Start them all."""
        for controller in self._controllers:
            controller.start()

    async def close(self) -> None:
        """Stop them all."""
        await close_all([*(each.close for each in reversed(self._controllers)), *(api.close for api in self._apis)])
