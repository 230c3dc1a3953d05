"""The sockets that a server is reached on."""

from __future__ import annotations

import errno
import select
import socket

import pytest

from watchkeeper.server.sockets import open_tcp


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.skipif(not has_ipv6(), reason="there is no IPv6 here")
@pytest.mark.parametrize(
    ("host", "reached"), [("::", {"127.0.0.1", "::1"}), ("::1", {"::1"}), ("0.0.0.0", {"127.0.0.1", "::1"})]
)
def test_an_address_stands_for_those_that_it_does_in_go(host: str, reached: set[str]) -> None:
    sockets = open_tcp(host, 0)
    port = sockets[0].getsockname()[1]
    found = set()
    for address in ("127.0.0.1", "::1"):
        try:
            with socket.create_connection((address, port), timeout=5):
                # Another process may listen at the same port of an address that these sockets do not serve.
                ready, _, _ = select.select(sockets, [], [], 0)
        except OSError:
            continue
        for each in ready:
            each.accept()[0].close()
            found.add(address)
    for each in sockets:
        each.close()
    assert found == reached


def test_where_there_is_no_ipv6_all_addresses_are_those_of_ipv4(monkeypatch: pytest.MonkeyPatch) -> None:
    made = socket.socket

    def refuse(family: int = -1, *arguments: int) -> socket.socket:
        if family == socket.AF_INET6:
            raise OSError(errno.EAFNOSUPPORT, "Address family not supported by protocol")
        return made(family, *arguments)

    monkeypatch.setattr(socket, "socket", refuse)
    [found] = open_tcp("0.0.0.0", 0)
    assert found.family == socket.AF_INET
    found.close()
