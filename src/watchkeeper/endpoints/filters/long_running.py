"""Which requests last as long as their client wants."""

from __future__ import annotations

from watchkeeper.request.exchange import Exchange
from watchkeeper.request.info import RequestInfo
from watchkeeper.request.request import Request

_VERBS = frozenset({"watch", "proxy"})
_SUBRESOURCES = frozenset({"attach", "exec", "proxy", "log", "portforward"})


def is_long_running(info: RequestInfo) -> bool:
    """Whether neither the request timeout nor the limits on requests in flight apply."""
    if not info.is_resource:
        return False
    return info.verb in _VERBS or info.subresource in _SUBRESOURCES


def mark_long_running(request: Request) -> None:
    """A filter: tell the HTTP server which answers are streams that it ends when it stops."""
    if is_long_running(request.info):
        exchange: Exchange | None = request.scope.get("exchange")
        if exchange is not None:
            exchange.long_running = True
