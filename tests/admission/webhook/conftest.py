"""A server, a webhook that it can call over HTTPS, and a client that installs configurations of it."""

from __future__ import annotations

import base64
import http.client
import itertools
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from watchkeeper.server.pki import ServingCertificate, serving_certificate
from watchkeeper.server.tls import server_context
from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle

Json = Any
REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
_numbers = itertools.count(1)


class Hook:
    """A webhook server. `answers` makes the response to each review's request, by the path it was sent to.

    An answer may be a dict (the response; uid and allowed are filled in), bytes (a body), or a tuple
    (status, body, *headers).
    """

    def __init__(self, certificate: ServingCertificate, host: str = "127.0.0.1") -> None:
        self.host = host
        self.ca = base64.b64encode(certificate.ca_pem).decode()
        self.answers: dict[str, Callable[[Json], Any]] = {}
        self.reviews: list[Json] = []
        self.paths: list[str] = []
        self.queries: list[dict[str, list[str]]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                where = urlsplit(self.path)
                review = json.loads(self.rfile.read(int(self.headers["content-length"])))
                outer.reviews.append(review)
                outer.paths.append(where.path)
                outer.queries.append(parse_qs(where.query))
                given = outer.answer(where.path, review)
                status, given, *headers = given if isinstance(given, tuple) else (200, given)
                body = given if isinstance(given, bytes) else json.dumps(given).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                for name, value in headers:
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer((host, 0), Handler)
        self.server.daemon_threads = True
        context: ssl.SSLContext = server_context(certificate.cert, certificate.key)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.port: int = self.server.server_port

    def answer(self, path: str, review: Json) -> Any:
        found = self.answers[path](review["request"]) if path in self.answers else {}
        if not isinstance(found, dict):
            return found
        response = {"uid": review["request"]["uid"], "allowed": True, **found}
        return {"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response}

    def requests(self, path: str = "") -> list[Json]:
        """What was asked, at a path or at all."""
        pairs = zip(self.reviews, self.paths, strict=True)
        return [review["request"] for review, where in pairs if path in ("", where)]

    def clear(self) -> None:
        """Forget what was asked."""
        self.reviews.clear()
        self.paths.clear()
        self.queries.clear()

    def config(self, path: str = "/") -> Json:
        return {"url": f"https://{self.host}:{self.port}{path}", "caBundle": self.ca}


class Answer:
    def __init__(self, status: int, headers: http.client.HTTPMessage, body: bytes) -> None:
        self.status = status
        self.warnings = headers.get_all("warning") or []
        self.headers = headers
        self.body: Json = json.loads(body) if body[:1] in (b"{", b"[") else body.decode()

    def __repr__(self) -> str:
        return f"<{self.status} {self.body}>"

    @property
    def message(self) -> str:
        return str(self.body["message"])


class Api:
    """A client with a namespace of its own."""

    def __init__(self, handle: Handle, hook: Hook) -> None:
        self.handle = handle
        self.hook = hook
        self.number = next(_numbers)
        self.namespace = f"hooks-{self.number}"
        self.configmaps = f"/api/v1/namespaces/{self.namespace}/configmaps"
        self.installed: list[str] = []
        self.call("POST", "/api/v1/namespaces", self.object("Namespace", self.namespace))

    def call(
        self,
        method: str,
        path: str,
        body: Json = None,
        content_type: str = "application/json",
        headers: dict[str, str] | None = None,
    ) -> Answer:
        host, _, port = self.handle.url.removeprefix("http://").partition(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=30)
        sent = {"Authorization": f"Bearer {self.handle.token}", "Content-Type": content_type, **(headers or {})}
        connection.request(method, path, None if body is None else json.dumps(body), sent)
        response = connection.getresponse()
        answer = Answer(response.status, response.headers, response.read())
        connection.close()
        return answer

    @staticmethod
    def object(kind: str, name: str, api_version: str = "v1", labels: Json = None, **more: Any) -> Json:
        metadata = {"name": name, **({"labels": labels} if labels else {})}
        return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **more}

    def configmap(self, name: str, labels: Json = None, **data: str) -> Json:
        return self.object("ConfigMap", name, labels=labels, data=data)

    def create(self, name: str = "a", labels: Json = None, query: str = "", **data: str) -> Answer:
        """Create a ConfigMap."""
        return self.call("POST", f"{self.configmaps}{query}", self.configmap(name, labels, **data))

    def patch(self, path: str, body: Json) -> Answer:
        return self.call("PATCH", path, body, "application/merge-patch+json")

    def webhook(self, name: str = "hook", path: str = "/", **fields: Any) -> Json:
        """A webhook about the ConfigMaps of the namespace, unless told otherwise."""
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}
        found = {
            "name": f"{name}.example.io",
            "clientConfig": self.hook.config(path),
            "rules": [rule],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self.namespace}},
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            **fields,
        }
        return {key: value for key, value in found.items() if value is not ...}

    def install(self, *hooks: Json, mutating: bool = False, name: str = "c") -> str:
        """Store a configuration; returns its path."""
        kind = "MutatingWebhookConfiguration" if mutating else "ValidatingWebhookConfiguration"
        plural = f"{REGISTRATION}/{kind.lower()}s"
        full = f"{name}-{self.number}"
        body = self.object(kind, full, "admissionregistration.k8s.io/v1", webhooks=list(hooks))
        answer = self.call("POST", plural, body)
        assert answer.status == 201, answer
        self.installed.append(f"{plural}/{full}")
        return f"{plural}/{full}"

    def close(self) -> None:
        for path in self.installed:
            self.call("DELETE", path)


def patch_of(*operations: Json) -> Json:
    """A response that changes the object."""
    return {"patchType": "JSONPatch", "patch": base64.b64encode(json.dumps(list(operations)).encode()).decode()}


class Kit:
    patch_of = staticmethod(patch_of)

    @staticmethod
    def rule(
        operations: str = "*", resources: str = "configmaps", group: str = "", version: str = "v1", **more: Any
    ) -> Json:
        return {
            "apiGroups": [group],
            "apiVersions": [version],
            "operations": operations.split(),
            "resources": resources.split(),
            **more,
        }


@pytest.fixture(scope="package")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> ServingCertificate:
    return serving_certificate(Path(tmp_path_factory.mktemp("hook")), "127.0.0.1")


@pytest.fixture(scope="package")
def hook_server() -> Iterator[Handle]:
    with Server(insecure_http=True) as handle:
        yield handle


@contextmanager
def serving(found: Hook) -> Iterator[Hook]:
    thread = threading.Thread(target=found.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield found
    found.server.shutdown()
    found.server.server_close()


@pytest.fixture
def hook(certificate: ServingCertificate) -> Iterator[Hook]:
    with serving(Hook(certificate)) as found:
        yield found


@pytest.fixture
def other_host(certificate: ServingCertificate) -> Iterator[Hook]:
    """A webhook at an address that its certificate does not name."""
    with serving(Hook(certificate, "127.0.0.2")) as found:
        yield found


@pytest.fixture
def api(hook_server: Handle, hook: Hook) -> Iterator[Api]:
    found = Api(hook_server, hook)
    yield found
    found.close()


@pytest.fixture
def kit() -> Kit:
    return Kit()
