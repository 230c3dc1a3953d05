"""How the server asks the stand-in for etcd where objects are kept: one GET over plain HTTP.

This module is loaded by a program that has to start in some milliseconds, so it imports little.
"""

from __future__ import annotations

import socket
from pathlib import Path

PATH = "/watchkeeper/store"
"""What is asked for. An etcd answers 404 there."""
DATABASE = "watchkeeper.db"
MAX_PORT = 65535
_SECONDS = 2.0
_MOST_BYTES = 65536


class Store:
    """What a stand-in keeps: a directory, and whether what is written there need not have reached the disk."""

    __slots__ = ("directory", "unsafe_no_fsync")

    def __init__(self, directory: Path, unsafe_no_fsync: bool) -> None:
        self.directory = directory.absolute()
        self.unsafe_no_fsync = unsafe_no_fsync

    def __repr__(self) -> str:
        return f"<Store {self.directory}>"

    @property
    def database(self) -> Path:
        """The file of all objects."""
        return self.directory / DATABASE

    def encode(self) -> bytes:
        """As it is told, in JSON."""
        import json

        return json.dumps({"directory": str(self.directory), "unsafeNoFsync": self.unsafe_no_fsync}).encode()


def ask(url: str) -> Store | None:
    """What the stand-in at `http://HOST:PORT` keeps; None where there is none, but another server or nobody."""
    host, _, port = url.removeprefix("http://").rstrip("/").rpartition(":")
    if not url.startswith("http://") or not port.isdecimal() or int(port) > MAX_PORT:
        return None
    try:
        with socket.create_connection((host.strip("[]"), int(port)), _SECONDS) as connection:
            connection.sendall(f"GET {PATH} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode())
            return _decode(_read(connection))
    except OSError:
        return None


def _read(connection: socket.socket) -> bytes:
    answer = b""
    while len(answer) < _MOST_BYTES and (part := connection.recv(4096)):
        answer += part
    return answer


def _decode(answer: bytes) -> Store | None:
    import json

    head, _, body = answer.partition(b"\r\n\r\n")
    if head.split(b" ", 2)[1:2] != [b"200"]:
        return None
    try:
        told = json.loads(body)
        return Store(Path(told["directory"]), bool(told["unsafeNoFsync"]))
    except (ValueError, KeyError, TypeError):
        return None
