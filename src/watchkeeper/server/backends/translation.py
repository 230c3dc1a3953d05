"""exec and attach whose WebSockets carry channels, for kubelets that speak SPDY: a stream for each channel."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import orjson

from watchkeeper.aio.http_stream import BrokenBody, BrokenHead, Head, HttpStream, NoAnswer, request_head, transport_text
from watchkeeper.aio.spdy import SpdyBroken, SpdyConnection, SpdyStream
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.aio.tls_dial import DialError, NoTls
from watchkeeper.endpoints.response import Header, Response
from watchkeeper.endpoints.websocket import handshake
from watchkeeper.meta import errors
from watchkeeper.meta.field import go_quote
from watchkeeper.registry.backends import StreamBackend
from watchkeeper.request.exchange import Exchange
from watchkeeper.request.request import Request
from watchkeeper.server.backends.messages import Messages
from watchkeeper.server.backends.streams import CHANNELS
from watchkeeper.server.backends.terminal_sizes import TerminalSizes
from watchkeeper.server.backends.tunneling import SPDY, VERSION, is_spdy
from watchkeeper.server.passing.headers import GO_CLIENT, target_of
from watchkeeper.server.passing.transport import Transport, Unusable
from watchkeeper.server.passing.upgrade import NO_TLS

Object = dict[str, Any]

_STDIN, _STDOUT, _STDERR, _ERROR, _RESIZE = range(5)
_CLOSE = 255
"""In place of a channel: the one that is named next has nothing more."""
_PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io")
_WITH_STATUS = frozenset(_PROTOCOLS[:2])
"""Those in which the stream for errors carries a Status."""
_WITH_SIZES = frozenset(_PROTOCOLS[:3])
_KINDS = {_STDOUT: "stdout", _STDERR: "stderr"}
_OPEN_SECONDS = 30.0
_PING_SECONDS = 5.0
_MAX_STATUS = 1 << 20
_MAX_REFUSAL = 64 * 1024
_NON_ZERO = "NonZeroExitCode"


class _Failed(Exception):
    """What the client is told, but for exit codes."""


def translate(request: Request, backend: StreamBackend, transport: Transport, tasks: TaskOwner) -> Response:
    """Accept the WebSocket; whatever comes of it is told on its channel for errors."""
    accepted = handshake(request, spoken=CHANNELS)
    if isinstance(accepted, Response):
        return accepted
    return _Translated(request.scope["exchange"], accepted, _Translation(backend, transport, tasks))


class _Translated(Response):
    """What follows the handshake."""

    __slots__ = ("_accepted", "_exchange", "_translation")

    def __init__(self, exchange: Exchange, accepted: tuple[Header, ...], translation: _Translation) -> None:
        super().__init__(101)
        self._exchange = exchange
        self._accepted = accepted
        self._translation = translation

    async def send(self, request: Request) -> None:
        """Take the connection over until the command has ended, or the client is gone."""
        taken = self._exchange.hijack()
        messages = Messages(taken)
        try:
            await messages.accept(self._accepted)
            await self._translation.run(messages)
        except OSError:
            pass  # the client is gone
        finally:
            taken.close()
            self._translation.close()


class _Translation:
    """One client and one kubelet."""

    def __init__(self, backend: StreamBackend, transport: Transport, tasks: TaskOwner) -> None:
        self._backend = backend
        self._transport = transport
        self._tasks = tasks
        self._stream: HttpStream | None = None
        self._running: list[asyncio.Task[None]] = []
        self._status = bytearray()
        self._started = asyncio.Event()
        """Set once the client's channels have streams."""
        self._stdin: SpdyStream | None = None
        self._resize: SpdyStream | None = None
        self._sizes = TerminalSizes()

    def close(self) -> None:
        """End what is under way. Idempotent."""
        running, self._running = self._running, []  # which hold this one, and with it all buffers
        for task in running:
            task.cancel()
        if self._stream is not None:
            self._stream.close()

    async def run(self, messages: Messages) -> None:
        """Until all is told. Raises OSError when the client is gone."""
        asked = self._backend.streams
        first = next((channel for channel, name in _KINDS.items() if name in asked), _ERROR)
        await messages.send(bytes((first,)))
        client = self._start("client", self._from_client(messages))
        work = self._start("kubelet", self._told(messages))
        await asyncio.wait((client, work), return_when=asyncio.FIRST_COMPLETED)
        messages.close()

    async def _told(self, messages: Messages) -> None:
        """Have the kubelet do its work, and tell what came of it."""
        try:
            status = await self._exchange(messages)
        except _Failed as problem:
            status = errors.internal_error(str(problem)).status()
        told = {name: status[name] for name in status if name not in ("kind", "apiVersion")}
        with suppress(OSError):
            await messages.send(bytes((_ERROR,)) + orjson.dumps(told))
        messages.close()

    def _start(self, name: str, work: Any) -> asyncio.Task[None]:
        task = self._tasks.start(f"translated, {name}", work)
        self._running.append(task)
        return task

    # -- the kubelet's side ---------------------------------------------------------------------------------------

    async def _exchange(self, messages: Messages) -> Object:
        protocol = await self._connect()
        assert self._stream is not None
        connection = SpdyConnection(self._stream)
        reading = self._start("from the kubelet", connection.run())
        self._start("pings", _ping(connection))
        try:
            outputs = await self._open_streams(connection, protocol, messages)
        except SpdyBroken as problem:
            raise _Failed(str(problem)) from problem
        except OSError as problem:
            raise _Failed(str(problem)) from problem
        self._started.set()
        for stream in outputs:
            await asyncio.wait((stream.ended, reading), return_when=asyncio.FIRST_COMPLETED)
        if not self._status and protocol in _WITH_STATUS:
            why = connection.broken or "its stream was reset"
            raise _Failed(f"the kubelet was gone before it told what came of the command: {why}")
        return _outcome(bytes(self._status), protocol)

    async def _connect(self) -> str:
        """Ask for SPDY; returns the protocol that is spoken on its streams."""
        backend = self._backend
        url = f"https://{backend.authority}{target_of(backend.path, backend.query)}"
        headers = [(b"host", backend.authority.encode()), GO_CLIENT, (b"content-length", b"0")]
        headers += [(VERSION, each.encode()) for each in _PROTOCOLS]
        headers += [(b"connection", b"Upgrade"), (b"upgrade", SPDY)]
        try:
            stream = self._stream = await self._transport.dial(backend.place)
            stream.ask(request_head("POST", target_of(backend.path, backend.query), headers))
            head = await stream.read_head()
        except NoTls as problem:
            raise _Failed(f'error sending request: Post "{url}": {NO_TLS}') from problem
        except (DialError, Unusable, NoAnswer, BrokenHead) as problem:
            raise _Failed(f'error sending request: Post "{url}": {transport_text(problem)}') from problem
        if 300 <= head.status < 400 and head.first(b"location"):
            location = head.first(b"location").decode("latin-1")
            raise _Failed(f'error sending request: Post "{location}": redirect not allowed')
        if head.status != 101 or not is_spdy(head):
            raise _Failed(f"unable to upgrade connection: {await _refusal(stream, head)}")
        spoken = head.first(VERSION).decode("latin-1").strip()
        return spoken if spoken in _PROTOCOLS else _PROTOCOLS[-1]

    async def _open_streams(self, connection: SpdyConnection, protocol: str, messages: Messages) -> list[SpdyStream]:
        """Those that are waited for, in this order."""
        asked = self._backend.streams

        async def opened(kind: str, take: Any) -> SpdyStream:
            return await connection.open({"streamtype": kind}, take, seconds=_OPEN_SECONDS)

        error = await opened("error", self._take_status)
        if "stdin" in asked:
            self._stdin = await opened("stdin", _ignore)
        outputs = []
        for channel, kind in _KINDS.items():
            if kind in asked and not (channel == _STDERR and "tty" in asked):
                outputs.append(await opened(kind, _to_channel(messages, channel)))
        if "tty" in asked and protocol in _WITH_SIZES:
            self._resize = await opened("resize", _ignore)
        return [*outputs, error]

    async def _take_status(self, piece: bytes) -> None:
        if len(self._status) < _MAX_STATUS:
            self._status += piece

    # -- the client's side ----------------------------------------------------------------------------------------

    async def _from_client(self, messages: Messages) -> None:
        """Hand on what the client sends; it is not read before there is somebody to hand it to."""
        await self._started.wait()
        channel = -1
        with suppress(OSError):  # the kubelet is gone, whose side tells
            while (piece := await messages.receive()) is not None:
                data = piece.data
                if piece.first:
                    channel = data[0] if data else -1
                    data = data[1:]
                if channel == _CLOSE:
                    if not (piece.first and piece.last and len(data) == 1 and data[0] <= _RESIZE):
                        return
                    if data[0] == _STDIN and self._stdin is not None:
                        await self._stdin.finish()
                elif channel == _STDIN and self._stdin is not None:
                    await self._stdin.send(data)
                elif channel == _RESIZE and self._resize is not None:
                    for size in self._sizes.feed(data):
                        await self._resize.send(size)


def _to_channel(messages: Messages, channel: int) -> Any:
    async def take(piece: bytes) -> None:
        with suppress(OSError):  # whoever reads from the client sees that it is gone
            await messages.send(bytes((channel,)) + piece)

    return take


async def _ignore(piece: bytes) -> None:
    """What nobody is to send."""


async def _ping(connection: SpdyConnection) -> None:
    """Keep those in between from thinking that nobody is there."""
    with suppress(OSError):
        while True:
            await asyncio.sleep(_PING_SECONDS)
            await connection.ping()


async def _refusal(stream: HttpStream, head: Head) -> str:
    """What a kubelet says that does not want to speak SPDY."""
    try:
        async with asyncio.timeout(_OPEN_SECONDS):
            text = (await stream.body("POST").beginning(_MAX_REFUSAL)).decode(errors="replace").strip()
    except (BrokenBody, TimeoutError):
        return "unable to read error from server response"
    try:
        found = orjson.loads(text)
    except ValueError:
        found = None
    if isinstance(found, dict):
        for name in ("message", "error"):
            if isinstance(found.get(name), str) and (said := found[name].strip()):
                return str(said)
    return text or "empty server response"


def _outcome(message: bytes, protocol: str) -> Object:
    """The Status to tell the client, by what came on the stream for errors. Raises _Failed."""
    if not message:
        return {"metadata": {}, "status": "Success"}
    if protocol not in _WITH_STATUS:
        raise _Failed(f"error executing remote command: {message.decode(errors='replace')}")
    try:
        status = orjson.loads(message)
        assert isinstance(status, dict)
    except (ValueError, AssertionError) as problem:
        text = go_quote(message.decode(errors="replace"))
        raise _Failed(f"error stream protocol error: {problem} in {text}") from problem
    if status.get("status") == "Success":
        return {"metadata": {}, "status": "Success"}
    if status.get("status") != "Failure":
        raise _Failed("error stream protocol error: unknown error")
    if status.get("reason") != _NON_ZERO:
        raise _Failed(str(status.get("message") or ""))
    details = status.get("details")
    if not isinstance(details, dict):
        raise _Failed("error stream protocol error: details must be set")
    for cause in details.get("causes") or ():
        if isinstance(cause, dict) and cause.get("reason") == "ExitCode":
            return _exited(str(cause.get("message") or ""))
    raise _Failed("error stream protocol error: no ExitCode cause given")


def _exited(code: str) -> Object:
    if not (code.isascii() and code.isdigit() and int(code) < 256):
        raise _Failed(f"error stream protocol error: invalid exit code value {go_quote(code)}")
    number = int(code)
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: command terminated with exit code {number}",
        "reason": _NON_ZERO,
        "details": {"causes": [{"reason": "ExitCode", "message": str(number)}]},
    }
