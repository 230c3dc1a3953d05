"""What a server has acknowledged outlives kill -9, and its revisions go on where they were."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import eventually

ROUNDS = 5
PATH = "/api/v1/namespaces/default/configmaps"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class Killed:
    """A server process on a SQLite file, to be started, written to and killed."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._process: subprocess.Popen[str] | None = None
        self._port = 0

    def start(self) -> None:
        options = ["--port", "0", "--data-dir", str(self._directory), "--admin-token", "test", "--insecure-http"]
        log = self._directory.with_name(f"{self._directory.name}.log")
        with log.open("w") as stderr:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "watchkeeper", "serve", *options],
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
            )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line.startswith("serving on "), (line, log.read_text())
        self._port = int(line.rpartition(":")[2])

    def kill(self) -> None:
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self._port, timeout=20)


def call(connection: http.client.HTTPConnection, method: str, path: str, body: Any = None) -> Any:
    headers = {"Authorization": "Bearer test", "Content-Type": "application/json"}
    connection.request(method, path, None if body is None else json.dumps(body), headers)
    answer = connection.getresponse()
    found = json.loads(answer.read())
    assert answer.status < 300, found
    return found


def write_until_killed(server: Killed, prefix: str, acknowledged: dict[str, int], enough: threading.Event) -> None:
    connection = server.connect()
    for number in range(100_000):
        name = f"{prefix}-{number}"
        try:
            created = call(connection, "POST", PATH, {"metadata": {"name": name}})
        except (OSError, http.client.HTTPException):
            return
        acknowledged[name] = int(created["metadata"]["resourceVersion"])
        if number == 40:
            enough.set()


def watched_from(server: Killed, version: int, count: int) -> list[tuple[str, int]]:
    connection = server.connect()
    headers = {"Authorization": "Bearer test"}
    connection.request("GET", f"{PATH}?watch=1&resourceVersion={version}&timeoutSeconds=20", headers=headers)
    answer = connection.getresponse()
    assert answer.status == 200
    events = [json.loads(answer.readline()) for _ in range(count)]
    connection.close()
    return [(event["type"], int(event["object"]["metadata"]["resourceVersion"])) for event in events]


@pytest.mark.parametrize("rounds", [ROUNDS, pytest.param(20, marks=[pytest.mark.soak, pytest.mark.timeout(600)])])
def test_everything_acknowledged_is_there_after_each_kill(tmp_path: Path, rounds: int) -> None:
    server = Killed(tmp_path)
    acknowledged: dict[str, int] = {}
    newest = 0
    for attempt in range(rounds):
        server.start()
        listed = call(server.connect(), "GET", PATH)
        stored = {item["metadata"]["name"]: int(item["metadata"]["resourceVersion"]) for item in listed["items"]}
        assert {name: stored.get(name) for name in acknowledged} == acknowledged
        assert int(listed["metadata"]["resourceVersion"]) >= newest
        enough = threading.Event()
        fresh: list[dict[str, int]] = [{} for _ in range(3)]
        writers = [
            threading.Thread(target=write_until_killed, args=(server, f"r{attempt}-w{index}", mine, enough))
            for index, mine in enumerate(fresh)
        ]
        for writer in writers:
            writer.start()
        assert enough.wait(30)
        server.kill()
        for writer in writers:
            writer.join()
        revisions = [revision for mine in fresh for revision in mine.values()]
        assert min(revisions) > newest
        assert len(set(revisions)) == len(revisions)
        newest = max(revisions)
        for mine in fresh:
            acknowledged |= mine
    server.start()
    try:
        now = int(call(server.connect(), "GET", PATH)["metadata"]["resourceVersion"])
        connection = server.connect()
        later = [
            int(call(connection, "POST", PATH, {"metadata": {"name": f"later-{n}"}})["metadata"]["resourceVersion"])
            for n in range(5)
        ]
        assert watched_from(server, now, len(later)) == [("ADDED", revision) for revision in later]
    finally:
        server.kill()


def define(connection: http.client.HTTPConnection, number: int) -> str:
    group, plural = f"g{number % 5}.example.io", f"things{number}"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": f"Thing{number}", "plural": plural}
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": [version]}
    name = f"{plural}.{group}"
    call(connection, "POST", DEFINITIONS, {"metadata": {"name": name}, "spec": spec})
    return name


def define_until_killed(server: Killed, first: int, kept: set[str], gone: set[str], enough: threading.Event) -> None:
    connection = server.connect()
    for number in range(first, first + 1000):
        try:
            name = define(connection, number)
            kept.add(name)
            if number % 3 == 0:
                kept.discard(name)
                call(connection, "DELETE", f"{DEFINITIONS}/{name}")
                gone.add(name)
        except (OSError, http.client.HTTPException):
            return
        if number == first + 20:
            enough.set()


def test_definitions_are_served_or_gone_after_a_kill_in_the_midst_of_them(tmp_path: Path) -> None:
    server = Killed(tmp_path)
    kept: set[str] = set()
    gone: set[str] = set()
    for attempt in range(2):
        server.start()
        enough = threading.Event()
        first = 3000 * attempt
        writers = [
            threading.Thread(target=define_until_killed, args=(server, first + 1000 * i, kept, gone, enough))
            for i in range(3)
        ]
        for writer in writers:
            writer.start()
        assert enough.wait(30)
        server.kill()
        for writer in writers:
            writer.join()
    server.start()
    try:
        eventually(lambda: settled(server, kept, gone))
    finally:
        server.kill()


def settled(server: Killed, kept: set[str], gone: set[str]) -> bool:
    """Whether all definitions that there are are established and told of by discovery, and those deleted have gone.

    What was sent when the server was killed may be there or not.
    """
    connection = server.connect()
    items = call(connection, "GET", DEFINITIONS)["items"]
    stored = {item["metadata"]["name"]: item for item in items}
    assert kept <= stored.keys()
    served = {
        f"{resource['name']}.{group['name']}"
        for group in call(connection, "GET", "/apis")["groups"]
        if group["name"].endswith(".example.io")
        for resource in call(connection, "GET", f"/apis/{group['name']}/v1")["resources"]
    }
    ending = {name for name, item in stored.items() if "deletionTimestamp" in item["metadata"]}
    established = {
        name
        for name, item in stored.items()
        if any(c["type"] == "Established" and c["status"] == "True" for c in item["status"].get("conditions") or ())
    }
    return not ending and not gone & stored.keys() and established == stored.keys() == served
