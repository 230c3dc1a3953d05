"""Puts right what a cluster cannot do without, when somebody has changed or deleted it while the server runs."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.meta.errors import ApiError
from watchkeeper.storage.errors import StorageError

log = logging.getLogger(__name__)


class Upkeep:
    """Calls something again and again, whose failures are logged and tried again the next time."""

    def __init__(
        self, name: str, put_right: Callable[[], Awaitable[None]], *, every: float, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        """`put_right` makes what is missing, and writes nothing when all is there. `every`: seconds in between."""
        self._name = name
        self._put_right = put_right
        self._every = every
        self._clock = clock
        self._tasks = TaskOwner("upkeep")

    def __repr__(self) -> str:
        return f"<Upkeep of {self._name}>"

    def start(self) -> None:
        """Begin; for the first time after one interval, since all is there at the start."""
        self._tasks.start(self._name, self._keep())

    def now(self) -> None:
        """Do it once at once: what has to be there has changed."""
        self._tasks.start(f"{self._name}, at once", self._try())

    async def close(self) -> None:
        """Keep nothing any more. Idempotent."""
        await self._tasks.close()

    async def _keep(self) -> None:
        while True:
            await self._clock.sleep(self._every)
            await self._try()

    async def _try(self) -> None:
        try:
            await self._put_right()
        except (ApiError, StorageError) as error:
            log.warning("cannot put the %s right: %s", self._name, error)
