"""Where a webhook is and whom to trust there, as configurations and definitions say it."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

_HTTPS = 443


@dataclass(frozen=True, slots=True)
class ServiceReference:
    """A Service that a webhook is behind."""

    namespace: str
    name: str
    port: int = _HTTPS
    path: str = ""

    @property
    def host(self) -> str:
        """The name that the webhook's certificate must have."""
        return f"{self.name}.{self.namespace}.svc"


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """A WebhookClientConfig: one of `url` and `service`, and the certificates of those who vouch for it."""

    url: str = ""
    service: ServiceReference | None = None
    ca_bundle: bytes = b""
    """PEM; empty for the certificate authorities of the system."""

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> ClientConfig:
        """Read what the API says."""
        try:
            bundle = b64decode(config.get("caBundle") or "").strip()
        except binascii.Error:
            bundle = b"no base64"
        service = config.get("service")
        if service is None:
            return cls(url=config.get("url") or "", ca_bundle=bundle)
        reference = ServiceReference(
            service.get("namespace") or "",
            service.get("name") or "",
            service.get("port") or _HTTPS,
            service.get("path") or "",
        )
        return cls(service=reference, ca_bundle=bundle)

    @property
    def host_port(self) -> tuple[str, str]:
        """Whom credentials are chosen for: the name or address, and the port, 443 unless another is said."""
        if self.service is not None:
            return self.service.host, str(self.service.port)
        authority = urlsplit(self.url).netloc.rpartition("@")[2]
        host, colon, port = authority.rpartition(":")
        return (host, port) if colon and port.isdigit() else (authority, str(_HTTPS))

    @property
    def address(self) -> str:
        """The URL that is posted to, without a query; its path is made plain, as Go's client does it."""
        if self.service is not None:
            return f"https://{self.service.host}:{self.service.port}{_plain(self.service.path)}"
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}{_plain(parts.path)}"


def _plain(path: str) -> str:
    """A path without empty and relative segments, beginning with a slash and ending with none."""
    kept: list[str] = []
    for segment in path.split("/"):
        if segment == "..":
            kept = kept[:-1]
        elif segment not in ("", "."):
            kept.append(segment)
    return "/" + "/".join(kept)
