"""The Reflector: list, then watch, and never give up; keeps a Sink equal to a collection.

listing ──▶ watching ──▶ listing        the version is gone (Expired)
   │  ▲        │  ▲
   └──┘        └──┘                     any other failure: wait, with backoff, and try the same again
"""

from __future__ import annotations

import enum
import logging
from typing import Generic

from watchkeeper.aio.backoff import Backoff
from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock
from watchkeeper.reflector.interface import (
    Batch,
    C,
    Expired,
    ListerWatcher,
    Sink,
    T,
    VersionTooLarge,
)

log = logging.getLogger(__name__)

SHORT_WATCH_SECONDS = 1.0
"""A watch that ends sooner, and without an event, counts as a failure."""


class State(enum.Enum):
    """What the Reflector is doing."""

    LISTING = "listing"
    WATCHING = "watching"


class Reflector(Generic[T, C]):
    """Keeps `sink` up to date with what `source` lists and watches, until its task is cancelled.

    Versions given to the sink never fall: a list that is older than what has been seen is not used, unless the source
    `may_rewind`.
    """

    def __init__(
        self,
        name: str,
        source: ListerWatcher[T, C],
        sink: Sink[T, C],
        *,
        page_size: int = 500,
        initial_version: str = "0",
        backoff: Backoff | None = None,
        clock: Clock = SYSTEM_CLOCK,
        may_rewind: bool = False,
    ) -> None:
        """`initial_version` of the first list: "0" takes any state at hand, "" asks for the latest.

        `may_rewind`: another source, with versions of its own, may take the place of this one without notice. Each
        failure may have been that moment, and is followed by a list of the latest state.
        """
        self.name = name
        self.state = State.LISTING
        self.resource_version = ""
        """The version up to which the sink has everything; "" before the first list."""
        self._source = source
        self._sink = sink
        self._page_size = page_size
        self._list_version = initial_version
        self._backoff = backoff if backoff is not None else Backoff(initial=0.8, limit=30.0)
        self._clock = clock
        self._may_rewind = may_rewind

    def __repr__(self) -> str:
        return f"<Reflector {self.name} {self.state.value} at {self.resource_version or 'no version'}>"

    async def run(self) -> None:
        """List and watch for ever."""
        while True:
            try:
                if self.state is State.LISTING:
                    await self._list()
                    self.state = State.WATCHING
                await self._watch()
            except Expired as e:
                log.info("%s: version %s is gone, listing anew: %s", self.name, self.resource_version, e)
                await self._lost(e)
            except Exception as e:
                log.warning("%s: %s failed, trying again: %r", self.name, self.state.value, e)
                if self._may_rewind:
                    self.state, self._list_version = State.LISTING, ""
                if self.state is State.LISTING:
                    self._sink.interrupted(e)
                await self._clock.sleep(self._backoff.next())

    async def _lost(self, error: Exception) -> None:
        self._sink.interrupted(error)
        if self.state is State.LISTING:
            await self._clock.sleep(self._backoff.next())
        self.state = State.LISTING
        # Whoever said that a version is gone may be ahead of a cache that answers lists: ask for the latest.
        self._list_version = ""

    async def _list(self) -> None:
        items: list[T] = []
        token = ""
        try:
            while True:
                page = await self._source.list(
                    resource_version="" if token else self._list_version,
                    limit=self._page_size,
                    continue_token=token,
                )
                items += page.items
                token = page.continue_token
                if not token:
                    break
        except Expired:
            if not token:
                raise
            # The list took longer than its version lived: one big page cannot expire on the way.
            page = await self._source.list(resource_version=self._list_version, limit=0, continue_token="")
            items = list(page.items)
        except VersionTooLarge:
            self._list_version = ""
            raise
        if not self._may_rewind and _is_older(page.resource_version, self.resource_version):
            raise _WentBackwards(
                f"the list is of version {page.resource_version}, but {self.resource_version} was seen already; "
                "if the source was restored from a backup, restart this process"
            )
        self._sink.replace(items, page.resource_version)
        self._advance(page.resource_version)

    async def _watch(self) -> None:
        """One watch, until it ends. Raises whatever ended it."""
        started = self._clock.monotonic()
        stream = await self._source.watch(resource_version=self.resource_version)
        received = False
        try:
            while (batch := await stream.next_batch()) is not None:
                self._take(batch)
                if not received:
                    received = True
                    self._backoff.reset()
        finally:
            stream.close()
        if not received and self._clock.monotonic() - started < SHORT_WATCH_SECONDS:
            raise _ShortWatch("the watch ended at once, without an event")

    def _take(self, batch: Batch[C]) -> None:
        self._sink.apply(batch.changes, batch.resource_version)
        self._advance(batch.resource_version)

    def _advance(self, version: str) -> None:
        self.resource_version = version
        # A later list must not be older than what has been seen.
        self._list_version = version


def _is_older(version: str, seen: str) -> bool:
    return version.isdecimal() and seen.isdecimal() and int(version) < int(seen)


class _WentBackwards(Exception):
    pass


class _ShortWatch(Exception):
    pass
