"""What Go says of a connection that does not come about: such texts end up in messages that people search for."""

from __future__ import annotations

import asyncio
import os
import re
import socket

_errno = re.compile(r"\[Errno (\d+)\]").search
DIAL_TIMEOUT = 30.0
"""Seconds, as Go's default transport has them."""


async def addresses_of(host: str, *, timeout: float = DIAL_TIMEOUT) -> list[str]:
    """The addresses of a host. Raises ValueError telling that there is no such host, or that nobody knows in time."""
    try:
        async with asyncio.timeout(timeout):
            found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except TimeoutError:
        raise ValueError(f"lookup {host}: i/o timeout") from None
    except (OSError, UnicodeError):
        raise ValueError(f"lookup {host}: no such host") from None
    return [str(address[0]) for *_, address in found]


def dial_text(host: str, port: int, problem: OSError) -> str:
    """The text of a failed attempt to connect."""
    if isinstance(problem, socket.gaierror):
        return f"dial tcp: lookup {host}: no such host"
    # asyncio puts the address into the text of the system, and several attempts into one.
    first = _errno(str(problem))
    number = problem.errno or (int(first[1]) if first is not None else 0)
    text = os.strerror(number).lower() if number else str(problem)
    return f"dial tcp {authority(host, port)}: connect: {text}"


def authority(host: str, port: int) -> str:
    """Host and port as they stand in a URL."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
