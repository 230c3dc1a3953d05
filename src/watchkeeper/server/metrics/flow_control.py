"""What the shares of priority levels come to, under kube-apiserver's name."""

from __future__ import annotations

import math
from collections.abc import Iterator

from watchkeeper.endpoints.metrics import Collector, Family, gauge
from watchkeeper.server.flow_schemas import FlowSchemas, Object


def flow_control_collector(schemas: FlowSchemas, limit: int) -> Collector:
    """A collector for what there is of priority levels.

    `limit`: how many requests are worked on at a time, reads and writes together; of 0, no limit, nothing is told.
    """

    def collect() -> Iterator[Family]:
        shares = {level["metadata"]["name"]: _shares(level) for level in schemas.levels()}
        whole = sum(shares.values())
        if limit and whole:
            yield gauge(
                "apiserver_flowcontrol_nominal_limit_seats",
                "What the shares of a priority level are of the requests that are worked on at a time.",
                {(("priority_level", name),): math.ceil(limit * share / whole) for name, share in shares.items()},
            )

    return collect


def _shares(level: Object) -> int:
    spec = level["spec"]
    shares: int = (spec.get("limited") or spec.get("exempt") or {}).get("nominalConcurrencyShares") or 0
    return shares
