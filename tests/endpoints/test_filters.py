"""Filters: who asks, whether they may, how many at a time, and what is counted."""

import asyncio

import pytest

from watchkeeper.authz.interface import Answer, Decision
from watchkeeper.endpoints.filters.authentication import Authentication
from watchkeeper.endpoints.filters.authorization import Authorization
from watchkeeper.endpoints.filters.long_running import mark_long_running
from watchkeeper.endpoints.filters.max_in_flight import MaxInFlight
from watchkeeper.endpoints.filters.metrics import RequestMetrics
from watchkeeper.endpoints.filters.request_deadline import allowed_seconds, check_deadline
from watchkeeper.meta.errors import ApiError
from watchkeeper.request.request import Request
from watchkeeper.request.user import LOOPBACK, User

ANN = User("ann", groups=("system:authenticated",))


class Exchange:
    long_running = False

    def peer_certificate(self):
        return None


def request(method="GET", path="/api/v1/namespaces/ns/pods", query="", user=ANN, headers=()):
    scope = {
        "method": method, "path": path, "query_string": query.encode(), "headers": list(headers), "exchange": Exchange()
    }  # fmt: skip
    found = Request(scope, None, None)
    found.user = user
    return found


class Fixed:
    """Answers every question alike, at once or later."""

    def __init__(self, answer, *, later=False):
        self.answer = answer
        self.later = later
        self.asked = []

    def authorize(self, attributes):
        self.asked.append(attributes)
        return self._later() if self.later else self.answer

    authenticate = authorize

    async def _later(self):
        return self.answer


def run(outcome):
    return asyncio.run(outcome) if asyncio.iscoroutine(outcome) else outcome


# -- authentication ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("later", [False, True])
def test_the_user_is_set_or_refused_with_401(later):
    wanted = request(user=User("nobody"))
    authentication = Authentication(Fixed(ANN))
    assert run(authentication(wanted)) is None
    assert wanted.user is ANN
    with pytest.raises(ApiError) as refused:
        run(Authentication(Fixed(None, later=later))(request()))
    assert (refused.value.code, refused.value.message) == (401, "Unauthorized")
    assert authentication.attempts == {"success": 1, "failure": 0}


# -- authorization ------------------------------------------------------------------------------------------

NO = Answer(Decision.NO_OPINION)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (request(), 'pods is forbidden: User "ann" cannot list resource "pods" in API group "" in the namespace "ns"'),
        (
            request("DELETE", "/apis/apps/v1/namespaces/ns/deployments/d"),
            'deployments.apps "d" is forbidden: User "ann" cannot delete resource "deployments" in API group "apps" '
            'in the namespace "ns"',
        ),
        (
            request("GET", "/api/v1/nodes/n/proxy"),
            'nodes "n" is forbidden: User "ann" cannot get resource "nodes/proxy" in API group "" at the cluster scope',
        ),
        (request("POST", "/metrics"), 'forbidden: User "ann" cannot post path "/metrics"'),
        (request("GET", "/<b>&"), 'forbidden: User "ann" cannot get path "/&lt;b&gt;&amp;"'),
    ],
)
def test_a_refusal_says_who_may_not_do_what_where(asked, message):
    with pytest.raises(ApiError) as refused:
        run(Authorization(Fixed(NO))(asked))
    assert (refused.value.code, refused.value.message) == (403, message)


class Unconcerned:
    def responding(self, status, body, *, lasting):
        pass

    def panicked(self):
        pass


def test_a_reason_is_told_and_noted_for_the_audit():
    asked = request()
    asked.observer = Unconcerned()
    with pytest.raises(ApiError, match=r'namespace "ns": because$'):
        run(Authorization(Fixed(Answer(Decision.DENY, "because"), later=True))(asked))
    assert asked.audit["authorization.k8s.io/decision"] == "forbid"


def test_the_administrator_is_not_asked_about():
    authorizer = Fixed(NO)
    assert Authorization(authorizer)(request(user=LOOPBACK)) is None
    assert authorizer.asked == []


# -- limits ------------------------------------------------------------------------------------------


def test_too_many_requests_are_told_to_come_back_and_places_become_free_again():
    limit = MaxInFlight(read_only=2, mutating=1)
    first = request()
    assert limit(first) is None
    assert limit(request()) is None
    refused = limit(request())
    assert (refused.status, dict(refused.headers)[b"retry-after"]) == (429, b"1")
    assert limit(request("POST")) is None, "writes are counted apart"
    assert limit(request("PUT")).status == 429
    first.finish(200)
    assert limit(request()) is None
    assert limit.in_flight == {"readOnly": 2, "mutating": 1}
    assert limit.dropped == {"readOnly": 1, "mutating": 1}


def test_watches_are_not_counted_and_the_administrator_is_let_in():
    limit = MaxInFlight(read_only=1, mutating=1)
    assert limit(request()) is None
    assert limit(request(query="watch=true")) is None
    assert limit(request(user=LOOPBACK)) is None
    assert limit.in_flight["readOnly"] == 2


def test_no_limit_is_no_limit():
    limit = MaxInFlight(read_only=0, mutating=0)
    assert all(limit(request()) is None for _ in range(1000))


def test_streams_are_marked_for_the_server():
    for path, query, marked in [
        ("/api/v1/pods", "watch=1", True),
        ("/api/v1/namespaces/ns/pods/p/log", "", True),
        ("/api/v1/pods", "", False),
        ("/healthz", "", False),
    ]:
        asked = request(path=path, query=query)
        mark_long_running(asked)
        assert asked.scope["exchange"].long_running is marked


# -- metrics ------------------------------------------------------------------------------------------


def counted(*requests_and_codes):
    async def count():
        metrics = RequestMetrics()
        for asked, code in requests_and_codes:
            metrics(asked)
            asked.finish(code)
        return {
            family.name: {(s.suffix, tuple(s.labels)): s.value for s in family.samples} for family in metrics.collect()
        }

    return asyncio.run(count())


def labels_of(family):
    return [dict(labels) for _, labels in family]


def test_requests_are_counted_by_what_they_ask():
    apply = (b"content-type", b"application/apply-patch+yaml")
    found = counted(
        (request(), 200),
        (request(), 200),
        (request(path="/api/v1/pods"), 200),
        (request(path="/api/v1/namespaces/ns/pods/p"), 200),
        (request("POST", query="dryRun=All"), 201),
        (request("PATCH", "/api/v1/namespaces/ns/pods/p/status", headers=[apply]), 200),
    )["apiserver_request_total"]
    seen = {(d["verb"], d["resource"], d["subresource"], d["scope"], d["dry_run"], d["code"]) for d in labels_of(found)}
    assert seen == {
        ("LIST", "pods", "", "namespace", "", "200"),
        ("LIST", "pods", "", "cluster", "", "200"),
        ("GET", "pods", "", "resource", "", "200"),
        ("POST", "pods", "", "resource", "All", "201"),
        ("APPLY", "pods", "status", "resource", "", "200"),
    }
    assert sorted(found.values()) == [1, 1, 1, 1, 2]


def test_what_clients_make_up_gets_no_series():
    found = counted(
        (request(path="/apis/made.up/v1/things"), 404),
        (request(path="/nowhere"), 404),
        (request(path="/api/v1/pods"), 403),
    )["apiserver_request_total"]
    assert found == {}


def test_latencies_are_histograms():
    found = counted((request(), 200), (request(), 200))["apiserver_request_duration_seconds"]
    buckets = {dict(labels)["le"]: value for (suffix, labels), value in found.items() if suffix == "_bucket"}
    assert list(buckets)[:3] == ["0.005", "0.025", "0.05"]
    assert buckets["+Inf"] == 2
    assert [value for (suffix, _), value in found.items() if suffix == "_count"] == [2]


def test_open_watches_are_a_gauge():
    async def run():
        metrics = RequestMetrics()
        first, second = request(query="watch=1"), request(query="watch=1")
        metrics(first)
        metrics(second)
        first.finish(200)
        [family] = [f for f in metrics.collect() if f.name == "apiserver_longrunning_requests"]
        open_now = [s.value for s in family.samples]
        second.finish(200)
        [family] = [f for f in metrics.collect() if f.name == "apiserver_longrunning_requests"]
        return open_now, list(family.samples)

    assert asyncio.run(run()) == ([1], [])


# -- deadlines --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "seconds"), [("", 60), ("timeout=5s", 5), ("timeout=1m30s", 60), ("timeout=0s", 60), ("timeout=", 60)]
)
def test_a_client_may_shorten_its_time(query, seconds):
    asked = request(query=query)
    check_deadline(asked)
    assert allowed_seconds(asked, 60.0) == seconds


def test_a_timeout_that_cannot_be_read_is_a_bad_request_but_means_nothing_to_a_watch():
    with pytest.raises(ApiError) as refused:
        check_deadline(request(query="timeout=soon"))
    assert refused.value.message == ('invalid timeout specified in the request URL - time: invalid duration "soon"')
    with pytest.raises(ApiError, match='URL - time: missing unit in duration "30"'):
        check_deadline(request(query="timeout=30"))
    check_deadline(request(query="watch=1&timeout=soon"))
