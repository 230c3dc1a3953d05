"""A server with custom resources, and a client for it."""

from __future__ import annotations

import http.client
import itertools
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.waiting import eventually

from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MERGE = "application/merge-patch+json"
_numbers = itertools.count(1)


class Answer:
    """A response."""

    def __init__(self, status: int, headers: http.client.HTTPMessage, body: bytes) -> None:
        self.status = status
        self.warnings = headers.get_all("warning") or []
        self.text = body.decode()
        self.body: Any = json.loads(body) if body[:1] in (b"{", b"[") else None

    def __repr__(self) -> str:
        return f"<{self.status} {self.text[:500]}>"


class Events:
    """A watch, read by a thread of its own."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.events: list[dict[str, Any]] = []
        self.ended = threading.Event()
        self._response = response
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        try:
            while line := self._response.readline():
                self.events.append(json.loads(line))
        except (OSError, ValueError, AttributeError):
            pass
        self.ended.set()

    def wait(self, count: int) -> list[tuple[str, Any]]:
        """The first events, as (type, spec)."""
        eventually(lambda: len(self.events) >= count)
        return [(e["type"], e["object"].get("spec")) for e in self.events[:count]]


class Api:
    """One client, with a group of its own."""

    def __init__(self, handle: Handle) -> None:
        self.handle = handle
        self.group = f"g{next(_numbers)}.example.io"
        self.namespace = "default"

    def _connection(self) -> http.client.HTTPConnection:
        host, _, port = self.handle.url.removeprefix("http://").partition(":")
        return http.client.HTTPConnection(host, int(port), timeout=30)

    def call(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Answer:
        """One request."""
        connection = self._connection()
        headers = {"Authorization": f"Bearer {self.handle.token}", "Content-Type": content_type}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        answer = Answer(response.status, response.headers, response.read())
        connection.close()
        return answer

    @contextmanager
    def watch(self, path: str) -> Iterator[Events]:
        """Watch a collection."""
        connection = self._connection()
        separator = "&" if "?" in path else "?"
        connection.request(
            "GET", f"{path}{separator}watch=true", headers={"Authorization": f"Bearer {self.handle.token}"}
        )
        sock = connection.sock
        response = connection.getresponse()
        assert response.status == 200, response.read()
        try:
            yield Events(response)
        finally:
            sock.shutdown(socket.SHUT_RDWR)

    def definition(self, *versions: dict[str, Any], plural: str = "widgets", **spec: Any) -> dict[str, Any]:
        """A definition of Widgets."""
        kind = plural.removesuffix("s").capitalize()
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{self.group}"},
            "spec": {
                "group": self.group,
                "names": {"kind": kind, "plural": plural},
                "scope": "Namespaced",
                "versions": list(versions),
                **spec,
            },
        }

    def install(self, *versions: dict[str, Any], **spec: Any) -> str:
        """Install a definition and wait until it is established; returns the path of its first version."""
        definition = self.definition(*versions, **spec)
        answer = self.call("POST", DEFINITIONS, definition)
        assert answer.status == 201, answer
        name = definition["metadata"]["name"]
        eventually(lambda: self.has_condition(name, "Established"))
        return self.path(versions[0]["name"], definition["spec"]["names"]["plural"])

    def path(self, version: str = "v1", plural: str = "widgets") -> str:
        """The collection in the namespace."""
        return f"/apis/{self.group}/{version}/namespaces/{self.namespace}/{plural}"

    def has_condition(self, name: str, kind: str, status: str = "True") -> bool:
        """Whether a definition has a condition."""
        conditions = self.call("GET", f"{DEFINITIONS}/{name}").body["status"].get("conditions") or []
        return any(c["type"] == kind and c["status"] == status for c in conditions)

    def widget(self, name: str, spec: Any = None, version: str = "v1", **more: Any) -> dict[str, Any]:
        """A Widget."""
        found = {"apiVersion": f"{self.group}/{version}", "kind": "Widget", "metadata": {"name": name}, **more}
        return found if spec is None else {**found, "spec": spec}


def version(name: str = "v1", spec: Any = None, *, storage: bool = True, **more: Any) -> dict[str, Any]:
    """An entry of spec.versions whose objects have a spec."""
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": spec or free, "status": free}}
    return {"name": name, "served": True, "storage": storage, "schema": {"openAPIV3Schema": schema}, **more}


def obj(**properties: Any) -> dict[str, Any]:
    """The schema of an object with these fields."""
    return {"type": "object", "properties": properties}


class Kit:
    """What tests need besides the client."""

    version = staticmethod(version)
    obj = staticmethod(obj)
    split = staticmethod(urlsplit)


@pytest.fixture(scope="package")
def kit_server() -> Iterator[Handle]:
    with Server(insecure_http=True) as handle:
        yield handle


@pytest.fixture
def api(kit_server: Handle) -> Api:
    return Api(kit_server)


@pytest.fixture
def apis(kit_server: Handle) -> Callable[[int], list[Api]]:
    return lambda count: [Api(kit_server) for _ in range(count)]


@pytest.fixture
def kit() -> Kit:
    return Kit()
