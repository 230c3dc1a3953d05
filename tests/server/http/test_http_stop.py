"""A server that stops: nothing new, streams ended cleanly, answers finished, the rest cut off in time."""

import asyncio
import time

import pytest
from wire_client import connected, serving

HEADERS = [(b"content-type", b"application/json")]


async def watch(scope, receive, send):
    scope["exchange"].long_running = True
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    await send({"type": "http.response.body", "body": b"event\n", "more_body": True})
    await asyncio.sleep(60)


def test_a_watch_ends_with_a_complete_answer():
    async def run():
        async with serving(watch) as (listener, port), connected(port) as client:
            await client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            await client.head()
            stopping = asyncio.create_task(listener.stop(5))
            chunks = [chunk async for chunk in client.chunks()]
            await stopping
            return chunks, await client.closed()

    assert asyncio.run(run()) == ([b"event\n"], True)


def test_a_request_under_way_is_finished():
    async def slow(scope, receive, send):
        await asyncio.sleep(0.1)
        await send({"type": "http.response.start", "status": 200, "headers": [*HEADERS, (b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    async def run():
        async with serving(slow) as (listener, port), connected(port) as client:
            await client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            await asyncio.sleep(0.02)
            stopping = asyncio.create_task(listener.stop(5))
            status, headers, body = await client.answer()
            await stopping
            return status, headers["connection"], body

    assert asyncio.run(run()) == (200, "close", b"ok")


def test_idle_connections_are_closed_at_once_and_new_ones_refused():
    async def run():
        async with serving(watch) as (listener, port), connected(port) as client:
            await asyncio.sleep(0.02)
            started = time.monotonic()
            await listener.stop(5)
            assert await client.closed()
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection("127.0.0.1", port)
            return time.monotonic() - started

    assert asyncio.run(run()) < 1


def test_what_does_not_end_within_the_grace_time_is_cut_off():
    cancelled = asyncio.Event()

    async def stubborn(scope, receive, send):
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async def run():
        async with serving(stubborn) as (listener, port), connected(port) as client:
            await client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            await asyncio.sleep(0.02)
            started = time.monotonic()
            await listener.stop(0.1)
            return time.monotonic() - started

    assert asyncio.run(run()) < 2
    assert cancelled.is_set()
