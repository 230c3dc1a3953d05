"""Peers that are gone without a word."""

from __future__ import annotations

import socket

_TIMES = {"TCP_KEEPIDLE": 15, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 4}
"""A silent peer is asked after 15 s, and given up 60 s later."""


def keep_alive(sock: socket.socket) -> None:
    """Let the system find out within 75 s that a TCP connection leads nowhere; accepted connections inherit it."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _TIMES.items():
        option = getattr(socket, name, None)
        if option is not None:
            sock.setsockopt(socket.IPPROTO_TCP, option, value)
