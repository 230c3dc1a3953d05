"""How long a request may take: as long as the server lets it, less when its client says so (`?timeout=30s`)."""

from __future__ import annotations

from watchkeeper.meta import errors
from watchkeeper.meta.go_durations import parse_duration
from watchkeeper.request.request import Request


def check_deadline(request: Request) -> None:
    """A filter: refuse a timeout that cannot be read, before anything else is looked at. Raises a 400."""
    if "timeout=" in request.query and not request.info.long_running:
        requested_timeout(request)


def allowed_seconds(request: Request, maximum: float) -> float:
    """How many seconds a request may take in all: `maximum`, or what its client asked for if that is less."""
    if "timeout=" not in request.query or request.info.long_running:
        return maximum
    wanted = requested_timeout(request)
    return wanted if 0 < wanted < maximum else maximum


def requested_timeout(request: Request) -> float:
    """The `timeout` of the query in seconds, 0 when there is none. Raises a 400."""
    text = request.param("timeout")
    if not text:
        return 0.0
    try:
        return parse_duration(text) / 1e9
    except ValueError as error:
        raise errors.bad_request(f"invalid timeout specified in the request URL - {error}") from error
