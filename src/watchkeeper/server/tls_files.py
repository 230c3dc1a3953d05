"""Where the certificates are that a server shows and accepts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from watchkeeper.server.tls_protocol import DEFAULT_PROTOCOL, TlsProtocol


@dataclass(frozen=True, slots=True)
class NamedPair:
    """A certificate for clients that ask for one of some names; without names, for those that it has."""

    cert: Path
    key: Path
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        names = f":{','.join(self.names)}" if self.names else ""
        return f"{self.cert},{self.key}{names}"


def named_pair(text: str) -> NamedPair:
    """Read `CERT,KEY` or `CERT,KEY:NAME,NAME`. Raises ValueError."""
    files, colon, rest = text.partition(":")
    names = rest.strip()
    if colon and not names:
        raise ValueError("empty names list is not allowed")
    parts = [part.strip() for part in files.split(",")]
    if len(parts) != 2:
        raise ValueError("expected comma separated certificate and key file paths")
    return NamedPair(Path(parts[0]), Path(parts[1]), tuple(name.strip() for name in names.split(",")) if names else ())


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """The serving certificate and its key, and all that goes with them."""

    cert: Path
    key: Path
    client_ca: Path | None = None
    proxy_ca: Path | None = None
    """Who signs the certificates of front proxies."""
    named: tuple[NamedPair, ...] = ()
    protocol: TlsProtocol = DEFAULT_PROTOCOL

    def __iter__(self) -> Iterator[Path]:
        """All files, those that are not given left out."""
        yield from (self.cert, self.key)
        yield from (path for path in (self.client_ca, self.proxy_ca) if path is not None)
        for pair in self.named:
            yield from (pair.cert, pair.key)
