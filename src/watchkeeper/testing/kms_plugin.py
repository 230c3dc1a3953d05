"""A key management plugin for tests: AES-GCM with keys by id, over gRPC on a unix socket."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from watchkeeper.storage.value import wire


class Plugin:
    """Serves KMS v2. Its state can be changed while it serves: which keys it has, which it wraps with, how it is."""

    def __init__(self, socket: Path) -> None:
        """`socket`: where it is going to listen."""
        self.endpoint = f"unix://{socket}"
        self.keys = {"one": AESGCM(os.urandom(32))}
        self.key_id = "one"
        self.health = "ok"
        self.version = "v2"
        self.annotations: dict[str, bytes] = {"version.plugin.example.com": b"1"}
        self.calls: list[str] = []
        self.fail = False
        self._server: Any = None

    def rotate(self, key_id: str) -> None:
        """Wrap with a new key from now on."""
        self.keys[key_id] = AESGCM(os.urandom(32))
        self.key_id = key_id

    async def start(self) -> None:
        """Listen on the socket."""
        self._server = grpc.aio.server()
        handlers: dict[str, Any] = {
            name: grpc.unary_unary_rpc_method_handler(method)
            for name, method in (("Status", self._status), ("Encrypt", self._encrypt), ("Decrypt", self._decrypt))
        }
        self._server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler("v2.KeyManagementService", handlers),)
        )
        self._server.add_insecure_port(self.endpoint)
        await self._server.start()

    async def stop(self) -> None:
        """End at once."""
        await self._server.stop(None)

    async def _answer(self, name: str, context: Any) -> None:
        self.calls.append(name)
        if self.fail:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "the vault is sealed")

    async def _status(self, request: bytes, context: Any) -> bytes:
        await self._answer("Status", context)
        return wire.encode(((1, self.version), (2, self.health), (3, self.key_id)))

    async def _encrypt(self, request: bytes, context: Any) -> bytes:
        await self._answer("Encrypt", context)
        nonce = os.urandom(12)
        sealed = nonce + self.keys[self.key_id].encrypt(nonce, wire.decode(request).data(1), None)
        return wire.encode(((1, sealed), (2, self.key_id), (3, self.annotations)))

    async def _decrypt(self, request: bytes, context: Any) -> bytes:
        await self._answer("Decrypt", context)
        message = wire.decode(request)
        if message.map(4) != self.annotations:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "the annotations are not mine")
        sealed = message.data(1)
        return wire.encode(((1, self.keys[message.text(3)].decrypt(sealed[:12], sealed[12:], None)),))
