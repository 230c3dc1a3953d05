"""The sockets that a server is reached on."""

from __future__ import annotations

import errno
import socket
import stat
from collections.abc import Iterable
from pathlib import Path

from watchkeeper.server.errors import StartupError
from watchkeeper.server.http.limits import DEFAULT_LIMITS
from watchkeeper.server.http.listener import bind_tcp


def open_tcp(host: str, port: int) -> list[socket.socket]:
    """Bound sockets for an address. Raises StartupError."""
    try:
        return bind_tcp(host, port)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            why = f"port {port} on {host} is in use; stop what uses it, or choose another with --port (0: a free one)"
        elif error.errno == errno.EACCES:
            why = f"this user may not use port {port}; choose one above 1023 with --port"
        elif isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
            why = f"{host} is no address of this machine; choose one with --bind"
        else:
            why = f"cannot serve on {host}, port {port}: {error.strerror or error}"
        raise StartupError(why) from error


def open_unix(path: Path) -> socket.socket:
    """A bound unix socket for its owner alone; a dead one in its place is removed. Raises StartupError."""
    try:
        _remove_dead(path)
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.bind(str(path))
            path.chmod(0o600)
            sock.listen(DEFAULT_LIMITS.backlog)
            sock.setblocking(False)
        except OSError:
            sock.close()
            raise
    except OSError as error:
        raise StartupError(f"cannot serve on the unix socket {path}: {error.strerror or error}") from error
    return sock


def close_sockets(sockets: Iterable[socket.socket]) -> None:
    """Close all of them."""
    for sock in sockets:
        sock.close()


def port_of(sockets: Iterable[socket.socket]) -> int:
    """The port that is served, 0 where only a unix socket is."""
    return next((int(sock.getsockname()[1]) for sock in sockets if sock.family != socket.AF_UNIX), 0)


def host_of(bind: str) -> str:
    """The host, as it stands in a URL, by which a server is reached that serves `bind`."""
    if bind in ("0.0.0.0", ""):
        return "127.0.0.1"
    if bind == "::":
        return "[::1]"
    return f"[{bind}]" if ":" in bind else bind


def _remove_dead(path: Path) -> None:
    try:
        if not stat.S_ISSOCK(path.stat().st_mode):
            raise StartupError(f"{path} is there and is no socket; choose another with --unix-socket")
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
    raise StartupError(f"another server is serving on {path}")
