"""Health endpoints, in the words of the reference."""

import asyncio
import io
import logging
import threading
import time
import urllib.request

import httpx

from watchkeeper.request.request import Request
from watchkeeper.server.health import LOG, Check, Health, Unhealthy
from watchkeeper.testing import Server


def ask(health, path, query=""):
    scope = {"method": "GET", "path": path, "query_string": query.encode(), "headers": []}
    response = asyncio.run(health.handle(Request(scope, None, None)))
    return response.status, response.body.decode()


def failing():
    raise Unhealthy("the disk is gone")


async def slow_failing():
    await asyncio.sleep(0)
    raise ValueError("surprise")


def health(*checks):
    found = Health()
    for check in checks:
        found.add(check)
    return found


def test_ok_is_all_there_is_to_say():
    for name in ("healthz", "livez", "readyz"):
        assert ask(Health(), f"/{name}") == (200, "ok")


def test_verbose_lists_checks_and_excluded_ones():
    found = health(Check("storage", lambda: None))
    assert ask(found, "/readyz", "verbose") == (200, "[+]ping ok\n[+]storage ok\nreadyz check passed\n")
    status, text = ask(found, "/livez", "verbose&exclude=ping&exclude=b&exclude=a")
    assert status == 200
    assert text.splitlines() == [
        "[+]ping excluded: ok",
        "[+]storage ok",
        'warn: some health checks cannot be excluded: no matches for "a","b"',
        "livez check passed",
    ]


def test_a_group_is_excluded_with_all_checks_of_it():
    found = health(Check("etcd", failing, group="etcd"), Check("etcd-override-0", failing, group="etcd"))
    status, text = ask(found, "/readyz", "verbose&exclude=etcd")
    assert status == 200
    assert text.splitlines() == [
        "[+]ping ok",
        "[+]etcd excluded: ok",
        "[+]etcd-override-0 excluded with etcd: ok",
        "readyz check passed",
    ]
    assert ask(found, "/readyz", "exclude=")[0] == 500
    assert ask(found, "/readyz", "exclude=etcd-override-0")[0] == 500


def test_a_failure_is_a_500_that_keeps_the_reason_to_itself():
    found = health(Check("storage", failing), Check("other", slow_failing))
    status, text = ask(found, "/healthz")
    assert status == 500
    assert text.splitlines() == [
        "[+]ping ok",
        "[-]storage failed: reason withheld",
        "[-]other failed: reason withheld",
        "healthz check failed",
    ]
    assert ask(found, "/healthz", "exclude=storage&exclude=other") == (200, "ok")


def test_each_check_has_a_path_of_its_own_that_says_why():
    found = health(Check("storage", failing))
    assert ask(found, "/livez/ping") == (200, "ok")
    assert ask(found, "/livez/storage") == (500, "internal server error: the disk is gone\n")
    assert ask(found, "/livez/nosuch") == (404, "404 page not found\n")
    assert ask(found, "/livez/") == (404, "404 page not found\n")


def test_a_check_belongs_to_the_endpoints_it_names():
    found = health(Check("shutdown", failing, of=("readyz",)))
    assert ask(found, "/livez")[0] == 200
    assert ask(found, "/readyz")[0] == 500
    assert ask(found, "/livez/shutdown")[0] == 404


def test_a_log_that_cannot_be_written_is_a_failure():
    found, stream = health(LOG), io.StringIO()
    handler = logging.StreamHandler(stream)
    logging.getLogger().addHandler(handler)
    try:
        assert ask(found, "/livez/log") == (200, "ok")
        stream.flush = failing
        assert ask(found, "/livez/log") == (500, "internal server error: the disk is gone\n")
    finally:
        logging.getLogger().removeHandler(handler)


def test_a_server_has_the_checks_that_monitors_of_kube_apiserver_name():
    with Server(storage="memory:") as server:
        context = server.ssl_context()
        for path in ("/healthz/log", "/livez/log", "/readyz/log", "/readyz/informer-sync", "/readyz/shutdown"):
            asked = urllib.request.Request(server.url + path, headers={"Authorization": f"Bearer {server.token}"})
            with urllib.request.urlopen(asked, context=context) as answer:
                assert (answer.status, answer.read()) == (200, b"ok")


def test_steps_of_a_start_are_checks_at_every_endpoint():
    steps = (
        "generic-apiserver-start-informers",
        "start-cluster-authentication-info-controller",
        "start-service-ip-repair-controllers",
        "start-kube-aggregator-informers",
        "apiservice-status-local-available-controller",
        "apiservice-status-remote-available-controller",
        "apiservice-openapi-controller",
    )
    with Server(storage="memory:") as server:
        for path in ("/healthz", "/livez", "/readyz"):
            url = f"{server.url}{path}?verbose"
            asked = urllib.request.Request(url, headers={"Authorization": f"Bearer {server.token}"})
            with urllib.request.urlopen(asked, context=server.ssl_context()) as answer:
                lines = answer.read().decode().splitlines()
            assert not {f"[+]poststarthook/{name} ok" for name in steps} - set(lines)


def test_how_checks_went_is_told_as_indicators():
    found = health(Check("storage", failing))
    for path in ("/readyz", "/readyz", "/livez/ping"):
        ask(found, path)
    now, ever = found.collect()
    assert {(s.labels, s.value) for s in now.samples} == {
        ((("name", "ping"), ("type", "readyz")), 1),
        ((("name", "storage"), ("type", "readyz")), 0),
        ((("name", "ping"), ("type", "livez")), 1),
    }
    counts = {sample.labels: sample.value for sample in ever.samples}
    assert counts[(("name", "storage"), ("status", "error"), ("type", "readyz"))] == 2


def test_indicators_are_had_over_http():
    with Server(insecure_http=True, controllers=()) as server:
        urllib.request.urlopen(f"{server.url}/readyz").read()
        request = urllib.request.Request(
            f"{server.url}/metrics/slis", headers={"Authorization": f"Bearer {server.token}"}
        )
        text = urllib.request.urlopen(request).read().decode()
        assert 'kubernetes_healthcheck{name="ping",type="readyz"} 1' in text
        everything = urllib.request.Request(
            f"{server.url}/metrics", headers={"Authorization": f"Bearer {server.token}"}
        )
        text = urllib.request.urlopen(everything).read().decode()
        assert 'aggregator_unavailable_apiservice{name="v1.apps"} 0' in text
        assert 'apiserver_resource_objects{group="",resource="namespaces"} 4' in text


def test_a_server_that_is_to_stop_serves_on_for_a_while_but_is_not_ready():
    server = Server(insecure_http=True, controllers=(), shutdown_delay_duration=3.0)
    server.start()
    stopping = threading.Thread(target=server.stop)
    begun = time.monotonic()
    stopping.start()
    ready = 200
    while ready == 200 and time.monotonic() - begun < 2.0:
        ready = httpx.get(f"{server.url}/readyz").status_code
    assert ready == 500
    assert httpx.get(f"{server.url}/livez").status_code == 200
    head = {"Authorization": f"Bearer {server.token}"}
    assert httpx.get(f"{server.url}/api/v1/namespaces/default", headers=head).status_code == 200
    stopping.join()
    assert time.monotonic() - begun >= 3.0
