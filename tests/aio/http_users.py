"""A server that answers whatever it is told to, and those who ask it: all users of `HttpStream`, and tests on one."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple, Protocol

from watchkeeper.aio.http_client import HttpError, JsonPoster
from watchkeeper.aio.http_stream import BrokenBody, BrokenHead, HttpStream, NoAnswer, request_head, transport_text
from watchkeeper.aio.tls_dial import connect
from watchkeeper.client.errors import ClientError
from watchkeeper.client.transport import Transport as ClientTransport
from watchkeeper.server.aggregation.fetch import FetchError, fetch
from watchkeeper.server.passing.transport import Transport

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
MAX_BODY = 1 << 20


class Act(NamedTuple):
    """What the server does with a request."""

    pieces: Sequence[bytes]
    """What it sends, letting others run in between."""
    then: str = "keep"
    """`keep` the connection, `close` it, or `reset` it."""
    reads_body: bool = True


@dataclass
class Script:
    """A server. When there are no acts left it answers OK."""

    acts: list[Act] = field(default_factory=list)
    requests: int = 0
    connections: int = 0
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a client has closed a connection."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while await self._answer(reader, writer):
                pass
        except (OSError, EOFError):
            pass
        self.ended.set()
        writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        self.requests += 1
        act = self.acts.pop(0) if self.acts else Act([OK])
        if act.reads_body:
            _, _, length = head.lower().partition(b"content-length: ")
            await reader.readexactly(int(length.split(b"\r\n")[0] or 0))
        for piece in act.pieces:
            writer.write(piece)
            await writer.drain()
            await breathe()
        if act.then == "reset":
            own: socket.socket = writer.get_extra_info("socket")
            own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
        return act.then == "keep"


async def breathe() -> None:
    """Let what was sent arrive."""
    for _ in range(4):
        await asyncio.sleep(0)


class Got(NamedTuple):
    """How a request went."""

    status: int
    body: bytes
    error: str


class User(Protocol):
    """Somebody who asks a server, and keeps its connections."""

    async def ask(self, body: bytes = b"{}") -> Got:
        """POST a body."""
        ...

    def close(self) -> None:
        """Close what is kept."""
        ...


class Posting:
    """Asks by a `JsonPoster`."""

    def __init__(self, port: int) -> None:
        self._poster = JsonPoster(f"http://127.0.0.1:{port}/", max_body=MAX_BODY)

    async def ask(self, body: bytes = b"{}") -> Got:
        try:
            answer = await self._poster.post(body, timeout=20)
        except HttpError as problem:
            return Got(0, b"", str(problem).removeprefix(f'Post "{self._poster.url}": '))
        return Got(answer.status, answer.body, "")

    def close(self) -> None:
        self._poster.close()


class Streaming:
    """Asks on `HttpStream`s as those do who pass answers on."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._kept: HttpStream | None = None

    async def ask(self, body: bytes = b"{}") -> Got:
        while True:
            stream, self._kept = self._kept, None
            if stream is None or stream.is_stale:
                stream = HttpStream(await connect("127.0.0.1", self._port, None, None))
            try:
                got = await self._answer(stream, body)
            except (NoAnswer, BrokenHead, BrokenBody) as problem:
                stream.close()
                if not isinstance(problem, NoAnswer) or not stream.used:
                    return Got(0, b"", transport_text(problem))
                continue
            except BaseException:
                stream.close()
                raise
            if stream.is_reusable:
                self._kept = stream
            else:
                stream.close()
            return got

    async def _answer(self, stream: HttpStream, sent: bytes) -> Got:
        stream.ask(request_head("POST", "/", [(b"content-length", b"%d" % len(sent))]) + sent)
        head = await stream.read_head()
        body, pieces, left = stream.body("POST"), [], MAX_BODY
        while piece := await body.piece():
            pieces.append(piece)
            left -= len(piece)
            if left < 0:
                return Got(0, b"", f"the answer has more than {MAX_BODY} bytes")
        return Got(head.status, b"".join(pieces), "")

    def close(self) -> None:
        if self._kept is not None:
            self._kept.close()


class Requesting:
    """Asks as clients of an API server do that want an answer as a whole."""

    def __init__(self, port: int) -> None:
        self._transport = ClientTransport(f"http://127.0.0.1:{port}")

    async def ask(self, body: bytes = b"") -> Got:
        try:
            return await self._answer()
        except ClientError as problem:
            cause = problem.__cause__
            assert isinstance(cause, Exception)
            return Got(0, b"", transport_text(cause))

    async def _answer(self) -> Got:
        answer = await self._transport.request("GET", "/", {})
        return Got(answer.status, answer.body, "")

    def close(self) -> None:
        self._transport.close()


class Watching(Requesting):
    """Asks as they do where answers go on."""

    async def _answer(self) -> Got:
        body = await self._transport.open("GET", "/", {})
        try:
            return Got(body.status, b"".join([piece async for piece in body]), "")
        finally:
            body.close()


class Fetching:
    """Asks as the aggregator does."""

    def __init__(self, port: int) -> None:
        self._place = "127.0.0.1", port
        self._transport = Transport(lambda: None)

    async def ask(self, body: bytes = b"") -> Got:
        remote: Any = SimpleNamespace(transport=self._transport)
        try:
            answer = await fetch(remote, self._place, "/", max_bytes=MAX_BODY)
        except FetchError as problem:
            return Got(0, b"", str(problem))
        return Got(answer.head.status, answer.body, "")

    def close(self) -> None:
        self._transport.close()


Kind = Callable[[int], User]
POSTERS: tuple[Kind, ...] = (Posting, Streaming)
USERS: tuple[Kind, ...] = (*POSTERS, Fetching, Requesting, Watching)


def with_script(acts: Sequence[Act], kind: Kind, use: Callable[[Script, User], Awaitable[None]]) -> None:
    """Run a test with a server and somebody who asks it."""

    async def run() -> None:
        script = Script(list(acts))
        server = await asyncio.start_server(script.serve, "127.0.0.1", 0)
        user = kind(server.sockets[0].getsockname()[1])
        try:
            await use(script, user)
        finally:
            user.close()
            server.close()

    asyncio.run(run())
