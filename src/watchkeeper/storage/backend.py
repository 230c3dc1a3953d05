"""Which key-value store holds what: the configuration of a backend, and of resources that live elsewhere."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from watchkeeper.kv.interface import KV
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.storage.compactor import DEFAULT_INTERVAL
from watchkeeper.storage.interface import RESOURCE_PREFIX
from watchkeeper.storage.leases import MAX_OBJECTS, REUSE_SECONDS


class BackendError(Exception):
    """A backend is not configured as it must be. The message is for the operator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendConfig:
    """One backend. `type`: etcd3 (also for ""), sqlite or memory. Times in seconds."""

    type: str = ""
    servers: tuple[str, ...] = ()
    path: Path | None = None
    """The file of a SQLite store."""
    prefix: str = RESOURCE_PREFIX
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None
    compaction_interval: float = DEFAULT_INTERVAL
    health_timeout: float = 2.0
    ready_timeout: float = 2.0
    lease_reuse_seconds: int = REUSE_SECONDS
    lease_max_objects: int = MAX_OBJECTS
    cache_check_interval: float = 300.0
    """How often caches are compared with the store; 0 is never."""

    def check(self) -> None:
        """Raise BackendError, in the reference's words where it has any, for what cannot work."""
        if self.type == "etcd2":
            raise BackendError("etcd2 is no longer a supported storage backend")
        if self.type not in ("", "etcd3", "sqlite", "memory"):
            raise BackendError(f"unknown storage type: {self.type}")
        if self.type in ("", "etcd3") and not self.servers:
            raise BackendError("--etcd-servers must be specified")
        if self.type == "sqlite" and self.path is None:
            raise BackendError("a SQLite store needs the path of a file")
        if (self.cert_file is None) is not (self.key_file is None):
            raise BackendError("a client certificate and its key go together: give both files or none")


Opener = Callable[[BackendConfig], Awaitable[KV]]
"""Opens the store of a checked configuration. Raises BackendError or KVError."""


def parse_overrides(texts: Iterable[str]) -> dict[GroupResource, tuple[str, ...]]:
    """Read `--etcd-servers-overrides`: texts such as `/events#https://one:2379;https://two:2379`.

    Raises BackendError.
    """
    found: dict[GroupResource, tuple[str, ...]] = {}
    for text in texts:
        name, hash_sign, listed = text.partition("#")
        group, slash, resource = name.partition("/")
        servers = tuple(listed.split(";"))
        if not (hash_sign and slash and resource) or "/" in resource or "#" in listed or not all(map(_is_url, servers)):
            raise BackendError(
                "--etcd-servers-overrides invalid, must be of format: group/resource#servers, "
                "where servers are URLs, semicolon separated"
            )
        found[GroupResource(group, resource)] = servers
    return found


def parse_cache_sizes(texts: Iterable[str]) -> dict[GroupResource, int]:
    """Read `--watch-cache-sizes`: texts such as `deployments.apps#0`. Raises BackendError."""
    found: dict[GroupResource, int] = {}
    for text in texts:
        name, hash_sign, size = text.partition("#")
        if not hash_sign or "#" in size:
            raise BackendError(f"invalid value of watch cache size: {text}")
        if not re.fullmatch(r"[+-]?\d+", size):
            raise BackendError(f"invalid size of watch cache size: {text}")
        if int(size) < 0:
            raise BackendError(f"watch cache size cannot be negative: {text}")
        resource, _, group = name.partition(".")
        found[GroupResource(group, resource)] = int(size)
    return found


def _is_url(text: str) -> bool:
    """An etcd's address or socket, or `sqlite:PATH` or `memory:`, which a resource may have for itself too."""
    parts = urlsplit(text)
    at_path = parts.scheme in ("sqlite", "unix", "unixs") and bool(parts.path)
    return bool(parts.scheme and parts.netloc) or text == "memory:" or at_path
