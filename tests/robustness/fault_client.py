"""A small HTTP client that tells apart what was answered, what was never sent, and what nobody knows."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any

ANSWER_SECONDS = 60.0


class NotSent(Exception):
    """There is nobody to send to; nothing has happened."""


class NoAnswer(Exception):
    """It was sent, and what came of it is not known."""


class Client:
    """One connection at a time, made anew when it breaks."""

    def __init__(self, port: int, token: str) -> None:
        self.port = port
        self._token = token
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._doing = "nothing"
        self._since = time.monotonic()

    def __repr__(self) -> str:
        return f"<Client of port {self.port}, {self._doing} for {time.monotonic() - self._since:.1f} s>"

    def _now(self, doing: str) -> None:
        self._doing, self._since = doing, time.monotonic()

    async def call(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> tuple[int, Any]:
        """One request; returns status and decoded JSON. Raises NotSent, NoAnswer."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await self._call(method, path, body, kind)
        except (OSError, EOFError, ValueError, TimeoutError) as error:
            self.close()
            raise NoAnswer(f"{method} {path}: {error!r}") from error

    async def _call(self, method: str, path: str, body: Any, kind: str) -> tuple[int, Any]:
        self._now(f"{method} {path}")
        reader, writer = await self._open()
        data = b"" if body is None else json.dumps(body).encode()
        writer.write(self._head(method, path, kind, len(data)) + data)
        await writer.drain()
        status, headers = await _read_head(reader)
        if headers.get("transfer-encoding") == "chunked":
            text = b"".join([chunk async for chunk in chunks(reader)])
        else:
            text = await reader.readexactly(int(headers["content-length"]))
        if headers.get("connection") == "close":
            self.close()
        return status, json.loads(text) if text[:1] == b"{" else {}

    def _head(self, method: str, path: str, kind: str, size: int) -> bytes:
        return (
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self._token}\r\n"
            f"Content-Type: {kind}\r\nContent-Length: {size}\r\n\r\n"
        ).encode()

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is None:
            try:
                self._streams = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 22)
            except OSError as error:
                raise NotSent(str(error)) from error
        return self._streams

    async def stream(self, path: str) -> AsyncIterator[dict[str, Any]]:
        """The events of a watch, until its proper end. Raises NotSent, NoAnswer when it breaks, Refused."""
        self.close()
        self._now(f"connecting for {path}")
        reader, writer = await self._open()
        try:
            self._now(f"opening {path}")
            writer.write(self._head("GET", path, "application/json", 0))
            await writer.drain()
            status, headers = await _read_head(reader)
            self._now(f"reading {path}, nothing yet")
            if status != 200:
                text = await reader.readexactly(int(headers.get("content-length", 0)))
                raise Refused(status, text.decode(errors="replace"))
            rest = b""
            async for chunk in chunks(reader):
                self._now(f"reading {path}")
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    yield json.loads(line)
        except (OSError, EOFError) as error:
            raise NoAnswer(repr(error)) from error
        finally:
            self.close()

    def close(self) -> None:
        """Let go of the connection."""
        streams, self._streams = self._streams, None
        if streams is not None:
            streams[1].close()


class Refused(Exception):
    """A watch was not opened."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status}: {text}")
        self.status = status


async def _read_head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    raw = await reader.readuntil(b"\r\n\r\n")
    first, *lines = raw.decode().split("\r\n")[:-2]
    return int(first.split()[1]), {
        name.lower(): value.strip().lower() for name, _, value in (line.partition(":") for line in lines)
    }


async def chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """The pieces of a body that comes in chunks, to its proper end. Raises EOFError when it is cut off."""
    while True:
        line = await reader.readuntil(b"\r\n")
        size = int(line, 16)
        chunk = await reader.readexactly(size + 2)
        if not size:
            return
        yield chunk[:-2]
