"""What a server is told of how it passes requests on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from watchkeeper.webhook.services import OwnServer

SHOWN = "proxy-client-cert-file", "proxy-client-key-file"
"""The options that name the files of what is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregationSettings:
    """The options of kube-apiserver for that, and what else the parts have to know of the server."""

    certificate: Path | None = None
    key: Path | None = None
    """What is shown to other API servers."""
    endpoints: bool = False
    """Whether Services are reached at their endpoints."""
    reject_redirects: bool = True
    request_timeout: float = 60.0
    """Seconds that a request may take."""
    own: Callable[[], OwnServer | None] = lambda: None
    """How this server reaches itself, None for nowhere but on a unix socket."""
