"""Why connections to other servers do not come about."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from contextlib import suppress
from pathlib import Path

import pytest
import uvloop

from watchkeeper.aio.dial import dial_text
from watchkeeper.aio.http_client import trusting
from watchkeeper.aio.tls_dial import DialError, connect, connect_unix
from watchkeeper.testing.etcd_certificates import make_certificates
from watchkeeper.testing.ports import free_port


def test_who_refuses_is_named_by_address() -> None:
    port = free_port()
    with pytest.raises(DialError) as problem:
        asyncio.run(connect("localhost", port, None, None))
    first = socket.getaddrinfo("localhost", port, type=socket.SOCK_STREAM)[0][4][0]
    place = f"[{first}]" if ":" in str(first) else first
    assert str(problem.value) == f"dial tcp {place}:{port}: connect: connection refused"


def test_a_port_that_is_none_is_no_other_one() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = 65536 + int(listener.getsockname()[1])
        with pytest.raises(DialError) as problem:
            asyncio.run(connect("127.0.0.1", port, None, None))
    assert str(problem.value) == f"dial tcp: address {port}: invalid port"


def test_a_socket_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DialError) as problem:
        asyncio.run(connect_unix(f"{tmp_path}/none"))
    assert str(problem.value) == f"dial unix {tmp_path}/none: connect: no such file or directory"


def test_the_system_finds_out_when_a_server_is_gone_without_a_word() -> None:
    async def run() -> int:
        server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
        wire = await connect("127.0.0.1", server.sockets[0].getsockname()[1], None, None)
        own: socket.socket = wire._transport.get_extra_info("socket")
        found = own.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        wire.close()
        server.close()
        return found

    assert asyncio.run(run()) == 1


def test_a_name_without_an_address_is_told_as_it_is() -> None:
    with pytest.raises(DialError, match=r"dial tcp: lookup no\.such\.host\.invalid: no such host"):
        asyncio.run(connect("no.such.host.invalid", 443, None, None))


def test_of_several_attempts_the_first_is_told() -> None:
    problem = OSError("Multiple exceptions: [Errno 111] Connect call failed ('::1', 1, 0, 0), [Errno 101] unreachable")
    assert dial_text("::1", 1, problem) == "dial tcp [::1]:1: connect: connection refused"


@pytest.mark.parametrize("farewell", [True, False])
def test_all_is_read_that_a_server_sent_before_it_closed(tmp_path: Path, farewell: bool) -> None:
    make_certificates(tmp_path)
    size = 4 << 20
    accepting = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    accepting.load_cert_chain(tmp_path / "server.crt", tmp_path / "server.key")
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with accepting.wrap_socket(listener.accept()[0], server_side=True) as sock:
            sock.sendall(bytes(size))
            sock.setblocking(False)
            if farewell:
                with suppress(ssl.SSLError):
                    sock.unwrap()

    async def read() -> int:
        context = trusting((tmp_path / "ca.crt").read_text())
        wire = await connect("127.0.0.1", listener.getsockname()[1], context, "localhost")
        got = 0
        while piece := await wire.piece(1 << 16):
            got += len(piece)
            await asyncio.sleep(0.002)  # so that reading is paused when the server closes
        wire.close()
        return got

    thread = threading.Thread(target=serve)
    thread.start()
    with listener:
        assert uvloop.run(read()) == size
    thread.join()
