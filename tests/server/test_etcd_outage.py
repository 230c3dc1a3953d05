"""A server whose etcd goes away, stands still, loses its leader, and comes back."""

import json
import queue
import shutil
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import eventually

from watchkeeper.testing.etcd import EtcdCluster, find_etcd, running_cluster
from watchkeeper.testing.handle import Handle
from watchkeeper.testing.server_process import ServerProcess

pytestmark = [
    pytest.mark.etcd,
    pytest.mark.skipif(find_etcd() is None, reason="there is no etcd here"),
]

Object = dict[str, Any]
MAPS = "/api/v1/namespaces/default/configmaps"
PATIENCE = 1.0
"""Seconds that the servers here wait for etcd."""
SLACK = 3.0
"""What a busy machine may add to it."""


def serve(cluster: EtcdCluster) -> ServerProcess:
    endpoints = ",".join(url.removeprefix("http://") for url in cluster.urls)
    return ServerProcess(
        storage=f"etcd://{endpoints}",
        insecure_http=True,
        etcd_request_timeout=PATIENCE,
        etcd_healthcheck_timeout=PATIENCE,
        etcd_readycheck_timeout=PATIENCE,
    )


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[EtcdCluster, Handle]]:
    with running_cluster(tmp_path_factory.mktemp("etcd")) as cluster, serve(cluster) as server:
        yield cluster, server


def ask(server: Handle, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
    request = urllib.request.Request(server.url + path, data=data, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, _read(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, _read(error.read())


def _read(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return body.decode()


def config_map(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


class Watching:
    """The names that one watch tells of, as they come."""

    def __init__(self, server: Handle, path: str) -> None:
        request = urllib.request.Request(server.url + path, headers={"Authorization": f"Bearer {server.token}"})
        self._answer = urllib.request.urlopen(request, timeout=60)
        self.seen: queue.Queue[tuple[str, str]] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self._answer:
            event = json.loads(line)
            self.seen.put((event["type"], event["object"]["metadata"].get("name", "")))

    def next(self) -> tuple[str, str]:
        return self.seen.get(timeout=20)


def remembers(server: Handle, name: str) -> None:
    """The cache has it: it learns of writes from etcd, like anybody."""
    eventually(lambda: ask(server, "GET", f"{MAPS}/{name}?resourceVersion=0")[0] == 200, "the cache has it", seconds=10)


def while_away(server: Handle, known: str) -> None:
    """What holds as long as there is no etcd to be asked."""
    eventually(lambda: ask(server, "GET", "/readyz")[0] == 500, "it is noticed", seconds=10)
    status, listed = ask(server, "GET", f"{MAPS}?resourceVersion=0")
    assert status == 200
    assert known in [item["metadata"]["name"] for item in listed["items"]]
    assert ask(server, "GET", f"{MAPS}/{known}?resourceVersion=0")[0] == 200
    for method, path, body, codes in (
        ("GET", f"{MAPS}/{known}", None, {500, 504}),
        ("GET", MAPS, None, {500}),
        ("POST", MAPS, config_map("never"), {500, 504}),
        ("PUT", f"{MAPS}/{known}", {**config_map(known), "data": {"a": "b"}}, {500, 504}),
        ("DELETE", f"{MAPS}/{known}", None, {500, 504}),
    ):
        start = time.monotonic()
        status, answer = ask(server, method, path, body)
        assert time.monotonic() - start < PATIENCE + SLACK, (method, path)
        assert status in codes, answer
        assert (answer["kind"], answer["status"]) == ("Status", "Failure")
        if status == 504:
            assert answer["reason"] == "Timeout"
            assert "request did not complete within requested timeout" in answer["message"]
        else:
            assert answer["reason"] == "ServerTimeout", (method, path, answer)
            assert answer["details"]["retryAfterSeconds"] == 2
            assert "could not be completed at this time, please try again" in answer["message"]
    for path in ("/readyz", "/readyz/etcd-readiness", "/readyz/etcd", "/livez/etcd", "/healthz/etcd"):
        start = time.monotonic()
        assert ask(server, "GET", path)[0] == 500, path
        assert time.monotonic() - start < PATIENCE + SLACK
    start = time.monotonic()
    assert ask(server, "GET", "/metrics")[0] == 200
    assert time.monotonic() - start < 2 * PATIENCE + SLACK


def comes_back(server: Handle, name: str) -> None:
    """It does so by itself, and soon."""
    eventually(lambda: ask(server, "GET", "/readyz")[0] == 200, "it is ready again", seconds=15)
    eventually(lambda: ask(server, "POST", MAPS, config_map(name))[0] == 201, "it writes again", seconds=10)
    assert name in [item["metadata"]["name"] for item in ask(server, "GET", MAPS)[1]["items"]]


def test_etcd_stands_still_for_a_while(single: tuple[EtcdCluster, Handle]) -> None:
    cluster, server = single
    assert ask(server, "POST", MAPS, config_map("still"))[0] == 201
    version = ask(server, "GET", MAPS)[1]["metadata"]["resourceVersion"]
    watching = Watching(server, f"{MAPS}?watch=1&resourceVersion={version}")
    remembers(server, "still")
    cluster.members[0].pause()
    try:
        while_away(server, "still")
    finally:
        cluster.members[0].resume()
    comes_back(server, "moving-again")
    told = watching.next()
    while told != ("ADDED", "moving-again"):
        # What was acknowledged by nobody may have been done nevertheless.
        assert told in (("ADDED", "never"), ("MODIFIED", "still"), ("DELETED", "still"))
        told = watching.next()


def test_etcd_is_killed_and_started_again(single: tuple[EtcdCluster, Handle]) -> None:
    cluster, server = single
    member = cluster.members[0]
    assert ask(server, "POST", MAPS, config_map("kept"))[0] == 201
    version = ask(server, "GET", MAPS)[1]["metadata"]["resourceVersion"]
    watching = Watching(server, f"{MAPS}?watch=1&resourceVersion={version}")
    remembers(server, "kept")
    member.crash()
    while_away(server, "kept")
    member.restart()
    comes_back(server, "restarted")
    assert watching.next() == ("ADDED", "restarted")
    assert ask(server, "GET", f"{MAPS}/kept")[0] == 200


def test_an_etcd_that_comes_back_without_its_data_is_not_taken_for_what_it_was(tmp_path: Path) -> None:
    with running_cluster(tmp_path) as cluster:
        with serve(cluster) as server:
            assert ask(server, "POST", MAPS, config_map("kept"))[0] == 201
            remembers(server, "kept")
            (member,) = cluster.members
            member.kill()
            shutil.rmtree(tmp_path / member.name)
            member.restart()
            member.wait_until_healthy()
            eventually(lambda: ask(server, "GET", MAPS)[0] == 500, "it is noticed", seconds=20)
            eventually(lambda: ask(server, "GET", "/readyz")[0] == 500, "it is told", seconds=20)
            assert ask(server, "POST", MAPS, config_map("never"))[0] == 500
            assert ask(server, "PUT", f"{MAPS}/kept", config_map("kept"))[0] == 500
            listed = ask(server, "GET", f"{MAPS}?resourceVersion=0")[1]
            assert "kept" in [item["metadata"]["name"] for item in listed["items"]]
        with serve(cluster) as server:
            names = [item["metadata"]["name"] for item in ask(server, "GET", MAPS)[1]["items"]]
            assert not {"kept", "never"} & set(names)


def test_the_leader_of_three_stands_still(tmp_path_factory: pytest.TempPathFactory) -> None:
    with running_cluster(tmp_path_factory.mktemp("etcd"), size=3) as cluster, serve(cluster) as server:
        version = ask(server, "GET", MAPS)[1]["metadata"]["resourceVersion"]
        watching = Watching(server, f"{MAPS}?watch=1&resourceVersion={version}")
        leader = cluster.leader()
        leader.pause()
        try:
            written = []

            def writes() -> bool:
                name = f"c{len(written)}-{time.monotonic_ns()}"
                if ask(server, "POST", MAPS, config_map(name))[0] == 201:
                    written.append(name)
                return len(written) == 5

            eventually(writes, "the others go on", seconds=15)
        finally:
            leader.resume()
        assert set(written) <= {item["metadata"]["name"] for item in ask(server, "GET", MAPS)[1]["items"]}
        seen = set()
        while not set(written) <= seen:
            seen.add(watching.next()[1])
        eventually(lambda: ask(server, "GET", "/readyz")[0] == 200, "it is ready", seconds=15)
