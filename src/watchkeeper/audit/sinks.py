"""What takes audit events, and what is put before or around it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Mapping, Sequence
from typing import Protocol

import orjson

MODES = ("batch", "blocking", "blocking-strict")
"""Nobody waits for events; answers wait until they are written; and a request whose first one is lost fails."""
MAX_WAITING = 64 << 20
"""Bytes of events that may wait for a slow disk or backend; what comes on top is dropped and counted."""
_WITH_OBJECTS = frozenset({"Request", "RequestResponse"})


class Sink(Protocol):
    """Takes what is told."""

    blocking: bool
    """Whether answers wait until their events are written."""
    strict: bool
    """Whether a request fails whose first event cannot be written."""

    def write(self, line: bytes) -> None:
        """Take an event, a line of JSON."""
        ...

    def written(self) -> Awaitable[bool]:
        """Wait until what was taken is written; whether what had been waiting for that could be."""
        ...

    def errors(self) -> Mapping[str, int]:
        """How many events were lost, by kube-apiserver's name of what lost them."""
        ...

    async def close(self) -> None:
        """Write what is left."""
        ...


class AllSinks:
    """Tells several of everything."""

    def __init__(self, sinks: Sequence[Sink]) -> None:
        self._sinks = tuple(sinks)
        self.blocking = any(sink.blocking for sink in sinks)
        self.strict = any(sink.strict for sink in sinks)

    def write(self, line: bytes) -> None:
        """Take an event."""
        for sink in self._sinks:
            sink.write(line)

    def written(self) -> Awaitable[bool]:
        """Wait for those for which answers wait; whether those could write that must."""
        return self._all([(sink, sink.written()) for sink in self._sinks if sink.blocking])

    @staticmethod
    async def _all(waited: Sequence[tuple[Sink, Awaitable[bool]]]) -> bool:
        results = await asyncio.gather(*(written for _, written in waited))
        return all(result or not sink.strict for (sink, _), result in zip(waited, results, strict=True))

    def errors(self) -> Mapping[str, int]:
        """What all of them have lost."""
        found: Counter[str] = Counter()
        for sink in self._sinks:
            found.update(sink.errors())
        return found

    async def close(self) -> None:
        """Write what is left, everywhere."""
        await asyncio.gather(*(sink.close() for sink in self._sinks))


class Truncating:
    """Takes objects out of events that are too large, and drops what is too large even so."""

    def __init__(self, sink: Sink, max_event_size: int) -> None:
        """Events of more than `max_event_size` bytes lose the objects that they hold."""
        self._sink = sink
        self._limit = max_event_size
        self.blocking = sink.blocking
        self.strict = sink.strict
        self._lost = 0
        self._dropped = False
        """Whether what was taken last is lost."""

    def write(self, line: bytes) -> None:
        """Take an event, or what fits of it."""
        if len(line) > self._limit:
            line = _truncated(line)
        self._dropped = len(line) > self._limit
        if self._dropped:
            self._lost += 1
        else:
            self._sink.write(line)

    def written(self) -> Awaitable[bool]:
        """Wait for what was passed on. What was dropped was not to be written, which is no failure."""
        return self._without_dropped() if self._dropped else self._sink.written()

    async def _without_dropped(self) -> bool:
        await self._sink.written()
        return True

    def errors(self) -> Mapping[str, int]:
        """What was dropped here, and behind."""
        return {**self._sink.errors(), "truncate": self._lost}

    async def close(self) -> None:
        """Write what is left."""
        await self._sink.close()


def _truncated(line: bytes) -> bytes:
    event = orjson.loads(line)
    if event["level"] not in _WITH_OBJECTS:
        return line
    event.pop("requestObject", None)
    event.pop("responseObject", None)
    event["annotations"] = {**(event.get("annotations") or {}), "audit.k8s.io/truncated": "true"}
    return orjson.dumps(event, option=orjson.OPT_APPEND_NEWLINE)
