"""A server over TLS that tells what it was asked, for tests of what passes requests on."""

from __future__ import annotations

import http.server
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


class TellingServer(http.server.ThreadingHTTPServer):
    """On a free port of the loopback interface."""

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "server.crt", folder / "server.key")
        context.load_verify_locations(folder / "ca.crt")
        context.verify_mode = ssl.CERT_OPTIONAL
        self.socket = context.wrap_socket(self.socket, server_side=True)
        self.left: list[str] = []
        """What those asked for who have gone while they waited for more."""
        self.shown: list[str] = []
        """The names in the certificates that were shown, one for each request."""
        self.users: list[str] = []
        """Who asked, as the headers tell."""
        self.asked: list[str] = []
        """What was asked for."""
        self.connections: set[int] = set()
        """The ports that requests for `x` came from."""

    @property
    def port(self) -> int:
        """Where it serves."""
        return int(self.server_address[1])

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that go are expected."""


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: TellingServer

    def log_message(self, format: str, *args: object) -> None:
        pass

    def _answer(self) -> None:
        path = self.path.partition("?")[0].rpartition("/")[2]
        body = self._body()
        if "slow" in self.path:
            time.sleep(1)
        self.server.asked.append(f"{self.command} {path}")
        self.server.users.append(self.headers.get("X-Remote-User", ""))
        if path == "x":
            self.server.connections.add(self.client_address[1])
        certificate = self.connection.getpeercert() or {}  # type: ignore[attr-defined]
        self.server.shown += [value for name in certificate.get("subject", ()) for _, value in name]
        if path in ("stream", "up", "broken", "moved", "refused", "nowhere", "extra", "silent", "cut", "gone"):
            getattr(self, f"_{path}")()
            return
        told = {
            "method": self.command,
            "target": self.path,
            "headers": [[name.lower(), value] for name, value in self.headers.items()],
            "body": body.decode(),
        }
        self._send(200, json.dumps(told).encode(), ("Access-Control-Allow-Origin", "*"), ("X-Two", "1"), ("X-Two", "2"))

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding") is None:
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _send(self, status: int, body: bytes, *headers: tuple[str, str]) -> None:
        self.send_response(status)
        for name, value in (*headers, ("Content-Length", str(len(body)))):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else body)

    def _stream(self) -> None:
        """Pieces without an end, until the client is gone."""
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        piece = b"x" * 65536
        try:
            self.wfile.write(b"5\r\nfirst\r\n")
            while "endless" in self.path:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            self.connection.recv(1)
        except OSError:
            pass
        self.close_connection = True
        self.server.left.append(self.path)

    def _up(self) -> None:
        """Another protocol, in which everything comes back."""
        self.send_response(101)
        self.send_header("Connection", "Upgrade")
        self.send_header("Upgrade", self.headers["Upgrade"])
        self.end_headers()
        while data := self.connection.recv(1 << 16):
            self.connection.sendall(data.upper())
        self.close_connection = True
        self.server.left.append(self.path)

    def _refused(self) -> None:
        self._send(403, b"no\n")

    def _broken(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "100")
        self.end_headers()
        self.wfile.write(b"half")
        self.wfile.flush()
        self.close_connection = True

    def _cut(self) -> None:
        """An answer of which only the beginning comes."""
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Le")
        self.close_connection = True

    def _gone(self) -> None:
        """No answer where the connection had been used before."""
        if self.server.asked.count(f"{self.command} gone") == 1:
            self.close_connection = True
        else:
            self._send(200, b"back")

    def _moved(self) -> None:
        self._send(302, b"", ("Location", "/apis/far.io/v1/elsewhere"))

    def _silent(self) -> None:
        """Nothing, until the client is gone."""
        try:
            self.connection.recv(1)
        except OSError:
            pass
        self.close_connection = True
        self.server.left.append(self.path)

    def _nowhere(self) -> None:
        self._send(201, b"", ("Location", "http://[bad"))

    def _extra(self) -> None:
        self._send(200, b"one")
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nother")

    def __getattr__(self, name: str) -> Callable[[], None]:
        """All methods are answered alike."""
        if name.startswith("do_"):
            return self._answer
        raise AttributeError(name)


@contextmanager
def telling_server(folder: Path) -> Iterator[TellingServer]:
    """Serve on a thread."""
    server = TellingServer(folder)
    thread = threading.Thread(target=server.serve_forever, name="telling", daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
