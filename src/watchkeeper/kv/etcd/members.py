"""Connections to the members of a cluster."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
from aetcd.rpc import rpc_pb2_grpc

from watchkeeper.kv.errors import Unavailable
from watchkeeper.kv.etcd.config import Endpoint, EtcdConfig

log = logging.getLogger(__name__)

Identity = tuple[bytes | None, bytes | None, bytes | None]
"""The authorities that are trusted, our key and our certificate, as they stand in their files."""


class Member:
    """A channel to one member, and the calls that can be made on it. Connects by itself when it is used."""

    def __init__(self, endpoint: Endpoint, config: EtcdConfig) -> None:
        """Raises Unavailable when a certificate cannot be read. Needs a running event loop."""
        self.name = endpoint.target
        self._config = config
        self._identity = _identity(config) if endpoint.tls else None
        self.version: str | None = None
        """What the member said it runs, None while nobody has asked since it last failed."""
        self.is_stranger = False
        """Whether its last answer came from another cluster than ours."""
        self._open()

    def _open(self) -> None:
        options = _options(self._config)
        if self._identity is not None:
            credentials = grpc.ssl_channel_credentials(*self._identity)
            self._channel = grpc.aio.secure_channel(self.name, credentials, options=options)
        else:
            self._channel = grpc.aio.insecure_channel(self.name, options=options)
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

    def __repr__(self) -> str:
        return f"<Member {self.name} {self.version or 'of unknown version'}>"

    async def renew(self) -> None:
        """Use the certificates that are in the files now, if those have changed. For when the member has failed.

        A channel proves who we are with what it was given; etcd's own clients read the files for each connection.
        """
        if self._identity is None:
            return
        try:
            found = _identity(self._config)
        except Unavailable as error:
            log.warning("etcd %s: %s", self.name, error)
            return
        if found == self._identity:
            return
        log.info("etcd %s: certificates have changed; connecting anew", self.name)
        self._identity = found
        before = self._channel
        self._open()
        await before.close()

    async def close(self) -> None:
        """End the channel and every call on it."""
        await self._channel.close()


def connect(config: EtcdConfig) -> list[Member]:
    """A member for each endpoint. Raises Unavailable when a certificate cannot be read. Needs a running event loop."""
    return [Member(endpoint, config) for endpoint in config.parsed()]


def _identity(config: EtcdConfig) -> Identity:
    return _read(config.ca_file), _read(config.key_file), _read(config.cert_file)


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
