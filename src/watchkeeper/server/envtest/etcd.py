"""The program `etcd` of envtest: answers health checks, and holds the directory in which the server keeps objects.

It speaks no protocol of etcd: other clients get an answer of HTTP that says that there is nothing.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import selectors
import signal
import socket
import sys
import time
from pathlib import Path

from watchkeeper.server.envtest.etcd_flags import DEFAULT_URL, FlagError, read_flags, usage
from watchkeeper.server.envtest.parent import POLL_SECONDS, Parent, remove_temporary
from watchkeeper.server.envtest.store import MAX_PORT, PATH, Store

VERSION = "3.6.0"
"""Whose flags and health checks these are."""
_DEFAULT_DIRECTORY = "default.etcd"
_CLIENT_SECONDS = 0.5
"""How long a client may take to ask: nobody else is answered meanwhile."""
_MOST_BYTES = 16384
_ANSWERS = {
    "/health": b'{"health":"true","reason":""}',
    "/livez": b"ok",
    "/readyz": b"ok",
    "/version": b'{"etcdserver":"%s","etcdcluster":"%s"}' % (VERSION.encode(), VERSION.encode()),
}


class StartError(Exception):
    """Why it cannot start."""


def main(argv: list[str] | None = None) -> int:
    """Run until SIGTERM, SIGINT or the end of the parent. Returns the exit code: 0 done, 1 failed, 2 usage."""
    parent = Parent()
    arguments = sys.argv[1:] if argv is None else argv
    if {"--help", "-help", "-h"}.intersection(arguments):
        sys.stdout.write(usage())
        return 0
    if {"--version", "-version"}.intersection(arguments):
        sys.stdout.write(f"etcd Version: {VERSION}\n")
        return 0
    try:
        flags = read_flags(arguments)
        _run(flags, parent)
    except FlagError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except StartError as error:
        sys.stderr.write(f"etcd: {error}\n")
        return 1
    return 0


def _run(flags: dict[str, str], parent: Parent) -> None:
    """Raises StartError."""
    store = Store(Path(flags.get("data-dir", _DEFAULT_DIRECTORY)), flags.get("unsafe-no-fsync") == "true")
    with contextlib.ExitStack() as undo:
        undo.callback(_remove_after, store, parent)
        undo.callback(os.close, _hold(store.directory))
        selector = undo.enter_context(selectors.DefaultSelector())
        for url in flags.get("listen-client-urls", DEFAULT_URL).split(","):
            listener = undo.enter_context(_listen(url))
            selector.register(listener, selectors.EVENT_READ, listener)
        _serve(selector, parent, {**_ANSWERS, PATH: store.encode()})


def _remove_after(store: Store, parent: Parent) -> None:
    if parent.gone:
        remove_temporary(store.directory)


def _hold(directory: Path) -> int:
    """Make a directory for its owner alone, and keep others from it as long as the descriptor is open."""
    try:
        directory.mkdir(0o700, parents=True, exist_ok=True)
        descriptor = os.open(directory / "etcd.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StartError(f"--data-dir {directory}: {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise StartError(f"--data-dir {directory}: another process has it") from error
    return descriptor


def _listen(url: str) -> socket.socket:
    host, _, port = url.removeprefix("http://").rstrip("/").rpartition(":")
    try:
        # The system would take a larger number modulo 65536.
        if int(port) > MAX_PORT:
            raise ValueError(f"address {port}: invalid port")
        family, *_, address = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=64)
    except (OSError, ValueError) as error:
        raise StartError(f"--listen-client-urls {url}: {error}") from error


def _serve(selector: selectors.DefaultSelector, parent: Parent, answers: dict[str, bytes]) -> None:
    wakening, woken = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC) if hasattr(os, "pipe2") else os.pipe()
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    selector.register(wakening, selectors.EVENT_READ, None)
    descriptor = parent.descriptor()
    if descriptor is not None:
        selector.register(descriptor, selectors.EVENT_READ, None)
    while not parent.gone:
        for key, _ in selector.select(None if descriptor is not None else POLL_SECONDS):
            if key.fileobj == wakening:
                return
            if isinstance(key.data, socket.socket):
                with contextlib.suppress(OSError):
                    _answer(key.data.accept()[0], answers)


def _answer(connection: socket.socket, answers: dict[str, bytes]) -> None:
    with connection:
        until = time.monotonic() + _CLIENT_SECONDS
        asked, part = b"", b"-"
        while part and b"\r\n\r\n" not in asked and len(asked) < _MOST_BYTES:
            connection.settimeout(max(until - time.monotonic(), 0.001))
            part = connection.recv(4096)
            asked += part
        connection.settimeout(_CLIENT_SECONDS)
        path = asked.split(b" ", 2)[1:2]
        body = answers.get(path[0].partition(b"?")[0].decode("latin-1")) if path else None
        status = "404 Not Found" if body is None else "200 OK"
        body = b"404 page not found\n" if body is None else body
        head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        connection.sendall(head.encode() + body)


if __name__ == "__main__":
    sys.exit(main())
