"""A server that does what kubelets do, and what else may listen on nodes, for tests of what is passed on to them."""

from __future__ import annotations

import base64
import hashlib
import json
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from wsproto.connection import Connection, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, TextMessage

from watchkeeper.aio.spdy_frames import (
    Data,
    FrameReader,
    FrameWriter,
    Opened,
    Pinged,
    Reset,
    data,
    gone_away,
    ping,
    reset,
)

PAGE = b"<html><body class=x><A HREF=\"/there?a=1&amp;b=2\">x</A><img src='pic.png'/></body></html>"
VERSION = "x-stream-protocol-version"


@dataclass
class Asked:
    """One request."""

    method: str
    target: str
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""
    shown: str = ""
    """The name in the certificate that was shown."""

    @property
    def path(self) -> str:
        """What is asked for, without the query."""
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, list[str]]:
        """The query."""
        return parse_qs(urlsplit(self.target).query, keep_blank_values=True)

    def header(self, name: str) -> str:
        """The first value of a header."""
        return next((value for each, value in self.headers if each == name), "")


class FakeKubelet:
    """Serves until it is closed. `asked` has all requests, `left` the paths of those whose clients have gone."""

    def __init__(self, folder: Path | None, host: str = "127.0.0.1") -> None:
        """Without a folder of certificates it speaks no TLS."""
        self.asked: list[Asked] = []
        self.left: list[str] = []
        self._context: ssl.SSLContext | None = None
        if folder is not None:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(folder / "server.crt", folder / "server.key")
            self._context.load_verify_locations(folder / "ca.crt")
            self._context.verify_mode = ssl.CERT_OPTIONAL
        self._listener = socket.create_server((host, 0))
        self.port = int(self._listener.getsockname()[1])
        self._open: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        with suppress(OSError, EOFError, ValueError):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._context is not None:
                sock = self._context.wrap_socket(sock, server_side=True)
            self._open.add(sock)
            with sock:
                wire = _Wire(self, sock)
                while wire.answer_one():
                    pass
        self._open.discard(sock)

    def close(self) -> None:
        """End it, and all connections."""
        self._listener.close()
        for sock in list(self._open):
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)


@contextmanager
def fake_kubelet(folder: Path | None, host: str = "127.0.0.1") -> Iterator[FakeKubelet]:
    """One that runs as long as the block."""
    kubelet = FakeKubelet(folder, host)
    try:
        yield kubelet
    finally:
        kubelet.close()


class _Wire:
    def __init__(self, kubelet: FakeKubelet, sock: socket.socket) -> None:
        self._kubelet = kubelet
        self._sock = sock
        self._file = sock.makefile("rb")

    # -- HTTP ---------------------------------------------------------------------------------------------------------

    def answer_one(self) -> bool:
        """Answer a request; False when the connection is of no use any more."""
        asked = self._read()
        if asked is None:
            return False
        self._kubelet.asked.append(asked)
        upgrade = asked.header("upgrade").lower()
        parts = asked.path.split("/")
        if "refused" in parts:
            self._send(403, b"not you", "text/plain")
            return True
        if upgrade:
            self._upgraded(asked, upgrade, parts[1])
            return False
        if parts[1] == "containerLogs":
            return self._log(asked, parts[-1])
        return self._other(asked, parts[-1])

    def _read(self) -> Asked | None:
        if self._file.peek(1)[:1] == b"\x16":  # a greeting of TLS
            self._sock.sendall(b"HTTP/1.0 400 Bad Request\r\n\r\n")
            return None
        line = self._file.readline()
        if not line:
            return None
        method, target, _ = line.decode("latin-1").split(" ")
        asked = Asked(method, target)
        while (line := self._file.readline().strip()) != b"":
            name, _, value = line.decode("latin-1").partition(":")
            asked.headers.append((name.lower(), value.strip()))
        if asked.header("transfer-encoding") == "chunked":
            while size := int(self._file.readline(), 16):
                asked.body += self._file.read(size)
                self._file.readline()
            self._file.readline()
        else:
            asked.body = self._file.read(int(asked.header("content-length") or 0))
        if isinstance(self._sock, ssl.SSLSocket) and (certificate := self._sock.getpeercert()):
            subject: Any = certificate["subject"]
            asked.shown = dict(pair for part in subject for pair in part)["commonName"]
        return asked

    def _send(self, status: int, body: bytes, kind: str, *headers: str) -> None:
        lines = [f"HTTP/1.1 {status} Whatever", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *headers]
        self._sock.sendall("\r\n".join([*lines, "", ""]).encode("latin-1") + body)

    def _chunk(self, piece: bytes) -> None:
        self._sock.sendall(b"%x\r\n%b\r\n" % (len(piece), piece))

    def _log(self, asked: Asked, container: str) -> bool:
        if container.startswith("status-"):
            self._send(int(container[7:]), b"what is wrong", "text/plain", "Location: /elsewhere")
            return True
        self._sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n")
        if "follow" in asked.query:
            try:
                for number in range(1000):
                    self._chunk(b"line %d\n" % number)
                    time.sleep(0.02)
            except OSError:
                self._kubelet.left.append(asked.path)
            return False
        self._chunk(b"one\ntwo\n")
        if container == "broken":
            return False
        if container == "large":
            for _ in range(1024):
                self._chunk(b"x" * 65535 + b"\n")
        self._chunk(b"")
        return True

    def _other(self, asked: Asked, name: str) -> bool:
        match name:
            case "page":
                page = base64.urlsafe_b64decode(asked.query["body"][0]) if "body" in asked.query else PAGE
                self._send(200, page, "text/html; charset=utf-8")
            case "moved":
                self._send(302, b"", "text/plain", f"Location: {asked.query['to'][0]}")
            case "cors":
                self._send(200, b"x", "text/plain", "Access-Control-Allow-Origin: *", "ETag: e", "Cache-Control: a")
            case "stream":
                self._sock.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                try:
                    while True:
                        self._chunk(b"tick\n")
                        time.sleep(0.02)
                except OSError:
                    self._kubelet.left.append(asked.path)
                    return False
            case "broken":
                self._sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
                return False
            case "silent":
                return False
            case _:
                told = {"method": asked.method, "target": asked.target, "headers": asked.headers}
                self._send(200, json.dumps({**told, "body": asked.body.decode()}).encode(), "application/json")
        return True

    # -- other protocols ----------------------------------------------------------------------------------------------

    def _upgraded(self, asked: Asked, upgrade: str, what: str) -> None:
        lines = ["HTTP/1.1 101 Switching Protocols", "Connection: Upgrade", f"Upgrade: {asked.header('upgrade')}"]
        if upgrade == "websocket":
            key = asked.header("sec-websocket-key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
            lines.append(f"Sec-WebSocket-Accept: {base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()}")
            if protocols := asked.header("sec-websocket-protocol"):
                lines.append(f"Sec-WebSocket-Protocol: {protocols.split(',')[0].strip()}")
        elif version := asked.header(VERSION):
            lines.append(f"X-Stream-Protocol-Version: {version}")
        self._sock.sendall("\r\n".join([*lines, "", ""]).encode())
        if upgrade == "websocket":
            self._echo_messages()
        elif upgrade == "spdy/3.1" and what in ("exec", "attach"):
            _Command(self, asked).run()
        elif upgrade == "spdy/3.1" and what == "portForward":
            _Forward(self, asked).run()
        else:
            while piece := self.receive():
                self._sock.sendall(piece)
        self._kubelet.left.append(asked.path)

    def _echo_messages(self) -> None:
        protocol = Connection(ConnectionType.SERVER)
        while piece := self.receive():
            protocol.receive_data(piece)
            for event in protocol.events():
                if isinstance(event, BytesMessage | TextMessage):
                    self._sock.sendall(protocol.send(event))
                elif isinstance(event, CloseConnection):
                    self._sock.sendall(protocol.send(event.response()))
                    return

    def receive(self) -> bytes:
        """What comes next."""
        return self._file.read1(65536)  # type: ignore[attr-defined, no-any-return]

    def send(self, frame: bytes) -> None:
        """Send bytes."""
        self._sock.sendall(frame)


class _Spdy:
    """The server's side of SPDY."""

    def __init__(self, wire: _Wire, asked: Asked) -> None:
        self.wire = wire
        self.asked = asked
        self.writer = FrameWriter()
        self.reader = FrameReader()
        self.over = False

    def run(self) -> None:
        """Until it is over."""
        while not self.over and (piece := self.wire.receive()):
            for frame in self.reader.feed(piece):
                match frame:
                    case Opened(number, headers, _):
                        self.wire.send(self.writer.replied(number, {}))
                        self.opened(number, dict(headers))
                    case Data(number, said, last):
                        self.said(number, said, last)
                    case Pinged(number):
                        self.wire.send(ping(number))
                    case Reset(number, _):
                        self.said(number, b"", True)

    def opened(self, number: int, headers: dict[str, str]) -> None:
        """A stream was opened."""

    def said(self, number: int, said: bytes, last: bool) -> None:
        """Something was said on one."""


class _Command(_Spdy):
    """An exec whose command tells what is to be done; an attach to `cat`."""

    def __init__(self, wire: _Wire, asked: Asked) -> None:
        super().__init__(wire, asked)
        self.command = asked.query.get("command", ["cat"])
        self.streams: dict[str, int] = {}
        self.process: subprocess.Popen[bytes] | None = None
        wanted = {"input": "stdin", "output": "stdout", "error": "stderr"}
        tty = "tty" in asked.query
        self.missing = {"error"} | {name for key, name in wanted.items() if key in asked.query}
        self.missing |= {"resize"} if tty else set()
        if tty:
            self.missing.discard("stderr")

    def opened(self, number: int, headers: dict[str, str]) -> None:
        """See `_Spdy`."""
        self.streams[headers["streamtype"]] = number
        self.missing.discard(headers["streamtype"])
        if not self.missing:
            self._begin()

    def _begin(self) -> None:
        match self.command:
            case ["echo", *words]:
                self._say("stdout", " ".join(words).encode())
                if "stderr" in self.streams:
                    self._say("stderr", b"aside")
                self._end(0)
            case ["exit", code]:
                self._end(int(code))
            case ["large"]:
                for _ in range(256):
                    self._say("stdout", b"y" * 32768)
                self._end(0)
            case ["vanish"]:
                self._say("stdout", b"half")
                self.over = True
            case ["tar" | "test", *_]:
                self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                threading.Thread(target=self._tell_process, args=(self.process,), daemon=True).start()
            case ["garbage"]:
                self.wire.send(b"\x80\x02" + bytes(100))
            case ["fail"]:
                self._status({"status": "Failure", "message": "no such command"})

    def _tell_process(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        while piece := process.stdout.read(32768):
            self._say("stdout", piece)
        self._end(process.wait())

    def said(self, number: int, said: bytes, last: bool) -> None:
        """See `_Spdy`."""
        if self.process is not None:
            assert self.process.stdin is not None
            if number == self.streams.get("stdin") and not self.process.stdin.closed:
                self.process.stdin.write(said)
                if last:
                    self.process.stdin.close()
        elif number == self.streams.get("resize"):
            self._say("stdout", said)
        elif number == self.streams.get("stdin") and self.command == ["cat"]:
            if said:
                self._say("stdout", said)
            if last:
                self._end(0)

    def _say(self, kind: str, text: bytes) -> None:
        self.wire.send(data(self.streams[kind], text))

    def _end(self, code: int) -> None:
        causes = [{"reason": "ExitCode", "message": str(code)}]
        failed = {"status": "Failure", "reason": "NonZeroExitCode", "details": {"causes": causes}}
        self._status(failed if code else {"metadata": {}, "status": "Success"})

    def _status(self, status: dict[str, Any]) -> None:
        self._say("error", json.dumps(status).encode())
        for number in self.streams.values():
            self.wire.send(reset(number, 5))
        self.wire.send(gone_away(1))
        self.over = True


class _Forward(_Spdy):
    """A port behind which all is echoed in capitals."""

    def __init__(self, wire: _Wire, asked: Asked) -> None:
        super().__init__(wire, asked)
        self.data: set[int] = set()

    def opened(self, number: int, headers: dict[str, str]) -> None:
        """See `_Spdy`."""
        if headers["streamtype"] == "data":
            self.data.add(number)

    def said(self, number: int, said: bytes, last: bool) -> None:
        """See `_Spdy`."""
        if number in self.data:
            self.wire.send(data(number, said.upper(), last=last))
        elif last:
            self.wire.send(data(number, b"", last=True))
