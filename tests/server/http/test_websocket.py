"""WebSockets on the wire, and watches over them."""

from __future__ import annotations

import asyncio
import base64
import json
import socket
import struct
import urllib.parse
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
import websockets
from websockets.asyncio.client import connect
from wire_client import connected, serving

from watchkeeper.server.http.limits import DEFAULT_LIMITS
from watchkeeper.testing import Handle
from watchkeeper.testing import Server as InProcess

KEY = base64.b64encode(b"0123456789abcdef").decode()
UPGRADE = (
    f"GET / HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"
    f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {KEY}\r\n\r\n"
).encode()
HEADERS = [(b"upgrade", b"websocket"), (b"connection", b"Upgrade")]
TOKEN = "base64url.bearer.authorization.k8s.io."


async def ticking(scope: Any, receive: Any, send: Any) -> None:
    exchange = scope["exchange"]
    exchange.long_running = True
    stream = exchange.upgrade(HEADERS)
    for number in range(1000):
        await stream.send_text(b"tick %d" % number)
        await asyncio.sleep(0.005)


async def flooding(scope: Any, receive: Any, send: Any) -> None:
    stream = scope["exchange"].upgrade(HEADERS)
    scope["state"]["sent"] = 0
    while True:
        await stream.send_text(b"x" * 60_000)
        scope["state"]["sent"] += 1


def masked(opcode: int, payload: bytes = b"") -> bytes:
    return bytes((0x80 | opcode, 0x80 | len(payload))) + b"\0\0\0\0" + payload


def test_messages_are_framed_and_pings_answered() -> None:
    async def run() -> None:
        async with serving(ticking) as (_, port), connected(port) as client:
            await client.send(UPGRADE)
            status, headers = await client.head()
            assert (status, headers["upgrade"]) == (101, "websocket")
            assert await client.reader.readexactly(8) == b"\x81\x06tick 0"
            await client.send(masked(0x1, b"ignored") + masked(0x9, b"are you there"))
            seen = await client.reader.readuntil(b"are you there")
            assert b"\x8a\x0dare you there" in seen
            await client.send(masked(0x8, struct.pack(">H", 1000)))
            rest = await asyncio.wait_for(client.reader.read(), 5)
            assert rest.endswith(b"\x88\x02" + struct.pack(">H", 1000))

    asyncio.run(run())


def test_nonsense_from_the_client_ends_it_with_the_reason() -> None:
    async def run() -> bytes:
        async with serving(ticking) as (_, port), connected(port) as client:
            await client.send(UPGRADE)
            await client.head()
            await client.send(b"\x83\x00")
            return await asyncio.wait_for(client.reader.read(), 5)

    assert struct.pack(">H", 1002) in asyncio.run(run())


def test_a_server_that_stops_says_that_it_goes_away() -> None:
    async def run() -> bytes:
        async with serving(ticking) as (listener, port), connected(port) as client:
            await client.send(UPGRADE)
            await client.head()
            stopping = asyncio.create_task(listener.stop(5))
            rest = await asyncio.wait_for(client.reader.read(), 5)
            await stopping
            return rest

    assert asyncio.run(run()).endswith(b"\x88\x02" + struct.pack(">H", 1001))


def test_a_silent_client_is_pinged_and_then_cut_off() -> None:
    limits = replace(DEFAULT_LIMITS, ping_seconds=0.5)

    async def quiet(scope: Any, receive: Any, send: Any) -> None:
        scope["exchange"].upgrade(HEADERS)
        await asyncio.sleep(60)

    async def run() -> None:
        async with serving(quiet, limits) as (listener, port):
            async with connected(port) as client:
                await client.send(UPGRADE)
                await client.head()
                for _ in range(3):
                    assert await asyncio.wait_for(client.reader.readexactly(2), 5) == b"\x89\x00"
                    await client.send(masked(0xA))
                with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
                    while True:
                        await asyncio.wait_for(client.reader.readexactly(2), 5)
            assert not listener.connections

    asyncio.run(run())


@pytest.mark.parametrize("takes", [True, False])
def test_a_client_is_cut_off_if_it_takes_nothing_not_if_it_is_slow(takes: bool) -> None:
    limits = replace(DEFAULT_LIMITS, ping_seconds=0.3)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await flooding({**scope, "state": {}}, receive, send)

    async def run() -> bool:
        async with serving(app, limits) as (listener, port):
            client = socket.create_connection(("127.0.0.1", port))
            client.setblocking(False)
            client.sendall(UPGRADE)
            for _ in range(60):
                await asyncio.sleep(0.025)
                if takes:
                    await asyncio.get_running_loop().sock_recv(client, 1 << 20)
            there = bool(listener.connections)
            client.close()
            return there

    assert asyncio.run(run()) is takes


def test_a_slow_client_holds_up_who_sends_to_it() -> None:
    state: dict[str, int] = {}

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await flooding({**scope, "state": state}, receive, send)

    async def run() -> None:
        async with serving(app) as (_, port):
            client = socket.create_connection(("127.0.0.1", port))
            client.sendall(UPGRADE)
            await asyncio.sleep(0.3)
            sent = state["sent"]
            await asyncio.sleep(0.3)
            assert state["sent"] == sent < 300
            client.close()

    asyncio.run(run())


# -- watches ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with InProcess(insecure_http=True) as handle:
        yield handle


@asynccontextmanager
async def watching(server: Handle, query: str = "", **options: Any) -> AsyncIterator[Any]:
    url = server.url.replace("http", "ws") + f"/api/v1/namespaces/default/configmaps?watch=1{query}"
    options.setdefault("additional_headers", {"Authorization": f"Bearer {server.token}"})
    async with connect(url, **options) as client:
        yield client


def create(server: Handle, name: str) -> None:
    server.request("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": name}, "data": {"a": "ö"}})


async def received(client: Any) -> Any:
    message = await asyncio.wait_for(client.recv(), 10)
    assert isinstance(message, str)
    assert message.endswith("}\n")
    return json.loads(message)


def test_each_event_is_a_text_message(server: Handle) -> None:
    async def run() -> None:
        create(server, "one")
        create(server, "two")
        async with watching(server) as client:
            first, second = await received(client), await received(client)
            assert [(e["type"], e["object"]["metadata"]["name"]) for e in (first, second)] == [
                ("ADDED", "one"),
                ("ADDED", "two"),
            ]
            assert first["object"]["data"] == {"a": "ö"}
            await asyncio.to_thread(server.request, "DELETE", "/api/v1/namespaces/default/configmaps/two")
            assert (await received(client))["type"] == "DELETED"

    asyncio.run(run())


def test_a_watch_ends_in_time_with_a_normal_goodbye(server: Handle) -> None:
    async def run() -> Any:
        async with watching(server, "&timeoutSeconds=1") as client:
            with pytest.raises(websockets.ConnectionClosedOK) as ended:
                while True:
                    await received(client)
            return ended.value.rcvd

    assert asyncio.run(run()).code == 1000


def test_a_token_may_come_as_a_subprotocol(server: Handle) -> None:
    encoded = base64.urlsafe_b64encode(server.token.encode()).rstrip(b"=").decode()

    async def run() -> Any:
        subprotocols = [f"{TOKEN}{encoded}", "base64.binary.k8s.io"]
        async with watching(server, additional_headers={}, subprotocols=subprotocols) as client:
            return client.subprotocol

    assert asyncio.run(run()) == "base64.binary.k8s.io"


@pytest.mark.parametrize(
    ("subprotocols", "status"),
    [
        ([f"{TOKEN}bm9ib2R5", "v1"], 401),
        ([f"{TOKEN}!!!", "v1"], 401),
        ([f"{TOKEN}bm9ib2R5"], 401),
        ([], 403),
    ],
)
def test_wrong_tokens_are_refused(server: Handle, subprotocols: list[str], status: int) -> None:
    async def run() -> int:
        with pytest.raises(websockets.InvalidStatus) as refused:
            async with watching(server, additional_headers={}, subprotocols=subprotocols or None):
                pass
        return refused.value.response.status_code

    assert asyncio.run(run()) == status


def test_one_subprotocol_at_most_is_spoken(server: Handle) -> None:
    async def run(subprotocols: list[str]) -> Any:
        async with watching(server, subprotocols=subprotocols) as client:
            return client.subprotocol

    assert asyncio.run(run(["anything"])) == "anything"
    with pytest.raises(websockets.InvalidStatus) as refused:
        asyncio.run(run(["one", "two"]))
    assert refused.value.response.status_code == 400


def test_a_broken_request_for_a_websocket_is_refused(server: Handle) -> None:
    address = urllib.parse.urlsplit(server.url)
    request = UPGRADE.replace(b"GET /", b"GET /api/v1/configmaps?watch=1").replace(
        b"Host: x", f"Host: x\r\nAuthorization: Bearer {server.token}".encode()
    )
    for broken, words in (
        (request.replace(b"Version: 13", b"Version: 8"), b"sec-websocket-version: 13"),
        (request.replace(KEY.encode(), b"short"), b"mismatch challenge/response"),
    ):
        with socket.create_connection((address.hostname, address.port)) as client:
            client.sendall(broken)
            client.settimeout(5)
            answer = client.recv(65536)
            assert answer.startswith(b"HTTP/1.1 400 ")
            assert words in answer


def test_watches_end_cleanly_when_the_server_stops() -> None:
    async def run() -> int:
        server = InProcess(insecure_http=True)
        async with server as handle, watching(handle) as client:
            create(handle, "one")
            await received(client)
            await server.__aexit__(None, None, None)
            with pytest.raises(websockets.ConnectionClosed) as ended:
                await asyncio.wait_for(client.recv(), 10)
            assert ended.value.rcvd is not None
            return ended.value.rcvd.code

    assert asyncio.run(run()) in (1000, 1001)


def test_a_client_that_goes_leaves_no_watch_behind(server: Handle) -> None:
    async def run() -> None:
        create(server, "left")
        async with watching(server, "&fieldSelector=metadata.name%3Dleft") as client:
            await received(client)
            server.request("DELETE", "/api/v1/namespaces/default/configmaps/left")
            assert "watch" in await watches(server)
        for _ in range(100):
            if not await watches(server):
                return
            await asyncio.sleep(0.05)
        raise AssertionError("the watch is still there")

    asyncio.run(run())


async def watches(server: Handle) -> str:
    """The lines of the metrics that count running watches of ConfigMaps, those of none left out."""

    def read() -> str:
        import urllib.request

        request = urllib.request.Request(f"{server.url}/metrics", headers={"Authorization": f"Bearer {server.token}"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            text: str = answer.read().decode()
        lines = [line for line in text.splitlines() if line.startswith("apiserver_longrunning_requests{")]
        return "\n".join(line.lower() for line in lines if "configmaps" in line and not line.endswith(" 0"))

    return await asyncio.to_thread(read)
