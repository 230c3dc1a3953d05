"""Forgetting history: every interval, what is older than an interval.

Several servers on one store take turns through a key of the store, `compact_rev_key`, as kube-apiservers do (and
together with them): whoever finds the key as it left it, or last saw it, writes the revision of the last turn into it
and compacts there; the others see that somebody was faster. So there is one compaction per interval, and when the
server that makes it goes away, another one takes over after at most one interval more.
"""

from __future__ import annotations

import logging

from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock
from watchkeeper.kv.errors import Compacted, KVError
from watchkeeper.kv.interface import KV

log = logging.getLogger(__name__)

COMPACT_KEY = b"compact_rev_key"
DEFAULT_INTERVAL = 300.0


class Compactor:
    """Compacts one key-value store. Own one per store and process; run it as a task."""

    def __init__(self, kv: KV, *, interval: float = DEFAULT_INTERVAL, clock: Clock = SYSTEM_CLOCK) -> None:
        """`interval` in seconds; 0 never compacts."""
        self._kv = kv
        self._interval = interval
        self._clock = clock
        self._seen = 0  # the key's mod_revision when it was last written or read here
        self._last_turn = 0  # the store's revision then
        self.compact_revision = 0
        """The last revision that is known to have been compacted at, by anybody; 0 for none."""

    def __repr__(self) -> str:
        return f"<Compactor every {self._interval:g} s, last at {self.compact_revision}>"

    async def run(self) -> None:
        """Compact for ever."""
        if self._interval <= 0:
            return
        while True:
            await self._clock.sleep(self._interval)
            try:
                await self.turn()
            except KVError as e:
                log.error("compaction failed, to be tried again in %g s: %s", self._interval, e)

    async def turn(self) -> bool:
        """One turn: compact, unless another server has done it since. Returns whether this one did. Raises KVError."""
        value = str(self._last_turn).encode()
        result = await self._kv.optimistic_put(COMPACT_KEY, value, self._seen, get_on_failure=True)
        target, self._last_turn = self._last_turn, result.revision
        if not result.succeeded:
            self._seen = result.kv.mod_revision if result.kv is not None else 0
            if result.kv is not None and result.kv.value.isdigit():
                self.compact_revision = max(self.compact_revision, int(result.kv.value))
            return False
        self._seen = result.revision
        if target == 0:
            return False  # the first turn only marks where the second may compact
        try:
            await self._kv.compact(target)
        except Compacted:
            pass
        self.compact_revision = target
        log.debug("compacted at revision %d", target)
        return True
