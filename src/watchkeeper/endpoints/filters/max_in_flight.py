"""The filter that bounds how many requests are worked on at a time."""

from __future__ import annotations

from watchkeeper.endpoints.response import TEXT, Response
from watchkeeper.request.request import Request

DEFAULT_READ_ONLY = 400
DEFAULT_MUTATING = 200
_READ_ONLY_VERBS = frozenset({"get", "list", "watch", "head", "options"})
_TOO_MANY = b"Too many requests, please try again later.\n"


class MaxInFlight:
    """Refuses with 429 what is over the limit, reads and writes counted apart; 0 means no limit.

    Long-running requests do not count, and the administrator is always let in. The default numbers are
    kube-apiserver's.
    """

    def __init__(self, *, read_only: int = DEFAULT_READ_ONLY, mutating: int = DEFAULT_MUTATING) -> None:
        self._limits = {"readOnly": read_only, "mutating": mutating}
        self.in_flight = {"readOnly": 0, "mutating": 0}
        self.dropped = {"readOnly": 0, "mutating": 0}

    def __repr__(self) -> str:
        return f"<MaxInFlight {self.in_flight} of {self._limits}>"

    @property
    def limit(self) -> int:
        """How many reads and writes are worked on at a time, 0 when nothing bounds one of them."""
        return sum(self._limits.values()) if all(self._limits.values()) else 0

    def __call__(self, request: Request) -> Response | None:
        """Count the request until it is answered, or refuse it."""
        info = request.info
        if info.long_running:
            return None
        if info.verb in _READ_ONLY_VERBS:
            kind, release = "readOnly", self._release_read_only
        else:
            kind, release = "mutating", self._release_mutating
        limit = self._limits[kind]
        if limit and self.in_flight[kind] >= limit and not request.user.is_master:
            self.dropped[kind] += 1
            return Response(429, _TOO_MANY, (TEXT, (b"retry-after", b"1")))
        self.in_flight[kind] += 1
        request.on_done(release)
        return None

    def _release_read_only(self, status: int) -> None:
        self.in_flight["readOnly"] -= 1

    def _release_mutating(self, status: int) -> None:
        self.in_flight["mutating"] -= 1
