"""What the options say about storage: which backends there are, what lives where, and what cannot be meant."""

from __future__ import annotations

import urllib.request
from pathlib import Path
from typing import Any

import pytest
from stored_values import value

from watchkeeper.server.errors import StartupError
from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle

EVENT = {
    "apiVersion": "v1",
    "kind": "Event",
    "metadata": {"name": "e"},
    "involvedObject": {"kind": "Pod", "namespace": "default", "name": "p"},
}


def serving(**options: Any) -> Server:
    return Server(insecure_http=True, controllers=(), **options)


def text(server: Handle, path: str) -> str:
    request = urllib.request.Request(server.url + path, headers={"Authorization": f"Bearer {server.token}"})
    with urllib.request.urlopen(request) as answer:
        return str(answer.read().decode())


def test_a_resource_may_have_a_store_of_its_own_whoever_serves_it(tmp_path: Path) -> None:
    options = {
        "storage": f"sqlite:{tmp_path / 'main'}",
        "etcd_servers_overrides": (f"/events#sqlite:{tmp_path / 'events'}", "coordination.k8s.io/leases#memory:"),
    }
    with serving(**options) as server:
        server.request("POST", "/api/v1/namespaces/default/events", EVENT)
        assert server.request("GET", "/apis/events.k8s.io/v1/namespaces/default/events/e")["metadata"]["name"] == "e"
        lease = {"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}}
        server.request("POST", "/apis/coordination.k8s.io/v1/namespaces/default/leases", lease)
        checks = text(server, "/healthz?verbose")
        for name in ("etcd", "etcd-override-events", "etcd-override-leases.coordination.k8s.io"):
            assert f"[+]{name} ok" in checks
            assert text(server, f"/healthz/{name}") == "ok"
        sizes = [line for line in text(server, "/metrics").splitlines() if line.startswith("apiserver_storage_size")]
        assert len(sizes) == 3
    assert b'"name":"e"' in value(tmp_path / "events", "/registry/events/default/e")
    with pytest.raises(ValueError, match="not enough values"):
        value(tmp_path / "main", "/registry/events/default/e")
    with serving(**options) as server:
        assert len(server.request("GET", "/api/v1/events")["items"]) == 1
        assert server.request("GET", "/apis/coordination.k8s.io/v1/leases")["items"] == []


def test_all_keys_begin_with_the_prefix(tmp_path: Path) -> None:
    with serving(storage=f"sqlite:{tmp_path / 'db'}", etcd_prefix="/clusters/one/") as server:
        server.request("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "c"}})
        service = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}
        server.request("POST", "/api/v1/namespaces/default/services", service)
    for key in ("/configmaps/default/c", "/services/specs/default/s", "/namespaces/default"):
        assert value(tmp_path / "db", f"/clusters/one{key}").startswith(b'{"kind":')
    with serving(storage=f"sqlite:{tmp_path / 'db'}") as server:
        assert server.request("GET", "/api/v1/namespaces/default/configmaps")["items"] == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"storage_backend": "etcd2"}, "etcd2 is no longer a supported storage backend"),
        ({"storage_backend": "files"}, "unknown storage type: files"),
        ({"storage_backend": "etcd3"}, "--storage-backend etcd3 does not go with --storage memory:"),
        ({"etcd_servers_overrides": ("events#http://h:1",)}, "--etcd-servers-overrides invalid, must be of format"),
        ({"etcd_servers_overrides": ("/events#sqlite:/proc/nowhere/db",)}, "/proc/nowhere"),
    ],
)
def test_what_cannot_be_meant_is_one_line(options: dict[str, Any], message: str) -> None:
    with pytest.raises(StartupError) as caught:
        serving(**options).start()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
