"""Streams of SPDY over a connection to a server that means no good."""

from __future__ import annotations

import asyncio
import random
import time
import tracemalloc

import pytest

from watchkeeper.aio.http_stream import HttpStream
from watchkeeper.aio.spdy import SpdyBroken, SpdyConnection
from watchkeeper.aio.spdy_frames import Data, FrameReader, FrameWriter, SpdyError, data, ping, reset
from watchkeeper.aio.tls_dial import connect

MANY = 200_000


async def longest_turn(sent: bytes) -> tuple[float, bytes]:
    """For how many seconds of a processor nobody else has a turn while this comes; and what the first stream had."""
    got = bytearray()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(FrameWriter().replied(1, {}) + sent)
        while await reader.read(1 << 16):
            pass
        writer.close()

    async def take(piece: bytes) -> None:
        got.extend(piece)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = int(server.sockets[0].getsockname()[1])
    http = HttpStream(await connect("127.0.0.1", port, None, None))
    connection = SpdyConnection(http)
    reading = asyncio.ensure_future(connection.run())
    stream = await connection.open({"streamtype": "stdout"}, take, seconds=5)
    longest, last = 0.0, time.process_time()
    while not stream.ended.done():
        await asyncio.sleep(0)
        longest, last = max(longest, time.process_time() - last), time.process_time()
    http.close()
    await reading
    server.close()
    return longest, bytes(got)


def test_many_small_frames_let_others_have_their_turn() -> None:
    longest, got = asyncio.run(longest_turn(data(1, b"x") * MANY + data(1, b"", last=True)))
    assert got == b"x" * MANY
    assert longest < 0.1
    longest, got = asyncio.run(longest_turn(reset(3, 1) * MANY + ping(1) * MANY + reset(1, 1)))
    assert got == b""
    assert longest < 0.1


def test_a_stream_that_is_reset_is_not_opened() -> None:
    async def opened() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(100)
            writer.write(reset(1, 3))

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        http = HttpStream(await connect("127.0.0.1", int(server.sockets[0].getsockname()[1]), None, None))
        connection = SpdyConnection(http)
        reading = asyncio.ensure_future(connection.run())
        try:
            await connection.open({}, lambda _: asyncio.sleep(0), seconds=5)
        finally:
            http.close()
            await reading
            server.close()

    with pytest.raises(SpdyBroken, match="Stream reset"):
        asyncio.run(opened())


def test_whatever_comes_is_frames_or_an_error_and_little_is_held() -> None:
    chance = random.Random(7)
    writer = FrameWriter()
    good = [writer.opened(1, {"streamtype": "stdin"}), writer.replied(1, {"a": "b" * 1000}), data(1, b"x" * 300)]
    good += [ping(1), reset(1, 2), data(1, b"", last=True), writer.opened(3, {"c" * 50_000: "d" * 50_000})]
    tracemalloc.start()
    try:
        for _ in range(1500):
            sent = bytearray(b"".join(good[: chance.randrange(len(good) + 1)]))
            for _ in range(chance.randrange(6)):
                if sent:
                    sent[chance.randrange(len(sent))] = chance.randrange(256)
            sent += chance.randbytes(chance.randrange(40))
            reader, at = FrameReader(), 0
            try:
                while at < len(sent):
                    size = chance.randrange(1, 5000)
                    for frame in reader.feed(bytes(sent[at : at + size])):
                        assert not isinstance(frame, Data) or len(frame.data) <= size + 300 * 1024
                    at += size
            except SpdyError:
                pass
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
