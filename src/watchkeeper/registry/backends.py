"""Whom requests on connecting subresources lead to: a kubelet, a Pod, whoever listens on a node."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from watchkeeper.aio.dial import authority

_DEFAULT_PORTS = {"http": "80", "https": "443"}


class Whom(Enum):
    """Who is meant, which says who is believed to be it, and what they are shown."""

    KUBELET = auto()
    UNVERIFIED_KUBELET = auto()
    """A kubelet whose certificate the client does not care about."""
    ANYBODY = auto()
    """Whoever listens there. Nobody has certificates for addresses of Pods, so none are asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """Where a request is passed on to."""

    scheme: str = "https"
    """`http` or `https`."""
    host: str
    port: str = ""
    """A number up to 65535; "" for the one that the scheme has."""
    path: str = ""
    """Not escaped."""
    query: str = ""
    """As it stands in a URL."""
    whom: Whom = Whom.KUBELET

    @property
    def place(self) -> tuple[str, int]:
        """Host and port to connect to."""
        return self.host, int(self.port or _DEFAULT_PORTS[self.scheme])

    @property
    def authority(self) -> str:
        """Host and port as they stand in the URL, without a port that is not told."""
        if self.port:
            return authority(self.host, int(self.port))
        return f"[{self.host}]" if ":" in self.host else self.host


@dataclass(frozen=True, slots=True, kw_only=True)
class LogBackend(Backend):
    """The kubelet that has the log of a Pod."""

    pod: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamBackend(Backend):
    """The kubelet that carries out an exec, an attach or a port-forward."""

    websockets: bool
    """Whether it takes WebSockets as they come from clients; others speak SPDY alone."""
    forwards: bool
    """Whether ports are forwarded, whose WebSockets carry SPDY; those of others carry channels."""
    streams: frozenset[str] = frozenset()
    """What the client asks for: of `stdin`, `stdout`, `stderr` and `tty`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyBackend(Backend):
    """Who is reached through the proxy of a node, a Pod or a Service."""
