"""The node ports of one write: taken at once, given back if the write fails; let go of only once it took place."""

from __future__ import annotations

from watchkeeper.registry.allocation_counts import DYNAMIC, STATIC
from watchkeeper.registry.pools import ALLOCATED_PORT, ELSEWHERE, PortPool, Refused

_DRY_RUN_PORTS_BEGIN = 32768


class PortOperation:
    """What one write does to the node ports. A dry run takes nothing and shows ports that might have been."""

    def __init__(self, pool: PortPool, holder: str, *, dry_run: bool, shared: bool = False) -> None:
        """`shared`: whether an arbiter is asked about what was taken, who knows better than the pool."""
        self._pool = pool
        self._holder = holder
        self._dry_run = dry_run
        self._shared = shared
        self._contested: dict[int, str] = {}
        """Ports asked for by number that were others', as far as this server knew, and whose."""
        self._taken: list[int] = []
        self._to_release: list[int] = []
        self._chosen: set[int] = set()
        """Those of the taken ones that nobody asked for by number."""

    @property
    def taken(self) -> list[int]:
        """What was taken and is not settled yet."""
        return list(self._taken)

    @property
    def to_release(self) -> list[int]:
        """What the write no longer needs."""
        return list(self._to_release)

    def was_chosen(self, port: int) -> bool:
        """Whether another one would do as well."""
        return port in self._chosen

    def refuse(self, port: int) -> None:
        """A port that was asked for by number turned out to be somebody else's."""
        self._pool.counts.lost("", STATIC)

    def replace(self, port: int) -> int:
        """Take another port for one that turned out to be somebody else's, which stays taken. Raises Full."""
        self._pool.put(port, ELSEWHERE)
        self._pool.counts.lost("", DYNAMIC)
        self._taken.remove(port)
        self._chosen.discard(port)
        return self.take_any()

    def take(self, port: int) -> None:
        """Take this port. Raises Refused."""
        if self._dry_run:
            if self._pool.is_taken(port) or port in self._taken:
                raise Refused(ALLOCATED_PORT)
        else:
            self._claim(port)
        self._taken.append(port)

    def _claim(self, port: int) -> None:
        previous = self._pool.holder(port)
        if self._shared and previous is not None and previous != self._holder:
            # Another server may have freed it a moment ago.
            self._contested[port] = previous
            self._pool.put(port, self._holder)
            self._pool.counts.taken["", STATIC] += 1
        else:
            self._pool.claim(port, self._holder)

    def take_any(self) -> int:
        """Take any port. Raises Full."""
        port = (
            max(0, *self._taken or [_DRY_RUN_PORTS_BEGIN]) + 1 if self._dry_run else self._pool.take_any(self._holder)
        )
        self._taken.append(port)
        self._chosen.add(port)
        return port

    def release_later(self, port: int) -> None:
        """Let go of a port when the write has taken place."""
        self._to_release.append(port)

    def commit(self) -> None:
        """The write took place."""
        self._contested = {}
        self._give_back(self._to_release)

    def rollback(self) -> None:
        """It did not."""
        self._give_back(self._taken)
        for port, previous in self._contested.items():
            self._pool.take(port, previous)
        self._contested = {}

    def _give_back(self, ports: list[int]) -> None:
        if not self._dry_run:
            for port in ports:
                self._pool.give_back(port, self._holder)
        self._taken, self._to_release = [], []
