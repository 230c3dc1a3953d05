"""Of several servers on one store one runs the controllers: the one that holds a Lease in kube-system."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable

from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.client.interface import LeaderRecord, Object
from watchkeeper.client.leader_election import LeaderElector, LeaderTimes
from watchkeeper.client.lease_lock import record_of, spec_of
from watchkeeper.controllers.loopback import Loopback
from watchkeeper.controllers.manager import Controller
from watchkeeper.endpoints.scope import ServedResource
from watchkeeper.meta import errors

log = logging.getLogger(__name__)

NAMESPACE = "kube-system"
NAME = "watchkeeper-controllers"
_RELEASE_SECONDS = 2.0


class LoopbackLeaseLock:
    """The Lease, as a server reads and writes it in its own process. Implements `client.interface.LeaderLock`."""

    def __init__(self, api: Loopback, leases: ServedResource, *, identity: str) -> None:
        """`leases` is the resource of Leases; `identity` is different from those of all other servers."""
        self._api = api
        self._leases = leases
        self._identity = identity
        self._lease: Object = {}
        self.patience: float | None = None
        """Seconds that one write may take; None leaves it to the storage."""

    def __repr__(self) -> str:
        return f"<LoopbackLeaseLock {NAMESPACE}/{NAME} of {self._identity}>"

    @property
    def identity(self) -> str:
        """Who writes through this lock."""
        return self._identity

    async def get(self) -> LeaderRecord:
        """What is written. Raises ApiError."""
        self._lease = await self._api.get(self._leases, NAMESPACE, NAME)
        return record_of(self._lease)

    async def create(self, record: LeaderRecord) -> None:
        """Write the first record. Raises ApiError."""
        lease = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": NAME, "namespace": NAMESPACE},
            "spec": spec_of(record),
        }
        self._lease = await self._api.create(self._leases, NAMESPACE, lease)

    async def update(self, record: LeaderRecord) -> None:
        """Replace what was read or written last. Raises ApiError, TimeoutError."""
        expected = self._lease["metadata"]

        def replace(lease: Object) -> None:
            if lease["metadata"]["resourceVersion"] != expected["resourceVersion"]:
                raise errors.conflict(self._leases.info.group_resource, NAME, "it has been changed meanwhile")
            lease["spec"] = {**(lease.get("spec") or {}), **spec_of(record)}

        async with asyncio.timeout(self.patience):
            uid = expected["uid"]
            self._lease = await self._api.change(self._leases, NAMESPACE, NAME, uid, replace)


class ElectedControllers:
    """Runs controllers while this server leads, and waits to lead while it does not."""

    def __init__(self, lock: LoopbackLeaseLock, make: Callable[[], Controller], times: LeaderTimes) -> None:
        """`make` makes the controllers, not yet started, each time that this server begins to lead."""
        self._lock = lock
        self._make = make
        self._times = times
        self._elector = LeaderElector(lock, times=times, on_new_leader=self._tell)
        self._tasks = TaskOwner("controllers")

    def __repr__(self) -> str:
        return f"<ElectedControllers {self._elector!r}>"

    def start(self) -> None:
        """Stand for election from now on."""
        self._tasks.start("election", self._run())

    async def _run(self) -> None:
        while True:
            try:
                await self._elector.run(self._work)
            except Exception:
                log.exception("controllers failed and begin anew when this server leads")
            await asyncio.sleep(self._times.retry * random.random())

    async def _work(self) -> None:
        controllers = self._make()
        controllers.start()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            await controllers.close()

    def _tell(self, leader: str) -> None:
        if leader == self._lock.identity:
            log.info("this server runs the controllers")
        else:
            log.info("%s runs the controllers", leader)

    async def close(self) -> None:
        """Stop the controllers, and let another server run them at once, if that can be told soon. Idempotent."""
        self._lock.patience = _RELEASE_SECONDS
        await self._tasks.close()
