"""Real API servers for tests, a pytest plugin, and the suites that define what a backend has to do.

    with watchkeeper.testing.Server() as server: …          inside this process, on a thread
    async with watchkeeper.testing.Server() as server: …
    with watchkeeper.testing.ServerProcess() as server: …   a process of its own

The plugin's fixtures are in `watchkeeper.testing.pytest_plugin`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from watchkeeper.testing.handle import Handle, RequestFailed
    from watchkeeper.testing.server import Server
    from watchkeeper.testing.server_process import ServerProcess

__all__ = ["Handle", "RequestFailed", "Server", "ServerProcess"]

_HOMES = {"Handle": "handle", "RequestFailed": "handle", "Server": "server", "ServerProcess": "server_process"}


def __getattr__(name: str) -> Any:
    """Load what is asked for, and only that: pytest imports this package in every run."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
