"""Connections to the members of a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grpc
import grpc.aio
from aetcd.rpc import rpc_pb2_grpc

from watchkeeper.kv.errors import Unavailable
from watchkeeper.kv.etcd.config import Endpoint, EtcdConfig


class Member:
    """A channel to one member, and the calls that can be made on it. Connects by itself when it is used."""

    def __init__(self, endpoint: Endpoint, credentials: grpc.ChannelCredentials | None, config: EtcdConfig) -> None:
        self.name = endpoint.target
        options = _options(config)
        if credentials is not None:
            self._channel = grpc.aio.secure_channel(endpoint.target, credentials, options=options)
        else:
            self._channel = grpc.aio.insecure_channel(endpoint.target, options=options)
        kv: Any = rpc_pb2_grpc.KVStub(self._channel)
        lease: Any = rpc_pb2_grpc.LeaseStub(self._channel)
        maintenance: Any = rpc_pb2_grpc.MaintenanceStub(self._channel)
        self.range = kv.Range
        self.txn = kv.Txn
        self.compact = kv.Compact
        self.grant_lease = lease.LeaseGrant
        self.revoke_lease = lease.LeaseRevoke
        self.status = maintenance.Status
        self.watch = rpc_pb2_grpc.WatchStub(self._channel).Watch
        self.authenticate = rpc_pb2_grpc.AuthStub(self._channel).Authenticate
        self.version: str | None = None
        """What the member said it runs, None while nobody has asked since it last failed."""

    def __repr__(self) -> str:
        return f"<Member {self.name} {self.version or 'of unknown version'}>"

    async def close(self) -> None:
        """End the channel and every call on it."""
        await self._channel.close()


def connect(config: EtcdConfig) -> list[Member]:
    """A member for each endpoint. Raises Unavailable when a certificate cannot be read. Needs a running event loop."""
    endpoints = config.parsed()
    credentials = None
    if any(endpoint.tls for endpoint in endpoints):
        credentials = grpc.ssl_channel_credentials(
            root_certificates=_read(config.ca_file),
            private_key=_read(config.key_file),
            certificate_chain=_read(config.cert_file),
        )
    return [Member(endpoint, credentials if endpoint.tls else None, config) for endpoint in endpoints]


def _read(path: Path | None) -> bytes | None:
    if path is None:
        return None
    try:
        return path.read_bytes()
    except OSError as error:
        raise Unavailable(f"{path}: {error.strerror}") from error


def _options(config: EtcdConfig) -> list[tuple[str, Any]]:
    return [
        ("grpc.max_receive_message_length", -1),
        ("grpc.max_send_message_length", -1),
        ("grpc.keepalive_time_ms", int(config.keepalive_time * 1000)),
        ("grpc.keepalive_timeout_ms", int(config.keepalive_timeout * 1000)),
        # etcd ends connections on which it is pinged while no call is under way.
        ("grpc.keepalive_permit_without_calls", 0),
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.min_reconnect_backoff_ms", 1000),
        ("grpc.max_reconnect_backoff_ms", 2000),
        ("grpc.enable_retries", 0),
        ("grpc.enable_http_proxy", 0),
        # Channels to the same address would share one connection, and one connection's fate.
        ("grpc.use_local_subchannel_pool", 1),
    ]
