"""Connections within the machine are sent on without pacing, whatever the system does on networks."""

import asyncio
import socket
from pathlib import Path

import pytest

from watchkeeper.server.http.listener import Listener, bind_tcp
from watchkeeper.server.http.loopback import is_loopback, without_pacing
from watchkeeper.server.pki import serving_certificate
from watchkeeper.server.tls import server_context

pytestmark = pytest.mark.skipif(not hasattr(socket, "TCP_CONGESTION"), reason="the system has no choice of it")


def congestion_control(sock: socket.socket) -> bytes:
    return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0")


async def answer(scope: object, receive: object, send: object) -> None:
    raise AssertionError("nobody asks")


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        (("127.0.0.1", 1), True),
        (("127.1.2.3", 1), True),
        (("::1", 1, 0, 0), True),
        (("::ffff:127.0.0.1", 1, 0, 0), True),
        (("10.0.0.127", 1), False),
        (("::", 1, 0, 0), False),
        (("fe80::1", 1, 0, 2), False),
        (("::ffff:10.0.0.1", 1, 0, 0), False),
        ("", False),
        ("/run/watchkeeper.sock", False),
    ],
)
def test_which_addresses_stay_within_the_machine(address: object, expected: bool) -> None:
    assert is_loopback(address) is expected


def test_what_is_accepted_on_a_loopback_address_inherits_it() -> None:
    [listening] = bind_tcp("127.0.0.1", 0)
    listening.setblocking(True)
    with listening, socket.create_connection(listening.getsockname()), listening.accept()[0] as accepted:
        assert congestion_control(accepted) == b"reno"


def test_on_all_addresses_it_is_who_connects_that_counts(tmp_path: Path) -> None:
    certificate = serving_certificate(tmp_path, "127.0.0.1")

    async def run() -> None:
        listening = bind_tcp("0.0.0.0", 0)
        before = congestion_control(listening[0])
        context = server_context(certificate.cert, certificate.key)
        listener = Listener(answer, ssl_context=context)
        for sock in listening:
            await listener.listen(sock)
        client = socket.create_connection(("127.0.0.1", listening[0].getsockname()[1]))
        [acceptor, *_] = listener._servers
        while not acceptor._greeting:
            await asyncio.sleep(0.01)
        [transport] = acceptor._greeting
        assert congestion_control(transport.get_extra_info("socket")) == b"reno"
        assert congestion_control(listening[0]) == before, "others are left to the system's choice"
        client.close()
        await listener.stop(0.2)

    asyncio.run(run())


def test_a_kernel_that_refuses_is_left_alone() -> None:
    left, right = socket.socketpair(socket.AF_UNIX)
    with left, right:
        with pytest.raises(OSError, match=r".+"):
            left.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
        without_pacing(left)
        left.send(b"as before")
        assert right.recv(100) == b"as before"
