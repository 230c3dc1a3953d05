"""What goes wrong between an HTTP server and its clients."""

from __future__ import annotations


class ClientDisconnected(OSError):
    """Written to a client that is gone."""
