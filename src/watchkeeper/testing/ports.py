"""Ports for programs that have to be told one."""

from __future__ import annotations

import random
import socket

_FIRST, _LAST = 15_000, 31_000
"""Below what systems give those who take any port: nobody gets one of these by chance before it is served."""
_ATTEMPTS = 1000


def free_ports(count: int) -> list[int]:
    """Ports of the loopback interface that nobody listens on now. Raises OSError where there are none."""
    held: list[socket.socket] = []
    try:
        for port in random.sample(range(_FIRST, _LAST), _ATTEMPTS):
            if len(held) == count:
                break
            probe = socket.socket()
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                probe.close()
            else:
                held.append(probe)
        if len(held) < count:
            raise OSError("there are not so many free ports")
        return [each.getsockname()[1] for each in held]
    finally:
        for each in held:
            each.close()


def free_port() -> int:
    """One of them."""
    [port] = free_ports(1)
    return port
