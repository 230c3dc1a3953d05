"""What comes and goes leaves nothing behind, and what is large is never held twice."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from watchkeeper.testing.handle import Handle
from watchkeeper.testing.server_process import ServerProcess

MIB = 1 << 20
PATH = "/api/v1/namespaces/default/configmaps"


class Measured:
    """A server process whose memory can be looked at."""

    def __init__(self, process: ServerProcess, handle: Handle) -> None:
        self.handle = handle
        self._proc = Path(f"/proc/{process.pid}")
        self.address = ("127.0.0.1", int(urlsplit(handle.url).port or 0))

    def resident(self, name: str = "VmRSS") -> int:
        """Bytes in memory now, or (VmHWM) at most since `forget_peak`."""
        found = re.search(rf"{name}:\s+(\d+) kB", (self._proc / "status").read_text())
        assert found
        return int(found[1]) * 1024

    def forget_peak(self) -> None:
        (self._proc / "clear_refs").write_text("5")

    def watchers(self) -> int:
        connection = http.client.HTTPConnection(*self.address)
        connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {self.handle.token}"})
        text = connection.getresponse().read().decode()
        found = re.search(r'apiserver_watch_cache_watchers\{group="",resource="configmaps"\} (\d+)', text)
        assert found
        return int(found[1])

    def ask(self, path: str) -> bytes:
        return f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.handle.token}\r\n\r\n".encode()


@pytest.fixture
def measured(tmp_path: Path) -> Iterator[Measured]:
    process = ServerProcess(insecure_http=True, controllers=(), storage=f"sqlite:{tmp_path}/store.db")
    try:
        yield Measured(process, process.start())
    finally:
        process.stop()


async def come_and_go(server: Measured, count: int, *, at_a_time: int = 50) -> None:
    """Open watches of several kinds and leave them: some with a goodbye, some without."""

    async def one(number: int) -> None:
        reader, writer = await asyncio.open_connection(*server.address)
        selector = ("", "&labelSelector=a%3Db", "&allowWatchBookmarks=1", f"&fieldSelector=metadata.name%3Dx{number}")
        writer.write(server.ask(f"{PATH}?watch=1{selector[number % 4]}"))
        await reader.readuntil(b"\r\n\r\n")
        if number % 2:
            sock = writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset, no goodbye
        writer.close()

    for start in range(0, count, at_a_time):
        await asyncio.gather(*(one(start + n) for n in range(at_a_time)))


async def gone(server: Measured) -> None:
    async with asyncio.timeout(30):
        while await asyncio.to_thread(server.watchers):
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("count", [300, pytest.param(5_000, marks=[pytest.mark.soak, pytest.mark.timeout(600)])])
def test_watchers_that_come_and_go_leave_nothing_behind(measured: Measured, count: int) -> None:
    async def run() -> int:
        await come_and_go(measured, 300)
        await gone(measured)
        before = measured.resident()
        await come_and_go(measured, count)
        await gone(measured)
        return measured.resident() - before

    # One watcher costs some 10 KiB while it is there.
    assert asyncio.run(run()) < 4 * MIB


@pytest.mark.parametrize("count", [300, pytest.param(5_000, marks=[pytest.mark.soak, pytest.mark.timeout(600)])])
def test_idle_watches_over_tls_cost_little_more_than_openssl_takes(count: int) -> None:
    """More than half of it is OpenSSL's own: 15 KiB up to 3.0, and twice that in 3.6."""
    process = ServerProcess(controllers=())
    opened: list[ssl.SSLSocket] = []
    try:
        server = Measured(process, process.start())
        context = server.handle.ssl_context()

        def watch(number: int) -> None:
            sock = socket.create_connection(server.address, 30)
            opened.append(context.wrap_socket(sock, server_hostname="127.0.0.1"))
            query = f"?watch=1&allowWatchBookmarks=1&fieldSelector=metadata.name%3Dx{number}"
            opened[-1].sendall(server.ask(PATH + query))
            assert b" 200 " in opened[-1].recv(4096).partition(b"\r\n")[0]

        for number in range(100):
            watch(number)
        before = server.resident()
        for number in range(count):
            watch(100 + number)
        each = (server.resident() - before) / count
    finally:
        for sock in opened:
            sock.close()
        process.stop()
    assert each < (30 if ssl.OPENSSL_VERSION_INFO < (3, 1) else 46) * 1024


def fill(server: Measured, count: int) -> None:
    connection = http.client.HTTPConnection(*server.address, timeout=60)
    headers = {"Authorization": f"Bearer {server.handle.token}", "Content-Type": "application/json"}
    for number in range(count):
        body = json.dumps({"metadata": {"name": f"large-{number:03}"}, "data": {"fill": "x" * MIB}})
        connection.request("POST", PATH, body, headers)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 201


@pytest.mark.parametrize("size", [24, pytest.param(150, marks=[pytest.mark.soak, pytest.mark.timeout(600)])])
def test_a_large_list_needs_no_buffer_of_its_size(measured: Measured, size: int) -> None:
    """`size` objects of a MiB each, listed by four clients at a time that take their time."""
    fill(measured, size)

    async def read(path: str) -> int:
        reader, writer = await asyncio.open_connection(*measured.address, limit=1 << 16)
        writer.write(measured.ask(path))
        got = 0
        while b"0\r\n\r\n" not in (chunk := await reader.read(1 << 20))[-7:]:
            got += len(chunk)
            await asyncio.sleep(0.001)
        writer.close()
        return got

    async def run() -> tuple[int, list[int]]:
        await read(PATH + "?limit=3")
        measured.forget_peak()
        before = measured.resident("VmHWM")
        sizes = await asyncio.gather(*(read(PATH) for _ in range(4)))
        return measured.resident("VmHWM") - before, sizes

    grown, sizes = asyncio.run(run())
    assert min(sizes) > (size - 1) * MIB
    assert grown < 16 * MIB
