"""Connections: what comes in, by lines and pieces; what goes out; and how they end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from tests.aio.fake_transport import wire_of

from watchkeeper.aio import wire
from watchkeeper.aio.wire import PIECE_BYTES, TooLong, Wire


def test_what_is_read_is_taken_and_the_rest_stays() -> None:
    async def run() -> None:
        connection, _ = wire_of(b"one\ntwo\r\n\r", b"\n12345")
        assert await connection.line(4) == b"one\n"
        assert await connection.paragraph(100) == b"two\r\n\r\n"
        assert await connection.exactly(2) == b"12"
        assert not connection.is_idle
        assert (await connection.piece(2), await connection.piece(2)) == (b"34", b"5")
        assert connection.is_idle

    asyncio.run(run())


@pytest.mark.parametrize(
    ("data", "paragraph"),
    [
        (b"\r\nx\n\n", b"\r\n"),
        (b"\nx", b"\n"),
        (b"a\n\nb\r\n\r\n", b"a\n\n"),
        (b"a\r\n\r\nb\n\n", b"a\r\n\r\n"),
        (b"a\r\n\nb", b"a\r\n\n"),
        (b"a\n\r\nb", b"a\n\r\n"),
        (b"a\r\r\n\r\r\n\r\n", b"a\r\r\n\r\r\n\r\n"),
    ],
)
def test_a_paragraph_ends_with_its_first_empty_line_however_it_comes(data: bytes, paragraph: bytes) -> None:
    async def run(at: int) -> bytes:
        connection, _ = wire_of(data[:at])
        reading = asyncio.create_task(connection.paragraph(100), name="reading")
        await asyncio.sleep(0)
        connection.data_received(data[at:])
        return await reading

    assert {asyncio.run(run(at)) for at in range(len(data))} == {paragraph}


def test_the_first_line_is_shown_once_before_the_last_one_is_there() -> None:
    shown: list[bytes] = []

    async def run() -> None:
        connection, _ = wire_of(b"fir")
        reading = asyncio.create_task(connection.paragraph(100, look=shown.append), name="reading")
        for piece in (b"st\r", b"\nsec", b"ond\r\n", b"\r\n"):
            await asyncio.sleep(0)
            assert shown == ([] if piece in (b"st\r", b"\nsec") else [b"first\r\n"])
            connection.data_received(piece)
        assert await reading == b"first\r\nsecond\r\n\r\n"

    asyncio.run(run())
    assert shown == [b"first\r\n"]


@pytest.mark.parametrize(
    "read",
    [
        lambda connection: connection.line(5),
        lambda connection: connection.paragraph(5),
    ],
)
@pytest.mark.parametrize("data", [b"12345", b"123456\n\n", b"12345678"])
def test_what_has_no_end_in_time_is_not_waited_for(read: Callable[[Wire], Awaitable[bytes]], data: bytes) -> None:
    async def run() -> None:
        connection, _ = wire_of(data)
        with pytest.raises(TooLong):
            await read(connection)

    asyncio.run(run())


def test_the_end_comes_behind_all_that_came_before_it() -> None:
    async def run(failure: Exception | None) -> list[bytes]:
        connection, _ = wire_of(b"abc")
        connection.connection_lost(failure)
        found = [await connection.exactly(2)]
        with pytest.raises((EOFError, ConnectionResetError)) as ended:
            await connection.exactly(2)
        assert ended.value is failure or isinstance(ended.value, EOFError)
        found.append(await connection.piece(5))
        if failure is not None:
            with pytest.raises(ConnectionResetError):
                await connection.piece(5)
        else:
            found.append(await connection.piece(5))
        return found

    assert asyncio.run(run(None)) == [b"ab", b"c", b""]
    assert asyncio.run(run(ConnectionResetError())) == [b"ab", b"c"]


def test_reading_pauses_while_nobody_takes_what_came() -> None:
    async def run() -> None:
        connection, transport = wire_of(*[b"x" * PIECE_BYTES] * 2)
        assert not transport.paused
        connection.data_received(b"x")
        assert transport.paused
        reading = asyncio.create_task(connection.exactly(2 * PIECE_BYTES + 2), name="reading")
        await asyncio.sleep(0)
        assert not transport.paused, "who waits for more gets more"
        connection.data_received(b"y")
        assert len(await reading) == 2 * PIECE_BYTES + 2
        assert connection.is_idle

    asyncio.run(run())


def test_reading_pauses_no_connection_that_is_being_closed() -> None:
    async def run() -> None:
        connection, transport = wire_of(b"x")
        connection.close()
        connection.data_received(b"x" * 3 * PIECE_BYTES)
        assert not transport.paused
        assert not connection.is_idle

    asyncio.run(run())


def test_who_writes_waits_while_the_server_takes_nothing() -> None:
    async def run() -> None:
        connection, transport = wire_of()
        connection.write(b"abc")
        transport.unsent = 3
        assert not connection.is_idle
        connection.pause_writing()
        waiting = asyncio.create_task(connection.drain(), name="waiting")
        await asyncio.sleep(0)
        assert not waiting.done()
        connection.resume_writing()
        await waiting
        connection.pause_writing()
        waiting = asyncio.create_task(connection.drain(), name="waiting")
        await asyncio.sleep(0)
        connection.connection_lost(None)
        with pytest.raises(ConnectionResetError):
            await waiting
        assert transport.sent == b"abc"

    asyncio.run(run())


def test_a_server_that_does_not_let_go_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "_FAREWELL_SECONDS", 0.0)

    async def run() -> bytes:
        connection, transport = wire_of()
        connection.close()
        assert (transport.closed, transport.aborted.is_set()) == (True, False)
        await asyncio.wait_for(transport.aborted.wait(), 5)
        connection.connection_lost(None)
        connection.write(b"x")
        return bytes(transport.sent)

    assert asyncio.run(run()) == b"", "nothing is written to what is lost"
