"""What every request goes through before it is routed, in which order, and what these filters tell in the metrics."""

from __future__ import annotations

from watchkeeper.endpoints.filters import Filter
from watchkeeper.endpoints.filters.audit import Auditing
from watchkeeper.endpoints.filters.authentication import Authentication
from watchkeeper.endpoints.filters.authorization import Authorization
from watchkeeper.endpoints.filters.impersonation import Impersonation
from watchkeeper.endpoints.filters.long_running import mark_long_running
from watchkeeper.endpoints.filters.max_in_flight import MaxInFlight
from watchkeeper.endpoints.filters.metrics import RequestMetrics
from watchkeeper.endpoints.filters.request_deadline import check_deadline
from watchkeeper.endpoints.filters.strict_transport import StrictTransport
from watchkeeper.server.access import Access
from watchkeeper.server.credentials import behind_proxies
from watchkeeper.server.flow_schemas import FlowSchemas
from watchkeeper.server.metrics.endpoint import Metrics, filter_collector
from watchkeeper.server.metrics.flow_control import flow_control_collector
from watchkeeper.server.options import ServeOptions


def request_filters(
    options: ServeOptions, access: Access, flow_schemas: FlowSchemas, auditing: Auditing | None, metrics: Metrics
) -> list[Filter]:
    """The filters, the outermost first. `auditing` is there where requests are told of in an audit log."""
    requests = RequestMetrics()
    authentication = Authentication(behind_proxies(access.authenticator, options))
    in_flight = MaxInFlight(read_only=options.max_requests_inflight, mutating=options.max_mutating_requests_inflight)
    metrics.add(requests.collect)
    metrics.add(filter_collector(in_flight, authentication))
    metrics.add(flow_control_collector(flow_schemas, in_flight.limit))
    filters: list[Filter] = [requests, mark_long_running, check_deadline]
    if auditing is None:
        filters.append(authentication)
    else:
        metrics.add(auditing.collect)
        filters += [auditing.watch_failures, authentication, auditing]
    filters += [Impersonation(access.authorizer), flow_schemas, in_flight, Authorization(access.authorizer)]
    if options.strict_transport_security_directives:
        filters.insert(0, StrictTransport(options.strict_transport_security_directives))
    return filters
