"""How backends are asked to go on in another protocol."""

from __future__ import annotations

from watchkeeper.endpoints.response import Response
from watchkeeper.meta.errors import ApiError
from watchkeeper.registry.backends import Backend
from watchkeeper.request.request import Request
from watchkeeper.server.passing.headers import Headers, for_upgrade, forwarded_for


class BackendUpgradeTerms:
    """Implements `passing.terms.UpgradeTerms`: a backend is asked what the client asks, for a target of its own."""

    def __init__(self, request: Request, backend: Backend, target: str) -> None:
        self.place = backend.place
        self.method = request.method
        self._request = request
        self._target = target

    def target(self) -> str:
        """See `UpgradeTerms`."""
        return self._target

    def headers(self) -> Headers:
        """See `UpgradeTerms`."""
        request = self._request
        host = (b"host", request.header(b"host").encode("latin-1"))
        return [host, *for_upgrade(request), *forwarded_for(request)]

    def failed(self, why: str) -> Response:
        """See `UpgradeTerms`."""
        raise ApiError(500, "", why)
