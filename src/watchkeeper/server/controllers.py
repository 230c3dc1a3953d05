"""The controllers of a server that shares its store with others."""

from __future__ import annotations

import socket
import uuid

from watchkeeper.controllers.loopback import Loopback
from watchkeeper.controllers.manager import Controller, ControllerManager
from watchkeeper.endpoints.discovery import Discovery
from watchkeeper.endpoints.scope import ServedTable, Services
from watchkeeper.request.user import LOOPBACK
from watchkeeper.server.errors import StartupError
from watchkeeper.server.options import ServeOptions


def elected_controllers(
    services: Services, served: ServedTable, discovery: Discovery, options: ServeOptions
) -> Controller:
    """Controllers that run on one server at a time. Raises StartupError for times that make no sense.

    Without Leases (turned off) nobody could be elected, and each server runs its own.
    """
    # Loaded only where it is needed: a server with a store of its own elects nobody.
    from watchkeeper.client.leader_election import LeaderTimes
    from watchkeeper.client.lease_lock import LEASES
    from watchkeeper.controllers.election import ElectedControllers, LoopbackLeaseLock

    def make() -> ControllerManager:
        return ControllerManager(services, served, discovery, options.controllers)

    try:
        times = LeaderTimes(
            lease=options.leader_elect_lease_duration,
            renew=options.leader_elect_renew_deadline,
            retry=options.leader_elect_retry_period,
        )
    except ValueError as error:
        raise StartupError(f"--leader-elect-…: {error}") from error
    leases = served.find(LEASES.group, LEASES.version, LEASES.resource)
    if leases is None:
        return make()
    identity = f"{socket.gethostname().lower()}_{uuid.uuid4()}"
    lock = LoopbackLeaseLock(Loopback(services, served, discovery, LOOPBACK), leases, identity=identity)
    return ElectedControllers(lock, make, times)
