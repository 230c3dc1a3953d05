"""The filter that counts and times requests, under kube-apiserver's names."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Iterator
from functools import partial

from watchkeeper.aio.histogram import Histogram
from watchkeeper.endpoints.metrics import Family, Labels, Sample, histogram_samples
from watchkeeper.request.request import Request

LATENCY_BUCKETS = (
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0,
    3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0,
)  # fmt: skip
_MAX_ROUTES = 10_000
_UNSERVED = frozenset({401, 403, 404, 405, 429})
"""A route first seen with one of these may be anything a client made up: it gets no series of its own."""

_APPLY = "application/apply-patch"
_VERBS = {
    "get": "GET",
    "list": "LIST",
    "watch": "WATCH",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "apply": "APPLY",
    "delete": "DELETE",
    "deletecollection": "DELETECOLLECTION",
}
_Key = tuple[str, str, str, str, str, bool, bool, bool]
"""Verb, group, version, resource, subresource; whether one object, a namespace, a dry run was meant."""


class _Route:
    """What was counted of requests that are alike."""

    __slots__ = ("codes", "labels", "latency")

    def __init__(self, labels: Labels) -> None:
        self.labels = labels
        self.codes: dict[int, int] = {}
        self.latency = Histogram(LATENCY_BUCKETS)


class RequestMetrics:
    """Counts and times every request that is answered here when its answer is out."""

    def __init__(self) -> None:
        self._routes: dict[_Key, _Route] = {}
        self._long_running: dict[_Key, int] = {}

    def __call__(self, request: Request) -> None:
        """Count the request once it is done."""
        key = _key(request)
        if request.info.long_running:
            self._long_running[key] = self._long_running.get(key, 0) + 1
            request.on_done(partial(self._ended, key))
        request.on_done(partial(self._done, request, key))

    def _ended(self, key: _Key, status: int) -> None:
        left = self._long_running[key] - 1
        if left:
            self._long_running[key] = left
        else:
            del self._long_running[key]

    def _done(self, request: Request, key: _Key, status: int) -> None:
        if request.passed_on:
            return  # whoever answers it counts it; what may be asked for there is not known here
        route = self._routes.get(key)
        if route is None:
            if status in _UNSERVED or len(self._routes) >= _MAX_ROUTES:
                return
            route = self._routes[key] = _Route(_labels(key))
        codes = route.codes
        codes[status] = codes.get(status, 0) + 1
        seconds = asyncio.get_running_loop().time() - request.started
        latency = route.latency
        latency.counts[bisect_left(LATENCY_BUCKETS, seconds)] += 1
        latency.total += seconds

    def collect(self) -> Iterator[Family]:
        """What was counted so far."""
        counts = [
            Sample(count, (*route.labels, ("code", str(code))))
            for route in self._routes.values()
            for code, count in route.codes.items()
        ]
        latencies = [
            sample for route in self._routes.values() for sample in histogram_samples(route.latency, route.labels)
        ]
        running = [
            Sample(count, [label for label in _labels(key) if label[0] != "dry_run"])
            for key, count in self._long_running.items()
        ]
        yield Family("apiserver_request_total", "counter", "Requests by verb, resource and HTTP code.", counts)
        yield Family(
            "apiserver_request_duration_seconds", "histogram", "How long requests took, in seconds.", latencies
        )
        yield Family("apiserver_longrunning_requests", "gauge", "Watches and other streams that are open.", running)


def _key(request: Request) -> _Key:
    info = request.info
    if not info.is_resource:
        return (request.method, "", "", "", request.path, False, False, False)
    verb = info.verb
    if verb == "patch" and request.header(b"content-type").startswith(_APPLY):
        verb = "apply"
    one = info.name != "" or verb == "create"
    dry_run = request.query != "" and "dryRun=" in request.query
    return (verb, info.group, info.version, info.resource, info.subresource, one, info.namespace != "", dry_run)


def _labels(key: _Key) -> Labels:
    verb, group, version, resource, subresource, one, namespaced, dry_run = key
    scope = "resource" if one else "namespace" if namespaced else "cluster"
    return (
        ("verb", _VERBS.get(verb, "CONNECT") if resource else verb),
        ("dry_run", "All" if dry_run else ""),
        ("group", group),
        ("version", version),
        ("resource", resource),
        ("subresource", subresource),
        ("scope", scope if resource else ""),
        ("component", "apiserver"),
    )
