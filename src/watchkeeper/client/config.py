"""Where a server is and who asks it: what a client has to know."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConfig:
    """A server and the credentials for it."""

    url: str
    """Such as https://127.0.0.1:6443, or unix:/run/watchkeeper.sock."""
    token: str = field(default="", repr=False)
    token_file: Path | None = None
    """Read again before each request, because it may be replaced; wins over `token`."""
    basic: tuple[str, str] | None = field(default=None, repr=False)
    """A user name and a password."""
    tls: ssl.SSLContext | None = None
    """For https; None for the system's authorities."""
    server_name: str = ""
    """Whom the server's certificate must name, if not the URL's host."""
    namespace: str = "default"
    """Where namespaced objects are, when nobody says."""
    user_agent: str = "watchkeeper-client"
    headers: Mapping[str, str] = field(default_factory=dict)
    """Sent with each request, such as Impersonate-User."""
    timeout: float = 75.0
    """Seconds until an answer counts as missing, or, where a stream is asked for, its beginning; 0 is never.

    API servers end requests after 60 s unless told otherwise, with an answer that says so.
    """

    def bearer_token(self) -> str:
        """The token of this moment, "" for none. Raises OSError."""
        return self.token_file.read_text().strip() if self.token_file is not None else self.token
