"""How to reach an etcd cluster."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One member's client address, as gRPC wants it."""

    target: str
    tls: bool

    @classmethod
    def parse(cls, text: str, *, tls: bool) -> Endpoint:
        """Read `https://host:2379`, `http://host:2379`, `host:2379` (TLS if `tls`) or `unix:///path`.

        Raises ValueError for anything else.
        """
        if text.startswith(("unix:", "unixs:")):
            scheme, _, path = text.partition(":")
            return cls("unix:" + path, scheme == "unixs")
        url = urlsplit(text if "://" in text else f"//{text}")
        try:
            port = url.port or 2379
        except ValueError:
            port = 0
        if url.scheme not in ("", "http", "https") or not url.hostname or not port or url.path.strip("/") or url.query:
            raise ValueError(f"{text!r} is not an etcd endpoint; write https://HOST:PORT")
        host = f"[{url.hostname}]" if ":" in url.hostname else url.hostname
        return cls(f"{host}:{port}", url.scheme == "https" or (not url.scheme and tls))


@dataclass(frozen=True, slots=True)
class EtcdConfig:
    """Where the cluster is, how to prove who we are, and how patient to be. Times in seconds."""

    endpoints: tuple[str, ...]
    """Client URLs of one or more members of one cluster; another is used when one fails."""

    ca_file: Path | None = None
    """PEM: who may have signed the members' certificates; None trusts the system's authorities."""

    cert_file: Path | None = None
    key_file: Path | None = None
    """PEM: the client's own certificate and key, for clusters that ask for one."""

    username: str = ""
    password: str = field(default="", repr=False)
    """For clusters with authentication enabled."""

    request_timeout: float = 10.0
    """A call that has no answer then raises Timeout. Reads try several members within it."""

    health_timeout: float = 2.0
    """The same for `status`."""

    keepalive_time: float = 10.0
    keepalive_timeout: float = 5.0
    """A connection is probed when nothing was heard for so long, and given up when the answer takes so long.
    Members refuse to be probed more often than every 5 s."""

    probe_key: bytes = b"\0"
    """A key that the user may read; it need not exist. `current_revision` asks for it."""

    def __post_init__(self) -> None:
        """Raise ValueError for what cannot work."""
        if not self.endpoints:
            raise ValueError("etcd needs at least one endpoint")
        if (self.cert_file is None) != (self.key_file is None):
            raise ValueError("an etcd client certificate needs its key, and the key its certificate")
        if self.password and not self.username:
            raise ValueError("an etcd password needs a username")
        self.parsed()

    def parsed(self) -> list[Endpoint]:
        """The endpoints. TLS is used for https ones, and for those without a scheme when certificates are given."""
        tls = self.ca_file is not None or self.cert_file is not None
        return [Endpoint.parse(text, tls=tls) for text in self.endpoints]
