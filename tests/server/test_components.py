"""ComponentStatuses: the storage and what runs beside the server are asked how they are."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from watchkeeper.registry.component_statuses import Health
from watchkeeper.server.components import Components, probe
from watchkeeper.server.pki import serving_certificate
from watchkeeper.server.tls import server_context
from watchkeeper.testing import Handle, RequestFailed, Server

BASE = "/api/v1/componentstatuses"
STORAGE = {
    "metadata": {"name": "etcd-0"},
    "conditions": [{"type": "Healthy", "status": "True", "message": "ok"}],
}


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with Server(insecure_http=True) as handle:
        yield handle


class Component(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/healthz" else 500)
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def component(tmp_path: Path) -> Iterator[str]:
    """A server with a certificate that nobody knows."""
    certificate = serving_certificate(tmp_path, "127.0.0.1")
    serving = ThreadingHTTPServer(("127.0.0.1", 0), Component)
    serving.daemon_threads = True
    context = server_context(certificate.cert, certificate.key)
    serving.socket = context.wrap_socket(serving.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=serving.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield f"https://127.0.0.1:{serving.server_port}"
    serving.shutdown()
    serving.server_close()


def test_the_storage_is_a_component_beside_the_ones_that_others_run(server: Handle) -> None:
    found = server.request("GET", BASE)
    assert {item["metadata"]["name"] for item in found["items"]} == {"scheduler", "controller-manager", "etcd-0"}
    assert STORAGE in found["items"]
    assert found["metadata"] == {}
    one = server.request("GET", f"{BASE}/etcd-0")
    assert one == {"kind": "ComponentStatus", "apiVersion": "v1", **STORAGE}


def test_components_are_selected_by_name_and_have_no_labels(server: Handle) -> None:
    named = server.request("GET", f"{BASE}?fieldSelector=metadata.name%3Detcd-0")
    assert named["items"] == [STORAGE]
    assert server.request("GET", f"{BASE}?labelSelector=a%3Db")["items"] == []
    with pytest.raises(RequestFailed, match='componentstatus \\\\"nosuch\\\\" not found'):
        server.request("GET", f"{BASE}/nosuch")


def test_what_serves_its_health_is_believed_whatever_its_certificate(component: str) -> None:
    async def run() -> None:
        assert await probe(f"{component}/healthz") == Health(healthy=True, message="ok")
        failed = Health(healthy=False, message="HTTP probe failed with statuscode: 500")
        assert await probe(f"{component}/other") == failed

    asyncio.run(run())


def test_who_is_not_there_is_unhealthy_in_the_words_of_the_reference() -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        port = deaf.getsockname()[1]
        url = f"https://127.0.0.1:{port}/healthz"
        refused = f'Get "{url}": dial tcp 127.0.0.1:{port}: connect: connection refused'
        assert asyncio.run(probe(url)) == Health(healthy=False, message=refused)


def test_each_backend_is_a_component_and_says_what_is_wrong() -> None:
    async def fine() -> str:
        return ""

    async def broken() -> str:
        return "no answer within 2 s"

    found = Components(lambda: {"etcd": fine, "etcd-override-0": broken, "kms-providers": broken})()
    assert sorted(found) == ["controller-manager", "etcd-0", "etcd-1", "scheduler"]
    error = asyncio.run(Components(lambda: {"etcd": broken})()["etcd-0"]())
    assert error == Health(healthy=False, error="no answer within 2 s")
