"""Connections that never leave the machine."""

from __future__ import annotations

import socket
from typing import Any

_CONGESTION: int | None = getattr(socket, "TCP_CONGESTION", None)
_WITHOUT_PACING = b"reno"
"""The congestion control that Linux always has and lets everybody choose. It sets no timers between packets."""


def is_loopback(address: Any) -> bool:
    """Whether a socket's address, as `accept` and `getsockname` give it, is of the loopback interface."""
    if not isinstance(address, tuple) or not address:
        return False
    host = str(address[0]).removeprefix("::ffff:")
    return host == "::1" or host.startswith("127.")


def without_pacing(sock: socket.socket) -> None:
    """Have the kernel send as soon as the other end has room; accepted connections inherit it.

    Where BBR is the system's choice, its timers cost a quarter of what a page costs, and there is no network to spare
    between two processes of one machine. A kernel that will not do it goes on as it did.
    """
    if _CONGESTION is None:
        return
    try:
        sock.setsockopt(socket.IPPROTO_TCP, _CONGESTION, _WITHOUT_PACING)
    except OSError:
        pass
