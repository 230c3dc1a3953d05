"""From time to time a cache compares itself with the store: keys and versions, at one revision of both."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable

from watchkeeper.aio.clock import Clock
from watchkeeper.kv.errors import Compacted, KVError
from watchkeeper.kv.interface import KV, prefix_end

log = logging.getLogger(__name__)

PERIOD_SECONDS = 300.0
_PAGE = 10_000

State = tuple[int, dict[bytes, int], frozenset[bytes]]
"""A revision, the versions by key at that revision, and keys to leave out because they cannot be read."""


class ConsistencyCheck:
    """Compares what `state` says with the store, and reports a difference."""

    def __init__(
        self,
        kv: KV,
        root: str,
        state: Callable[[], State | None],
        repair: Callable[[str], None],
        clock: Clock,
        *,
        period: float = PERIOD_SECONDS,
    ) -> None:
        """`state` is None while there is nothing to compare. `repair` is told what is different.

        A check comes every `period` seconds, or up to half as long again, so that caches do not all check at a time; 0
        never checks by itself.
        """
        self._kv = kv
        self._prefix = root.encode()
        self._state = state
        self._repair = repair
        self._clock = clock
        self._period = period
        self.results = {"success": 0, "failure": 0, "error": 0}
        """How many checks found no difference, found one, or could not be made."""

    def __repr__(self) -> str:
        return f"<ConsistencyCheck of {self._prefix.decode()}>"

    async def run(self) -> None:
        """Check from time to time, for ever."""
        while self._period > 0:
            await self._clock.sleep(self._period * (1 + random.random() / 2))
            try:
                self.results["failure" if await self.check() else "success"] += 1
            except Compacted:
                self.results["error"] += 1  # too slow to compare this revision; the next one will do
            except KVError as e:
                self.results["error"] += 1
                log.warning("the cache of %s could not be compared with the store: %s", self._prefix.decode(), e)

    async def check(self) -> str:
        """Compare once. Returns what is different, "" for nothing. Raises KVError."""
        state = self._state()
        if state is None:
            return ""
        revision, cached, left_out = state
        start, more = self._prefix, True
        while more:
            result = await self._kv.range(
                start, prefix_end(self._prefix), limit=_PAGE, revision=revision, keys_only=True, counted=False
            )
            for kv in result.kvs:
                version = cached.pop(kv.key, None)
                if version != kv.mod_revision and kv.key not in left_out:
                    return self._report(kv.key, version, kv.mod_revision, revision)
            more = result.more
            if result.kvs:
                start = result.kvs[-1].key + b"\0"
        if cached:
            key, version = next(iter(cached.items()))
            return self._report(key, version, None, revision)
        return ""

    def _report(self, key: bytes, cached: int | None, stored: int | None, revision: int) -> str:
        difference = (
            f"at revision {revision} the cache has {key.decode(errors='replace')} at {cached or 'no version'}, "
            f"the store at {stored or 'no version'}"
        )
        log.error("a cache is not what the store is, and is filled anew: %s", difference)
        self._repair(difference)
        return difference
