"""Connections to those that requests are passed on to."""

from __future__ import annotations

import asyncio

import pytest

from watchkeeper.aio.http_stream import request_head
from watchkeeper.server.passing.transport import Transport


@pytest.mark.parametrize("stays", [True, False])
def test_a_place_is_forgotten_with_its_last_connection(stays: bool) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.readuntil(b"\r\n\r\n"):
            writer.write(
                b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n%b\r\n" % (b"" if stays else b"connection: close\r\n")
            )

    async def asked() -> list[int]:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        place = ("127.0.0.1", int(server.sockets[0].getsockname()[1]))
        transport = Transport(lambda: None)
        known = []
        for _ in range(2):
            stream = await transport.open(place)
            known.append(len(transport._idle))
            stream.ask(request_head("GET", "/", [(b"host", b"h")]))
            await stream.read_head()
            assert await stream.body("GET").piece() == b""
            transport.release(place, stream)
            known.append(len(transport._idle))
        transport.close()
        server.close()
        return known

    assert asyncio.run(asked()) == [0, stays, 0, stays]
