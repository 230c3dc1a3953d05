"""Watches over HTTP: one JSON document per line, as events come, until the time is over or somebody ends it."""

from __future__ import annotations

import asyncio
import functools
import itertools
import random
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from typing import cast

from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.aio.turns import Turns
from watchkeeper.endpoints.handlers.common import context, predicate
from watchkeeper.endpoints.long_lists import CHUNK_BYTES
from watchkeeper.endpoints.negotiation import PROTOBUF, STREAMS, YAML, Accepted, negotiate
from watchkeeper.endpoints.params import ListParams, read_list_params
from watchkeeper.endpoints.render import EventWriter, ProtobufEvents, no_protobuf, renderer_for
from watchkeeper.endpoints.response import JSON, Header, Response
from watchkeeper.endpoints.scope import Scope
from watchkeeper.endpoints.websocket import handshake, is_websocket
from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.request.exchange import Exchange
from watchkeeper.request.request import Request
from watchkeeper.storage.interface import (
    BeginningWatcher,
    EventType,
    Match,
    PushingWatcher,
    Watcher,
    WatchEvent,
    WatchOptions,
)

_PROTOBUF_STREAM: Header = (b"content-type", f"{PROTOBUF};stream=watch".encode())
_BATCH_BYTES = 256 * 1024
"""About how much a burst of events is joined into one write."""


async def watch(request: Request, scope: Scope) -> Response:
    """Open a watch; the events follow as a stream, or as the messages of a WebSocket."""
    if not is_websocket(request):
        stream = await _opened(request, scope)
        return Response(200, headers=(stream.header,), stream=stream)
    if "exchange" not in request.scope:
        raise errors.bad_request("this HTTP server has no WebSockets")
    accepted = handshake(request)
    if isinstance(accepted, Response):
        return accepted
    return Response(101, headers=accepted, stream=await _opened(request, scope, joined=False))


async def _opened(request: Request, scope: Scope, *, joined: bool = True) -> WatchStream:
    writer, watcher, timeout = await open_watch(request, scope)
    return WatchStream(request, scope, writer, watcher, timeout, joined=joined)


async def open_watch(request: Request, scope: Scope) -> tuple[EventWriter, Watcher, float]:
    """What a watch needs, whatever carries it: how to write events, where they come from, and for how many seconds.

    Whether events can be written as asked, a watch is told when all else about it is right, and it could be opened.
    """
    binary = not is_websocket(request)
    accepted = negotiate(
        request, protobuf=scope.in_protobuf and binary, named=scope.in_protobuf, streams=True, binary=binary
    )
    params = read_list_params(request, watch=True)
    selected = predicate(request, scope, params)
    if "watch" not in scope.verbs:
        raise errors.method_not_supported(scope.info.group_resource, "watch")
    timeout = _timeout(params, scope)
    options = WatchOptions(
        resource_version=params.resource_version,
        match=Match(params.match) if params.match in ("Exact", "NotOlderThan") else Match.UNSET,
        send_initial_events=params.send_initial_events,
        bookmarks=params.allow_bookmarks,
        predicate=selected,
        deadline=asyncio.get_running_loop().time() + timeout,
    )
    watcher = await scope.store.watch(context(request, scope), options)
    try:
        writer = _writer(request, scope, accepted)
    except ApiError:
        watcher.close()
        raise
    if accepted.target == "PartialObjectMetadataList":
        watcher = _UpToObjects(watcher)
    return writer, watcher, timeout


def _writer(request: Request, scope: Scope, accepted: Accepted) -> EventWriter:
    """What writes events in a form. Raises a 400 or a 406 for one that they do not have."""
    renderer = renderer_for(scope, accepted, request.param("includeObject") if accepted.target else "")
    if accepted.media_type == YAML:
        raise errors.not_acceptable(f"only the following media types are accepted: {', '.join(STREAMS)}")
    if accepted.media_type != PROTOBUF:
        return renderer
    if accepted.target == "Table":
        raise no_protobuf("*v1.Table")
    return ProtobufEvents(renderer)


class _UpToObjects:
    """A watch in a form that no single object has: it is opened, and ends where the first one is due.

    So does the reference's, whose encoder fails there; only errors can be told.
    """

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self.finish = watcher.finish
        self.close = watcher.close

    async def next_batch(self, max_events: int = 1000) -> list[WatchEvent]:
        """Errors that come before anything else; [] when it has ended."""
        batch = await self._watcher.next_batch(max_events)
        told = list(itertools.takewhile(lambda event: event.type is EventType.ERROR, batch))
        if len(told) < len(batch):
            self.close()
        return told


def _timeout(params: ListParams, scope: Scope) -> float:
    """As asked, else spread so that clients do not all come back at once.

    What is asked for is counted in nanoseconds, of which 64 bits are kept.
    """
    if params.timeout_seconds:
        kept = (params.timeout_seconds * 10**9 + 2**63) % 2**64 - 2**63
        if kept:
            return kept / 1e9
    return scope.services.min_request_timeout * (1 + random.random())


@functools.cache
def _pushes(kind: type[Watcher]) -> bool:
    """Whether watchers of a class are PushingWatchers: to find out costs a sixth of opening a watch."""
    return issubclass(kind, PushingWatcher)


@functools.cache
def _begins(kind: type[Watcher]) -> bool:
    """Whether watchers of a class are BeginningWatchers."""
    return issubclass(kind, BeginningWatcher)


class WatchStream:
    """The frames of one watch, ended by its deadline, its client, its source or the server.

    Implements `endpoints.response.Stream`.
    """

    def __init__(
        self,
        request: Request,
        scope: Scope,
        writer: EventWriter,
        watcher: Watcher,
        timeout: float,
        *,
        joined: bool = True,
    ) -> None:
        """`joined`: several frames that are due at the same time make one piece."""
        self.request = request
        self.scope = scope
        self.writer = writer
        self.watcher = watcher
        self.timeout = timeout
        self._most = _BATCH_BYTES if joined else 0
        self._first = True
        self._exchange: Exchange | None = request.scope.get("exchange")
        self._events: AsyncGenerator[bytes] | None = None

    def __aiter__(self) -> AsyncIterator[bytes]:
        self._events = self.events()
        return self._events

    @property
    def header(self) -> Header:
        """The header that says how the frames are written."""
        return _PROTOBUF_STREAM if isinstance(self.writer, ProtobufEvents) else JSON

    async def aclose(self) -> None:
        """Free the watcher, also of a stream that was not begun."""
        if self._events is not None:
            await self._events.aclose()
        self.watcher.close()

    async def events(self) -> AsyncGenerator[bytes]:
        """Frames, several joined when many are due. Frees the watcher however it ends."""
        watcher, services = self.watcher, self.scope.services
        timer = asyncio.get_running_loop().call_later(self.timeout, watcher.close)
        services.watchers.add(watcher)
        self.scope.on_close[watcher.finish] = None
        tasks = self._begin()
        if services.stopping or self.scope.closed:
            watcher.close()
        try:
            # An empty piece makes the response begin before there is an event to send.
            yield b""
            if self.timeout < 0:
                return  # its time was over before it began
            turns = Turns()
            for piece in self._initial():
                yield piece
                if turns.is_due():
                    await asyncio.sleep(0)
            while batch := await watcher.next_batch():
                for frames in self._frames(batch):
                    yield frames
                    if turns.is_due():
                        await asyncio.sleep(0)
                if batch[-1].type is EventType.ERROR:
                    return
        finally:
            timer.cancel()
            watcher.close()
            services.watchers.discard(watcher)
            self.scope.on_close.pop(watcher.finish, None)
            if tasks is not None:
                await tasks.close()

    def _begin(self) -> TaskOwner | None:
        """See to it that the watch costs little while it lasts, and ends when its client is gone."""
        self.request.forget_head()
        if self._exchange is None:
            # Our own HTTP server cancels what streams to a client that is gone; others only tell.
            tasks = TaskOwner("watch")
            tasks.start("disconnect", self._close_on_disconnect())
            return tasks
        if self._most and _pushes(type(self.watcher)):
            cast("PushingWatcher", self.watcher).push_to(self._take)
        return None

    def _take(self, batch: list[WatchEvent]) -> bool:
        """Write events without waking the task that waits for them; False when the client has to be waited for."""
        exchange = self._exchange
        assert exchange is not None
        if len(batch) == 1:
            piece = self.writer.event(batch[0], first=self._first)
        else:
            first, *others = self._pieces(batch, self._first)
            if others:
                return False
            piece = first
        if not exchange.send_nowait(piece):
            return False
        self._first = False
        return True

    def _initial(self) -> Iterator[bytes]:
        """What the watch begins with, as far as its watcher gives it out as objects. Pieces may be empty."""
        if not self._most or not _begins(type(self.watcher)):
            return
        take = cast("BeginningWatcher", self.watcher).take_initial
        while (items := take(CHUNK_BYTES)) is not None:
            yield self.writer.added(items, first=self._first)
            self._first = self._first and not items

    def _frames(self, batch: list[WatchEvent]) -> Iterator[bytes]:
        """A batch as pieces."""
        first, self._first = self._first, False
        return self._pieces(batch, first)

    def _pieces(self, batch: list[WatchEvent], first: bool) -> Iterator[bytes]:
        event = self.writer.event
        pending: list[bytes] = []
        size = 0
        for each in batch:
            frame = event(each, first=first)
            first = False
            pending.append(frame)
            size += len(frame)
            if size >= self._most:
                yield b"".join(pending)
                pending, size = [], 0
        if pending:
            yield b"".join(pending)

    async def _close_on_disconnect(self) -> None:
        while True:
            message = await self.request.receive()
            if message["type"] == "http.disconnect":
                self.watcher.close()
                return
