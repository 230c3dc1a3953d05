"""An HTTP server on a loopback socket, and a client that sees the very bytes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from watchkeeper.server.http.limits import DEFAULT_LIMITS, HttpLimits
from watchkeeper.server.http.listener import Listener, bind_tcp

PATIENCE = 5.0


class WireClient:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def head(self) -> tuple[int, dict[str, str]]:
        raw = await asyncio.wait_for(self.reader.readuntil(b"\r\n\r\n"), PATIENCE)
        line, *headers = raw.decode().split("\r\n")[:-2]
        return int(line.split()[1]), dict(h.lower().split(": ", 1) for h in headers)

    async def answer(self) -> tuple[int, dict[str, str], bytes]:
        status, headers = await self.head()
        if headers.get("transfer-encoding") == "chunked":
            body = b"".join([chunk async for chunk in self.chunks()])
        else:
            body = await asyncio.wait_for(self.reader.readexactly(int(headers["content-length"])), PATIENCE)
        return status, headers, body

    async def chunks(self) -> AsyncIterator[bytes]:
        while True:
            size = int(await asyncio.wait_for(self.reader.readline(), PATIENCE), 16)
            chunk = await asyncio.wait_for(self.reader.readexactly(size + 2), PATIENCE)
            if not size:
                return
            yield chunk[:-2]

    async def closed(self) -> bool:
        return await asyncio.wait_for(self.reader.read(), PATIENCE) == b""

    async def get(self, path: str = "/", *headers: str) -> tuple[int, dict[str, str], bytes]:
        lines = "".join(f"{header}\r\n" for header in headers)
        await self.send(f"GET {path} HTTP/1.1\r\nHost: x\r\n{lines}\r\n".encode())
        return await self.answer()


@asynccontextmanager
async def serving(app: object, limits: HttpLimits = DEFAULT_LIMITS) -> AsyncIterator[tuple[Listener, int]]:
    listener = Listener(app, limits=limits)
    [sock] = bind_tcp("127.0.0.1", 0)
    await listener.listen(sock)
    try:
        yield listener, sock.getsockname()[1]
    finally:
        await listener.stop(0.2)


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[WireClient]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield WireClient(reader, writer)
    finally:
        writer.close()
