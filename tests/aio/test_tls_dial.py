"""Why connections to other servers do not come about."""

from __future__ import annotations

import asyncio
import socket

import pytest

from watchkeeper.aio.dial import dial_text
from watchkeeper.aio.tls_dial import DialError, connect


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def test_who_refuses_is_named_by_address() -> None:
    port = free_port()
    with pytest.raises(DialError) as problem:
        asyncio.run(connect("localhost", port, None, None))
    first = socket.getaddrinfo("localhost", port, type=socket.SOCK_STREAM)[0][4][0]
    place = f"[{first}]" if ":" in str(first) else first
    assert str(problem.value) == f"dial tcp {place}:{port}: connect: connection refused"


def test_a_name_without_an_address_is_told_as_it_is() -> None:
    with pytest.raises(DialError, match=r"dial tcp: lookup no\.such\.host\.invalid: no such host"):
        asyncio.run(connect("no.such.host.invalid", 443, None, None))


def test_of_several_attempts_the_first_is_told() -> None:
    problem = OSError("Multiple exceptions: [Errno 111] Connect call failed ('::1', 1, 0, 0), [Errno 101] unreachable")
    assert dial_text("::1", 1, problem) == "dial tcp [::1]:1: connect: connection refused"
