"""Which deprecated versions clients use: they are warned, the audit log says so, and the metrics name the versions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from watchkeeper.endpoints.metrics import Family, Labels, gauge
from watchkeeper.request.request import Request

_REMOVED = re.compile(r", unavailable in v(\d+\.\d+)\+")
_MAX_SERIES = 10_000


class DeprecatedRequests:
    """Notes requests at deprecated versions."""

    def __init__(self) -> None:
        self._used: dict[Labels, float] = {}

    def note(self, request: Request, warning: str, *, custom: bool) -> None:
        """A request is about to be answered at a version of which `warning` is said."""
        request.warn(warning)
        found = None if custom else _REMOVED.search(warning)
        release = found[1] if found else ""
        request.annotate("k8s.io/deprecated", "true")
        if release:
            request.annotate("k8s.io/removed-release", release)
        info = request.info
        labels = (
            ("group", info.group),
            ("version", info.version),
            ("resource", info.resource),
            ("subresource", info.subresource),
            ("removed_release", release),
        )
        if len(self._used) < _MAX_SERIES:
            self._used[labels] = 1

    def collect(self) -> Iterator[Family]:
        """What was used so far."""
        yield gauge("apiserver_requested_deprecated_apis", "Deprecated APIs that clients have used.", self._used)
