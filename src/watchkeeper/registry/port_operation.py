"""The node ports of one write: taken at once, given back if the write fails; let go of only once it took place."""

from __future__ import annotations

from watchkeeper.registry.pools import ALLOCATED_PORT, PortPool, Refused

_DRY_RUN_PORTS_BEGIN = 32768


class PortOperation:
    """What one write does to the node ports. A dry run takes nothing and shows ports that might have been."""

    def __init__(self, pool: PortPool, holder: str, *, dry_run: bool) -> None:
        self._pool = pool
        self._holder = holder
        self._dry_run = dry_run
        self._taken: list[int] = []
        self._to_release: list[int] = []

    def take(self, port: int) -> None:
        """Take this port. Raises Refused."""
        if self._dry_run:
            if self._pool.is_taken(port) or port in self._taken:
                raise Refused(ALLOCATED_PORT)
        else:
            self._pool.claim(port, self._holder)
        self._taken.append(port)

    def take_any(self) -> int:
        """Take any port. Raises Full."""
        port = (
            max(self._taken, default=_DRY_RUN_PORTS_BEGIN) + 1 if self._dry_run else self._pool.take_any(self._holder)
        )
        self._taken.append(port)
        return port

    def release_later(self, port: int) -> None:
        """Let go of a port when the write has taken place."""
        self._to_release.append(port)

    def commit(self) -> None:
        """The write took place."""
        self._give_back(self._to_release)

    def rollback(self) -> None:
        """It did not."""
        self._give_back(self._taken)

    def _give_back(self, ports: list[int]) -> None:
        if not self._dry_run:
            for port in ports:
                self._pool.give_back(port, self._holder)
        self._taken, self._to_release = [], []
