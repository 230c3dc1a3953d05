"""Answers /metrics."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Iterator, Sequence

from watchkeeper.endpoints.compression import gzip, prefers_gzip
from watchkeeper.endpoints.filters.authentication import Authentication
from watchkeeper.endpoints.filters.max_in_flight import MaxInFlight
from watchkeeper.endpoints.metrics import Collector, Family, Sample
from watchkeeper.endpoints.response import Response
from watchkeeper.request.request import Request
from watchkeeper.server.metrics import process
from watchkeeper.server.metrics.shaping import Shaping
from watchkeeper.server.metrics.text import CONTENT_TYPE, render

log = logging.getLogger(__name__)


class Metrics:
    """Asks every collector when it is asked."""

    def __init__(self, indicators: Collector, shaping: Shaping | None = None) -> None:
        """`indicators`: what /metrics/slis tells. `shaping`: what is done to everything before it is told."""
        self._shaping = shaping
        self._collectors: list[Collector] = [process.collect]
        self._indicators = [indicators]

    def add(self, collector: Collector) -> None:
        """Tell of one more part of the server."""
        self._collectors.append(collector)

    async def handle(self, request: Request) -> Response:
        """Answer with everything; a part that cannot tell now is left out."""
        return await self._answer(request, self._collectors)

    async def handle_slis(self, request: Request) -> Response:
        """Answer /metrics/slis with service-level indicators."""
        return await self._answer(request, self._indicators)

    async def _answer(self, request: Request, collectors: Sequence[Collector]) -> Response:
        families: list[Family] = []
        for collector in collectors:
            try:
                found = collector()
                families += await found if isinstance(found, Awaitable) else found
            except Exception:
                log.exception("a collector of metrics failed")
        if self._shaping is not None:
            families = self._shaping.shaped(families)
        body = render(families)
        headers = [(b"content-type", CONTENT_TYPE), process.START_HEADER]
        if prefers_gzip(request.header(b"accept-encoding")):
            # It may be a megabyte, and is asked for every few seconds.
            body = await asyncio.to_thread(gzip, body)
            headers.append((b"content-encoding", b"gzip"))
        return Response(200, body, headers)


def filter_collector(in_flight: MaxInFlight, authentication: Authentication) -> Collector:
    """A collector for what the filters count."""

    def collect() -> Iterator[Family]:
        yield Family(
            "apiserver_current_inflight_requests",
            "gauge",
            "Requests that are being worked on.",
            [Sample(count, (("request_kind", kind),)) for kind, count in in_flight.in_flight.items()],
        )
        yield Family(
            "apiserver_dropped_requests_total",
            "counter",
            "Requests refused because too many were being worked on.",
            [Sample(count, (("request_kind", kind),)) for kind, count in in_flight.dropped.items()],
        )
        yield Family(
            "authentication_attempts",
            "counter",
            "Requests whose sender was recognized, or was not.",
            [Sample(count, (("result", result),)) for result, count in authentication.attempts.items()],
        )

    return collect
