"""The key management service of KMS v2: a plugin behind a unix socket, spoken to over gRPC."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from watchkeeper.storage.value import wire
from watchkeeper.storage.value.interface import KeyUnavailable

_SERVICE = "/v2.KeyManagementService/"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PluginStatus:
    """What a plugin says of itself. `health` is "ok" or what is wrong; `key_id` names the key it writes with."""

    version: str
    health: str
    key_id: str


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A key as the plugin has encrypted it."""

    ciphertext: bytes
    key_id: str
    annotations: Mapping[str, bytes] = field(default_factory=dict)


class KeyService(Protocol):
    """Wraps and unwraps keys. Everything raises KeyUnavailable."""

    async def status(self) -> PluginStatus:
        """Ask how the plugin is."""
        ...

    async def encrypt(self, plaintext: bytes) -> Wrapped:
        """Wrap a key."""
        ...

    async def decrypt(self, wrapped: Wrapped) -> bytes:
        """Unwrap a key."""
        ...

    async def close(self) -> None:
        """End the connection."""
        ...


class GrpcKeyService:
    """Implements KeyService for a plugin that listens on a unix socket."""

    def __init__(self, name: str, endpoint: str, timeout: float) -> None:
        """`endpoint`: such as unix:///run/kms.sock; `timeout` in seconds. Raises KeyUnavailable if grpc is missing."""
        self._name = name
        self._timeout = timeout
        try:
            import grpc.aio
        except ImportError:
            raise KeyUnavailable(
                f"KMS provider {name} needs the package grpcio: pip install 'watchkeeper[etcd]'"
            ) from None
        self._error: type[Exception] = grpc.aio.AioRpcError
        self._channel: Any = grpc.aio.insecure_channel(endpoint)
        self._calls: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"<GrpcKeyService {self._name}>"

    async def _call(self, method: str, request: bytes, read: Callable[[wire.Message], T]) -> T:
        call = self._calls.get(method)
        if call is None:
            call = self._calls[method] = self._channel.unary_unary(_SERVICE + method)
        try:
            return read(wire.decode(await call(request, timeout=self._timeout)))
        except self._error as e:
            details = getattr(e, "details", str)()
            raise KeyUnavailable(f"KMS provider {self._name}: {method} failed: {details}") from None
        except ValueError as e:
            raise KeyUnavailable(f"KMS provider {self._name}: {method} gave no sound answer: {e}") from None

    async def status(self) -> PluginStatus:
        """Ask how the plugin is."""
        return await self._call("Status", b"", lambda m: PluginStatus(m.text(1), m.text(2), m.text(3)))

    async def encrypt(self, plaintext: bytes) -> Wrapped:
        """Wrap a key."""
        request = wire.encode(((1, plaintext), (2, str(uuid.uuid4()))))
        return await self._call("Encrypt", request, lambda m: Wrapped(m.data(1), m.text(2), m.map(3)))

    async def decrypt(self, wrapped: Wrapped) -> bytes:
        """Unwrap a key."""
        fields = ((1, wrapped.ciphertext), (2, str(uuid.uuid4())), (3, wrapped.key_id), (4, wrapped.annotations))
        return await self._call("Decrypt", wire.encode(fields), lambda m: m.data(1))

    async def close(self) -> None:
        """End the connection."""
        await self._channel.close()
